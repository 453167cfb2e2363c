//! The sections of the report.

use crate::{
    contention::{Contest, THREADS, Tail},
    growth::{Growth, TIMES, Timeline},
    measure::{Samples, size},
    ops::Table,
    snapshot::Snapshots,
};
use hdrhistogram::Histogram;
use std::{fmt::Write, path::Path};

/// A table in Markdown: the first column to the left, the others to the right.
pub(super) fn table(head: &[String], rows: impl IntoIterator<Item = Vec<String>>) -> String {
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
pub(super) fn plot(plots: &Path, name: &str, title: &str) -> String {
    format!("![{title}]({}/{name}.svg)", plots.display())
}

pub(super) fn strings<const N: usize>(head: [&str; N]) -> Vec<String> {
    head.map(str::to_owned).into()
}

/// "a, b and c".
pub(super) fn names(names: impl Iterator<Item = String>) -> String {
    let names: Vec<String> = names.collect();
    match names.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
        None => String::new(),
    }
}

/// Three digits, as the spread allows no more.
pub(super) fn digits(value: f64) -> String {
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

pub(super) fn optional(samples: &Option<Samples>) -> String {
    samples.as_ref().map_or("–".into(), cell)
}

pub(super) fn one_thread(tables: &[Table], plots: &Path) -> String {
    let mut text = format!(
        "## One thread\n\nMillions of operations per second.\n\
         Inserts are shown by the part of the fill, in percent of the capacity.\n\
         Lookups and removes are at full capacity.\n\
         In \"half\", each key is present with a probability of 1/2, so that no branch predictor can learn the answer.\n\
         A floor generates the keys and accesses a table of the same size.\n\
         It loads two random words per key, or loads and exchanges one.\n\n{}\n",
        plot(plots, "insert", "Inserts as the table fills"),
    );
    for table in tables {
        let title = &table.title;
        let _ = write!(text, "\n### {title}\n\n{}", cells(table));
    }
    text
}

pub(super) fn curves(curves: &[Table], plots: &Path) -> String {
    let one = |table: &Table| format!("\n### {}\n\n{}", table.title, cells(table));
    format!(
        "## Lookups by load\n\nMillions of lookups per second of one thread.\n\
         The load is the share of the slots in use; a Bloom filter has no slots, and holds the same number of items.\n\n\
         {}\n{}",
        plot(plots, "load", "Lookups by load"),
        curves.iter().map(one).collect::<String>(),
    )
}

/// A table of samples: their names, and their medians.
pub(super) fn cells(Table { columns, rows, .. }: &Table) -> String {
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

pub(super) fn contention(contests: &[Contest], log_slots: u32, plots: &Path) -> String {
    let mut text = format!(
        "## Many threads\n\nMillions of operations per second, all threads together, on a table of {} slots.\n\
         There are more threads than cores on purpose: a preempted thread must not stop the others.\n\
         \"Denied\" counts lookups and removes that did not find a present item during the run.\n\
         \"Lost\" counts items that were accepted, never removed, and are absent after the last run.\n\
         \"Refused\" counts inserts that were refused.\n\n{}\n",
        size(log_slots),
        plot(plots, "contention", "Throughput against threads"),
    );
    for Contest { scenario, rows } in contests {
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

/// The head of a table of latencies.
const QUANTILES: [&str; 7] = ["", "operation", "p50", "p99", "p99.9", "p99.99", "max"];

/// A row of a table of latencies.
fn quantiles(name: &str, operation: &str, histogram: &Histogram<u64>) -> Vec<String> {
    let quantiles = [0.5, 0.99, 0.999, 0.9999, 1.0];
    let values = quantiles.map(|q| histogram.value_at_quantile(q).to_string());
    let names = [name, operation].map(str::to_owned);
    names.into_iter().chain(values).collect()
}

pub(super) fn latency(tails: &[Tail], clock: u64, plots: &Path) -> String {
    let mut text = format!(
        "## Latency\n\nNanoseconds of each operation; reading the clock takes {} ns of each.\n\
         With more threads than cores, the longest times are threads that wait for a core.\n\
         That affects all contestants, so compare where the tail begins.\n\n\
         {}\n",
        clock,
        plot(plots, "latency", "Latency of lookups"),
    );
    let head = strings(QUANTILES);
    let groups = tails.chunk_by(|a, b| (a.scenario, a.threads) == (b.scenario, b.threads));
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
                    rows.push(quantiles(tail.name, operation, histogram));
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

pub(super) fn growth(growth: &Growth, clock: u64, plots: &Path) -> String {
    let mut text = format!(
        "## Growth\n\nFilters that began with room for one in {TIMES} of the items, and grew while they were filled, one insert at a time.\n\
         Each is followed by a fixed filter of the same rate that was built for all items.\n\
         Millions of operations per second; lookups are after the last doubling is complete.\n\
         The section on space has the sizes and rates of grown filters.\n",
    );
    for size in &growth.sizes {
        let _ = write!(text, "\n### {}\n\n{}", size.fixed.title, cells(&size.fixed));
    }
    let _ = writeln!(
        text,
        "\nA chain of filters is the other way to grow: each link is twice as large as the one before.\n\
         Inserts go into the newest link, and lookups ask all links.\n\
         The chain of guira's fixed filters has 6 full links, which hold 63 times the items of the first.\n\
         Each link is built for a sixth of the rate.\n\
         The chain of {TIMES} equal links is RedisBloom's default (`EXPANSION 1`).\n\
         scalable_cuckoo_filter is a chain that doubles, with longer fingerprints in each link, used without a lock.\n\
         All are built for the same rate, of all links together.\n\
         Hits are spread over all items."
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
         Nanoseconds of each operation, including {} to read the clock.\n\
         The plot shows the same over time, from the first items to {TIMES} times their number.\n\
         Peaks in both filters are due to the machine.\n\
         Lookups that did not find a present item: {}; refused inserts: {}.\n\n{}\n\n",
        size(timeline.log_slots),
        clock,
        timeline.denied,
        timeline.refused,
        plot(plots, "growth", "Latency while the filter grows"),
    );
    let head = strings(QUANTILES);
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
    let rows = rows.map(|(name, operation, histogram)| quantiles(name, operation, histogram));
    text + &table(&head, rows)
}

pub(super) fn snapshots(snapshots: &Snapshots) -> String {
    format!(
        "## Snapshots\n\nGiB per second of one thread, for a snapshot of {} MiB.\n\
         The first column copies the bytes into fresh memory, and computes their CRC-32.\n\n{}\n### {}\n\nMillions of operations per second of one thread at 95 % load, with and without another thread that takes snapshots in a loop.\n\
         Lookups and removes that did not find a present item: {}.\n\n{}",
        snapshots.bytes >> 20,
        cells(&snapshots.throughput),
        snapshots.cost.title,
        snapshots.denied,
        cells(&snapshots.cost),
    )
}

pub(super) fn space_speed(ratios: &Table) -> String {
    format!(
        "## {}\n\nSemi-sorted words (`Prefer::Space`) compared with packed ones, of one thread, in tables of the same memory.\n\
         A layout is the bits that a fingerprint is worth, and the slots of a word.\n\
         Inserts are from empty to 80 % of the capacity; lookups and removes begin at full capacity.\n\
         Semi-sorted words hold more items in that memory, or have fewer false positives: see Space.\n\
         Out of cache each table was filled once, and a part of the inserts was timed, spread evenly over the fill.\n\
         These are medians of the ratios of the rounds.\n\
         On the noisy machine, in-cache ratios changed by some hundredths from run to run.\n\n{}",
        ratios.title,
        cells(ratios),
    )
}
