//! Lookups of an iterator's items: a pipeline that never runs empty.

use crate::{
    filter::Filter,
    hash::{SeededState, hash_of},
    lifetime::{Forever, Lifetime},
    raw::{
        batch::{GROUP, InFlight},
        ops::Ops,
    },
};
use arrayvec::ArrayVec;
use std::{
    fmt,
    hash::{BuildHasher, Hash},
    iter::{Fuse, FusedIterator},
};

/// An iterator over whether each item of another iterator is present. Made by
/// [`Filter::contains_iter`].
pub struct ContainsIter<'a, I, S = SeededState, T: Lifetime = Forever>(
    ContainsHashIter<'a, Hashes<'a, I, S>, T>,
);

/// An iterator over whether each hash of another iterator is present. Made by
/// [`Filter::contains_hash_iter`].
pub struct ContainsHashIter<'a, H, T: Lifetime = Forever> {
    filter: &'a T::Raw,
    hashes: Fuse<H>,
    /// The classes to look up next. Their words are being fetched into the cache.
    ahead: InFlight,
    /// The results at hand, the next one in the lowest bit.
    answers: u32,
    /// The number of results at hand.
    ready: usize,
}

impl<'a, H: Iterator<Item = u64>, T: Lifetime> ContainsHashIter<'a, H, T> {
    fn new(filter: &'a T::Raw, hashes: H) -> Self {
        Self {
            filter,
            hashes: hashes.fuse(),
            ahead: InFlight::new(),
            answers: 0,
            ready: 0,
        }
    }

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
        self.hashes.by_ref().take(GROUP).collect()
    }
}

impl<H: Iterator<Item = u64>, T: Lifetime> Iterator for ContainsHashIter<'_, H, T> {
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
        let (least, most) = self.hashes.size_hint();
        let most = most.and_then(|most| most.checked_add(taken));
        (least.saturating_add(taken), most)
    }
}

impl<H: Iterator<Item = u64>, T: Lifetime> FusedIterator for ContainsHashIter<'_, H, T> {}

impl<H, T: Lifetime> fmt::Debug for ContainsHashIter<'_, H, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ContainsHashIter").finish_non_exhaustive()
    }
}

impl<I: Iterator<Item: Hash>, S: BuildHasher, T: Lifetime> Iterator for ContainsIter<'_, I, S, T> {
    type Item = bool;

    #[inline]
    fn next(&mut self) -> Option<bool> {
        self.0.next()
    }

    fn fold<B, F: FnMut(B, bool) -> B>(self, init: B, f: F) -> B {
        self.0.fold(init, f)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl<I: Iterator<Item: Hash>, S: BuildHasher, T: Lifetime> FusedIterator
    for ContainsIter<'_, I, S, T>
{
}

impl<I, S, T: Lifetime> fmt::Debug for ContainsIter<'_, I, S, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ContainsIter").finish_non_exhaustive()
    }
}

/// The hashes of an iterator's items.
struct Hashes<'a, I, S> {
    items: I,
    hasher: &'a S,
}

impl<I: Iterator<Item: Hash>, S: BuildHasher> Iterator for Hashes<'_, I, S> {
    type Item = u64;

    #[inline]
    fn next(&mut self) -> Option<u64> {
        Some(hash_of(self.hasher, &self.items.next()?))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.items.size_hint()
    }
}

impl<S, T: Lifetime> Filter<S, T> {
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
        Q: Hash,
        I: IntoIterator<Item = Q>,
        S: BuildHasher,
    {
        let hashes = Hashes {
            items: items.into_iter(),
            hasher: &self.hasher,
        };
        ContainsIter(self.contains_hash_iter(hashes))
    }

    /// [`contains_iter`](Self::contains_iter) by hash. All 64 bits of a hash must be as good as
    /// random.
    ///
    /// ```
    /// use guira::CuckooFilter;
    ///
    /// let filter = CuckooFilter::with_capacity(100);
    /// filter.insert("ani")?;
    /// let hashes = ["ani", "koel"].map(|name| filter.hash_of(name));
    /// assert!(filter.contains_hash_iter(hashes).eq([true, false]));
    /// # Ok::<(), guira::InsertError>(())
    /// ```
    pub fn contains_hash_iter<H>(&self, hashes: H) -> ContainsHashIter<'_, H::IntoIter, T>
    where
        H: IntoIterator<Item = u64>,
    {
        ContainsHashIter::new(&self.raw, hashes.into_iter())
    }
}
