//! insert, and insert_and_count: claims an empty slot, or makes one.
//!
//! | promise | a slot is claimed once; after an error nothing was added |
//! |---|---|
//! | how | DESIGN, section 4, "insert" |
//! | why | PROOF, section 6, section 8, section 15 |
//! | checked by | insert, visible, growth_insert, expire_insert, expire_counting |
//! | break it | `cargo xtask break ClaimUnchecked` |

#[cfg(any(guira_loom, guira_faults, guira_shuttle))]
mod wrong;

use super::{Now, RawFilter, expire::Renewal};
use crate::{
    error::InsertError,
    fault::faulty,
    memory::Storage,
    step::Step,
    sync,
    table::{
        class::Class,
        counted::Counted,
        entry::Entry,
        layout::{Layout, Word},
        time::{Moment, Time},
        view::Loaded,
        word::{Bits, Bucket, Hint, Pair},
    },
};
use std::hint::select_unpredictable;

/// When a copy was put, and as what it counts.
type Put<L> = (Now<L>, <L as Layout>::Counted);

impl<L: Layout> RawFilter<L> {
    /// Adds a copy of the class. An error leaves all items unchanged. Lock-free.
    #[inline]
    pub(crate) fn insert(&self, class: Class) -> Result<(), InsertError> {
        let copy = self.insert_uncounted(class)?;
        self.len.count().add(copy);
        Ok(())
    }

    /// [`insert`](Self::insert) by hash.
    #[inline]
    pub(crate) fn insert_by_hash(&self, hash: u64) -> Result<(), InsertError> {
        if L::Storage::SHARED {
            return self.insert_hash(hash);
        }
        self.insert(self.class(hash))
    }

    /// [`insert`](Self::insert) by hash in a filter that processes share, always inlined, so that the
    /// class is in registers.
    #[inline(always)]
    pub(crate) fn insert_hash(&self, hash: u64) -> Result<(), InsertError> {
        // Before the exchange of the claim, because loads after it would wait for it.
        let counts = self.len.count();
        let copy = self.insert_uncounted(self.class(hash))?;
        counts.add(copy);
        Ok(())
    }

    /// [`insert`](Self::insert), and then [`count`](Self::count), by hash. It is not inlined, so the compiler
    /// saves only registers that the code of this layout uses.
    #[inline(never)]
    pub(crate) fn insert_and_count_hash(&self, hash: u64) -> Result<usize, InsertError> {
        self.insert_and_count(self.class(hash))
    }

    /// If both words were settled when they were loaded, the exchange says that one of them is the same. If
    /// the other one still is, and the version, the number is that of all copies at the exchange.
    #[inline(always)]
    pub(crate) fn insert_and_count(&self, class: Class) -> Result<usize, InsertError> {
        let counts = self.len.count();
        let now = self.time.now();
        let version = self.versions.of(class).observe();
        let entry = now.entry(class.fingerprint);
        let mut others = None;
        let plus = |one, other, _, hint| {
            let (in_other, new, copies) =
                now.plus_and_count(one, other, class.fingerprint, hint)?;
            others = copies;
            Some((in_other, new))
        };
        let are_together = |[one, other]: [Loaded<'_, L>; 2], in_other| {
            // Of two calls that add to different words one sees the other's copy.
            sync::fence_after_exchange();
            let beside = select_unpredictable(in_other, one, other);
            let is_same = faulty!(beside.is_same_now(), InsertCountsEarly => true);
            is_same & faulty!(version.validate(), InsertCountsNoValidate => true)
        };
        let (copy, together) = match self.claim_by(class, entry, plus, are_together) {
            Some(claimed) => claimed,
            None => {
                self.insert_by_relocation(class, entry)?;
                (Counted::SLOT, false)
            }
        };
        let in_time = self.time.is_still(now);
        let in_time = faulty!(in_time, InsertNoSecondNow => true);
        if let Some(others) = others
            && together & in_time
        {
            counts.add(copy);
            self.table.split_some();
            return Ok(others + 1);
        }
        self.count_beside_writers(class, now, in_time, copy)
    }

    /// Ends an [`insert_and_count`](Self::insert_and_count) that has added its copy at the moment `then`.
    #[cold]
    fn count_beside_writers(
        &self,
        class: Class,
        then: Now<L>,
        in_time: bool,
        mut copy: L::Counted,
    ) -> Result<usize, InsertError> {
        if !in_time {
            copy = self.put_too_early(class, then, copy)?;
        }
        self.len.count().add(copy);
        self.table.split_some();
        sync::fence_after_exchange();
        Ok(self.count(class))
    }

    /// [`insert`](Self::insert) without counting, for callers that count the item themselves.
    #[inline(always)]
    pub(super) fn insert_uncounted(&self, class: Class) -> Result<L::Counted, InsertError> {
        let now = self.time.now();
        let copy = self.put(class, now.entry(class.fingerprint))?;
        let in_time = self.time.is_still(now);
        if faulty!(in_time, InsertNoSecondNow => true) {
            Ok(copy)
        } else {
            self.put_too_early(class, now, copy)
        }
    }

    /// An epoch began during the call, so the copy of the epoch `then` would expire too soon, and is
    /// made younger.
    ///
    /// A second copy would be one too many. Each remove takes the oldest copy, so a younger one would
    /// be left over, and would never expire if the item comes and goes again and again.
    #[cold]
    fn put_too_early(
        &self,
        class: Class,
        mut then: Now<L>,
        mut copy: L::Counted,
    ) -> Result<L::Counted, InsertError> {
        loop {
            if faulty!(L::COUNTER_BITS != 0, InsertRenewsOldest => false) {
                let young = |now: Now<L>| now.entry(class.fingerprint);
                match self.put_again(class, (then, copy), young)? {
                    Some((now, copy)) if self.time.is_still(now) => return Ok(copy),
                    Some(again) => {
                        (then, copy) = again;
                        continue;
                    }
                    None => {}
                }
            }
            let refreshed = faulty!(self.refresh(class), InsertOnceMore => {
                self.len.count().add(copy);
                self.insert_uncounted(class).map(|again| {
                    copy = again;
                    true
                })
            });
            if let Err(error) = refreshed {
                // The copy stays until it expires.
                self.len.count().add(copy);
                return Err(error);
            }
            // A live copy was there throughout: it was refreshed, or a remove has taken it. Else it
            // may have died before, which takes a thread that slept as long as copies live.
            let is_live = self.time.now().is_live_since(then);
            if faulty!(is_live, InsertOverlooksDeath => true) {
                return Ok(copy);
            }
            self.len.count().add(copy);
            then = self.time.now();
            copy = self.put(class, then.entry(class.fingerprint))?;
            if self.time.is_still(then) {
                return Ok(copy);
            }
        }
    }

    /// Adds a copy that was last seen `age` epochs ago, and counts it.
    ///
    /// If an epoch begins during the call, the copy could expire one epoch too early. Another copy is
    /// then added, and the first one stays until it expires. With counters the copy is
    /// [put again](Self::put_again), if possible.
    pub(crate) fn insert_aged(&self, class: Class, age: u64) -> Result<(), InsertError> {
        let aged = |now: Now<L>| now.aged_entry(class.fingerprint, age);
        loop {
            let mut now = self.time.now();
            let mut copy = self.put(class, aged(now))?;
            let in_time = loop {
                let in_time = self.time.is_still(now);
                if faulty!(in_time, MergeNoSecondNow => true) {
                    break true;
                }
                if L::COUNTER_BITS == 0 {
                    break false;
                }
                match self.put_again(class, (now, copy), aged)? {
                    Some(again) => (now, copy) = again,
                    None => break false,
                }
            };
            self.len.count().add(copy);
            if in_time {
                return Ok(());
            }
        }
    }

    /// In a filter with counters: gives a copy that was put at the moment `then`, and not counted, the
    /// entry that `young` says for the moment that is returned. `None` if no unmarked word has the copy. As
    /// what it counts may change.
    ///
    /// It need not be the oldest copy of its class, and other copies that are older stay as they are. If
    /// its word has no room for another tag beside those with which it shares its slot, it is taken back.
    #[cold]
    fn put_again(
        &self,
        class: Class,
        (then, copy): Put<L>,
        young: impl Fn(Now<L>) -> Entry,
    ) -> Result<Option<Put<L>>, InsertError> {
        let early = young(then);
        match self.renew_one_like(class, early, &young) {
            Renewal::Done(now) => Ok(Some((now, copy))),
            Renewal::Full if self.take_back(class, early) => {
                // A copy that is taken back was counted as a slot.
                self.len.share(copy);
                let now = self.time.now();
                let copy = self.put(class, young(now))?;
                Ok(Some((now, copy)))
            }
            _ => Ok(None),
        }
    }

    /// Stores `entry` in one of the buckets of its class.
    #[inline(always)]
    pub(super) fn put(&self, class: Class, entry: Entry) -> Result<L::Counted, InsertError> {
        // A fixed filter on the heap lets the compiler decide.
        let claimed = if L::Storage::SHARED || L::GROWS {
            self.claim_inline(class, entry)
        } else {
            self.claim(class, entry)
        };
        if claimed.is_none() {
            self.insert_by_relocation(class, entry)?;
        }
        self.table.split_some();
        Ok(claimed.unwrap_or(Counted::SLOT))
    }

    /// Claims an empty slot for `entry` in the emptier bucket; `None` if both are full.
    #[inline]
    pub(super) fn claim(&self, class: Class, entry: Entry) -> Option<L::Counted> {
        self.claim_inline(class, entry)
    }

    #[inline(always)]
    fn claim_inline(&self, class: Class, entry: Entry) -> Option<L::Counted> {
        let plus = Word::<L>::plus_in_emptier;
        let (copy, ()) = self.claim_by(class, entry, plus, |_, _| {})?;
        Some(copy)
    }

    /// Claims a slot for `entry` where `plus` says. If that succeeds, the result is what `claimed` makes of
    /// both words as they were loaded; it learns whether the second one was claimed in.
    #[inline(always)]
    fn claim_by<'a, T>(
        &'a self,
        class: Class,
        entry: Entry,
        mut plus: impl FnMut(Bits, Bits, Entry, Hint) -> Option<(bool, Bits)>,
        claimed: impl FnOnce([Loaded<'a, L>; 2], bool) -> T,
    ) -> Option<(L::Counted, T)> {
        let view = self.table.view();
        loop {
            let (one, other, hint) = view.load_pair_for_claim(class);
            let claim = faulty!(
                plus(one.bits, other.bits, entry, hint),
                CountMarked => wrong::plus_in_marked::<L>([one, other], entry, hint)
            );
            let claim = faulty!(
                claim,
                CountAnyTag => wrong::plus_in_any_epoch::<L>([one, other], entry, hint)
            );
            let (in_other, new) = claim?;
            // A branch would be unpredictable.
            let into = select_unpredictable(in_other, other, one);
            // Before the exchange: what follows would wait for it.
            let copy = L::Counted::of(|| into.decode(new).uses_slots_of(into.word()));
            if into.replace_bits(Step::Claim, new) {
                return Some((copy, claimed([one, other], in_other)));
            }
        }
    }

    /// Returns the error for a refused insert.
    #[cold]
    pub(super) fn count_failure(&self, error: InsertError) -> InsertError {
        // What other threads are in the way of is no sign of a full filter.
        if !matches!(error, InsertError::Memory | InsertError::Contended) {
            self.counters().failed();
        }
        error
    }
}
