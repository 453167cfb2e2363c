//! Levels begun wrong, for negative controls.

use crate::{
    step::Step,
    table::{Table, entry::Fingerprint, layout::Layout, word::Phases},
};

/// Freezes the first word that was reached before the level has begun.
pub(super) fn freeze_first<L: Layout>(
    table: &Table<L>,
    reached: impl Iterator<Item = (Fingerprint, usize)>,
) {
    for (fingerprint, bucket) in reached.take(1) {
        let loaded = table.load_for_update(fingerprint, bucket);
        loaded.replace(Step::Freeze, loaded.word().frozen());
    }
}
