//! Lookups of an iterator's items: a pipeline that does not run empty.

use crate::{
    filter::CuckooFilter,
    raw::{
        any::with_layout,
        batch::{GROUP, InFlight},
    },
};
use arrayvec::ArrayVec;
use std::{
    hash::{BuildHasher, Hash},
    iter::{Fuse, FusedIterator},
};

/// The answers for a row of hashes, in their order.
struct Answers<'a, S, H> {
    filter: &'a CuckooFilter<S>,
    hashes: Fuse<H>,
    /// The classes to look at next. Their words are on the way into the cache.
    ahead: InFlight,
    /// The answers that are there already, the next one in the lowest bit.
    answers: u32,
    /// How many these are.
    ready: usize,
}

impl<S, H: Iterator<Item = u64>> Answers<'_, S, H> {
    /// The answers for the classes that are ahead, or nothing at the end.
    fn look_up_row(&mut self) {
        if self.ahead.is_empty() {
            let hashes = self.next_hashes();
            self.ahead = with_layout!(&self.filter.raw, raw => raw.first_in_flight(&hashes));
        }
        let hashes = self.next_hashes();
        self.ready = self.ahead.len();
        let ahead = &mut self.ahead;
        self.answers =
            with_layout!(&self.filter.raw, raw => raw.contains_in_flight(ahead, &hashes));
    }

    fn next_hashes(&mut self) -> ArrayVec<u64, GROUP> {
        self.hashes.by_ref().take(GROUP).collect()
    }
}

impl<S, H: Iterator<Item = u64>> Iterator for Answers<'_, S, H> {
    type Item = bool;

    #[inline]
    fn next(&mut self) -> Option<bool> {
        if self.ready == 0 {
            self.look_up_row();
        }
        self.ready = self.ready.checked_sub(1)?;
        let answer = self.answers & 1 == 1;
        self.answers >>= 1;
        Some(answer)
    }

    /// The answers of a row stay in a register.
    fn fold<B, F: FnMut(B, bool) -> B>(mut self, init: B, mut f: F) -> B {
        let mut folded = init;
        loop {
            for place in 0..self.ready {
                folded = f(folded, self.answers >> place & 1 == 1);
            }
            self.look_up_row();
            if self.ready == 0 {
                return folded;
            }
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let taken = self.ready + self.ahead.len();
        let (least, most) = self.hashes.size_hint();
        let most = most.and_then(|most| most.checked_add(taken));
        (least.saturating_add(taken), most)
    }
}

impl<S, H: Iterator<Item = u64>> FusedIterator for Answers<'_, S, H> {}

impl<S> CuckooFilter<S> {
    /// [`contains_iter`](Self::contains_iter) by hash: for callers who have hashes already.
    /// All 64 bits of a hash must be as good as random.
    ///
    /// ```
    /// use guira::CuckooFilter;
    /// use std::hash::BuildHasher;
    ///
    /// let filter = CuckooFilter::with_capacity(100);
    /// filter.insert("ani")?;
    /// let hashes = ["ani", "koel"].map(|name| filter.hasher().hash_one(name));
    /// assert!(filter.contains_hash_iter(hashes).eq([true, false]));
    /// # Ok::<(), guira::InsertError>(())
    /// ```
    pub fn contains_hash_iter<H>(&self, hashes: H) -> impl FusedIterator<Item = bool>
    where
        H: IntoIterator<Item = u64>,
    {
        Answers {
            filter: self,
            hashes: hashes.into_iter().fuse(),
            ahead: InFlight::new(),
            answers: 0,
            ready: 0,
        }
    }
}

impl<S: BuildHasher> CuckooFilter<S> {
    /// Whether each of `items` is present, in their order, as [`contains`](Self::contains) says.
    ///
    /// The fastest form for a long row of items: it fetches the words of later items while it
    /// looks at those of earlier ones, and unlike
    /// [`contains_batch`](Self::contains_batch) does not begin anew with each batch.
    ///
    /// The iterator is up to 64 items ahead of its answers.
    /// Each answer was right at a moment after its item was taken and before the answer is handed
    /// out. So what your loop inserts may be missing from the next 63 answers.
    /// So this is not the way to find repeated items: see
    /// [`insert_unique_batch`](Self::insert_unique_batch).
    ///
    /// ```
    /// use guira::CuckooFilter;
    ///
    /// let filter = CuckooFilter::with_capacity(1_000);
    /// filter.insert_batch(&[2, 3, 5, 7])?;
    /// let found = filter.contains_iter(0..10).filter(|&found| found).count();
    /// assert_eq!(found, 4);
    ///
    /// // With the items themselves: iterate twice.
    /// let names = ["ani", "koel"];
    /// filter.insert("koel")?;
    /// let known = names.iter().zip(filter.contains_iter(names));
    /// assert!(known.eq([(&"ani", false), (&"koel", true)]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn contains_iter<T, I>(&self, items: I) -> impl FusedIterator<Item = bool>
    where
        T: Hash,
        I: IntoIterator<Item = T>,
    {
        let items = items.into_iter();
        self.contains_hash_iter(items.map(|item| self.hasher.hash_one(item)))
    }
}
