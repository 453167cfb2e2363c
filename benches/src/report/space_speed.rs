//! The section on what it costs to prefer space.

use super::markdown::cells;
use crate::{ops::Table, space_speed::SpaceSpeed};

pub(super) fn section(measured: &SpaceSpeed) -> String {
    format!(
        "## What it costs to prefer space\n\nSemi-sorted words (`Prefer::Space`) compared with packed ones, of one thread, in tables of the same memory.\n\
         A layout is the bits that a fingerprint is worth, and the slots of a word.\n\
         Inserts are from empty to 80 % of the capacity; lookups and removes begin at full capacity.\n\
         Semi-sorted words hold more items in that memory, or have fewer false positives: see Space.\n\
         Out of cache each table was filled once, and a part of the inserts was timed, spread evenly over the fill.\n\
         These are medians of the ratios of the rounds.\n\
         On the noisy machine, in-cache ratios changed by some hundredths from run to run.\n\n{}\n\
         Millions of operations per second, of the semi-sorted words:\n\n{}",
        cells(&all(measured, |size| &size.ratios)),
        cells(&all(measured, |size| &size.rates)),
    )
}

/// The rows of all sizes.
fn all(measured: &SpaceSpeed, of: fn(&crate::space_speed::Size) -> &Table) -> Table {
    let mut tables = measured.sizes.iter().map(of);
    let mut all = tables.next().cloned().expect("there are sizes");
    all.rows.extend(tables.flat_map(|table| table.rows.clone()));
    all
}
