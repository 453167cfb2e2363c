//! However often a process restarts, no item expires early or late.

use guira::{ExpiringFilter, ExpiringSnapshotDecoder};
use std::time::Duration;

const TTL: Duration = Duration::from_secs(1200);
const EPOCHS: u32 = 12;

fn filter() -> ExpiringFilter {
    let builder = ExpiringFilter::builder(TTL).epochs(EPOCHS).capacity(2_000);
    let builder = builder.fingerprint_bits(26).seed(5);
    builder.build().expect("a filter")
}

/// A linear congruential generator, which suffices for random times.
struct Random(u64);

impl Random {
    /// A random time up to `most`, in nanoseconds.
    fn time(&mut self, most: Duration) -> Duration {
        self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        let most = most.as_nanos() as u64;
        Duration::from_nanos((self.0 >> 11) % most)
    }
}

/// A process that saves its filter and restarts, in simulated time.
struct Process {
    filter: ExpiringFilter,
    now: Duration,
    items: Vec<(u32, Duration)>,
}

/// The time between two calls of `tick` while the process runs.
const LOOK: Duration = Duration::from_millis(997);

impl Process {
    fn run(&mut self, for_time: Duration) {
        let end = self.now + for_time;
        loop {
            self.filter.tick_at(|| self.now);
            self.check();
            if self.now == end {
                return;
            }
            self.now = end.min(self.now + LOOK);
        }
    }

    fn insert(&mut self, item: u32) {
        self.filter.insert(&item).expect("room");
        self.items.push((item, self.now));
    }

    /// Checks that each item is present for the TTL, and absent after TTL * (1 + 1/E) plus the
    /// delays of `tick`.
    fn check(&mut self) {
        let (filter, now) = (&self.filter, self.now);
        let most = TTL + TTL / EPOCHS + LOOK * (EPOCHS + 1);
        self.items.retain(|&(item, inserted)| {
            let age = now - inserted;
            let is_in = filter.contains(&item);
            assert!(is_in || age >= TTL, "{item} was early: {age:?}");
            assert!(!is_in || age <= most, "{item} is late: {age:?}");
            is_in
        });
    }

    fn restart(&mut self, down: Duration) {
        let bytes = self.filter.to_bytes_at(|| self.now);
        self.now += down;
        self.filter = ExpiringFilter::restore()
            .elapsed(down)
            .read_from(&bytes[..])
            .expect("a snapshot");
    }
}

/// The time between restarts is shorter than epochs, about as long, and longer.
#[test]
fn a_thousand_restarts_lose_no_time_and_gain_none() {
    let seconds = Duration::from_secs;
    for (number, (up, down)) in [
        (seconds(90), seconds(2)),
        (seconds(20), seconds(90)),
        (seconds(130), seconds(250)),
        (seconds(9), seconds(3_000)),
        (Duration::from_millis(3), seconds(1)),
    ]
    .into_iter()
    .enumerate()
    {
        let mut random = Random(number as u64);
        let mut process = Process {
            filter: filter(),
            now: Duration::from_nanos(17),
            items: Vec::new(),
        };
        for restart in 0..1_000 {
            process.insert(restart);
            let up = random.time(up);
            process.run(up);
            process.insert(restart + 1_000_000);
            process.restart(random.time(down));
            process.check();
        }
        process.run(TTL + TTL / EPOCHS + LOOK * (EPOCHS + 1));
        assert!(process.filter.is_empty());
    }
}

#[test]
fn a_time_is_cut_where_all_is_gone() {
    let filter = filter();
    filter.insert("ani").expect("room");
    let bytes = filter.to_bytes();
    for elapsed in [TTL * 2, Duration::from_secs(u64::MAX), Duration::MAX] {
        let restored = ExpiringFilter::restore()
            .elapsed(elapsed)
            .read_from(&bytes[..])
            .expect("a snapshot");
        assert!(restored.is_empty() && restored.is_swept());
        assert_eq!(restored.epoch(), u64::from(EPOCHS) + 1);
    }
}

/// An item that is inserted into an overdue epoch lives for the TTL.
#[test]
fn an_overdue_epoch_is_due_just_after_it_was_written() {
    let filter = filter();
    filter.tick_at(|| Duration::ZERO);
    let length = filter.epoch_length();
    filter.insert("ani").expect("room");
    let bytes = filter.to_bytes_at(|| length * 9);
    let after = |elapsed| {
        ExpiringFilter::restore()
            .elapsed(elapsed)
            .read_from(&bytes[..])
            .expect("a snapshot")
    };
    let nano = Duration::from_nanos(1);
    assert_eq!(after(Duration::ZERO).epoch(), 0);
    assert_eq!(after(nano).epoch(), 1);
    assert_eq!(after(length).epoch(), 1);
    assert_eq!(after(length + nano).epoch(), 2);
    assert!(after(TTL).contains("ani"));
    assert!(!after(TTL + nano).contains("ani"));
}

/// With its own clock, a restored filter continues at once. Decoders and clones also keep the age.
#[test]
fn the_own_clock_continues_where_it_was() {
    let half = TTL / EPOCHS / 2;
    let filter = filter();
    let bytes = filter.to_bytes();
    let restored = ExpiringFilter::restore()
        .elapsed(half)
        .read_from(&bytes[..])
        .expect("a snapshot");
    assert!(restored.epoch_age() >= Some(half) && restored.epoch() == 0);
    let mut decoder = ExpiringSnapshotDecoder::new(1 << 20);
    decoder.feed(&bytes).expect("a snapshot");
    let decoded = ExpiringFilter::restore()
        .elapsed(half)
        .finish(decoder)
        .expect("a snapshot");
    assert!(decoded.epoch_age() >= Some(half));
    let clone = decoded.try_clone().expect("memory");
    assert!(clone.epoch_age() >= decoded.epoch_age().map(|age| age.min(half)));
    // After half an epoch twice, the second epoch has the age that remains.
    let again = ExpiringFilter::restore()
        .elapsed(half)
        .read_from(&restored.to_bytes()[..])
        .expect("a snapshot");
    assert_eq!(again.epoch(), 1);
    assert!(again.epoch_age() < Some(half));
}

/// A clone uses the caller's clock, like its original.
#[test]
fn a_clone_keeps_the_time_of_a_callers_clock() {
    let filter = filter();
    let seconds = Duration::from_secs;
    filter.tick_at(|| seconds(1_000));
    filter.tick_at(|| seconds(1_100));
    let clone = filter.try_clone().expect("memory");
    assert_eq!(clone.epoch_age_at(seconds(1_130)), Some(seconds(30)));
    assert!(!clone.tick_at(|| seconds(1_199)) && clone.tick_at(|| seconds(1_200)));
}

/// The caller's clock begins an epoch.
#[test]
fn an_epoch_that_begins_while_the_clock_is_read_has_its_own_age() {
    let seconds = Duration::from_secs;
    let builder = ExpiringFilter::builder(seconds(60)).epochs(6);
    let filter = builder.build().expect("a filter");
    assert!(!filter.tick_at(|| seconds(100)), "the first reading");
    let bytes = filter.to_bytes_at(|| match filter.tick_at(|| seconds(110)) {
        true => seconds(110),
        false => seconds(115),
    });
    let copy = ExpiringFilter::from_bytes(&bytes).expect("a snapshot");
    copy.tick_at(|| seconds(1_000));
    let age = copy.epoch_age_at(seconds(1_000));
    assert_eq!((copy.epoch(), age), (1, Some(seconds(5))));
}
