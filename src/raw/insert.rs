//! insert: claims an empty slot, or makes one.
//!
//! | promise | a slot is claimed once; after an error nothing was added |
//! |---|---|
//! | how | DESIGN, section 4, "insert" |
//! | why | PROOF, section 6, section 8 |
//! | checked by | insert, visible, growth_insert, expire_insert |
//! | break it | `cargo xtask break ClaimUnchecked` |

use super::RawFilter;
use crate::{
    error::InsertError,
    fault::faulty,
    step::Step,
    table::{
        class::Class,
        entry::Entry,
        layout::{Layout, Word},
        time::{Moment, Time},
        word::Bucket,
    },
};
use std::hint::select_unpredictable;

impl<L: Layout> RawFilter<L> {
    /// Adds a copy of the class. An error leaves all items unchanged. Lock-free.
    #[inline]
    pub(crate) fn insert(&self, class: Class) -> Result<(), InsertError> {
        self.insert_uncounted(class)?;
        self.len.add(1);
        Ok(())
    }

    /// [`insert`](Self::insert) without counting, for callers that count the item themselves.
    #[inline(always)]
    pub(super) fn insert_uncounted(&self, class: Class) -> Result<(), InsertError> {
        let now = self.time.now();
        self.put(class, now.entry(class.fingerprint))?;
        let in_time = self.time.is_still(now);
        if faulty!(in_time, InsertNoSecondNow => true) {
            Ok(())
        } else {
            self.insert_later(class)
        }
    }

    /// Adds another copy, because an epoch began during the call and the first copy would expire too
    /// early. The first copy stays until it expires.
    #[cold]
    fn insert_later(&self, class: Class) -> Result<(), InsertError> {
        loop {
            self.len.add(1);
            let now = self.time.now();
            self.put(class, now.entry(class.fingerprint))?;
            if self.time.is_still(now) {
                return Ok(());
            }
        }
    }

    /// Adds a copy that was last seen `age` epochs ago, and counts it.
    ///
    /// If an epoch begins during the call, the copy could expire one epoch too early. As in
    /// [`insert_later`](Self::insert_later), another copy is then added.
    pub(crate) fn insert_aged(&self, class: Class, age: u64) -> Result<(), InsertError> {
        loop {
            let now = self.time.now();
            self.put(class, now.aged_entry(class.fingerprint, age))?;
            self.len.add(1);
            let in_time = self.time.is_still(now);
            if faulty!(in_time, MergeNoSecondNow => true) {
                return Ok(());
            }
        }
    }

    /// Stores `entry` in one of the buckets of its class.
    #[inline(always)]
    fn put(&self, class: Class, entry: Entry) -> Result<(), InsertError> {
        if !self.claim(class, entry) {
            self.insert_by_relocation(class, entry)
                .map_err(|error| self.count_failure(error))?;
        }
        self.table.split_some();
        Ok(())
    }

    /// Claims an empty slot for `entry` in the emptier bucket; false if both are full.
    #[inline]
    pub(super) fn claim(&self, class: Class, entry: Entry) -> bool {
        let view = self.table.view();
        loop {
            let (one, other) = view.load_pair_for_claim(class);
            let claim = Word::<L>::plus_in_emptier(one.bits, other.bits, entry);
            let Some((in_other, new)) = claim else {
                return false;
            };
            // A branch would be unpredictable.
            let into = select_unpredictable(in_other, other, one);
            if into.replace_bits(Step::Claim, new) {
                return true;
            }
        }
    }

    /// Returns the error for a refused insert.
    #[cold]
    pub(super) fn count_failure(&self, error: InsertError) -> InsertError {
        if error != InsertError::Memory {
            self.counters.failed();
        }
        error
    }
}
