//! The module's section of `INFO`.

use crate::{
    commands,
    engine::{Section, panics},
    entry, offload,
};

/// The engine writes the module's name before each.
pub(crate) fn write(section: &Section) {
    let totals = entry::totals();
    section.number(c"filters", totals.entries);
    section.number(c"filters_bytes", totals.bytes);
    // The thread that crashed may hold their lock.
    if !section.is_crash_report() {
        let dumps = offload::dumps_under_way();
        section.number(c"dumps_under_way", dumps.count as u64);
        section.number(c"dumps_bytes_on_disk", dumps.bytes);
    }
    section.number(c"refused_on_replica", commands::refused_on_replica());
    section.number(c"panics", panics());
}
