//! The tables in `docs/GUIDE.md` agree with the library.

use guira::{Builder, CuckooFilter, ExpiringFilter, Lifetime, Prefer, SeededState};
use std::{fs, path::Path, time::Duration};

/// The number of items in all tables.
const ITEMS: usize = 1_000_000;

/// The rows of the first table with this cell in its header, as cells.
fn table(head: &str) -> Vec<Vec<String>> {
    let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/GUIDE.md"));
    let text = fs::read_to_string(path).expect("the page");
    let lines = text
        .lines()
        .skip_while(|line| !(line.starts_with('|') && line.contains(head)));
    let rows = lines.take_while(|line| line.starts_with('|')).skip(2);
    let cells = |row: &str| {
        let cells = row.trim_matches('|').split('|');
        cells.map(|cell| cell.trim().to_owned()).collect()
    };
    let rows: Vec<Vec<String>> = rows.map(cells).collect();
    assert!(rows.len() > 3, "{head}: {rows:?}");
    rows
}

/// Parses a percentage such as "0.1 %".
fn rate(cell: &str) -> f64 {
    let percent = cell.strip_suffix(" %").expect("a percentage");
    percent.parse::<f64>().expect("a number") / 100.0
}

fn bits(bytes: usize) -> String {
    format!("{:.1}", 8.0 * bytes as f64 / ITEMS as f64)
}

/// Collects the cells that differ, so that a failure shows all of them.
#[derive(Default)]
struct Differences(Vec<String>);

impl Differences {
    fn compare(&mut self, row: &[String], stated: &str, actual: &str) {
        if stated != actual {
            self.0.push(format!("{row:?}: {stated} is {actual}"));
        }
    }

    fn none(self) {
        assert!(self.0.is_empty(), "\n{}", self.0.join("\n"));
    }
}

#[test]
fn fixed_filters_have_the_layouts_and_sizes_of_the_table() {
    let mut differences = Differences::default();
    for row in table("layout with `Prefer::Space`") {
        let asked = rate(&row[0]);
        let builder = CuckooFilter::builder().capacity(ITEMS);
        let builder = builder.false_positive_rate(asked);
        for (prefer, cells) in [(Prefer::Speed, &row[1..3]), (Prefer::Space, &row[3..5])] {
            let filter = builder.clone().prefer(prefer).build().expect("a filter");
            let layout = cells[0].trim_end_matches(", semi-sorted");
            let (fingerprint, slots) = (filter.fingerprint_bits(), filter.bucket_slots());
            differences.compare(&row, layout, &format!("{fingerprint} bits × {slots}"));
            differences.compare(&row, &cells[1], &bits(filter.memory_usage()));
        }
        let limit = -asked.log2();
        differences.compare(&row, &row[5], &format!("{limit:.1}"));
        let bloom = limit / std::f64::consts::LN_2;
        differences.compare(&row, &row[6], &format!("{bloom:.1}"));
    }
    differences.none();
}

#[test]
fn full_layouts_have_the_rates_of_the_table() {
    for row in table("rate when full") {
        let (bits, _) = row[0].split_once(" bits").expect("a layout");
        let builder = CuckooFilter::builder().capacity(ITEMS);
        let builder = builder.fingerprint_bits(bits.parse().expect("bits"));
        let expected = builder.build().expect("a filter").false_positive_rate();
        let stated = match row[1].split_once("·10") {
            None => rate(&row[1]),
            Some((digits, exponent)) => {
                let exponent = match exponent {
                    "⁻⁶" => 1e-6,
                    "⁻⁹" => 1e-9,
                    other => panic!("{other}"),
                };
                digits.parse::<f64>().expect("a number") * exponent
            }
        };
        let ratio = stated / expected;
        assert!((0.98..1.02).contains(&ratio), "{row:?}: {expected}");
    }
}

/// Compares filters that grow until they have `items` with the rows of a table.
fn assert_growth<T: Lifetime>(head: &str, builder: &Builder<SeededState, T>, items: usize) {
    let mut differences = Differences::default();
    for row in table(head) {
        let (times, _) = row[1].split_once(" ×").expect("a factor");
        let capacity = ITEMS / times.parse::<usize>().expect("a number");
        let builder = builder.clone().false_positive_rate(rate(&row[0]));
        let filter = builder.clone().capacity(capacity).max_capacity(ITEMS);
        let filter = filter.build().expect("a filter");
        let start = 8.0 * filter.memory_usage() as f64 / capacity as f64;
        differences.compare(&row, &row[2], &format!("{start:.0}"));
        for item in 0..items {
            filter.insert(&item).expect("it fits");
        }
        differences.compare(&row, &row[3], &bits(filter.memory_usage()));
        let fixed = builder.capacity(ITEMS).build().expect("a filter");
        differences.compare(&row, &row[4], &bits(fixed.memory_usage()));
    }
    differences.none();
}

#[test]
fn growing_filters_begin_and_end_with_the_sizes_of_the_table() {
    let builder = CuckooFilter::builder();
    assert_growth("bits per item at the start", &builder, ITEMS);
}

#[test]
fn expiring_filters_have_the_sizes_of_the_table() {
    let mut differences = Differences::default();
    for row in table("12 epochs") {
        let builder = ExpiringFilter::builder(Duration::from_secs(3600)).capacity(ITEMS);
        let filter = builder.false_positive_rate(rate(&row[0]));
        let filter = filter.build().expect("a filter");
        differences.compare(&row, &row[2], &bits(filter.memory_usage()));
    }
    differences.none();
}

#[test]
fn expiring_filters_that_grow_begin_and_end_with_the_sizes_of_the_table() {
    let builder = ExpiringFilter::builder(Duration::from_secs(3600));
    // The items of a TTL, and of one and a half of its 12 epochs.
    assert_growth("grows by | at the start", &builder, ITEMS + ITEMS / 8);
}

#[test]
fn the_worked_examples_take_the_stated_memory() {
    let near = |bytes: usize, stated: f64| {
        let ratio = bytes as f64 / stated;
        assert!((0.97..1.03).contains(&ratio), "{bytes} against {stated}");
    };
    let deny = CuckooFilter::builder().capacity(10 * ITEMS);
    let deny = deny.false_positive_rate(0.001);
    near(
        deny.clone().build().expect("a filter").memory_usage(),
        21.1e6,
    );
    let small = deny.prefer(Prefer::Space).build().expect("a filter");
    near(small.memory_usage(), 18.4e6);

    let window = |hours: u64, capacity, rate| {
        let builder = ExpiringFilter::builder(Duration::from_secs(3600 * hours));
        let builder = builder.capacity(capacity).false_positive_rate(rate);
        builder.build().expect("a filter").memory_usage()
    };
    near(window(1, ITEMS, 0.0001), 3.3e6);
    near(window(24, 400_000, 1e-7), 2.1e6);

    let tenant = CuckooFilter::builder().capacity(100).max_capacity(100_000);
    let tenant = tenant.false_positive_rate(0.01).build().expect("a filter");
    near(tenant.memory_usage(), 1.3e3);
}
