//! A filter whose items expire, and its clock.

mod clock;

pub use clock::Clock;
use clock::Own;
use guira::{BuildError, ExpiringBuilder, ExpiringFilter, SnapshotError};
use std::{
    io::{self, Read, Write},
    time::Duration,
};

/// The time for which items are remembered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// The minimum time for which an item is remembered.
    pub length: Duration,
    /// The number of epochs per window; `None` leaves the choice to the library.
    pub epochs: Option<u32>,
}

/// A filter with a window. Its time advances when a thread calls [`tick`](Self::tick).
#[derive(Debug)]
pub struct Windowed {
    filter: ExpiringFilter,
    clock: Own,
    /// The epoch of the snapshot, and the time by which it was overdue then: items were inserted all along.
    overdue: (u64, Duration),
}

impl Windowed {
    /// An empty filter.
    pub(crate) fn build(builder: ExpiringBuilder, clock: Clock) -> Result<Self, BuildError> {
        Ok(Self::new(builder.build()?, clock))
    }

    /// Reads a snapshot, which includes the age of the epoch. Reads no further bytes.
    pub(crate) fn read_from(reader: impl Read, clock: Clock) -> Result<Self, SnapshotError> {
        Ok(Self::new(ExpiringFilter::read_from(reader)?, clock))
    }

    /// Writes a snapshot that includes the age of the epoch.
    pub(crate) fn write_to(&self, writer: impl Write) -> io::Result<()> {
        self.filter.write_to_at(writer, || self.now())
    }

    /// An empty filter with this [header](Self::header).
    pub(crate) fn from_header(
        header: &[u8],
        clock: Clock,
        max_bytes: usize,
    ) -> Result<Self, SnapshotError> {
        let filter = ExpiringFilter::from_header(header, max_bytes)?;
        Ok(Self::new(filter, clock))
    }

    /// Wraps `filter`. Its current epoch continues now, or after [`begin`](Self::begin).
    pub(crate) fn new(filter: ExpiringFilter, clock: Clock) -> Self {
        let mut windowed = Self {
            filter,
            clock: Own::new(clock),
            overdue: (0, Duration::ZERO),
        };
        // The library counts the age of the epoch from this reading. The clock is stopped.
        windowed.filter.tick_at(|| windowed.now());
        let overdue = windowed.epoch_age().saturating_sub(windowed.epoch_length());
        windowed.overdue = (windowed.epoch(), overdue);
        if matches!(windowed.clock.source(), Clock::Process) {
            windowed.begin();
        }
        windowed
    }

    /// Adds `age` to the age of the current epoch. With a clock that the host moves, call this before
    /// [`begin`](Self::begin).
    pub fn make_older(&self, age: Duration) {
        // After the longest time, all items have expired.
        self.clock.skip(age.min(self.longest()));
    }

    /// Starts the clock of the filter.
    pub fn begin(&self) {
        self.clock.begin();
    }

    /// Stops the clock of the filter until it [begins](Self::begin) again.
    pub fn hold(&self) {
        self.clock.hold();
    }

    /// True if the clock is running.
    #[must_use]
    pub fn has_begun(&self) -> bool {
        self.clock.goes()
    }

    /// Advances the clock by a time in which no client wrote.
    pub(crate) fn elapse(&self, elapsed: Duration) {
        self.make_older(elapsed);
        self.catch_up();
        self.sweep();
    }

    /// Begins all epochs that are due by now, and leaves the sweep of the last one to
    /// [`sweep`](Self::sweep). Call this only if no client has written since the first one was due.
    pub fn catch_up(&self) {
        let (length, now) = (self.epoch_length(), self.now());
        let age = self.filter.epoch_age_at(now).unwrap_or_default();
        let age = match self.overdue {
            (epoch, overdue) if epoch == self.epoch() => age.saturating_sub(overdue),
            _ => age,
        };
        let epochs = age.as_nanos() / length.as_nanos();
        // After E + 1 epochs all items have expired, and further epochs change nothing.
        let most = u128::from(self.epochs() + 1);
        for _ in 0..epochs.min(most) {
            self.filter.begin_epoch();
        }
        if epochs > 0 {
            let rest = age.as_nanos() % length.as_nanos();
            let rest = Duration::new((rest / 1_000_000_000) as u64, (rest % 1_000_000_000) as u32);
            let at = now.saturating_sub(rest);
            // The library records that the epoch began at this time.
            self.filter.tick_at(|| at);
        }
    }

    /// The time after which all items have expired.
    fn longest(&self) -> Duration {
        self.epoch_length().saturating_mul(self.epochs() + 2)
    }

    #[inline]
    pub(crate) fn filter(&self) -> &ExpiringFilter {
        &self.filter
    }

    /// Begins the next epoch if it is due, and returns whether it was. O(buckets); no thread waits for
    /// it. Call this when the [next epoch](Self::until_next_epoch) is due, or often.
    pub fn tick(&self) -> bool {
        self.filter.tick_at(|| self.now())
    }

    /// Like [`tick`](Self::tick), but leaves the sweep of the new epoch to [`sweep`](Self::sweep). If
    /// the current epoch has not been swept, this call sweeps it first.
    pub fn begin_due_epoch(&self) -> bool {
        self.filter.begin_due_epoch_at(|| self.now())
    }

    /// Empties the slots of expired items, unless a thread has done so in this epoch. Returns whether
    /// this call did so. O(buckets), on any thread; no thread waits for it.
    pub fn sweep(&self) -> bool {
        self.filter.sweep()
    }

    /// True if [`sweep`](Self::sweep) has nothing to do.
    #[must_use]
    pub fn is_swept(&self) -> bool {
        self.filter.is_swept()
    }

    /// The length of the window.
    #[must_use]
    pub fn length(&self) -> Duration {
        self.filter.ttl()
    }

    /// The number of epochs per window.
    #[must_use]
    pub fn epochs(&self) -> u32 {
        self.filter.epochs()
    }

    /// The minimum length of an epoch.
    #[must_use]
    pub fn epoch_length(&self) -> Duration {
        self.filter.epoch_length()
    }

    /// The number of the current epoch.
    #[must_use]
    pub fn epoch(&self) -> u64 {
        self.filter.epoch()
    }

    /// The time since the current epoch began, at least.
    #[must_use]
    pub fn epoch_age(&self) -> Duration {
        // An epoch whose beginning is unknown begins now.
        self.filter.epoch_age_at(self.now()).unwrap_or_default()
    }

    /// The time until the next epoch may begin.
    #[must_use]
    pub fn until_next_epoch(&self) -> Duration {
        self.epoch_length().saturating_sub(self.epoch_age())
    }

    /// The number of copies that the fully grown filter holds if `max_capacity` items arrive in every
    /// window, at an even pace. Copies live for one more epoch, and some expired copies are not swept
    /// for half an epoch.
    pub(crate) fn most_items(&self) -> usize {
        let epochs = u128::from(self.epochs());
        let most = self.filter.max_capacity() as u128 * (2 * epochs + 3) / (2 * epochs);
        usize::try_from(most).unwrap_or(usize::MAX)
    }

    fn now(&self) -> Duration {
        self.clock.now()
    }

    pub(crate) fn clock(&self) -> &Clock {
        self.clock.source()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{thread, time::Instant};

    const EPOCHS: u32 = 4;

    /// A long time, compared with a test.
    const HOUR: Duration = Duration::from_secs(3600);

    fn with_an_item(epoch: Duration) -> Windowed {
        let builder = ExpiringFilter::builder(EPOCHS * epoch).epochs(EPOCHS);
        let builder = builder.capacity(100).false_positive_rate(0.01);
        let windowed = Windowed::build(builder, Clock::Process).unwrap();
        windowed.filter().insert(&b"a"[..]).unwrap();
        windowed
    }

    fn holds(windowed: &Windowed) -> bool {
        windowed.filter().contains(&b"a"[..])
    }

    #[test]
    fn an_item_lives_for_the_window() {
        const EPOCH: Duration = Duration::from_millis(100);
        let start = Instant::now();
        let windowed = with_an_item(EPOCH);
        assert_eq!((windowed.length(), windowed.epochs()), (4 * EPOCH, 4));
        assert!(windowed.until_next_epoch() <= EPOCH);
        // Ticks often.
        while holds(&windowed) {
            windowed.tick();
            thread::sleep(Duration::from_millis(1));
        }
        // The item was added in the first epoch, and expired a window after the next one began.
        let since = start.elapsed();
        assert!(since >= (EPOCHS + 1) * EPOCH, "{since:?}");
    }

    /// Fractions of epochs count: items of a filter that is saved several times per epoch expire, too.
    #[test]
    fn time_that_passed_counts_with_the_parts_of_epochs() {
        let windowed = with_an_item(HOUR);
        for part in 1..=9 {
            windowed.elapse(HOUR / 2);
            assert_eq!(windowed.filter().epoch(), part / 2);
        }
        // 4.5 epochs have passed.
        assert!(holds(&windowed));
        assert!(windowed.epoch_age() >= HOUR / 2);
        windowed.elapse(HOUR / 2);
        assert!(!holds(&windowed));
        let gone = with_an_item(HOUR);
        gone.elapse(Duration::MAX);
        assert!(!holds(&gone) && gone.until_next_epoch() <= HOUR);
    }

    #[test]
    fn an_epoch_can_begin_without_a_sweep() {
        let windowed = with_an_item(HOUR);
        let items = || windowed.filter().len();
        for epoch in 1..=EPOCHS + 1 {
            windowed.make_older(HOUR);
            assert!(windowed.begin_due_epoch() && !windowed.begin_due_epoch());
            assert!(!windowed.is_swept());
            assert_eq!((holds(&windowed), items()), (epoch <= EPOCHS, 1));
            assert!(windowed.sweep() && !windowed.sweep() && windowed.is_swept());
        }
        assert_eq!(items(), 0);
        windowed.make_older(2 * HOUR);
        windowed.catch_up();
        assert!(!windowed.is_swept(), "the last epoch is left");
        windowed.elapse(HOUR);
        assert!(windowed.is_swept());
    }

    /// The age of an epoch does not include the epochs before it.
    #[test]
    fn an_epoch_that_somebody_else_has_begun_is_new() {
        let windowed = with_an_item(HOUR);
        thread::sleep(Duration::from_millis(12));
        assert!(windowed.epoch_age() >= Duration::from_millis(10));
        assert!(windowed.filter().advance());
        assert_eq!(windowed.epoch_age(), Duration::ZERO);
        assert!(!windowed.tick());
    }

    fn saved_and_loaded(windowed: &Windowed) -> Windowed {
        let mut bytes = Vec::new();
        windowed.write_to(&mut bytes).unwrap();
        Windowed::read_from(&*bytes, Clock::Process).unwrap()
    }

    #[test]
    fn a_snapshot_carries_the_age_of_the_epoch() {
        let mut windowed = with_an_item(HOUR);
        for part in 1..=18 {
            windowed.make_older(HOUR / 4);
            windowed.catch_up();
            windowed = saved_and_loaded(&windowed);
            assert_eq!(windowed.epoch(), part / 4);
            let age = HOUR / 4 * (part % 4) as u32;
            assert!(windowed.epoch_age() >= age && windowed.epoch_age() < age + HOUR / 8);
        }
        assert!(holds(&windowed));
    }

    /// Items that were added after the epoch was due are remembered for the whole window, too.
    #[test]
    fn an_epoch_that_is_late_is_saved_as_due() {
        let windowed = with_an_item(HOUR);
        windowed.make_older(HOUR * 7 / 2);
        assert!(windowed.epoch_age() >= HOUR * 7 / 2);
        let loaded = saved_and_loaded(&windowed);
        loaded.catch_up();
        assert_eq!(loaded.epoch(), 1);
        assert!(loaded.epoch_age() < HOUR / 4);
    }

    #[test]
    fn there_is_room_for_what_a_window_and_an_epoch_and_a_half_bring() {
        assert_eq!(with_an_item(HOUR).most_items(), 137);
    }
}
