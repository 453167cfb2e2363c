//! Lookups by the load, as Fan et al., *Cuckoo Filter*, CoNEXT 2014, §7 draw them.

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

/// guira, and the peers whose lookups take no lock and which are quick to fill.
const CONTESTANTS: [&str; 3] = ["guira", "atomic-cuckoo-filter", "fastbloom (atomic)"];

/// Rates of lookups in the third-level cache, and out of it: for each size hits, then misses.
#[must_use]
pub fn measure(effort: Effort) -> Vec<Table> {
    let sizes = [effort.log_medium, effort.log_large];
    sizes.map(|log_slots| of_size(effort, log_slots)).concat()
}

fn of_size(effort: Effort, log_slots: u32) -> [Table; 2] {
    let count = items(log_slots);
    let mut entries = peers::all::<u64>();
    entries.retain(|entry| CONTESTANTS.contains(&entry.name));
    let filters: Vec<Box<dyn Contestant<u64>>> = entries
        .iter()
        .map(|entry| (entry.make)(count as usize))
        .collect();
    let columns = LOADS.map(|load| format!("{load} %"));
    let columns = columns.each_ref().map(String::as_str);
    let mut tables = [("Hits", Asked::Hits), ("Misses", Asked::Misses)].map(|(what, asked)| {
        let title = format!("{what} by load, {} slots", size(log_slots));
        let mut table = Table::new(title, &columns);
        table.rows_for(entries.iter().map(|entry| entry.name.to_owned()));
        (table, asked)
    });
    let mut present = 0;
    for (column, load) in LOADS.into_iter().enumerate() {
        let next = count * load / LOADS[LOADS.len() - 1];
        for filter in &filters {
            filter.insert_all(present..next);
        }
        present = next;
        for (table, asked) in &mut tables {
            for round in 0..effort.rounds {
                for (row, filter) in filters.iter().enumerate() {
                    let walk = Walk::new(*asked, present, round as u64);
                    let steps = effort.steps;
                    table.push(row, column, rate(steps, || filter.lookup(walk, steps)));
                }
            }
        }
    }
    tables.map(|(table, _)| table)
}
