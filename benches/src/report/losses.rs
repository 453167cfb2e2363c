//! Where guira loses, and why.

use super::markdown::digits;
use crate::{
    contention::{Contest, THREADS},
    growth::{CONTESTANTS, Growth},
    ops::Table,
};
use std::fmt::Write;

/// A contestant, a case, and how many times as fast as guira it is there.
type Case = (String, String, f64);

/// Why a peer may be faster, or smaller.
fn reason(name: &str) -> &'static str {
    match name {
        "fastbloom (atomic)" => {
            "it sets bits and relocates nothing, so its inserts do not slow down; it cannot delete, and its lookups need no version; while few bits are set, a miss ends at the first one"
        }
        "RwLock<cuckoofilter>" | "64 × Mutex<cuckoofilter>" => {
            "its table is half the size, with 8 bits per item; a plain write needs no compare-exchange"
        }
        "RwLock<qfilter>" => {
            "one writer shifts a run within a line or two; it makes no room by relocation"
        }
        "papaya::HashSet" => {
            "an exact set has spare room (about 24 times the memory), so it relocates nothing"
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
            "its inserts touch only the newest link, and never split a bucket"
        }
        "2 rotating filters" => {
            "its tables are less full, so inserts relocate less, and an epoch only allocates a table; it takes nearly twice the memory"
        }
        "8 rotating filters" => {
            "its tables are less full when they are new; an epoch only allocates a table, and sweeps nothing"
        }
        "64 × Mutex<HashMap>" => "an exact map relocates nothing, and takes many times the memory",
        _ => "not explained yet",
    }
}

/// Cases of a table whose first row is guira's.
fn of_table(table: &Table) -> impl Iterator<Item = Case> {
    table.rows[1..].iter().flat_map(move |(name, cells)| {
        let columns = cells.iter().zip(&table.rows[0].1).zip(&table.columns);
        columns.filter_map(move |((theirs, ours), column)| {
            let ratio = theirs.as_ref()?.median() / ours.as_ref()?.median();
            // From one load to another.
            let starts_with_load = column.starts_with(|first: char| first.is_ascii_digit());
            let is_part_of_a_fill = starts_with_load && column.contains('–');
            let column = if is_part_of_a_fill {
                format!("insert {column} %")
            } else {
                column.clone()
            };
            Some((name.clone(), format!("{}, {column}", table.title), ratio))
        })
    })
}

/// Cases of one thread, or of curves.
pub(super) fn of_tables<'a>(tables: impl IntoIterator<Item = &'a Table>) -> String {
    list(tables.into_iter().flat_map(of_table))
}

/// Cases of many threads.
pub(super) fn of_contests(contests: &[Contest]) -> String {
    list(contests.iter().flat_map(|contest| {
        let ours = &contest.rows[0].rates;
        contest.rows[1..].iter().flat_map(move |row| {
            let rates = row.rates.iter().zip(ours).zip(THREADS);
            rates.map(move |((theirs, ours), threads)| {
                let what = format!("{}, {threads} threads", contest.scenario.name);
                (row.name.to_owned(), what, theirs.median() / ours.median())
            })
        })
    }))
}

/// Cases of growth: for each rate guira, then the chains.
pub(super) fn of_growth(growth: &Growth) -> String {
    let chains = growth.sizes.iter().map(|size| &size.chains);
    list(chains.flat_map(|table| {
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
    }))
}

/// Those in which the contestant is ahead.
fn list(cases: impl Iterator<Item = Case>) -> String {
    let ahead = cases.filter(|&(.., ratio)| ratio >= 1.05);
    let mut ahead: Vec<(String, String)> = ahead
        .map(|(name, what, ratio)| (name, format!("{what}: {} times", digits(ratio))))
        .collect();
    ahead.sort_by(|a, b| a.0.cmp(&b.0));
    let mut text = String::new();
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
    if text.is_empty() {
        text.push_str("None.\n");
    }
    text
}
