//! Sweeps done wrong, for negative controls.

use crate::{
    fault::{self, Fault},
    step::Step,
    table::{Segment, Table, layout::Layout},
};

/// True if one of the faults of [`move_split_pointer`] is switched on.
pub(super) fn is_on() -> bool {
    matches!(fault::now(), Fault::HintEarly | Fault::SweepBlindly)
}

/// [`Table::move_split_pointer`] with the fault that is switched on. The own run ends at `end`.
pub(super) fn move_split_pointer<L: Layout>(
    table: &Table<L>,
    segment: &Segment,
    level: u32,
    to: usize,
    end: usize,
) {
    if fault::is(Fault::HintEarly) {
        table.move_split_pointer(segment, level, to);
        table.complete_level(level);
    } else {
        table.move_split_pointer(segment, level, end);
    }
}

/// Freezes the first word that was reached before the level has begun.
pub(super) fn freeze_first<L: Layout>(
    table: &Table<L>,
    reached: impl Iterator<Item = (u64, usize)>,
) {
    for (fingerprint, bucket) in reached.take(1) {
        let loaded = table.load_for_update(fingerprint, bucket);
        loaded.replace(Step::Freeze, loaded.word.frozen());
    }
}
