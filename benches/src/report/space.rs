//! The section of space.

use super::markdown::{digits, optional, plot, strings, table};
use crate::{
    effort::Effort,
    measure::{Samples, size},
    ops::Table,
    space::{Point, SIZES, Space},
};
use std::{fmt::Write, path::Path};

fn percent(rate: f64) -> String {
    match rate {
        0.0 => "none seen".into(),
        0.001.. => format!("{:.2} %", rate * 100.0),
        0.00001.. => format!("{:.4} %", rate * 100.0),
        _ => format!("{rate:.1e}"),
    }
}

pub(super) fn section(space: &Space, effort: Effort, plots: &Path) -> String {
    let head = strings([
        "",
        "asked",
        "expected rate",
        "measured rate",
        "bits per item",
        "information limit",
        "cuckoo",
        "Bloom",
        "of the limit",
    ]);
    let row = |point: &Point| {
        let known = point.rate > 0.0;
        let theory = |bits: f64| {
            if known {
                format!("{bits:.2}")
            } else {
                "–".into()
            }
        };
        let (limit, bloom) = (Point::limit(point.rate), Point::bloom(point.rate));
        let cuckoo = Point::cuckoo(point.rate);
        let expected = point.expected.map_or("–".into(), percent);
        let asked = point.asked.map_or("–".into(), percent);
        let times = theory(point.bits / limit);
        let bits = format!("{:.2}", point.bits);
        vec![
            point.name.clone(),
            asked,
            expected,
            if known {
                percent(point.rate)
            } else {
                "–".into()
            },
            bits,
            theory(limit),
            theory(cuckoo),
            theory(bloom),
            times,
        ]
    };
    let mut text = format!(
        "## Space\n\nAll filters are at full capacity.\n\
         The information limit is log2(1/ε) bits per item, a Bloom filter takes 1.44 times that, and \
         a cuckoo filter with fingerprints of any size (log2(1/ε) + 3) / 0.95; each at the rate that was measured.\n\
         The expected rate is guira's own, from the fingerprint and the load.\n\n{}\n\n\
         <!-- rate against bits: begin -->\n{}<!-- rate against bits: end -->\n",
        plot(plots, "space", "Bits per item against rate"),
        table(&head, space.points.iter().map(row)),
    );
    text += &construction(space, effort);
    let sizes = SIZES.iter().map(|items| format!("{items} items"));
    let head: Vec<String> = std::iter::once("layout".into()).chain(sizes).collect();
    let rows = space.loads.iter().map(|load| {
        let loads = load
            .highest
            .iter()
            .map(|load| format!("{:.2} %", load * 100.0));
        std::iter::once(load.layout.clone()).chain(loads).collect()
    });
    let _ = write!(
        text,
        "\n### The highest load\n\nUsed slots when the first insert is refused, in a filter built for so many items; the lowest of \
         {} fills.\n\n{}",
        effort.rounds,
        table(&head, rows),
    );
    text
}

/// Where guira is larger.
pub(super) fn losses() -> String {
    "In space, a Bloom filter is smaller at most rates (see Space): the word-sized buckets cost 6 to 24 % over a cuckoo \
     filter with fingerprints of any size, and that costs 3 bits an item over the information limit.\n"
        .to_owned()
}

/// The table of construction, with bits and rates of the filters of the same names.
fn construction(space: &Space, effort: Effort) -> String {
    let Table { columns, rows, .. } = &space.construction;
    let mut head = strings(["", "load, %", "bits per item", "measured rate"]);
    head.extend(columns[1..].iter().cloned());
    let row = |(name, cells): &(String, Vec<Option<Samples>>)| {
        let point = space.points.iter().find(|point| point.name == *name);
        let bits = point.map_or("–".into(), |point| digits(point.bits));
        let rate = point.map_or("–".into(), |point| percent(point.rate));
        let mut row: Vec<String> = cells.iter().map(optional).collect();
        row.splice(1..1, [bits, rate]);
        row.insert(0, name.clone());
        row
    };
    format!(
        "\n### Construction\n\nFilters that one thread has filled with the items that they were made for.\n\
         The load is the share of the slots in use; it is 95 % in the peers that have slots and a power of two of them.\n\
         Bits and rates are those of the table above, for {} slots; out of cache each filter was filled once.\n\n{}",
        size(effort.log_medium),
        table(&head, rows.iter().map(row)),
    )
}
