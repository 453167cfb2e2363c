//! insert: claims an empty slot, or makes one.

use super::RawFilter;
use crate::{
    error::InsertError,
    fault::instead,
    step::Step,
    table::{
        class::Class,
        layout::Layout,
        time::{Moment, Time},
        word::{Bucket, Word},
    },
};
use std::hint::select_unpredictable;

impl<L: Layout> RawFilter<L> {
    /// Adds a copy of the class. After an error no item has come or gone. Lock-free.
    #[inline]
    pub(crate) fn insert(&self, class: Class) -> Result<(), InsertError> {
        self.insert_uncounted(class)?;
        self.len.add(1);
        Ok(())
    }

    /// [`insert`](Self::insert) for a caller who counts the item.
    #[inline(always)]
    pub(super) fn insert_uncounted(&self, class: Class) -> Result<(), InsertError> {
        let now = self.time.now();
        self.put(Self::seen(class, now))?;
        let in_time = self.time.is_still(now);
        if instead!(is(InsertNoSecondNow) => true, in_time) {
            Ok(())
        } else {
            self.insert_later(class)
        }
    }

    /// A step has begun meanwhile: the copy would be gone too soon. It stays, and dies by itself.
    #[cold]
    fn insert_later(&self, class: Class) -> Result<(), InsertError> {
        loop {
            self.len.add(1);
            let now = self.time.now();
            self.put(Self::seen(class, now))?;
            if self.time.is_still(now) {
                return Ok(());
            }
        }
    }

    /// Adds a copy that was last seen `age` steps ago, and counts it.
    ///
    /// If a step begins meanwhile, the copy may be gone a step too soon: as in
    /// [`insert_later`](Self::insert_later), another one is added.
    pub(crate) fn insert_aged(&self, class: Class, age: u64) -> Result<(), InsertError> {
        loop {
            let now = self.time.now();
            self.put(Class {
                fingerprint: now.aged_entry(class.fingerprint, age),
                ..class
            })?;
            self.len.add(1);
            if self.time.is_still(now) {
                return Ok(());
            }
        }
    }

    /// Puts what `class` has as fingerprint into one of its buckets.
    #[inline(always)]
    fn put(&self, class: Class) -> Result<(), InsertError> {
        if !self.claim(class) {
            self.insert_by_relocation(class)
                .map_err(|error| self.count_failure(error))?;
        }
        self.table.sweep_some();
        Ok(())
    }

    /// Claims an empty slot in the emptier bucket; false if both are full.
    #[inline]
    pub(super) fn claim(&self, class: Class) -> bool {
        let view = self.table.view();
        loop {
            let (one, other) = view.load_pair_for_claim(class);
            let claim = Word::<L>::plus_in_emptier(one.bits, other.bits, class.fingerprint);
            let Some((in_other, new)) = claim else {
                return false;
            };
            // Without a branch, which nobody could foresee.
            let into = select_unpredictable(in_other, other, one);
            if into.replace_bits(Step::Claim, new) {
                return true;
            }
        }
    }

    /// The error with which a call ends.
    #[cold]
    pub(super) fn count_failure(&self, error: InsertError) -> InsertError {
        if error != InsertError::Memory {
            self.counters.failed();
        }
        error
    }
}
