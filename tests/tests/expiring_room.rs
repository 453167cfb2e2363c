//! A filter built for n items per TTL holds a steady stream of n items per TTL, at no more than the
//! requested false-positive rate.
//!
//! `GUIRA_LONG=1` adds larger capacities, longer streams and many more seeds.

use crate::common::stress::is_long;
use guira::ExpiringFilter;
use std::time::Duration;

/// The fingerprint sizes, and the numbers of epochs that are tested with each.
const LAYOUTS: [(u32, &[u32]); 4] = [
    (9, &[1, 2, 5]),
    (11, &[1, 5, 12, 13]),
    (16, &[1, 5, 12, 13]),
    (26, &[1, 5, 12, 13]),
];

/// A stream with a fixed number of distinct items in each TTL, at an even pace.
struct Stream {
    filter: ExpiringFilter,
    next: u64,
    epoch: u64,
    /// The maximum number of copies in the filter.
    most: usize,
}

impl Stream {
    fn new(bits: Option<u32>, rate: f64, epochs: u32, capacity: usize, seed: u64) -> Self {
        let builder = ExpiringFilter::builder(Duration::from_secs(60))
            .epochs(epochs)
            .capacity(capacity)
            .false_positive_rate(rate)
            .seed(seed);
        let builder = match bits {
            Some(bits) => builder.fingerprint_bits(bits),
            None => builder,
        };
        Self {
            filter: builder.build().expect("a filter"),
            next: 0,
            epoch: 0,
            most: 0,
        }
    }

    /// Inserts the items of an epoch, and then begins the next one. One epoch in E + 2 begins late
    /// by half an epoch, in which items keep arriving. Returns an error if an item is refused.
    fn epoch(&mut self) -> Result<(), String> {
        let (capacity, epochs) = (
            self.filter.capacity() as u64,
            u64::from(self.filter.epochs()),
        );
        self.epoch += 1;
        let late = self.epoch / (epochs + 2);
        let end = capacity * (2 * self.epoch + late) / (2 * epochs);
        while self.next < end {
            let added = self.filter.insert(&self.next);
            added.map_err(|error| {
                let load = self.filter.load_factor();
                format!(
                    "item {}: {error} at a load of {load:.3}, {:?}",
                    self.next, self.filter
                )
            })?;
            self.next += 1;
        }
        self.most = self.most.max(self.filter.len());
        self.filter.advance();
        Ok(())
    }

    fn load(&self) -> f64 {
        self.most as f64 / (self.filter.buckets() * self.filter.bucket_slots()) as f64
    }
}

#[test]
fn a_steady_stream_is_never_refused() {
    // The capacity, the number of seeds, and the number of TTLs.
    let mut plan: Vec<(usize, u64, u32)> = (1..=60).map(|capacity| (capacity, 6, 50)).collect();
    plan.extend([(200, 20, 50), (1_000, 6, 50), (10_000, 1, 20)]);
    if is_long() {
        plan = (1..=200).map(|capacity| (capacity, 500, 50)).collect();
        plan.extend([
            (1_000, 200, 50),
            (10_000, 40, 50),
            (100_000, 6, 50),
            (1_000_000, 1, 50),
        ]);
    }
    let mut failures = Vec::new();
    for (bits, all_epochs) in LAYOUTS {
        for &epochs in all_epochs {
            let mut loads = Vec::new();
            for &(capacity, seeds, ttls) in &plan {
                for seed in 0..seeds {
                    let mut stream = Stream::new(Some(bits), 0.5, epochs, capacity, seed);
                    let refused = (0..epochs * ttls).find_map(|_| stream.epoch().err());
                    failures.extend(refused);
                    loads.push((capacity, stream.load()));
                }
            }
            let most = |least: usize| {
                let large = loads.iter().filter(|&&(capacity, _)| capacity >= least);
                large.map(|&(_, load)| load).fold(0.0, f64::max)
            };
            let (all, large) = (most(0), most(10_000));
            println!("{bits} bits, {epochs} epochs: loads up to {all:.3}, large ones {large:.3}");
        }
    }
    assert!(
        failures.is_empty(),
        "{} failures, such as {:#?}",
        failures.len(),
        &failures[..failures.len().min(20)]
    );
}

/// A large filter has room for the items at the end of an epoch, and of half an epoch more. Its load
/// is then that of a plain filter, so it wastes nothing.
#[test]
fn a_large_filter_is_nearly_full_at_its_capacity() {
    for ((bits, _), load) in LAYOUTS.into_iter().zip([0.94, 0.93, 0.9, 0.82]) {
        let builder = ExpiringFilter::builder(Duration::from_secs(60)).capacity(1_000_000);
        let filter = builder
            .epochs(5)
            .fingerprint_bits(bits)
            .build()
            .expect("a filter");
        let slots = (filter.buckets() * filter.bucket_slots()) as f64;
        assert!(1.3e6 / slots > load, "{bits} bits: {slots} slots");
    }
}

/// Five standard deviations, and five more for counts that are nearly 0.
fn tolerance(expected: f64) -> f64 {
    5.0 * expected.sqrt() + 5.0
}

fn found_among(filter: &ExpiringFilter, absent: u64) -> u64 {
    let mut found = [false; 4096];
    (0..absent / 4096)
        .map(|chunk| {
            let first = (1 << 40) + chunk * 4096;
            let items: Vec<u64> = (first..first + 4096).collect();
            filter.contains_batch(&items, &mut found);
            found.iter().filter(|&&found| found).count() as u64
        })
        .sum()
}

#[test]
fn the_rate_asked_for_is_kept() {
    const ABSENT: u64 = 400 * 4096;
    for asked in [0.3, 0.1, 0.03, 0.01, 0.003, 0.001, 3e-4, 1e-4, 1e-5] {
        for (epochs, capacity) in [(1, 1_000), (5, 3_000), (12, 10_000), (13, 100)] {
            let mut stream = Stream::new(None, asked, epochs, capacity, 3);
            for _ in 0..3 * epochs {
                stream.epoch().expect("room");
            }
            let found = found_among(&stream.filter, ABSENT) as f64;
            let most = ABSENT as f64 * asked;
            assert!(
                found <= most + tolerance(most),
                "{asked}, {epochs} epochs: {found} of {ABSENT}"
            );
            assert!(stream.filter.false_positive_rate() <= asked * (1.0 + 1e-12));
        }
    }
}

/// The reported rate applies to the items of a TTL, an epoch, and half an epoch.
#[test]
fn the_rate_told_is_that_of_all_that_is_in_the_filter() {
    for (bits, absent) in [(9, 1_000), (11, 1_000), (16, 4_000)] {
        let mut stream = Stream::new(Some(bits), 0.5, 5, 50_000, 1);
        for _ in 0..12 {
            stream.epoch().expect("room");
        }
        // The current epoch has no items yet, so 5 of the 6.5 epochs are in the filter.
        let share = stream.filter.len() as f64 / (50_000.0 * 6.5 / 5.0);
        let expected = (absent * 4096) as f64 * stream.filter.false_positive_rate() * share;
        let found = found_among(&stream.filter, absent * 4096) as f64;
        println!("{bits} bits: {found}, expected {expected:.1}");
        assert!(
            (found - expected).abs() <= tolerance(expected),
            "{bits} bits"
        );
    }
}
