//! Striped version counters: how a reader learns that a relocation passed it.

#[cfg(feature = "shared")]
use crate::memory::{Parts, Shared};
use crate::{
    fault::{self, faulty},
    memory::Storage,
    step::Step,
    sync::{self, AtomicU64, Ordering, count_load},
    table::class::Class,
};

/// Version counters, each shared by the pairs whose lower bucket falls on it.
///
/// ```text
/// 63                                              12 11        0
/// [ version: advances of moves of these pairs      ][ holds    ]
/// ```
///
/// A reader that was preempted between observing and validating meets the same version again only
/// after exactly a multiple of 2^52 advances. A stripe that advanced a hundred million times a
/// second would take 521 days for them.
///
/// A hold is a remove that is about to kill a shadow. While there is one, no
/// mover that comes later confirms its outline: the shadow that the remove has
/// seen is the only one that it can hit. Mover and remove find each other by
/// their read-modify-writes on the stripe, whose order is total.
pub(crate) struct Versions<P: Storage> {
    stripes: P::Words,
}

/// The most stripes.
pub(crate) const MOST_STRIPES: usize = 512;

const HOLD_BITS: u32 = 12;
const HOLDS: u64 = (1 << HOLD_BITS) - 1;
const ADVANCE: u64 = 1 << HOLD_BITS;

/// What a hold adds.
const HOLD: u64 = 1;

/// The stripe of a class: that of the lower bucket of its pair.
#[derive(Clone, Copy)]
pub(crate) struct Stripe<'a>(&'a AtomicU64);

/// A version that a reader observed, and the stripe it came from.
#[derive(Clone, Copy)]
pub(crate) struct Version<'a> {
    stripe: &'a AtomicU64,
    observed: u64,
}

/// A stripe that is held, until this is dropped.
pub(crate) struct Hold<'a>(&'a AtomicU64);

#[cfg(feature = "shared")]
impl Versions<Shared> {
    /// The versions in these words; `None` if they are too few.
    pub(crate) fn in_words(buckets: usize, parts: &mut Parts) -> Option<Self> {
        let stripes = parts.take(stripes_for(buckets))?;
        Some(Self { stripes })
    }
}

fn stripes_for(buckets: usize) -> usize {
    if sync::IN_MODEL {
        buckets.next_power_of_two()
    } else {
        let shared = if buckets < 64 { 16 } else { 8 };
        1 << (buckets / shared).clamp(1, MOST_STRIPES).ilog2()
    }
}

impl<P: Storage> Versions<P> {
    /// At most one stripe for each 8 buckets, and at most 512: the stripes then take up
    /// 4 KiB, which stay in the first-level cache of every core that reads. In a small filter, whose
    /// buckets fit into 7 cache lines, 16 buckets share a stripe, because there may be very many small
    /// filters. A model has one stripe per bucket, so a test fails if code uses a wrong stripe.
    pub(crate) fn new(buckets: usize) -> Option<Self> {
        Some(Self {
            stripes: P::zeroed(stripes_for(buckets))?,
        })
    }

    pub(crate) fn bytes(&self) -> usize {
        size_of_val(&*self.stripes)
    }

    /// The [`bytes`](Self::bytes) of a filter with planes of this number of buckets.
    pub(crate) fn bytes_for(buckets: usize) -> usize {
        stripes_for(buckets) * size_of::<AtomicU64>()
    }

    #[cfg(guira_faults)]
    pub(crate) fn field(&self) -> crate::coherence::Field {
        crate::coherence::Field::of("versions.stripes", &*self.stripes)
    }

    /// All of them.
    #[cfg(guira_faults)]
    pub(crate) fn atomics(&self) -> &[AtomicU64] {
        &self.stripes
    }

    /// The number of the stripe of a class.
    pub(crate) fn number_of(&self, class: Class) -> usize {
        class.p & (self.stripes.len() - 1)
    }

    /// The holds of each stripe.
    #[cfg(feature = "shared")]
    fn holds(&self) -> impl Iterator<Item = u64> {
        let holds = |stripe: &AtomicU64| stripe.load(Ordering::Acquire) & HOLDS;
        self.stripes.iter().map(holds)
    }

    /// The number of stripes that are held.
    #[cfg(feature = "shared")]
    pub(crate) fn held(&self) -> usize {
        self.holds().filter(|&holds| holds != 0).count()
    }

    /// The most holds that a stripe has.
    #[cfg(feature = "shared")]
    pub(crate) fn most_holds(&self) -> u64 {
        self.holds().max().unwrap_or(0)
    }

    /// Ends all holds of a stripe, if `all_are_dead` says so of the threads that may have one. True if
    /// there were any; `None` if a thread lives that may have one.
    pub(crate) fn end_holds(&self, number: usize, all_are_dead: impl Fn() -> bool) -> Option<bool> {
        let Some(stripe) = self.stripes.get(number) else {
            return Some(false);
        };
        loop {
            // Acquire: pairs with the Release of Hold, before which a thread says which stripe it holds.
            let seen = stripe.load(Ordering::Acquire);
            if seen & HOLDS == 0 {
                return Some(false);
            }
            if !all_are_dead() {
                return None;
            }
            // Since the load no thread has held the stripe, or it would have another version. AcqRel: as
            // the end of a hold.
            let order = fault::order(Step::EndHold, Ordering::AcqRel);
            let exchange = stripe.compare_exchange(seen, seen & !HOLDS, order, Ordering::Relaxed);
            if exchange.is_ok() {
                return Some(true);
            }
        }
    }

    /// The stripe of a class.
    #[inline(always)]
    pub(crate) fn of(&self, class: Class) -> Stripe<'_> {
        self.at_hand().of(class)
    }

    /// The counters for a row of lookups.
    #[inline(always)]
    pub(crate) fn at_hand(&self) -> Stripes<'_> {
        Stripes {
            stripes: &self.stripes,
        }
    }
}

/// [`Versions`] with the place of the counters at hand, as a
/// [`View`](crate::table::view::View) has that of the words.
#[derive(Clone, Copy)]
pub(crate) struct Stripes<'a> {
    stripes: &'a [AtomicU64],
}

impl<'a> Stripes<'a> {
    /// The stripe of a class: the only place where it is chosen.
    #[inline(always)]
    pub(crate) fn of(self, class: Class) -> Stripe<'a> {
        Stripe(&self.stripes[class.p & (self.stripes.len() - 1)])
    }
}

/// The version that a stripe says, and its holds.
#[cfg(guira_faults)]
pub(crate) fn parts(stripe: u64) -> (u64, u64) {
    (stripe >> HOLD_BITS, stripe & HOLDS)
}

impl<'a> Stripe<'a> {
    /// The version, before the words of the pair are read.
    ///
    /// Acquire: pairs with the Release of [`advance`](Self::advance): a reader
    /// that observes an advance sees the outline set before it.
    #[inline(always)]
    pub(crate) fn observe(self) -> Version<'a> {
        count_load();
        let order = fault::order(Step::Observe, Ordering::Acquire);
        Version {
            stripe: self.0,
            observed: self.0.load(order),
        }
    }

    /// Announces a move of the pair, between its outline and its shadow. True if
    /// the stripe is held: the mover must give way.
    ///
    /// AcqRel: Release pairs with [`observe`](Self::observe) and with
    /// [`hold`](Self::hold): who sees the advance sees the outline. As a
    /// read-modify-write it leaves no release sequence of the stripe broken.
    #[inline]
    pub(crate) fn advance(self) -> bool {
        let order = fault::order(Step::Advance, Ordering::AcqRel);
        self.0.fetch_add(ADVANCE, order) & HOLDS != 0
    }

    /// True if the stripe is held.
    pub(crate) fn is_held(self) -> bool {
        // Relaxed: a search looks for a way that is free, a mover asks `advance`.
        self.0.load(Ordering::Relaxed) & HOLDS != 0
    }

    /// True if the stripe is held, by its latest value.
    #[cfg(guira_loom)]
    pub(crate) fn is_held_now(self) -> bool {
        self.0.fetch_or(0, Ordering::AcqRel) & HOLDS != 0
    }

    /// Holds the stripe; `None` if 4095 others do.
    ///
    /// Acquire: pairs with the Release of [`advance`](Self::advance): an outline
    /// that was announced before is seen by the loads to come.
    pub(crate) fn hold(self) -> Option<Hold<'a>> {
        self.hold_by(HOLD)
    }

    /// [`hold`](Self::hold) in a filter that processes share. It advances the version, too, so a stripe
    /// that was held again never has the value that it had before: repairs rely on that.
    pub(crate) fn hold_and_advance(self) -> Option<Hold<'a>> {
        self.hold_by(faulty!(HOLD + ADVANCE, HoldNoVersion => HOLD))
    }

    fn hold_by(self, added: u64) -> Option<Hold<'a>> {
        // Acquire: as `hold` says. Release: pairs with the Acquire of `end_holds`, so a repair sees the
        // line that names this stripe.
        let order = faulty!(Ordering::AcqRel, HoldUnreleased => Ordering::Acquire);
        let order = fault::order(Step::Hold, order);
        // Relaxed, here and where the exchange fails: the exchange that succeeds decides.
        let mut seen = self.0.load(Ordering::Relaxed);
        while seen & HOLDS != HOLDS {
            match self
                .0
                .compare_exchange(seen, seen.wrapping_add(added), order, Ordering::Relaxed)
            {
                Ok(_) => return Some(Hold(self.0)),
                Err(now) => seen = now,
            }
        }
        None
    }
}

impl Version<'_> {
    /// True if no move of these pairs has advanced the version since. (A hold that
    /// came or went is taken for an advance: it is as rare.)
    ///
    /// Relaxed: the words read before it were read with Acquire, so this load cannot come before
    /// them. A thread that erased what the reader missed had advanced the version before it
    /// released the word that the reader saw.
    #[inline(always)]
    pub(crate) fn validate(self) -> bool {
        count_load();
        let order = fault::order(Step::Validate, Ordering::Relaxed);
        self.stripe.load(order) == self.observed
    }
}

impl Drop for Hold<'_> {
    fn drop(&mut self) {
        // Release: the kill comes before a mover that finds the stripe free.
        let order = fault::order(Step::EndHold, Ordering::Release);
        self.0.fetch_sub(1, order);
    }
}

#[cfg(test)]
mod tests;
