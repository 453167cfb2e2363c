//! Lookups of an iterator's items: a pipeline that never runs empty.

use crate::{
    expiring::{AnyExpiring, ExpiringFilter},
    filter::CuckooFilter,
    hash::{SeededState, hash_of},
    raw::{
        any::{AnyFilter, with_operations},
        batch::{GROUP, InFlight},
    },
};
use arrayvec::ArrayVec;
use std::{
    fmt,
    hash::{BuildHasher, Hash},
    iter::{Fuse, FusedIterator},
};

/// An iterator over whether each item of another iterator is present. Made by
/// [`CuckooFilter::contains_iter`] and [`ExpiringFilter::contains_iter`].
pub struct ContainsIter<'a, I, S = SeededState>(ContainsHashIter<'a, Hashes<'a, I, S>>);

/// An iterator over whether each hash of another iterator is present. Made by
/// [`CuckooFilter::contains_hash_iter`] and [`ExpiringFilter::contains_hash_iter`].
pub struct ContainsHashIter<'a, H> {
    filter: Any<'a>,
    hashes: Fuse<H>,
    /// The classes to look up next. Their words are being fetched into the cache.
    ahead: InFlight,
    /// The results at hand, the next one in the lowest bit.
    answers: u32,
    /// The number of results at hand.
    ready: usize,
}

/// A filter of either kind.
enum Any<'a> {
    Plain(&'a AnyFilter),
    Expiring(&'a AnyExpiring),
}

impl Any<'_> {
    fn first_in_flight(&self, hashes: &[u64]) -> InFlight {
        match self {
            Self::Plain(any) => with_operations!(*any, raw => raw.first_in_flight(hashes)),
            Self::Expiring(any) => any.first_in_flight(hashes),
        }
    }

    fn contains_in_flight(&self, row: &mut InFlight, hashes: &[u64]) -> u32 {
        match self {
            Self::Plain(any) => with_operations!(*any, raw => raw.contains_in_flight(row, hashes)),
            Self::Expiring(any) => any.contains_in_flight(row, hashes),
        }
    }
}

impl<'a, H: Iterator<Item = u64>> ContainsHashIter<'a, H> {
    fn new(filter: Any<'a>, hashes: H) -> Self {
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

impl<H: Iterator<Item = u64>> Iterator for ContainsHashIter<'_, H> {
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

impl<H: Iterator<Item = u64>> FusedIterator for ContainsHashIter<'_, H> {}

impl<H> fmt::Debug for ContainsHashIter<'_, H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ContainsHashIter").finish_non_exhaustive()
    }
}

impl<I: Iterator<Item: Hash>, S: BuildHasher> Iterator for ContainsIter<'_, I, S> {
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

impl<I: Iterator<Item: Hash>, S: BuildHasher> FusedIterator for ContainsIter<'_, I, S> {}

impl<I, S> fmt::Debug for ContainsIter<'_, I, S> {
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

impl<S> CuckooFilter<S> {
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
    pub fn contains_hash_iter<H>(&self, hashes: H) -> ContainsHashIter<'_, H::IntoIter>
    where
        H: IntoIterator<Item = u64>,
    {
        ContainsHashIter::new(Any::Plain(&self.raw), hashes.into_iter())
    }

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
    pub fn contains_iter<T, I>(&self, items: I) -> ContainsIter<'_, I::IntoIter, S>
    where
        T: Hash,
        I: IntoIterator<Item = T>,
        S: BuildHasher,
    {
        let hashes = Hashes {
            items: items.into_iter(),
            hasher: &self.hasher,
        };
        ContainsIter(self.contains_hash_iter(hashes))
    }
}

impl<S> ExpiringFilter<S> {
    /// [`contains_iter`](Self::contains_iter) by hash. All 64 bits of a hash must be as good as
    /// random.
    pub fn contains_hash_iter<H>(&self, hashes: H) -> ContainsHashIter<'_, H::IntoIter>
    where
        H: IntoIterator<Item = u64>,
    {
        ContainsHashIter::new(Any::Expiring(self.raw()), hashes.into_iter())
    }

    /// Whether each of `items` is present, in order, as [`contains`](Self::contains): the fastest way
    /// to look up a long sequence. See
    /// [`CuckooFilter::contains_iter`](crate::CuckooFilter::contains_iter).
    ///
    /// ```
    /// use guira::ExpiringFilter;
    /// use std::time::Duration;
    ///
    /// let filter = ExpiringFilter::builder(Duration::from_secs(60)).build()?;
    /// filter.insert_batch(&[2, 3, 5, 7])?;
    /// let found = filter.contains_iter(0..10).filter(|&found| found).count();
    /// assert_eq!(found, 4);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn contains_iter<T, I>(&self, items: I) -> ContainsIter<'_, I::IntoIter, S>
    where
        T: Hash,
        I: IntoIterator<Item = T>,
        S: BuildHasher,
    {
        let hashes = Hashes {
            items: items.into_iter(),
            hasher: self.hasher(),
        };
        ContainsIter(self.contains_hash_iter(hashes))
    }
}
