//! A filter that forgets what was not seen for a time, and the clock by which it does.

mod clock;

pub use clock::Clock;
use clock::Own;
use guira::{BuildError, ExpiringFilter, SnapshotError};
use std::{
    io::{self, Read, Write},
    time::Duration,
};

/// How long items are to be remembered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// For so long, at least.
    pub length: Duration,
    /// The epochs in which it moves on; `None`: as many as the library chooses.
    pub epochs: Option<u32>,
}

/// A filter with a window. Its time advances when a thread calls [`tick`](Self::tick).
#[derive(Debug)]
pub struct Windowed {
    filter: ExpiringFilter,
    clock: Own,
}

impl Windowed {
    /// An empty filter.
    pub(crate) fn build(
        capacity: usize,
        rate: f64,
        window: Window,
        clock: Clock,
    ) -> Result<Self, BuildError> {
        let mut builder = ExpiringFilter::builder(window.length)
            .capacity(capacity)
            .false_positive_rate(rate);
        if let Some(epochs) = window.epochs {
            builder = builder.epochs(epochs);
        }
        Ok(Self::new(builder.build()?, clock))
    }

    /// The filter of a snapshot, with the age of its epoch. Reads no further.
    pub(crate) fn read_from(reader: impl Read, clock: Clock) -> Result<Self, SnapshotError> {
        Ok(Self::new(ExpiringFilter::read_from(reader)?, clock))
    }

    /// Writes a snapshot that carries the age of the epoch.
    pub(crate) fn write_to(&self, writer: impl Write) -> io::Result<()> {
        self.filter.write_to_at(writer, || self.now())
    }

    /// The empty filter with this [header](Self::header).
    pub(crate) fn from_header(
        header: &[u8],
        clock: Clock,
        max_bytes: usize,
    ) -> Result<Self, SnapshotError> {
        let filter = ExpiringFilter::from_header(header, max_bytes)?;
        Ok(Self::new(filter, clock))
    }

    /// `filter`, whose current epoch continues now, or with [`begin`](Self::begin).
    pub(crate) fn new(filter: ExpiringFilter, clock: Clock) -> Self {
        let windowed = Self {
            filter,
            clock: Own::new(clock),
        };
        // The library counts the age of the epoch from this reading. The clock stands still.
        windowed.filter.tick_at(|| windowed.now());
        if matches!(windowed.clock.source(), Clock::Process) {
            windowed.begin();
        }
        windowed
    }

    /// The present epoch is older by `age` than was known. With a clock that a host moves, call
    /// this before [`begin`](Self::begin).
    pub fn make_older(&self, age: Duration) {
        // After that all is forgotten.
        self.clock.skip(age.min(self.longest()));
    }

    /// Lets its time pass, from the next tick of a clock that a host moves.
    pub fn begin(&self) {
        self.clock.begin();
    }

    /// Its time stands still until it [begins](Self::begin) again.
    pub fn hold(&self) {
        self.clock.hold();
    }

    /// True if its time passes.
    #[must_use]
    pub fn has_begun(&self) -> bool {
        self.clock.goes()
    }

    /// Lets time pass at once, in which no client wrote.
    pub(crate) fn elapse(&self, elapsed: Duration) {
        self.make_older(elapsed);
        self.catch_up();
        self.sweep();
    }

    /// Begins all epochs that are due by now, and leaves the last one to be [swept](Self::sweep).
    /// Call it only if no client has written since the first of them was due.
    pub fn catch_up(&self) {
        let (length, now) = (self.epoch_length(), self.now());
        let age = self.filter.epoch_age_at(now).unwrap_or_default();
        let epochs = age.as_nanos() / length.as_nanos();
        // After E + 1 epochs nothing is left, and further epochs change nothing.
        let most = u128::from(self.epochs() + 1);
        for _ in 0..epochs.min(most) {
            self.filter.begin_epoch();
        }
        if epochs > 0 {
            let rest = age.as_nanos() % length.as_nanos();
            let rest = Duration::new((rest / 1_000_000_000) as u64, (rest % 1_000_000_000) as u32);
            let at = now.saturating_sub(rest);
            // The library takes note that the epoch began then.
            self.filter.tick_at(|| at);
        }
    }

    /// After so long nothing is left of what it holds.
    fn longest(&self) -> Duration {
        self.epoch_length().saturating_mul(self.epochs() + 2)
    }

    #[inline]
    pub(crate) fn filter(&self) -> &ExpiringFilter {
        &self.filter
    }

    /// Begins the next epoch if it is due; returns whether it was. O(buckets), and no thread waits
    /// for it. Call it [then](Self::until_next_epoch), or often.
    pub fn tick(&self) -> bool {
        self.filter.tick_at(|| self.now())
    }

    /// The same without the sweep at its end, which is left to a call of [`sweep`](Self::sweep). If
    /// no thread has swept the present epoch, this call does so first.
    pub fn begin_due_epoch(&self) -> bool {
        self.filter.begin_due_epoch_at(|| self.now())
    }

    /// Empties what has expired, unless a thread has done so in this epoch; returns whether it was
    /// left to this call. O(buckets), on any thread, and no thread waits for it.
    pub fn sweep(&self) -> bool {
        self.filter.sweep()
    }

    /// True if there is nothing to [`sweep`](Self::sweep).
    #[must_use]
    pub fn is_swept(&self) -> bool {
        self.filter.is_swept()
    }

    /// How long the window is.
    #[must_use]
    pub fn length(&self) -> Duration {
        self.filter.ttl()
    }

    /// In how many epochs it moves on.
    #[must_use]
    pub fn epochs(&self) -> u32 {
        self.filter.epochs()
    }

    /// How long an epoch lasts, at least.
    #[must_use]
    pub fn epoch_length(&self) -> Duration {
        self.filter.epoch_length()
    }

    /// The number of the present epoch.
    #[must_use]
    pub fn epoch(&self) -> u64 {
        self.filter.epoch()
    }

    /// How long the present epoch has lasted, at least.
    #[must_use]
    pub fn epoch_age(&self) -> Duration {
        // If its beginning is unknown, it begins now.
        self.filter.epoch_age_at(self.now()).unwrap_or_default()
    }

    /// How long it is until the next epoch may begin.
    #[must_use]
    pub fn until_next_epoch(&self) -> Duration {
        self.epoch_length().saturating_sub(self.epoch_age())
    }

    /// Copies that are in it at one time, if as many items as its capacity come in every window, at
    /// an even pace. They live longer by an epoch, and some lie dead for half an epoch.
    pub(crate) fn most_items(&self) -> usize {
        let epochs = u128::from(self.epochs());
        let most = self.filter.capacity() as u128 * (2 * epochs + 3) / (2 * epochs);
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

    /// A time that is long compared with a test.
    const HOUR: Duration = Duration::from_secs(3600);

    fn with_an_item(epoch: Duration) -> Windowed {
        let window = Window {
            length: EPOCHS * epoch,
            epochs: Some(EPOCHS),
        };
        let windowed = Windowed::build(100, 0.01, window, Clock::Process).unwrap();
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
        // It is ticked often.
        while holds(&windowed) {
            windowed.tick();
            thread::sleep(Duration::from_millis(1));
        }
        // It came in the first epoch, and went as the one after the window began.
        let age = windowed.epoch_age();
        let since = start.elapsed();
        assert!(since >= (EPOCHS + 1) * EPOCH + age, "{since:?}, {age:?}");
    }

    /// What is left of an epoch counts: a filter that is saved again and again in an epoch ages, too.
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

    /// The ages of epochs are not those of the epochs before.
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

    /// What came since it was due is to live for the window, too.
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
