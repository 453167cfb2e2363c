//! The text of `BENCHMARKS.md`.

use super::Results;
use crate::{
    contention::{Contest, THREADS},
    growth::{CONTESTANTS, TIMES, Timeline},
    measure::{Samples, size},
    ops::Table,
    peers,
    space::{Point, SIZES},
    targets::Bound,
};
use std::{fmt::Write, path::Path};

/// Why some targets are missed: from profiles, not from this run.
const MISSED: &str = include_str!("missed.md");

/// The whole page. The directory `plots` is the one of the plots, as it is found from the
/// page; `server` is the table that `server/bench.sh` has printed.
pub(super) fn page(results: &Results, plots: &Path, server: &str) -> String {
    let sections = [
        introduction(results, plots),
        targets(results),
        MISSED.to_owned(),
        one_thread(results, plots),
        curves(results, plots),
        contention(results, plots),
        latency(results, plots),
        growth(results, plots),
        snapshots(results),
        format!(
            "## The server\n\nguira-server beside redis-server, which answers GET and SET.\n\
             `server/bench.sh >docs/server-throughput.md` remakes this table.\n\n{server}"
        ),
        space(results, plots),
        losses(results),
    ];
    sections.join("\n")
}

/// A table in Markdown: the first column to the left, the others to the right.
fn table(head: &[String], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let mut text = format!(
        "| {} |\n|---|{}\n",
        head.join(" | "),
        "---:|".repeat(head.len() - 1)
    );
    for row in rows {
        let _ = writeln!(text, "| {} |", row.join(" | "));
    }
    text
}

/// A plot that the page shows.
fn plot(plots: &Path, name: &str, title: &str) -> String {
    format!("![{title}]({}/{name}.svg)", plots.display())
}

fn strings<const N: usize>(head: [&str; N]) -> Vec<String> {
    head.map(str::to_owned).into()
}

/// Three digits, as the spread allows no more.
fn digits(value: f64) -> String {
    match value.abs() {
        100.0.. => format!("{value:.0}"),
        10.0.. => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

/// The median; with a spread of 10 % and more that too.
fn cell(samples: &Samples) -> String {
    let spread = samples.spread() * 100.0;
    match samples.is_empty() {
        true => "–".into(),
        false if spread >= 10.0 => format!("{} ± {spread:.0} %", digits(samples.median())),
        false => digits(samples.median()),
    }
}

fn optional(samples: &Option<Samples>) -> String {
    samples.as_ref().map_or("–".into(), cell)
}

fn introduction(results: &Results, plots: &Path) -> String {
    let Results {
        machine, effort, ..
    } = results;
    let peers = peers::all_with_own_hasher::<u64>()
        .into_iter()
        .map(|entry| vec![entry.name.into(), entry.note.into()]);
    let peers = table(&strings(["contestant", "what it is"]), peers);
    format!(
        "# Benchmarks

This file and the plots in `{plots}` are written by:

    cargo run --release -p guira-benches --bin bench-report

With `-- --quick` it takes a minute and shows only that everything works.
`cargo bench` runs the same loops under criterion, for work on one of them.

## The machine

{machine}
## How to read the figures

- All figures of this page are of one run, {rounds} rounds of each.
  In each round the contestants take turns, and the figure is the median of the rounds.
  Where half the distance between the quartiles is 10 % of it or more, it is given as ±.
  A target is the median of the ratios of the rounds, and in cache has three times as many of them.
  How far they scatter comes before the medians.
- Figures of one thread count the processor time of that thread, so that other jobs on the machine disturb less.
  Figures of several threads are wall-clock time.
- Compare figures within a table.
  Machines differ, and so do hours of one machine.
- All contestants hash with guira's hasher.
  Where one thread is measured, the closest peer, atomic-cuckoo-filter, is there twice: also with the hasher that it has by default.
- All get the same keys, made as they are needed, and are made for the same number of items.
  These are as many as fill a table of a power of two slots to 95 %, which suits the peers that round up to one.
  guira's table is then as large as theirs.
- The fingerprints of all contestants are of 15 or 16 bits, or the rate asked for is that of guira's 15 bits.
  Only cuckoofilter is fixed at 8 bits, and so has half the memory and a hundred times the rate.

{peers}",
        plots = plots.display(),
        rounds = effort.rounds,
    )
}

fn targets(results: &Results) -> String {
    let row = |target: &crate::targets::Target| {
        let bound = match target.bound {
            Bound::AtLeast(bound) => format!("≥ {bound}"),
            Bound::AtMost(bound) => format!("≤ {bound}"),
        };
        let met = if target.met() { "yes" } else { "**no**" };
        vec![
            target.what.clone(),
            bound,
            digits(target.measured),
            met.into(),
            target.details.clone(),
        ]
    };
    let head = strings(["target", "aim", "measured", "met", "medians"]);
    format!(
        "## What guira aims at\n\nMedians of ratios, guira's 15 bits × 4.\n\n{}",
        table(&head, results.targets.iter().map(row))
    )
}

fn one_thread(results: &Results, plots: &Path) -> String {
    let mut text = format!(
        "## One thread\n\nMillions of operations per second.\n\
         Inserts are shown by the part of the fill, in percent of the capacity, at which they come; lookups and removes \
         are at full capacity.\n\
         In \"half\" each key is in with a probability of 1/2, at random, so that no branch predictor foresees the answer.\n\
         A floor makes the keys, and accesses as much memory as guira uses: at two random places for each key, or at one \
         that it loads and exchanges.\n\n{}\n",
        plot(plots, "insert", "Inserts as the table fills"),
    );
    for table in &results.tables {
        let title = &table.title;
        let _ = write!(text, "\n### {title}\n\n{}", cells(table));
    }
    text
}

fn curves(results: &Results, plots: &Path) -> String {
    let section = |tables: &[Table]| -> String {
        let one = |table: &Table| format!("\n### {}\n\n{}", table.title, cells(table));
        tables.iter().map(one).collect()
    };
    let curves = &results.curves;
    format!(
        "## Lookups by load and by the share of hits\n\nMillions of lookups per second of one thread.\n\
         The load is the share of the slots in use; a Bloom filter has no slots, and holds as many items as the others.\n\n\
         {}\n{}\n\
         Hits and misses come at random, and the filters are at full capacity.\n\
         All columns make their keys in one way, which costs a little more than in the tables of hits or of misses alone.\n\n\
         {}\n{}",
        plot(plots, "load", "Lookups by load"),
        section(&curves.by_load),
        plot(plots, "share", "Lookups by the share of hits"),
        section(&curves.by_share),
    )
}

/// A table of samples: their names, and their medians.
fn cells(Table { columns, rows, .. }: &Table) -> String {
    let head: Vec<String> = std::iter::once(String::new())
        .chain(columns.iter().cloned())
        .collect();
    let row = |(name, cells): &(String, Vec<Option<Samples>>)| {
        std::iter::once(name.clone())
            .chain(cells.iter().map(optional))
            .collect()
    };
    table(&head, rows.iter().map(row))
}

fn contention(results: &Results, plots: &Path) -> String {
    let mut text = format!(
        "## Many threads\n\nMillions of operations per second, all threads together, on a table of {} slots.\n\
         There are more threads than cores on purpose: a thread that is stopped in the middle of an operation must not \
         stop the others.\n\
         \"Denied\" counts lookups and removes that were answered with no although the item was in, while threads were at \
         work.\n\
         \"Lost\" counts items that were accepted, never removed, and are not in after the last run.\n\
         \"Refused\" counts inserts that were refused.\n\n{}\n",
        size(results.effort.log_medium),
        plot(plots, "contention", "Throughput against threads"),
    );
    for Contest { scenario, rows } in &results.contests {
        let threads = THREADS.iter().map(|threads| format!("{threads} threads"));
        let head: Vec<String> = std::iter::once(String::new())
            .chain(threads)
            .chain(["denied", "lost", "refused"].map(str::to_owned))
            .collect();
        let rows = rows.iter().map(|row| {
            let counts =
                [row.tally.denied, row.lost, row.tally.refused].map(|count| count.to_string());
            std::iter::once(row.name.to_owned())
                .chain(row.rates.iter().map(cell))
                .chain(counts)
                .collect()
        });
        let _ = write!(
            text,
            "\n### {}: {}\n\n{}",
            scenario.name,
            scenario.about,
            table(&head, rows)
        );
    }
    text
}

fn latency(results: &Results, plots: &Path) -> String {
    let mut text = format!(
        "## Latency\n\nNanoseconds, of each operation by itself; reading the clock takes {} ns of each.\n\
         With more threads than cores the longest are threads that wait for their turn on a core.\n\
         That is the same for all, so look where the tail begins.\n\n\
         {}\n",
        results.clock,
        plot(plots, "latency", "Latency of lookups"),
    );
    let head = strings(["", "operation", "p50", "p99", "p99.9", "p99.99", "max"]);
    let groups = results
        .tails
        .chunk_by(|a, b| (a.scenario, a.threads) == (b.scenario, b.threads));
    for group in groups {
        let mut rows = Vec::new();
        for (operation, inserts) in [("lookup", false), ("insert", true)] {
            for tail in group {
                let histogram = if inserts {
                    &tail.latencies.inserts
                } else {
                    &tail.latencies.lookups
                };
                if !histogram.is_empty() {
                    let quantiles = [0.5, 0.99, 0.999, 0.9999, 1.0];
                    let values = quantiles.map(|q| histogram.value_at_quantile(q).to_string());
                    rows.push(
                        [tail.name.to_owned(), operation.to_owned()]
                            .into_iter()
                            .chain(values)
                            .collect(),
                    );
                }
            }
        }
        let _ = write!(
            text,
            "\n### {}, {} threads\n\n{}",
            group[0].scenario,
            group[0].threads,
            table(&head, rows)
        );
    }
    text
}

fn growth(results: &Results, plots: &Path) -> String {
    let growth = &results.growth;
    let mut text = format!(
        "## Growth\n\nA filter that began with room for one in {TIMES} of the items and grew while it was filled, one insert at a \
         time.\n\
         Millions of operations per second; lookups are after the last doubling is complete.\n\n\
         Only the layouts with buckets of 4, 3 and 2 slots can double six times.\n\
         A filter that can grow gives a bit of each fingerprint (two of those of 20 bits, two or three of those of 30) to \
         the phase of the word, and each doubling takes one bit of the rest for the choice of the plane.\n\
         The grown filter therefore has the higher rate, {TIMES} times that of its fingerprint, and is otherwise like the \
         fixed one with as many slots.\n",
    );
    for size in &growth.sizes {
        let _ = write!(text, "\n### {}\n\n{}", size.fixed.title, cells(&size.fixed));
    }
    let _ = writeln!(
        text,
        "\nThe other way to grow is a chain of filters, each twice as large as the one before.\n\
         Inserts go into the newest, and lookups ask all.\n\
         The chain of guira's fixed filters has 6 links, which are all full and together hold 63 times the items of the \
         first; each link is asked for a sixth of the rate.\n\
         The chain of {TIMES} equal ones is what RedisBloom makes of a cuckoo filter unless it is told otherwise \
         (`EXPANSION 1`).\n\
         scalable_cuckoo_filter is a chain that doubles, with longer fingerprints from link to link, here used by one \
         thread without a lock.\n\
         All are asked for one rate, as chains keep it: for all links together.\n\
         Hits are over all items."
    );
    for size in &growth.sizes {
        let _ = write!(
            text,
            "\n### {}\n\n{}",
            size.chains.title,
            cells(&size.chains)
        );
    }
    let timeline = &growth.timeline;
    let _ = write!(
        text,
        "\n### Latency while the filter grows\n\nOne thread fills a filter of {} slots, another looks up.\n\
         Nanoseconds of each operation by itself, of which reading the clock takes {}.\n\
         The plot has the same in windows, with {TIMES} times as many items at its end as at its beginning; what both \
         filters show is the machine's.\n\
         Lookups of items that were in, answered with no: {}; inserts refused: {}.\n\n{}\n\n",
        size(timeline.log_slots),
        results.clock,
        timeline.denied,
        timeline.refused,
        plot(plots, "growth", "Latency while the filter grows"),
    );
    let head = strings(["", "operation", "p50", "p99", "p99.9", "p99.99", "max"]);
    let (grown, fixed) = (
        Timeline::total(&timeline.grown),
        Timeline::total(&timeline.fixed),
    );
    let rows = [
        ("at most 0.1 %, grows", "insert", &grown.inserts),
        ("15 bits × 4, built large", "insert", &fixed.inserts),
        ("at most 0.1 %, grows", "lookup", &grown.lookups),
        ("15 bits × 4, built large", "lookup", &fixed.lookups),
    ];
    let rows = rows.map(|(name, operation, histogram)| {
        let quantiles = [0.5, 0.99, 0.999, 0.9999, 1.0];
        let values = quantiles.map(|q| histogram.value_at_quantile(q).to_string());
        [name.to_owned(), operation.to_owned()]
            .into_iter()
            .chain(values)
            .collect()
    });
    text + &table(&head, rows)
}

fn snapshots(results: &Results) -> String {
    let snapshots = &results.snapshots;
    format!(
        "## Snapshots\n\nGiB per second, of one thread, for a snapshot of {} MiB, beside a plain copy of its bytes into fresh \
         memory and their CRC-32.\n\n{}\n### {}\n\nMillions of operations per second of one thread at 95 %, while another \
         takes snapshots in a loop, and while none does.\n\
         Relocations do not cross the place where a snapshot is, so an insert into a filter this full may be refused \
         meanwhile.\n\
         Lookups and removes of items that were in, answered with no: {}.\n\n{}",
        snapshots.bytes >> 20,
        cells(&snapshots.throughput),
        snapshots.cost.title,
        snapshots.denied,
        cells(&snapshots.cost),
    )
}

fn percent(rate: f64) -> String {
    match rate {
        0.0 => "none seen".into(),
        0.001.. => format!("{:.2} %", rate * 100.0),
        0.00001.. => format!("{:.4} %", rate * 100.0),
        _ => format!("{rate:.1e}"),
    }
}

fn space(results: &Results, plots: &Path) -> String {
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
        table(&head, results.points.iter().map(row)),
    );
    text += &construction(results);
    let sizes = SIZES.iter().map(|items| format!("{items} items"));
    let head: Vec<String> = std::iter::once("layout".into()).chain(sizes).collect();
    let rows = results.loads.iter().map(|load| {
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
        results.effort.rounds,
        table(&head, rows),
    );
    text
}

/// The table of construction, with bits and rates of the filters of the same names.
fn construction(results: &Results) -> String {
    let Table { columns, rows, .. } = &results.construction;
    let mut head = strings(["", "load, %", "bits per item", "measured rate"]);
    head.extend(columns[1..].iter().cloned());
    let row = |(name, cells): &(String, Vec<Option<Samples>>)| {
        let point = results.points.iter().find(|point| point.name == *name);
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
        size(results.effort.log_medium),
        table(&head, rows.iter().map(row)),
    )
}

/// Why a peer may be faster, or smaller.
fn reason(name: &str) -> &'static str {
    match name {
        "fastbloom (atomic)" => {
            "it sets bits and moves nothing, so its inserts do not slow down; it cannot delete, and no lookup needs a version; while few bits are set a miss ends at its first"
        }
        "RwLock<cuckoofilter>" | "64 × Mutex<cuckoofilter>" => {
            "its table is half as large, with 8 bits an item; a plain write needs no compare-exchange"
        }
        "RwLock<qfilter>" => {
            "one writer shifts a run within a line or two; it makes no room by relocation"
        }
        "papaya::HashSet" => {
            "an exact set has room to spare (some 30 times the memory), so it relocates nothing"
        }
        "atomic-cuckoo-filter" | "atomic-cuckoo-filter, own hasher" => {
            "while a table is less than half full it reads one bucket of a pair; guira reads both, to take the emptier"
        }
        "cuckoo-clock" => {
            "a thread that finds a bucket's mutex free writes without a compare-exchange of shared counters"
        }
        "chain of guira's fixed filters"
        | "chain of 64 equal fixed filters"
        | "scalable_cuckoo_filter" => {
            "its inserts know only the newest link: nothing is ever split"
        }
        _ => "not explained yet",
    }
}

/// Every cell in which a peer is ahead.
fn losses(results: &Results) -> String {
    let mut text = String::from(
        "## Where guira loses\n\nEvery median of this run in which a contestant is ahead by 5 % or more, and why.\n\n",
    );
    let mut ahead: Vec<(String, String)> = Vec::new();
    let contests = results.contests.iter().flat_map(|contest| {
        let ours = &contest.rows[0].rates;
        contest.rows[1..].iter().flat_map(move |row| {
            row.rates
                .iter()
                .zip(ours)
                .zip(THREADS)
                .map(move |((theirs, ours), threads)| {
                    let what = format!("{}, {threads} threads", contest.scenario.name);
                    (row.name.to_owned(), what, theirs.median() / ours.median())
                })
        })
    });
    let tables = results
        .tables
        .iter()
        .filter(|table| table.title.contains("slots, "))
        .chain(&results.curves.by_load)
        .chain(&results.curves.by_share);
    let tables = tables.flat_map(|table| {
        table.rows[1..].iter().flat_map(move |(name, cells)| {
            cells
                .iter()
                .zip(&table.rows[0].1)
                .zip(&table.columns)
                .filter_map(move |((theirs, ours), column)| {
                    let ratio = theirs.as_ref()?.median() / ours.as_ref()?.median();
                    // A part of a fill; a share or a load ends with the sign.
                    let inserts = column.starts_with(|first: char| first.is_ascii_digit());
                    let column = if inserts && !column.ends_with('%') {
                        format!("insert {column} %")
                    } else {
                        column.clone()
                    };
                    Some((name.clone(), format!("{}, {column}", table.title), ratio))
                })
        })
    });
    // For each rate guira, then the chains.
    let chains = results.growth.sizes.iter().map(|size| &size.chains);
    let chains = chains.flat_map(|table| {
        table.rows.chunks(CONTESTANTS).flat_map(move |rows| {
            rows[1..].iter().flat_map(move |(name, cells)| {
                let columns = cells.iter().zip(&rows[0].1).zip(&table.columns);
                columns.take(4).filter_map(move |((theirs, ours), column)| {
                    let ratio = theirs.as_ref()?.median() / ours.as_ref()?.median();
                    let (name, rate) = name.split_once(", ")?;
                    let what = format!("{}, {rate}, {column}", table.title);
                    Some((name.to_owned(), what, ratio))
                })
            })
        })
    });
    for (name, what, ratio) in tables
        .chain(contests)
        .chain(chains)
        .filter(|&(.., ratio)| ratio >= 1.05)
    {
        ahead.push((name, format!("{what}: {} times", digits(ratio))));
    }
    ahead.sort_by(|a, b| a.0.cmp(&b.0));
    for group in ahead.chunk_by(|a, b| a.0 == b.0) {
        let cases: Vec<&str> = group.iter().map(|(_, case)| case.as_str()).collect();
        let _ = writeln!(
            text,
            "- **{}**: {}.\n  - {}",
            group[0].0,
            reason(&group[0].0),
            cases.join("\n  - ")
        );
    }
    if ahead.is_empty() {
        text.push_str("There is none.\n");
    }
    text.push_str(
        "\nIn space, a Bloom filter is smaller at most rates (see Space): the word-sized buckets cost 6 to 24 % over a cuckoo \
         filter with fingerprints of any size, and that costs 3 bits an item over the information limit.\n",
    );
    text
}
