//! How long items stay in a filter: the type parameter by which filters differ.

mod due;

use crate::{
    clock::Clock,
    raw::any::{AnyExpiring, AnyFilter, Layouts, TimedOps},
    table::time::beginning::Reading,
};
use due::Due;
use std::{fmt::Debug, time::Duration};

/// How long items stay in a [`Filter`](crate::Filter): [`Forever`], or until they are
/// [`Expiring`]. No other type implements it.
#[expect(private_bounds, reason = "other crates must not implement it")]
pub trait Lifetime: Kind {}

/// Items stay until they are removed: the lifetime of a [`CuckooFilter`](crate::CuckooFilter).
#[derive(Clone, Copy, Debug)]
pub struct Forever;

/// Items expire: the lifetime of an [`ExpiringFilter`](crate::ExpiringFilter).
#[derive(Clone, Copy, Debug)]
pub struct Expiring;

impl Lifetime for Forever {}
impl Lifetime for Expiring {}

/// What a lifetime determines in the library.
pub(crate) trait Kind: Copy + Debug + Send + Sync + 'static {
    /// The filter in its layout.
    type Raw: Layouts;
    /// Its time.
    type Timing: Timing;
    /// True if items expire.
    const EXPIRES: bool;
    /// The name of the filter.
    const NAME: &str;

    /// Lets time pass before a write.
    fn pass_time(raw: &Self::Raw, timing: &Self::Timing);
}

impl Kind for Forever {
    type Raw = AnyFilter;
    type Timing = Untimed;
    const EXPIRES: bool = false;
    const NAME: &str = "CuckooFilter";

    #[inline(always)]
    fn pass_time(_raw: &AnyFilter, _timing: &Untimed) {}
}

impl Kind for Expiring {
    type Raw = AnyExpiring;
    type Timing = Timed;
    const EXPIRES: bool = true;
    const NAME: &str = "ExpiringFilter";

    #[inline(always)]
    fn pass_time(raw: &AnyExpiring, timing: &Timed) {
        if timing.due.may_have_come() {
            timing.pass(raw);
        }
    }
}

const _: () = {
    const fn has_time<R: TimedOps>() {}
    has_time::<<Expiring as Kind>::Raw>();
};

/// The time of a filter, beside the epochs in its copies.
pub(crate) trait Timing: Sized + Send + Sync {
    /// The time of a filter with this window, which begins now.
    fn start(window: Window) -> Self;

    /// The same, if it passes only by calls of the filter's users.
    #[cfg(feature = "shared")]
    fn start_by_hand(window: Window) -> Self;

    /// The same time, for a copy of the filter.
    fn duplicate(&self) -> Self;

    fn ttl(&self) -> Duration;

    /// E: how many epochs a TTL has; 0 if items stay.
    fn epochs(&self) -> u32;

    /// What the clock shows.
    fn read(&self) -> Reading;
}

/// The time of a filter whose items stay.
pub(crate) struct Untimed;

impl Timing for Untimed {
    fn start(_window: Window) -> Self {
        Self
    }

    #[cfg(feature = "shared")]
    fn start_by_hand(_window: Window) -> Self {
        Self
    }

    fn duplicate(&self) -> Self {
        Self
    }

    fn ttl(&self) -> Duration {
        Duration::ZERO
    }

    fn epochs(&self) -> u32 {
        0
    }

    fn read(&self) -> Reading {
        Reading::own(Duration::ZERO)
    }
}

/// The time of a filter whose items expire.
pub(crate) struct Timed {
    ttl: Duration,
    epochs: u32,
    pub(crate) clock: Clock,
    /// When writes let time pass.
    pub(crate) due: Due,
}

impl Timed {
    /// The length of an epoch.
    pub(crate) fn epoch_length(&self) -> Duration {
        epoch_length(self.ttl, self.epochs)
    }

    fn of(window: Window, due: Due) -> Self {
        Self {
            ttl: window.ttl,
            epochs: window.epochs,
            clock: Clock::start(),
            due,
        }
    }

    /// Leaves the time to a caller who has just ticked. If no tick comes for two epochs, writes let time
    /// pass again.
    #[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
    pub(crate) fn ticked(&self) {
        self.due.put_off(self.epoch_length().saturating_mul(2));
    }

    /// Lets time pass in the filter, as far as one write does.
    #[cold]
    #[inline(never)]
    fn pass(&self, raw: &impl TimedOps) {
        let length = self.epoch_length();
        self.due
            .pass(|| raw.pass_time(length, &|| self.clock.read()));
    }
}

impl Timing for Timed {
    fn start(window: Window) -> Self {
        Self::of(window, Due::after(window.epoch_length()))
    }

    #[cfg(feature = "shared")]
    fn start_by_hand(window: Window) -> Self {
        Self::of(window, Due::never())
    }

    fn duplicate(&self) -> Self {
        Self {
            ttl: self.ttl,
            epochs: self.epochs,
            clock: self.clock.clone(),
            due: self.due.duplicate(),
        }
    }

    fn ttl(&self) -> Duration {
        self.ttl
    }

    fn epochs(&self) -> u32 {
        self.epochs
    }

    fn read(&self) -> Reading {
        self.clock.read()
    }
}

/// The shortest epoch: a sweep of all buckets takes up to the order of this time.
pub(crate) const MIN_EPOCH: Duration = Duration::from_millis(1);

/// What a filter was asked to remember.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Window {
    /// Items before the filter doubles; if they expire, the items that arrive within a TTL.
    pub(crate) capacity: usize,
    /// The same at the last level.
    pub(crate) max_capacity: usize,
    pub(crate) ttl: Duration,
    /// E: how many epochs a TTL has; 0 if items stay.
    pub(crate) epochs: u32,
}

impl Window {
    /// The shortest time between two epochs, rounded up.
    pub(crate) fn epoch_length(self) -> Duration {
        epoch_length(self.ttl, self.epochs)
    }

    /// The epochs that begin within `elapsed` in a filter that is not in use, and the ages of the last E
    /// epochs then, the last one first. These are the ages before that.
    ///
    /// At most E + 1 epochs are counted: every copy is dead then.
    ///
    /// An epoch that is overdue counts as one that is due in a nanosecond, because items that came after
    /// it was due have the TTL before them. So in no time none begins.
    pub(crate) fn pass(self, ages: &[Duration], elapsed: Duration) -> (u64, Vec<Duration>) {
        let (length, most) = (self.epoch_length(), u64::from(self.epochs) + 1);
        let age = self.unless_overdue(ages.first().copied().unwrap_or_default());
        let passed = age.as_nanos() + elapsed.as_nanos();
        let begun = u64::try_from(passed / length.as_nanos());
        let begun = begun.map_or(most, |begun| begun.min(most));
        let age = from_nanos(passed % length.as_nanos());
        let new = (0..begun as u32).map(|before| age.saturating_add(length.saturating_mul(before)));
        let old = ages.iter().map(|age| age.saturating_add(elapsed));
        (begun, new.chain(old).take(self.epochs as usize).collect())
    }

    /// The age of the oldest live copies, by the ages of the last E epochs. A copy was last seen before
    /// the epoch after its own began.
    pub(crate) fn oldest_live(self, ages: &[Duration]) -> u64 {
        ages.iter().take_while(|&&age| age < self.ttl).count() as u64
    }

    /// The age of an epoch, or the greatest one at which the next epoch is not due.
    fn unless_overdue(self, age: Duration) -> Duration {
        age.min(self.epoch_length() - Duration::from_nanos(1))
    }

    /// The ages of the last epochs for a snapshot, in nanoseconds, the last one first. All that are more
    /// than a TTL are alike. If epochs go by number, all count as if they had been on time.
    pub(crate) fn ages_in_snapshot(
        self,
        ages: Vec<Duration>,
        by_number: bool,
    ) -> impl Iterator<Item = u64> {
        let last = self.unless_overdue(ages.first().copied().unwrap_or_default());
        let on_time = move |before| last.saturating_add(self.epoch_length().saturating_mul(before));
        let ages = (0..).zip(ages).map(move |(before, age)| match by_number {
            true => on_time(before),
            false => age,
        });
        ages.map(move |age| u64::try_from(age.min(self.ttl).as_nanos()).unwrap_or(u64::MAX))
    }
}

/// The shortest time between two epochs, rounded up, if a TTL has this number of them.
fn epoch_length(ttl: Duration, epochs: u32) -> Duration {
    from_nanos(ttl.as_nanos().div_ceil(u128::from(epochs)))
}

/// Durations have at most 2^64 seconds.
fn from_nanos(nanos: u128) -> Duration {
    let seconds = (nanos / 1_000_000_000) as u64;
    Duration::new(seconds, (nanos % 1_000_000_000) as u32)
}
