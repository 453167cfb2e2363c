//! Scans done wrong, for negative controls.

use crate::{
    fault::{self, Fault},
    table::{
        Table,
        layout::{Layout, Word},
        word::{Bucket, Mark},
    },
};
use std::ops::Range;

/// [`Table::read_chunk`] with the fault that is switched on.
pub(super) fn read_chunk<L: Layout>(
    table: &Table<L>,
    buckets: Range<usize>,
    level: u32,
    image: &mut [u64],
) -> bool {
    let image_of = if fault::is(Fault::ScanNoShadows) {
        without_shadow::<Word<L>>
    } else {
        Word::<L>::image
    };
    if fault::is(Fault::ScanByPlane) {
        return table.scan_by_plane(buckets, level, image, image_of);
    }
    table.scan_by_plane(buckets.clone(), level, image, image_of)
        && (table.is_at_one_level(image, buckets.len())
            || table.scan_by_bucket(buckets, level, image, image_of))
}

/// [`Bucket::image`] that takes an outline or a shadow for nothing.
fn without_shadow<W: Bucket>(bits: u64) -> u64 {
    let word = W::unpack(bits);
    match word.mark() {
        Some(Mark::Outline | Mark::Shadow) => word.without_reservation().without_marked().pack(),
        _ => W::image(bits),
    }
}
