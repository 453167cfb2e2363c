//! Batches as a pipeline: the words of an item are prefetched some items before it is looked up, so
//! that cache misses overlap. Then each item is processed like a single one.

use super::{RawFilter, len::Len, lookup::Lookups};
use crate::{
    error::{BatchError, InsertError},
    memory::{Kind, Storage},
    table::{
        class::{Class, alternate},
        counted::Counted,
        entry::Fingerprint,
        layout::{Layout, Word},
        word::Bucket,
    },
};
use arrayvec::ArrayVec;
use std::convert::Infallible;

/// Items by which a prefetch is ahead: more than the line-fill buffers of
/// a core (10 to 24 on those at hand), few enough to stay in its first cache.
pub(crate) const GROUP: usize = 32;

/// Items by which an insert's second prefetch is ahead.
const HALF: usize = GROUP / 2;

const _: () = assert!(GROUP <= u32::BITS as usize, "an answer is a bit");

/// Classes whose words are being fetched into the cache.
pub(crate) type InFlight = ArrayVec<Class, GROUP>;

/// What a batch does with the class of each item.
trait Each<R, E> {
    /// Stores the result for a class.
    fn each(&mut self, class: Class, result: &mut R) -> Result<(), E>;
}

impl<R, E, F: FnMut(Class, &mut R) -> Result<(), E>> Each<R, E> for F {
    #[inline(always)]
    fn each(&mut self, class: Class, result: &mut R) -> Result<(), E> {
        self(class, result)
    }
}

/// Looks it up. Unlike a closure, this is inlined at each of its two places in the pipeline.
struct Contains<'a, 'b, L: Layout>(&'a Lookups<'b, L>);

impl<L: Layout> Each<bool, Infallible> for Contains<'_, '_, L> {
    #[inline(always)]
    fn each(&mut self, class: Class, result: &mut bool) -> Result<(), Infallible> {
        *result = self.0.contains(class);
        Ok(())
    }
}

impl<L: Layout> Lookups<'_, L> {
    /// The class of a hash, whose words are on the way into the cache from now on.
    #[inline(always)]
    fn prefetched(&self, hash: u64) -> Class {
        let class = self.view.class(hash);
        self.view.prefetch(class);
        class
    }

    /// Hands the class of each item to `of`, together with the place of its result, [`GROUP`]
    /// items after its words were prefetched, and halfway there to `halfway`. An error ends it.
    #[inline(always)]
    fn in_pipeline<T, R, E>(
        &self,
        items: &[T],
        hash: impl Fn(&T) -> u64,
        results: &mut [R],
        halfway: impl Fn(Class),
        mut of: impl Each<R, E>,
    ) -> Result<(), E> {
        assert_eq!(items.len(), results.len(), "a result for each item");
        let (first, rest) = items.split_at(items.len().min(GROUP));
        let (results, last) = results.split_at_mut(rest.len());
        let mut ring = [Class::NONE; GROUP];
        for (place, item) in ring.iter_mut().zip(first) {
            *place = self.prefetched(hash(item));
        }
        for &class in ring[..HALF].iter().take(first.len()) {
            halfway(class);
        }
        for (items, results) in rest.chunks(GROUP).zip(results.chunks_mut(GROUP)) {
            for (place, (item, result)) in items.iter().zip(results).enumerate() {
                // Modulo, so that no bounds are checked.
                let class = ring[place % GROUP];
                ring[place % GROUP] = self.prefetched(hash(item));
                halfway(ring[(place + HALF) % GROUP]);
                of.each(class, result)?;
            }
        }
        // The last ones, from the next place of the ring on.
        let (start, len) = (rest.len(), last.len());
        for (place, result) in last.iter_mut().enumerate() {
            if place + HALF < len {
                halfway(ring[(start + place + HALF) % GROUP]);
            }
            of.each(ring[(start + place) % GROUP], result)?;
        }
        Ok(())
    }

    /// [`in_pipeline`](Self::in_pipeline) for what cannot fail, and makes no room.
    #[inline(always)]
    fn for_each<T>(
        &self,
        items: &[T],
        hash: impl Fn(&T) -> u64,
        results: &mut [bool],
        answer: impl Each<bool, Infallible>,
    ) {
        let Ok(()) = self.in_pipeline(items, hash, results, |_| (), answer);
    }
}

impl<L: Layout> RawFilter<L> {
    /// Stores for each of `items` whether its class is present.
    #[inline(always)]
    pub(crate) fn contains_all<T>(
        &self,
        items: &[T],
        hash: impl Fn(&T) -> u64,
        results: &mut [bool],
    ) {
        let lookups = self.lookups();
        lookups.for_each(items, hash, results, Contains(&lookups));
    }

    /// Whether each class of `in_flight` is present, the first one in the lowest bit. There are at
    /// most as many `hashes` as classes: their classes replace `in_flight`, and their words are
    /// fetched into the cache.
    #[inline(always)]
    pub(crate) fn contains_in_flight(&self, in_flight: &mut InFlight, hashes: &[u64]) -> u32 {
        let lookups = self.lookups();
        let answer = |place: usize, class| u32::from(lookups.contains(class)) << place;
        let mut answers = 0;
        for (place, (class, &hash)) in in_flight.iter_mut().zip(hashes).enumerate() {
            let next = lookups.prefetched(hash);
            answers |= answer(place, std::mem::replace(class, next));
        }
        for (place, &class) in in_flight.iter().enumerate().skip(hashes.len()) {
            answers |= answer(place, class);
        }
        in_flight.truncate(hashes.len());
        answers
    }

    /// The classes of `hashes`, with their words on the way into the cache.
    pub(crate) fn first_in_flight(&self, hashes: &[u64]) -> InFlight {
        let lookups = self.lookups();
        hashes
            .iter()
            .map(|&hash| lookups.prefetched(hash))
            .collect()
    }

    /// Inserts the classes of `items` up to the first one that fails; an error comes with its
    /// number.
    #[inline(always)]
    pub(crate) fn insert_all<T>(
        &self,
        items: &[T],
        hash: impl Fn(&T) -> u64,
        answers: &mut [()],
    ) -> Result<(), BatchError> {
        let mut tally = Tally::of(self);
        self.insert_each(items, hash, answers, |class, ()| {
            tally.count_inserted(self.insert_uncounted(class)?);
            Ok(())
        })
    }

    /// Passes the class of each of `items` to `insert`, up to the first one that fails, and stores
    /// the answers: [`insert_unique`](Self::insert_unique) or another operation that inserts.
    #[inline(always)]
    fn insert_all_with<T>(
        &self,
        items: &[T],
        hash: impl Fn(&T) -> u64,
        answers: &mut [bool],
        insert: impl Fn(&Self, Class) -> Result<bool, InsertError>,
    ) -> Result<(), BatchError> {
        self.insert_each(items, hash, answers, |class, answer| {
            *answer = insert(self, class)?;
            Ok(())
        })
    }

    /// [`insert_all_with`](Self::insert_all_with) for [`insert_unique`](Self::insert_unique).
    #[inline(always)]
    pub(crate) fn insert_all_unique<T>(
        &self,
        items: &[T],
        hash: impl Fn(&T) -> u64,
        answers: &mut [bool],
    ) -> Result<(), BatchError> {
        self.insert_all_with(items, hash, answers, Self::insert_unique)
    }

    #[inline(always)]
    pub(crate) fn insert_or_refresh_all<T>(
        &self,
        items: &[T],
        hash: impl Fn(&T) -> u64,
        answers: &mut [bool],
    ) -> Result<(), BatchError> {
        self.insert_all_with(items, hash, answers, Self::insert_or_refresh)
    }

    #[inline(always)]
    pub(crate) fn refresh_all<T>(
        &self,
        items: &[T],
        hash: impl Fn(&T) -> u64,
        answers: &mut [bool],
    ) -> Result<(), BatchError> {
        self.insert_all_with(items, hash, answers, Self::refresh)
    }

    /// Passes each class to `insert`, up to the first one that fails. For a class that needs room
    /// it prefetches the words at which a search looks first.
    #[inline(always)]
    fn insert_each<T, R>(
        &self,
        items: &[T],
        hash: impl Fn(&T) -> u64,
        results: &mut [R],
        mut insert: impl FnMut(Class, &mut R) -> Result<(), InsertError>,
    ) -> Result<(), BatchError> {
        let lookups = self.lookups();
        let halfway = |class| self.prefetch_ways(&lookups, class);
        let mut index = 0;
        let insert = |class, result: &mut R| {
            insert(class, result).map_err(|error| BatchError { index, error })?;
            index += 1;
            Ok(())
        };
        lookups.in_pipeline(items, hash, results, halfway, insert)
    }

    /// Removes a copy of the class of each of `items`, and stores whether there was one.
    #[inline(always)]
    pub(crate) fn remove_all<T>(
        &self,
        items: &[T],
        hash: impl Fn(&T) -> u64,
        results: &mut [bool],
    ) {
        let mut tally = Tally::of(self);
        let remove = |class, removed: &mut bool| {
            let copy = self.remove_uncounted(class);
            *removed = copy.is_some();
            tally.count_removed(copy);
            Ok(())
        };
        self.lookups().for_each(items, hash, results, remove);
    }

    /// Prefetches the words that a search for a path will look at first, if `class` needs one.
    #[inline(always)]
    pub(super) fn prefetch_ways(&self, lookups: &Lookups<'_, L>, class: Class) {
        let (p, q, hint) = lookups.view.load_pair_at_hint(class);
        let [p, q] = [p, q].map(|bits| Word::<L>::decode(bits, hint).without_reservation());
        if !p.has_vacancy() && !q.has_vacancy() {
            self.prefetch_alternates(class.fingerprint, class.p, p);
            self.prefetch_alternates(class.fingerprint, class.q, q);
        }
    }

    /// Brings the alternates of the residents of a bucket into the cache: of the word to which
    /// the fingerprint `one` belongs.
    #[cold]
    fn prefetch_alternates(&self, one: Fingerprint, bucket: usize, word: Word<L>) {
        for fingerprint in word.residents(one).map(L::fingerprint) {
            let to = alternate(fingerprint, bucket, self.table.buckets());
            self.table.prefetch(fingerprint, to);
        }
    }
}

/// What a batch has inserted or removed and not counted yet: one update for all of it, also
/// if the caller's code panics in its middle.
///
/// A filter that can grow counts each item at once: by the count it tells whether to grow.
struct Tally<'a, P: Storage, K: Kind, C: Counted> {
    len: &'a Len<P, K, C>,
    at_once: bool,
    /// The change of the count, modulo 2^64.
    more: u64,
}

impl<'a, P: Storage, K: Kind, C: Counted> Tally<'a, P, K, C> {
    fn of<L: Layout<Storage = P, Kind = K, Counted = C>>(raw: &'a RawFilter<L>) -> Self {
        Self {
            len: &raw.len,
            at_once: L::GROWS,
            more: 0,
        }
    }

    #[inline(always)]
    fn count_inserted(&mut self, copy: C) {
        if copy.is_repeat() {
            self.len.add_repeats(1);
            return;
        }
        self.more = self.more.wrapping_add(1);
        self.flush_if_at_once();
    }

    #[inline(always)]
    fn count_removed(&mut self, removed: Option<C>) {
        if removed.is_some_and(Counted::is_repeat) {
            self.len.subtract_repeats(1);
            return;
        }
        self.more = self.more.wrapping_sub(removed.is_some().into());
        if removed.is_some() {
            self.flush_if_at_once();
        }
    }

    #[inline(always)]
    fn flush_if_at_once(&mut self) {
        if self.at_once {
            self.len.add(std::mem::take(&mut self.more));
        }
    }
}

impl<P: Storage, K: Kind, C: Counted> Drop for Tally<'_, P, K, C> {
    fn drop(&mut self) {
        if self.more != 0 {
            self.len.add(self.more);
        }
    }
}
