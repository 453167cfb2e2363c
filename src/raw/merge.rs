//! merge: a scan of all copies, while threads use the filter, and how they get into another one.

use super::{
    Now, RawFilter,
    batch::GROUP,
    copies::Seen,
    frontier::{memory::ScanError, scan::Chunk},
};
use crate::{
    error::InsertError,
    table::{
        layout::{Layout, Word},
        time::{self, Moment, Time},
        word::Bucket,
    },
};
use arrayvec::ArrayVec;
use std::convert::Infallible;

/// Two groups of copies.
type Groups = ArrayVec<Seen, { 2 * GROUP }>;

impl<L: Layout> RawFilter<L> {
    /// Hands the copies of each chunk to `take` that were not older than E in the epoch in which the chunk
    /// was read, with their ages in it. Returns the moment at the end, which says what is live.
    ///
    /// Unlike a snapshot, the scan does not start again when the filter doubles. The last load of a
    /// chunk counts, over the planes that exist at that time (PROOF, section 10).
    pub(crate) fn scan_chunks(
        &self,
        take: &mut dyn FnMut(u64, &mut dyn Iterator<Item = Seen>),
    ) -> time::Now {
        let most = self.time.most();
        let Ok(()) = self.each_chunk(|Chunk { buckets, image, .. }| {
            let now = Now::<L>::of(image.epoch, most);
            let copies = self.table.copies_in(buckets, &image.words);
            let seen = copies.flat_map(|(class, entry)| {
                let copy = (class, now.age(entry));
                std::iter::repeat_n(copy, Word::<L>::copies_of(entry))
            });
            take(image.epoch, &mut seen.filter(|&(_, age)| age <= most));
            Ok::<_, Infallible>(())
        });
        self.moment().timed()
    }

    /// Hands each chunk to `take`.
    fn each_chunk<E: ScanError>(
        &self,
        mut take: impl FnMut(Chunk<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut scan = self.begin_scan(None)?;
        while let Some(chunk) = scan.next()? {
            take(chunk)?;
        }
        Ok(())
    }

    /// Hands each live copy to `take`, in groups of at most [`GROUP`], until that fails. Like a snapshot, it
    /// has all copies that are present during the whole call. A copy that was read in an earlier epoch may
    /// have died since, or been refreshed. Its age is then more than E, as that of each dead copy.
    ///
    /// A group goes to `ahead` before the group in front of it is taken, so that its words can be fetched
    /// into the cache during that. The first and the last groups do not.
    pub(crate) fn scan_copies<E: ScanError>(
        &self,
        ahead: &dyn Fn(&[Seen]),
        take: &mut dyn FnMut(&[Seen]) -> Result<(), E>,
    ) -> Result<(), E> {
        let most = self.time.most();
        let mut at_hand = Groups::new();
        self.each_chunk(|Chunk { buckets, image, .. }| {
            // Further epochs may begin while the copies of a chunk are inserted.
            let (then, now) = (Now::<L>::of(image.epoch, most), self.moment());
            // Processes that share the words may have written any number.
            let passed = now.number().saturating_sub(image.epoch);
            // Not a loop: this is several times as fast.
            let mut copies = self.table.copies_in(buckets, &image.words);
            copies.try_for_each(|(class, entry)| {
                let age = then.age(entry);
                if age > most {
                    return Ok(());
                }
                let age = age.saturating_add(passed);
                let age = if age <= now.oldest() { age } else { most + 1 };
                for _ in 0..Word::<L>::copies_of(entry) {
                    at_hand.push((class, age));
                    if at_hand.is_full() {
                        take_front(&mut at_hand, ahead, take)?;
                    }
                }
                Ok(())
            })
        })?;
        at_hand.chunks(GROUP).try_for_each(take)
    }

    /// Prefetches both words of each class.
    pub(crate) fn prefetch_copies(&self, copies: &[Seen]) {
        for (class, _) in copies {
            for bucket in [class.p, class.q] {
                self.table.prefetch(class.fingerprint, bucket);
            }
        }
    }

    /// Inserts the copies of another filter, except copies that are dead by the time of this one, and
    /// adds to `inserted` how many. For copies that need room it first prefetches the words at which a
    /// search looks, so that their cache misses overlap: at most [`GROUP`] copies.
    pub(crate) fn insert_copies(
        &self,
        copies: &[Seen],
        inserted: &mut usize,
    ) -> Result<(), InsertError> {
        let lookups = self.lookups();
        for &(class, _) in copies {
            self.prefetch_ways(&lookups, class);
        }
        self.time.go_by_number();
        let most = self.time.most();
        for &(class, age) in copies.iter().filter(|&&(_, age)| age <= most) {
            // The copy was seen in an epoch that may have lasted until `age - 1` epochs ago, and
            // the current epoch of this filter may be about to end. So with its full age the copy
            // could expire an epoch too early.
            self.insert_aged(class, age.saturating_sub(1))?;
            *inserted += 1;
        }
        Ok(())
    }
}

/// Hands the second group to `ahead`, and the first one to `take`. Not inlined, because the loop over all
/// copies should be.
#[inline(never)]
fn take_front<E>(
    at_hand: &mut Groups,
    ahead: &dyn Fn(&[Seen]),
    take: &mut dyn FnMut(&[Seen]) -> Result<(), E>,
) -> Result<(), E> {
    let (front, next) = at_hand.split_at(GROUP);
    ahead(next);
    take(front)?;
    at_hand.drain(..GROUP);
    Ok(())
}
