//! Scans: how a snapshot reads words, and how they are stored again.
//!
//! | promise | a chunk has each copy that is in it throughout, though its words are split |
//! |---|---|
//! | how | docs/design/growth.md, "Snapshots" |
//! | why | PROOF, section 10 |
//! | checked by | growth_snapshot, merge |
//! | break it | `cargo xtask break ScanByPlane` |

#[cfg(any(guira_loom, guira_faults, guira_shuttle))]
mod wrong;

use super::{
    Levels, Table,
    class::Class,
    entry::Entry,
    layout::{Layout, Word},
    word::{Base, Bits, Bucket, Hint, Phases},
};
use crate::{
    error::SnapshotError,
    fault::{self, faulty},
    memory::{Extra, Storage},
    step::Step,
    sync::{AtomicU64, Ordering},
};
use std::ops::{Range, RangeInclusive};

impl<L: Layout> Table<L> {
    /// A level that no word exceeds, unless growth continues.
    pub(crate) fn scan_level(&self) -> u32 {
        let level = self.level();
        level + u32::from(self.is_growing(level))
    }

    /// Loads the words of `buckets` in the planes of `level` into `image`, as a snapshot keeps them,
    /// plane by plane. The image is 0 where there is no word, or one that does not count. Returns
    /// false if there are further planes.
    ///
    /// The lower bucket of each pair is loaded first (PROOF, L8).
    pub(crate) fn read_chunk(&self, buckets: Range<usize>, level: u32, image: &mut [u64]) -> bool {
        let read = faulty!(Self::read_chunk_in_order, in Scan => wrong::read_chunk);
        read(self, buckets, level, image)
    }

    fn read_chunk_in_order(&self, buckets: Range<usize>, level: u32, image: &mut [u64]) -> bool {
        self.scan_by_plane(buckets.clone(), level, image, Word::<L>::image)
            && (self.is_at_one_level(image, buckets.len())
                || self.scan_by_bucket(buckets, level, image, Word::<L>::image))
    }

    /// A word is loaded after the word that it was split from. It does not count if the image of that
    /// word contains its items already.
    #[inline(always)]
    fn scan_by_plane(
        &self,
        buckets: Range<usize>,
        level: u32,
        image: &mut [u64],
        at_rest: impl Fn(u64) -> u64,
    ) -> bool {
        let width = buckets.len();
        for plane in 0..self.planes_at(level) {
            let (before, rest) = image.split_at_mut(plane * width);
            let words = self.plane(plane as u64);
            // Prefetches the next chunk of each plane, because hardware prefetchers do not follow
            // this many streams.
            words.prefetch(buckets.end.min(self.buckets() - 1));
            for (index, word) in words.row(buckets.clone()).iter().enumerate() {
                if plane != 0 && !self.descends(before, width, plane, index) {
                    rest[index] = 0;
                    continue;
                }
                // Acquire: pairs with the Release of every exchange, in particular with that of the
                // split that created the following planes.
                let order = fault::order(Step::Scan, Ordering::Acquire);
                let bits = at_rest(self.base().add_to(Bits(word.load(order))));
                if Word::<L>::unpack(bits).level() > level && !self.is_nonsense(bits) {
                    return false;
                }
                rest[index] = self.sane(plane, bits, level);
            }
        }
        true
    }

    /// True if no thread of this package can have made a word of this level: in a filter that processes
    /// share, its words are untrusted.
    #[inline(always)]
    fn is_nonsense(&self, bits: u64) -> bool {
        L::Storage::SHARED && Word::<L>::unpack(bits).level() > self.scan_level()
    }

    /// The image of a word in a scan of the planes of `level`: of nonsense, an empty word.
    #[inline(always)]
    fn sane(&self, plane: usize, bits: u64, level: u32) -> u64 {
        if !(L::Storage::SHARED && L::GROWS) {
            return bits;
        }
        let levels = levels_of_plane(self.first_level(), level, plane);
        let is_sane =
            levels.contains(&Word::<L>::unpack(bits).level()) && Word::<L>::is_image(bits);
        if is_sane {
            bits
        } else {
            Word::<L>::at_level(level).pack()
        }
    }

    /// If only some words are split, the lower bucket of a pair may be in the higher plane.
    #[cold]
    fn scan_by_bucket(
        &self,
        buckets: Range<usize>,
        level: u32,
        image: &mut [u64],
        at_rest: impl Fn(u64) -> u64,
    ) -> bool {
        let width = buckets.len();
        let mut of_bucket = vec![0; self.planes_at(level)];
        buckets.enumerate().all(|(index, bucket)| {
            let complete = self.scan_by_plane(bucket..bucket + 1, level, &mut of_bucket, &at_rest);
            for (plane, &word) in of_bucket.iter().enumerate() {
                image[plane * width + index] = word;
            }
            complete
        })
    }

    /// The copies in the image of `buckets` that [`read_chunk`](Self::read_chunk) has made.
    pub(crate) fn copies_in<'a>(
        &'a self,
        buckets: Range<usize>,
        image: &'a [u64],
    ) -> impl Iterator<Item = (Class, Entry)> + 'a {
        let planes = image.chunks(buckets.len()).enumerate();
        planes.flat_map(move |(plane, words)| {
            let one = self.one_of_plane(plane as u64);
            let words = buckets.clone().zip(words);
            words.flat_map(move |(bucket, &bits)| {
                let entries = Word::<L>::unpack(bits).residents(one);
                let is_of_item =
                    |entry: &Entry| !L::Storage::SHARED || L::is_of_item(L::fingerprint(*entry));
                entries.filter(is_of_item).map(move |entry| {
                    let class = Class::of_resident(L::fingerprint(entry), bucket, self.buckets());
                    (class, entry)
                })
            })
        })
    }

    /// A filter with room for the images of the planes of `level`. Its words are 0, in untouched
    /// memory; all of plane 0 must be stored.
    pub(crate) fn for_images(buckets: usize, levels: Levels, level: u32) -> Option<Self> {
        let table = Self::with_first(L::Storage::zeroed(buckets)?, levels)?;
        for level in levels.first..level {
            table.begin_level(level)?;
        }
        Some(table)
    }

    /// Stores the image of `buckets` that [`read_chunk`](Self::read_chunk) has made. An error is a word
    /// that no scan can produce.
    pub(crate) fn store_image(
        &self,
        buckets: Range<usize>,
        image: &[u64],
        restored: &mut Restored,
    ) -> Result<(), SnapshotError> {
        let width = buckets.len();
        for plane in 0..image.len() / width {
            let (before, rest) = image.split_at(plane * width);
            let words = self.plane(plane as u64).row(buckets.clone());
            for ((index, bucket), stored) in buckets.clone().enumerate().zip(words) {
                let bits = rest[index];
                if plane == 0 || self.descends(before, width, plane, index) {
                    restored.check::<Word<L>>(plane, bucket, bits)?;
                    // Relaxed: no other thread has the filter yet.
                    stored.store(self.base().subtract_from(bits).0, Ordering::Relaxed);
                } else if bits != 0 {
                    return Err(bad_word(plane, bucket, bits));
                }
            }
        }
        Ok(())
    }

    /// Replaces the words of `buckets` in all planes, which no other thread can access yet. A word
    /// that is not made is empty, and has to stay so.
    pub(crate) fn rewrite(
        &self,
        buckets: Range<usize>,
        mut replace: impl FnMut(Word<L>) -> Word<L>,
    ) {
        for stored in
            (0..self.planes()).flat_map(|plane| self.plane(plane as u64).row(buckets.clone()))
        {
            // Relaxed: no other thread has the filter yet.
            let word = self.decode(Bits(stored.load(Ordering::Relaxed)));
            let new = self.base().subtract_from(replace(word).pack());
            stored.store(new.0, Ordering::Relaxed);
        }
    }

    /// Sets the hint to the lowest level of all words, after all images are stored.
    pub(crate) fn set_level(&mut self, level: u32) {
        let hint = Hint::new(level, self.first_level());
        if let Some(growth) = self.growth.get_mut() {
            growth.hint = AtomicU64::new(hint.bits());
        }
    }

    /// True if all words of an image are at one level: both words of a pair are then in one plane.
    fn is_at_one_level(&self, image: &[u64], width: usize) -> bool {
        let one = Word::<L>::unpack(image[0]);
        let mut counting = image[..width * self.planes_at(one.level())].iter();
        counting.all(|&word| Word::<L>::unpack(word).is_in_phase(one))
    }

    /// True if the word at `index` of `plane` counts in addition to the images of earlier planes,
    /// because the word that it was split from no longer holds its part.
    fn descends(&self, before: &[u64], width: usize, plane: usize, index: usize) -> bool {
        let born = plane.ilog2();
        let parent = plane ^ 1 << born;
        let parent = Word::<L>::unpack(before[parent * width + index]);
        parent.level() > self.first_level() + born
    }
}

/// The levels that words of a plane can have in an image of the planes of `level`.
fn levels_of_plane(first: u32, level: u32, plane: usize) -> RangeInclusive<u32> {
    let born = first + plane.checked_ilog2().map_or(0, |bit| bit + 1);
    // A level begins only when all words have completed the one before it.
    born.max(level.saturating_sub(1))..=level
}

/// A summary of the words of an image.
pub(crate) struct Restored {
    first_level: u32,
    level: u32,
    /// The lowest level of the words.
    pub(crate) lowest: u32,
    /// The number of copies.
    pub(crate) items: u64,
    /// The number of copies beyond the first one of each slot.
    pub(crate) repeats: u64,
}

impl Restored {
    /// The summary of an image of the planes of `level`, before its first word.
    pub(crate) fn new(first_level: u32, level: u32) -> Self {
        Self {
            first_level,
            level,
            lowest: level,
            items: 0,
            repeats: 0,
        }
    }

    /// Counts the word, if a scan can produce it.
    #[inline(always)]
    fn check<W: Phases>(
        &mut self,
        plane: usize,
        bucket: usize,
        bits: u64,
    ) -> Result<(), SnapshotError> {
        let word = W::unpack(bits);
        let levels = levels_of_plane(self.first_level, self.level, plane);
        if !(levels.contains(&word.level()) && W::is_image(bits)) {
            return Err(bad_word(plane, bucket, bits));
        }
        self.lowest = self.lowest.min(word.level());
        let repeats = word.repeats();
        self.items += u64::from(word.occupied()) + repeats;
        self.repeats += repeats;
        Ok(())
    }
}

#[cold]
fn bad_word(plane: usize, bucket: usize, bits: u64) -> SnapshotError {
    SnapshotError::Word {
        bucket,
        plane,
        bits,
    }
}
