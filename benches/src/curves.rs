//! Lookups by the load and by the share of hits, as Fan et al., *Cuckoo Filter*,
//! CoNEXT 2014, §7 draw them.

use crate::{
    effort::Effort,
    keys::{Asked, Walk},
    lanes::Contestant,
    measure::{items, rate, size},
    ops::Table,
    peers,
};

/// The loads, in percent of the slots: the last one is that of [`items`].
pub const LOADS: [u64; 6] = [10, 25, 50, 75, 90, 95];

/// The shares of hits, in quarters.
const SHARES: [u64; 5] = [0, 1, 2, 3, 4];

/// guira, and the peers whose lookups take no lock and which are quick to fill.
const CONTESTANTS: [&str; 3] = ["guira", "atomic-cuckoo-filter", "fastbloom (atomic)"];

/// Rates of lookups: in the third-level cache, and out of it.
#[derive(Clone, Debug, Default)]
pub struct Curves {
    /// By load: for each size hits, then misses.
    pub by_load: Vec<Table>,
    /// By the share of hits, at full capacity.
    pub by_share: Vec<Table>,
}

/// Measures all of it.
#[must_use]
pub fn measure(effort: Effort) -> Curves {
    let mut curves = Curves::default();
    for log_slots in [effort.log_medium, effort.log_large] {
        of_size(effort, log_slots, &mut curves);
    }
    curves
}

fn of_size(effort: Effort, log_slots: u32, curves: &mut Curves) {
    let count = items(log_slots);
    let mut entries = peers::all::<u64>();
    entries.retain(|entry| CONTESTANTS.contains(&entry.name));
    let filters: Vec<Box<dyn Contestant<u64>>> = entries
        .iter()
        .map(|entry| (entry.make)(count as usize))
        .collect();
    let table = |what: &str, percents: &[u64]| {
        let columns: Vec<String> = percents.iter().map(|share| format!("{share} %")).collect();
        let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
        let mut table = Table::new(format!("{what}, {} slots", size(log_slots)), &columns);
        table.rows_for(entries.iter().map(|entry| entry.name.to_owned()));
        table
    };
    let look = |table: &mut Table, column, asked, present| {
        for round in 0..effort.rounds {
            for (row, filter) in filters.iter().enumerate() {
                let walk = Walk::new(asked, present, round as u64);
                let steps = effort.steps;
                table.push(row, column, rate(steps, || filter.lookup(walk, steps)));
            }
        }
    };
    let mut hits = table("Hits by load", &LOADS);
    let mut misses = table("Misses by load", &LOADS);
    let mut present = 0;
    for (column, load) in LOADS.into_iter().enumerate() {
        let next = count * load / LOADS[LOADS.len() - 1];
        for filter in &filters {
            filter.insert_all(present..next);
        }
        present = next;
        look(&mut hits, column, Asked::Hits, present);
        look(&mut misses, column, Asked::Misses, present);
    }
    curves.by_load.extend([hits, misses]);
    let mut mixed = table("By the share of hits", &SHARES.map(|share| 25 * share));
    for (column, share) in SHARES.into_iter().enumerate() {
        look(&mut mixed, column, Asked::Quarters(share), present);
    }
    curves.by_share.push(mixed);
}
