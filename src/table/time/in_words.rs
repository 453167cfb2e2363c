//! Time in memory that processes share: its words, and how their clock continues after a restart of the
//! machine.
//!
//! | promise | no epoch is too short, in whichever process, and across a restart |
//! |---|---|
//! | how | docs/SHARED-MEMORY.md, "Time" |
//! | why | PROOF, section 13 (R14) |
//! | checked by | recovery_time |
//! | break it | `cargo xtask break BootFirst` |
//!
//! All processes go by one clock of the kernel, which counts from the start of the machine. After a
//! restart it begins at 0, so its readings would be smaller than the one that is recorded. Therefore a
//! word has the *base* of each start: what the filter's clock showed at most before it. The filter's
//! clock is the base and the kernel's clock together. So its readings only rise, and the time in which
//! the machine was off does not count.

use super::{
    Epochs, Now, Timeless,
    beginning::{Beginning, KNOWN},
};
use crate::{
    fault::{self, faulty},
    memory::{Extra, LINE, Number, Parts, Shared, SharedWord, Storage},
    step::Step,
    sync::Ordering,
};

/// Time that can be in words.
pub(crate) trait InWords: Sized {
    /// The words of the time.
    const WORDS: usize;

    /// The time in the next words, in which copies with an age of at most `oldest` are live; `None` if
    /// the words are too few.
    fn in_words(oldest: u64, parts: &mut Parts) -> Option<Self>;
}

impl InWords for Timeless {
    const WORDS: usize = 0;

    fn in_words(_oldest: u64, _parts: &mut Parts) -> Option<Self> {
        Some(Self)
    }
}

/// The numbers of a time: the moment, the epoch that was swept, and the last one that is recorded. The
/// beginnings of the last epochs follow, and the start of the machine with its base.
const NUMBERS: usize = 3 + KNOWN + 2;

impl InWords for Epochs<Shared> {
    const WORDS: usize = NUMBERS * LINE;

    fn in_words(oldest: u64, parts: &mut Parts) -> Option<Self> {
        let [now, swept, recorded] = numbers(parts)?;
        let at = numbers(parts)?;
        let [boot, base] = numbers(parts)?;
        Some(Self {
            now: now.into(),
            swept,
            progress: crate::sync::AtomicU64::default(),
            beginning: Beginning::in_words(recorded, at),
            boots: Some(Box::new(Boots { boot, base })),
            most: oldest,
        })
    }
}

fn numbers<const N: usize>(parts: &mut Parts) -> Option<[SharedWord; N]> {
    let numbers: Option<Vec<_>> = (0..N).map(|_| SharedWord::in_words(parts)).collect();
    numbers?.try_into().ok()
}

/// Which start of the machine the clock counts from.
pub(crate) struct Boots {
    /// A number of the last start, which differs between starts.
    boot: SharedWord,
    /// What the filter's clock showed at most before it.
    base: SharedWord,
}

impl<P: Storage> Epochs<P> {
    /// What the filter's clock showed before the machine started, in nanoseconds. `boot` identifies the
    /// start of the machine.
    ///
    /// All processes of one start compute the same base, because the beginning does not change until
    /// one of them has stored the number of the start. So it does not matter which of them stores it,
    /// how often, or where one of them dies. A process that only reads leaves it to others: it need not
    /// `store`.
    pub(crate) fn base(&self, boot: u64, store: bool) -> u64 {
        let Some(boots) = self.boots.get() else {
            return 0;
        };
        let is_known = || {
            // Acquire: pairs with the Release below: the base is the one of this start.
            let order = fault::order(Step::Boot, Ordering::Acquire);
            boots.boot.word().load(order) == boot
        };
        let early = faulty!(None, BootFirst => Some(is_known()));
        // The beginning comes first. If it is one of this start, the number of the start is seen, too.
        let latest = self.beginning.latest();
        if early.unwrap_or_else(is_known) {
            // Relaxed: seen with the number of the start.
            return boots.base.word().load(Ordering::Relaxed);
        }
        if store {
            boots.store(boot, latest);
        }
        latest
    }

    /// In a new filter, whose words are 0, copies are live up to the age E from the beginning: they can be
    /// merged into it with their ages.
    pub(crate) fn begin(&self) {
        let new = Now::of_word(0);
        // If that fails, another process was faster.
        self.tick(new, new.with_oldest(self.most));
    }

    /// The epoch and what is noted of it, if they cannot be right. Epochs may begin during the call.
    pub(crate) fn wrong_time(&self) -> Option<u64> {
        // Acquire: as for the calls that go by it.
        let now = || Now::of_word(self.now.word().load(Ordering::Acquire));
        let early = faulty!(None, EpochFirst => Some(now()));
        // Acquire: the epochs with these numbers have begun.
        let order = fault::order(Step::Swept, Ordering::Acquire);
        let (swept, next) = (self.swept.word().load(order), self.beginning.next());
        // The epoch comes last, so it is at least as late as these two.
        let now = early.unwrap_or_else(now);
        let epoch = now.epoch();
        if now.oldest() > self.most || now.uncounted() > self.most {
            return Some(now.word());
        }
        (epoch > END || swept > epoch || next > epoch + 1).then_some(epoch.max(swept).max(next))
    }
}

/// No filter reaches this epoch.
const END: u64 = 1 << (Now::EPOCH_BITS - 1);

impl Boots {
    fn store(&self, boot: u64, base: u64) {
        // Relaxed: published with the number of the start.
        self.base.word().store(base, Ordering::Relaxed);
        // Release: pairs with the Acquire of `base`.
        let order = fault::order(Step::Boot, Ordering::Release);
        self.boot.word().store(boot, order);
    }
}
