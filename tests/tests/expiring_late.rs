//! Logs with gaps: whenever `tick` is called, items live for their TTL, and not much longer.
//!
//! The clock of these tests runs between the ticks, too: items come at any time, and the filter learns
//! of the time at the next tick only.

use guira::ExpiringFilter;
use rand::{RngExt, SeedableRng, rngs::SmallRng};
use std::{collections::VecDeque, time::Duration};

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// A log, and the filter that reads it.
struct Log {
    filter: ExpiringFilter,
    rng: SmallRng,
    /// The time, and the readings of all ticks.
    now: u64,
    ticks: Vec<u64>,
    /// The items that can be in the filter, and when each was last seen.
    items: VecDeque<(u64, u64)>,
    ttl: u64,
    length: u64,
    next: u64,
}

impl Log {
    fn new(seed: u64, growing: bool) -> Self {
        let mut rng = SmallRng::seed_from_u64(seed);
        let epochs = rng.random_range(1..=13);
        let length = rng.random_range(1..=1_000);
        let ttl = length * u64::from(epochs);
        let builder = ExpiringFilter::builder(ms(ttl)).epochs(epochs).seed(seed);
        // Wrong positives would be taken for items that expire late.
        let builder = match growing {
            true => builder
                .capacity(64)
                .max_capacity(4_096)
                .fingerprint_bits(20),
            false => builder.capacity(4_096).fingerprint_bits(26),
        };
        let mut log = Self {
            filter: builder.build().expect("a filter"),
            rng,
            now: 0,
            ticks: Vec::new(),
            items: VecDeque::new(),
            ttl,
            length,
            next: 0,
        };
        log.tick();
        log
    }

    /// Some time: as often a part of an epoch as some TTLs, and 100 TTLs at most.
    fn gap(&mut self) -> u64 {
        let (least, most) = (self.length as f64 / 8.0, 100.0 * self.ttl as f64);
        match self.rng.random_range(0..8) {
            0 => 0,
            _ => (least * (most / least).powf(self.rng.random_range(0.0..1.0))) as u64,
        }
    }

    fn tick(&mut self) {
        let now = ms(self.now);
        match self.rng.random_range(0..4) {
            0 => _ = self.filter.begin_due_epoch_at(|| now),
            _ => _ = self.filter.tick_at(|| now),
        }
        self.ticks.push(self.now);
        self.check(true);
    }

    fn insert(&mut self) {
        for _ in 0..self.rng.random_range(1..8) {
            let again = self.items.len() > 4 && self.rng.random_range(0..4) == 0;
            let item = match again {
                true => {
                    let index = self.rng.random_range(0..self.items.len());
                    self.items.remove(index).expect("an item").0
                }
                false => {
                    self.next += 1;
                    self.next
                }
            };
            self.filter.insert_or_refresh(&item).expect("room");
            self.items.push_back((item, self.now));
        }
    }

    /// Stores the filter for a while, or makes a copy of it.
    fn replace(&mut self) {
        if self.rng.random_range(0..2) == 0 {
            self.filter = self.filter.clone();
            return;
        }
        let bytes = self.filter.to_bytes_at(|| ms(self.now));
        // An epoch that is overdue in a snapshot is due a nanosecond later.
        let away = self.gap().max(1);
        self.now += away;
        self.filter = ExpiringFilter::restore()
            .elapsed(ms(away))
            .read_from(&bytes[..])
            .expect("its snapshot");
        self.tick();
    }

    /// The longest time between two ticks, one of them in the epoch after `seen`.
    fn gap_after(&self, seen: u64) -> u64 {
        let end = seen + self.length;
        let gaps = self.ticks.windows(2).map(|two| (two[0], two[1]));
        let beside = gaps.filter(|&(from, to)| to >= seen && from <= end);
        beside.map(|(from, to)| to - from).max().unwrap_or(0)
    }

    fn check(&mut self, ticked: bool) {
        let (now, ttl) = (self.now, self.ttl);
        let mut items = std::mem::take(&mut self.items);
        items.retain(|&(item, seen)| {
            let found = self.filter.contains(&item);
            assert!(
                found || now >= seen + ttl,
                "{item} of {seen} is gone at {now}"
            );
            let most = seen + ttl + self.length + self.gap_after(seen);
            let late = format!("{item} of {seen} is there at {now}, after {most}");
            assert!(
                !(found && ticked && now >= most),
                "{late}: {:?}",
                self.ticks
            );
            found
        });
        self.items = items;
    }

    fn go_on(&mut self) {
        self.now += self.gap();
        match self.rng.random_range(0..9) {
            0..4 => self.tick(),
            4..7 => self.insert(),
            7 => self.check(false),
            _ => self.replace(),
        }
    }
}

fn logs(growing: bool) {
    for seed in 0..1_000 {
        let mut log = Log::new(seed, growing);
        for _ in 0..120 {
            log.go_on();
        }
        // The whole filter expires at once.
        log.tick();
        log.now += log.ttl;
        log.tick();
        log.filter.sweep();
        log.now += log.ttl;
        log.tick();
        assert!(log.items.is_empty(), "{:?}", log.items);
    }
}

#[test]
fn items_of_a_log_expire_on_time_whatever_its_gaps() {
    logs(false);
}

#[test]
fn items_of_a_log_expire_on_time_while_the_filter_grows() {
    logs(true);
}

/// After a merge, tags do not say when copies were seen. So a late tick must not take them for dead.
#[test]
fn a_late_tick_leaves_what_was_merged() {
    let builder = ExpiringFilter::builder(ms(60)).epochs(6).seed(7);
    for late in [0, 9, 10, 59, 60, 600] {
        let [here, there] = [0, 0].map(|_| builder.clone().build().expect("a filter"));
        for second in 0..=5 {
            here.tick_at(|| ms(10 * second));
        }
        there.tick_at(|| ms(0));
        there.insert("koel").expect("room");
        there.tick_at(|| ms(10));
        there.tick_at(|| ms(20));
        // The item was seen 10 ms ago by the clock of `here`, which is late.
        let now = 50 + late;
        here.merge(&there).expect("like filters");
        let mut reading = now;
        while reading < now + 50 {
            here.tick_at(|| ms(reading));
            assert!(here.contains("koel"), "{late}: gone at {reading}");
            reading += 7;
        }
        for more in 0..20 {
            here.tick_at(|| ms(now + 60 + 10 * more));
        }
        assert!(!here.contains("koel"), "{late}");
    }
}
