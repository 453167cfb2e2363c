//! The module's section of `INFO`.

use crate::{
    commands,
    engine::{Section, panics},
    entry, offload,
};

/// Writes the module's fields. The engine prefixes each name with the module's name.
pub(crate) fn write(section: &Section) {
    let totals = entry::totals();
    section.number(c"filters", totals.entries);
    section.number(c"filters_bytes", totals.bytes);
    // The thread that crashed may hold the lock of the windows.
    if !section.is_crash_report() {
        let dumps = offload::dumps_in_progress();
        section.number(c"dumps_in_progress", dumps.count as u64);
        section.number(c"dumps_bytes_on_disk", dumps.bytes);
    }
    section.number(c"refused_on_replica", commands::refused_on_replica());
    section.number(c"panics", panics());
}
