//! A filter in which only writes let time pass, by a clock that only the test moves.

use crate::{
    ExpiringFilter,
    raw::any::{Ops, TimedOps},
    table::time::beginning::Reading,
};
use rand::{RngExt, SeedableRng, rngs::SmallRng};
use std::time::Duration;

/// A program, its filter and its clock.
struct Program {
    filter: ExpiringFilter,
    rng: SmallRng,
    ttl: u64,
    length: u64,
    now: u64,
    /// The times of the writes.
    writes: Vec<u64>,
    /// The items that can be there, and when each was seen.
    items: Vec<(u64, u64)>,
    next: u64,
}

impl Program {
    fn new(seed: u64) -> Self {
        let mut rng = SmallRng::seed_from_u64(seed);
        let epochs = rng.random_range(1..=13);
        // Longer than all sweeps, so that no piece is late.
        let length = rng.random_range(1_000_000..=100_000_000);
        let ttl = length * u64::from(epochs);
        let builder = ExpiringFilter::builder(Duration::from_nanos(ttl));
        let builder = builder.epochs(epochs).seed(seed);
        // A wrong positive would be taken for an item that expires late.
        let builder = match rng.random_range(0..3) {
            0 => builder
                .capacity(64)
                .max_capacity(4_096)
                .fingerprint_bits(20),
            1 => builder.capacity(4_096).fingerprint_bits(26),
            _ => builder.capacity(30_000).fingerprint_bits(26),
        };
        let filter = builder.build().expect("a filter");
        filter.tick_by_hand();
        Self {
            filter,
            rng,
            ttl,
            length,
            now: 0,
            writes: vec![0],
            items: Vec::new(),
            next: 0,
        }
    }

    /// What each write of the public interface does when something is due.
    fn write(&mut self) {
        let (raw, length) = (&self.filter.raw, Duration::from_nanos(self.length));
        let clock = || Reading::own(Duration::from_nanos(self.now));
        let rest = raw.pass_time(length, &clock);
        assert!(rest <= length);
        self.writes.push(self.now);
        self.next += 1;
        self.filter.insert(&self.next).expect("room");
        self.items.push((self.next, self.now));
        self.check();
    }

    /// When the epoch in which an item was seen has ended at the latest.
    ///
    /// It is due when it has lasted for its length. Then each write sweeps a piece, or sees that the last
    /// one is swept, and one begins the epoch.
    fn end(&self, seen: u64) -> Option<u64> {
        let pieces = self.filter.buckets().div_ceil(super::PART);
        let due = seen + self.length;
        let later = self.writes.iter().filter(|&&write| write >= due);
        later.copied().nth(2 * (pieces + 2))
    }

    fn check(&mut self) {
        let mut items = std::mem::take(&mut self.items);
        items.retain(|&(item, seen)| {
            let found = self.filter.contains(&item);
            assert!(found || self.now >= seen + self.ttl, "{item} is gone early");
            let end = self.end(seen);
            let is_over = end.is_some_and(|end| self.now >= end + self.ttl);
            assert!(!(found && is_over), "{item} is there late");
            found
        });
        self.items = items;
    }
}

#[test]
fn items_expire_without_ticks() {
    let programs = if cfg!(miri) { 2 } else { 1_000 };
    for seed in 0..programs {
        let mut program = Program::new(seed);
        for _ in 0..40 {
            let (few, many) = (program.length / 16, program.ttl * 2);
            let most = if program.rng.random_range(0..4) == 0 {
                many
            } else {
                few
            };
            program.now += program.rng.random_range(0..=most);
            program.write();
        }
        program.now += program.length;
        for _ in 0..200 {
            program.now += 1;
            program.write();
        }
        program.now += program.ttl;
        program.write();
        let left: Vec<_> = program.items.iter().map(|&(_, seen)| seen).collect();
        assert!(
            left.iter()
                .all(|&seen| seen + program.ttl + program.length > program.now)
        );
    }
}

/// If writes are rare, each sweeps more than a piece.
#[test]
fn a_late_sweep_takes_larger_pieces() {
    let ttl = Duration::from_secs(60);
    let builder = ExpiringFilter::builder(ttl)
        .epochs(1)
        .capacity(100_000)
        .seed(1);
    let filter = builder.build().expect("a filter");
    filter.tick_by_hand();
    let pass = |at: Duration| filter.raw.pass_time(ttl, &|| Reading::own(at));
    assert_eq!(pass(ttl), Duration::ZERO);
    assert_eq!(filter.epoch(), 1);
    // The clock stands still during a call, so only the number of pieces ends it.
    assert!(!filter.is_swept());
    assert_eq!(pass(ttl + ttl / 4), Duration::ZERO);
    assert!(!filter.is_swept());
    assert_eq!(pass(ttl + ttl * 2 / 3), ttl / 3);
    assert!(filter.is_swept());
    assert_eq!(pass(ttl + ttl * 3 / 4), ttl / 4);
}

/// A table that has doubled often has many planes, each smaller than a piece.
#[test]
fn small_planes_share_a_piece() {
    let ttl = Duration::from_secs(60);
    let builder = ExpiringFilter::builder(ttl).epochs(1).seed(1);
    let builder = builder.capacity(1).max_capacity(20_000);
    let filter = builder.fingerprint_bits(23).build().expect("a filter");
    filter.tick_by_hand();
    for item in 0..15_000_u32 {
        filter.insert(&item).expect("room");
    }
    filter.finish_growth();
    let pieces = filter.buckets().div_ceil(super::PART);
    let planes = 1_usize << filter.raw.doublings();
    assert!(planes > 8 * pieces, "{planes} planes, {pieces} pieces");
    let pass = |at: Duration| filter.raw.pass_time(ttl, &|| Reading::own(at));
    for epoch in 1..=2 {
        assert_eq!(pass(epoch * ttl), Duration::ZERO);
        assert!(!filter.is_swept());
        let swept = (1..).find(|_| {
            pass(epoch * ttl + ttl / 4);
            filter.is_swept()
        });
        assert!(
            swept <= Some(2 * pieces + 1),
            "{swept:?} calls for {pieces} pieces"
        );
    }
    assert!(filter.is_empty());
}
