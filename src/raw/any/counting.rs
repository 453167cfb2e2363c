//! Filters with counters, in whichever layout they have.
//!
//! Their operations are functions of this type, and not inlined. So they are compiled once, and not
//! again in each program: the other layouts are used more, and there they would only add code.

use crate::{
    error::{BatchError, InsertError},
    raw::{RawFilter, batch::InFlight, copies::Seen, union::Present},
    table::{
        class::Class,
        layout::{self, GrowingCounting, layouts},
    },
};

/// The number of hashes that a batch collects before it passes them on.
const COLLECTED: usize = 256;

/// Makes from the list of layouts what those with counters need.
macro_rules! any_counting {
    (
        ($d:tt)
        fixed $_fixed:tt
        semi_sorted $_semi:tt
        expiring $_expiring:tt
        counting { $($counting:ident $_counting:tt)* }
    ) => {
        /// A filter whose slots have counters. It is in a box, so that other filters stay small.
        pub(crate) enum AnyCounting {
            $($counting(Box<RawFilter<layout::$counting>>),)*
            Growing4(Box<RawFilter<GrowingCounting<4>>>),
            Growing8(Box<RawFilter<GrowingCounting<8>>>),
        }

        /// Runs `$body` with `$raw` bound to the raw filter, in each layout.
        macro_rules! with_counting {
            ($d any:expr, $d raw:ident => $d body:expr) => {
                match $d any {
                    $($crate::raw::any::AnyCounting::$counting($d raw) => $d body,)*
                    $crate::raw::any::AnyCounting::Growing4($d raw) => $d body,
                    $crate::raw::any::AnyCounting::Growing8($d raw) => $d body,
                }
            };
        }

        pub(crate) use with_counting;
    };
}

layouts!(any_counting, $);

impl AnyCounting {
    #[inline(never)]
    pub(crate) fn insert_by_hash(&self, hash: u64) -> Result<(), InsertError> {
        with_counting!(self, raw => raw.insert_by_hash(hash))
    }

    #[inline(never)]
    pub(crate) fn insert_unique_by_hash(&self, hash: u64) -> Result<bool, InsertError> {
        with_counting!(self, raw => raw.insert_unique_by_hash(hash))
    }

    #[inline(never)]
    pub(crate) fn remove_by_hash(&self, hash: u64) -> bool {
        with_counting!(self, raw => raw.remove_by_hash(hash))
    }

    pub(crate) fn count_by_hash(&self, hash: u64) -> usize {
        with_counting!(self, raw => raw.count_by_hash(hash))
    }

    pub(crate) fn present_for_union(&self, class: Class, age: u64) -> Present {
        with_counting!(self, raw => raw.present_for_union(class, age))
    }

    pub(crate) fn clear(&self) {
        with_counting!(self, raw => raw.clear());
    }

    pub(crate) fn insert_copies(
        &self,
        copies: &[Seen],
        inserted: &mut usize,
    ) -> Result<(), InsertError> {
        with_counting!(self, raw => raw.insert_copies(copies, inserted))
    }

    pub(crate) fn raise_copies(
        &self,
        other: &dyn Fn(Class, u64) -> Present,
        copies: &[Seen],
        added: &mut usize,
    ) -> Result<(), InsertError> {
        with_counting!(self, raw => raw.raise_copies(other, copies, added))
    }

    pub(crate) fn first_in_flight(&self, hashes: &[u64]) -> InFlight {
        with_counting!(self, raw => raw.first_in_flight(hashes))
    }

    pub(crate) fn contains_in_flight(&self, in_flight: &mut InFlight, hashes: &[u64]) -> u32 {
        with_counting!(self, raw => raw.contains_in_flight(in_flight, hashes))
    }

    pub(crate) fn contains_all<T>(
        &self,
        items: &[T],
        hash: impl Fn(&T) -> u64,
        results: &mut [bool],
    ) {
        let Ok(()) = in_parts(items, hash, results, |hashes, results| {
            self.contains_hashes(hashes, results);
            Ok::<(), std::convert::Infallible>(())
        });
    }

    pub(crate) fn remove_all<T>(
        &self,
        items: &[T],
        hash: impl Fn(&T) -> u64,
        results: &mut [bool],
    ) {
        let Ok(()) = in_parts(items, hash, results, |hashes, results| {
            self.remove_hashes(hashes, results);
            Ok::<(), std::convert::Infallible>(())
        });
    }

    pub(crate) fn insert_all<T>(
        &self,
        items: &[T],
        hash: impl Fn(&T) -> u64,
    ) -> Result<(), BatchError> {
        let mut results = vec![(); items.len()];
        let mut before = 0;
        in_parts(items, hash, &mut results, |hashes, _| {
            let inserted = self.insert_hashes(hashes);
            inserted.map_err(|error| error.after(before))?;
            before += hashes.len();
            Ok(())
        })
    }

    pub(crate) fn insert_all_unique<T>(
        &self,
        items: &[T],
        hash: impl Fn(&T) -> u64,
        answers: &mut [bool],
    ) -> Result<(), BatchError> {
        let mut before = 0;
        in_parts(items, hash, answers, |hashes, answers| {
            let inserted = self.insert_unique_hashes(hashes, answers);
            inserted.map_err(|error| error.after(before))?;
            before += hashes.len();
            Ok(())
        })
    }

    fn contains_hashes(&self, hashes: &[u64], results: &mut [bool]) {
        with_counting!(self, raw => raw.contains_all(hashes, |&hash| hash, results));
    }

    fn remove_hashes(&self, hashes: &[u64], results: &mut [bool]) {
        with_counting!(self, raw => raw.remove_all(hashes, |&hash| hash, results));
    }

    fn insert_hashes(&self, hashes: &[u64]) -> Result<(), BatchError> {
        with_counting!(self, raw => raw.insert_all(hashes, |&hash| hash))
    }

    fn insert_unique_hashes(&self, hashes: &[u64], answers: &mut [bool]) -> Result<(), BatchError> {
        with_counting!(self, raw => raw.insert_all_unique(hashes, |&hash| hash, answers))
    }
}

/// Passes the hashes of the items to `of`, part by part, with the places of their results.
fn in_parts<T, R, E>(
    items: &[T],
    hash: impl Fn(&T) -> u64,
    results: &mut [R],
    mut of: impl FnMut(&[u64], &mut [R]) -> Result<(), E>,
) -> Result<(), E> {
    assert_eq!(items.len(), results.len(), "a result for each item");
    for (items, results) in items.chunks(COLLECTED).zip(results.chunks_mut(COLLECTED)) {
        let mut hashes = [0; COLLECTED];
        let hashes = &mut hashes[..items.len()];
        for (place, item) in hashes.iter_mut().zip(items) {
            *place = hash(item);
        }
        of(hashes, results)?;
    }
    Ok(())
}
