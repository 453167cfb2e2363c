//! Lookups of an iterator's items: a pipeline that never runs empty.

use crate::{
    filter::Filter,
    hash::{Hashable, SeededState},
    lifetime::{Forever, Lifetime},
    raw::{
        any::Ops,
        batch::{GROUP, InFlight},
    },
};
use arrayvec::ArrayVec;
use std::{
    fmt,
    hash::BuildHasher,
    iter::{Fuse, FusedIterator},
};

/// An iterator over whether each item of another iterator is present. Made by
/// [`Filter::contains_iter`].
pub struct ContainsIter<'a, I, S = SeededState, T: Lifetime = Forever> {
    filter: &'a T::Raw,
    hasher: &'a S,
    items: Fuse<I>,
    /// The classes to look up next. Their words are being fetched into the cache.
    ahead: InFlight,
    /// The results at hand, the next one in the lowest bit.
    answers: u32,
    /// The number of results at hand.
    ready: usize,
}

impl<I: Iterator<Item: Hashable>, S: BuildHasher, T: Lifetime> ContainsIter<'_, I, S, T> {
    /// Gets the results for the classes that are ahead. At the end there are none.
    fn look_up_row(&mut self) {
        if self.ahead.is_empty() {
            let hashes = self.next_hashes();
            self.ahead = self.filter.first_in_flight(&hashes);
        }
        let hashes = self.next_hashes();
        self.ready = self.ahead.len();
        self.answers = self.filter.contains_in_flight(&mut self.ahead, &hashes);
    }

    fn next_hashes(&mut self) -> ArrayVec<u64, GROUP> {
        let items = self.items.by_ref().take(GROUP);
        items.map(|item| item.hash_by(self.hasher).0).collect()
    }
}

impl<I: Iterator<Item: Hashable>, S: BuildHasher, T: Lifetime> Iterator
    for ContainsIter<'_, I, S, T>
{
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

    /// Keeps the results of a row in a register.
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
        let (least, most) = self.items.size_hint();
        let most = most.and_then(|most| most.checked_add(taken));
        (least.saturating_add(taken), most)
    }
}

impl<I: Iterator<Item: Hashable>, S: BuildHasher, T: Lifetime> FusedIterator
    for ContainsIter<'_, I, S, T>
{
}

impl<I, S, T: Lifetime> fmt::Debug for ContainsIter<'_, I, S, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ContainsIter").finish_non_exhaustive()
    }
}

impl<S: BuildHasher, T: Lifetime> Filter<S, T> {
    /// Whether each of `items` is present, in order, as [`contains`](Self::contains).
    ///
    /// This is the fastest way to look up a long sequence: it fetches the words of later items while
    /// it looks up earlier ones. Unlike [`contains_batch`](Self::contains_batch), it keeps its
    /// prefetch pipeline full from one batch to the next.
    ///
    /// The iterator takes items up to 64 ahead of its results. Each result was right at a moment
    /// after its item was taken and before the result is returned. An item that your loop inserts
    /// may therefore be missing from the next 63 results: to find repeated items, use
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
    /// // To get the items as well, iterate twice.
    /// let names = ["ani", "koel"];
    /// filter.insert("koel")?;
    /// let known = names.iter().zip(filter.contains_iter(names));
    /// assert!(known.eq([(&"ani", false), (&"koel", true)]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn contains_iter<Q, I>(&self, items: I) -> ContainsIter<'_, I::IntoIter, S, T>
    where
        Q: Hashable,
        I: IntoIterator<Item = Q>,
    {
        ContainsIter {
            filter: &self.raw,
            hasher: &self.hasher,
            items: items.into_iter().fuse(),
            ahead: InFlight::new(),
            answers: 0,
            ready: 0,
        }
    }
}
