//! At capacity, the share of absent items that are found is at most the requested rate, and is the
//! one that `false_positive_rate` reports.
//!
//! The number of false positives among N absent items is binomial. A bound of 5 standard deviations
//! fails by chance in one of 3 million runs. The seeds are fixed, so a test always fails or never.

use guira::CuckooFilter;

/// The number of false positives among `absent` items in a filter that holds its capacity.
fn false_positives(filter: &CuckooFilter, absent: usize) -> usize {
    let capacity = filter.capacity() as u64;
    for item in 0..capacity {
        filter.insert(&item).expect("capacity items fit");
    }
    found_among(filter, absent)
}

/// The number of items found among `absent` items that were never inserted.
fn found_among(filter: &CuckooFilter, absent: usize) -> usize {
    let mut found = vec![false; 4096];
    (0..absent.div_ceil(4096) as u64)
        .map(|chunk| {
            let first = (1 << 40) + chunk * 4096;
            let items: Vec<u64> = (first..first + 4096).collect();
            filter.contains_batch(&items, &mut found);
            found.iter().filter(|&&found| found).count()
        })
        .sum()
}

/// Five standard deviations, and five more for counts that are nearly 0.
fn tolerance(expected: f64) -> f64 {
    5.0 * expected.sqrt() + 5.0
}

#[test]
fn the_rate_asked_for_is_kept() {
    for asked in [0.3, 0.1, 0.03, 0.01, 0.003, 0.001, 3e-4, 1e-4, 1e-5] {
        // The rate of a small table depends on its contents, so each is tested with several seeds.
        for (capacity, seeds) in [(1, 300), (10, 300), (100, 100), (1000, 20), (100_000, 1)] {
            let absent = 4096 * (400 / seeds as usize).max(1);
            let (mut found, mut tried) = (0, 0);
            for seed in 0..seeds {
                let builder = CuckooFilter::builder().capacity(capacity).seed(seed);
                let filter = builder
                    .false_positive_rate(asked)
                    .build()
                    .expect("a filter");
                found += false_positives(&filter, absent);
                tried += absent;
            }
            let most = tried as f64 * asked;
            assert!(
                found as f64 <= most + tolerance(most),
                "{capacity} items at {asked}: {found} of {tried}"
            );
        }
    }
}

#[test]
fn the_rate_told_is_the_rate_measured() {
    for bits in [10, 12, 15, 20, 30] {
        let builder = CuckooFilter::builder()
            .capacity(200_000)
            .fingerprint_bits(bits)
            .seed(1);
        let filter = builder.build().expect("a filter");
        let absent = if bits < 20 { 4_000_000 } else { 20_000_000 };
        let expected = absent as f64 * filter.false_positive_rate();
        let found = false_positives(&filter, absent) as f64;
        println!("{bits} bits: {found} of {absent}, expected {expected:.1}");
        assert!(
            (found - expected).abs() <= tolerance(expected),
            "{bits} bits: {found}, {expected}"
        );
    }
}

/// A hash that is nearly linear in the key passes with random keys, but its rate and capacity are
/// wrong with these.
#[test]
fn the_rate_does_not_depend_on_how_keys_are_made() {
    const ITEMS: u64 = 20_000;
    const ABSENT: u64 = 200_000;
    type Key = fn(u64) -> u64;
    let kinds: [(&str, Key); 10] = [
        ("in a row", |n| n),
        ("tens", |n| 10 * n),
        ("in the middle bits", |n| n << 16),
        ("in the upper half", |n| n << 32),
        ("in the upper bits", |n| n << 40),
        ("two numbers", |n| ((n / 1000) << 32) | (n % 1000)),
        ("mirrored", u64::reverse_bits),
        ("Gray code", |n| n ^ n >> 1),
        ("floats", |n| (n as f64 / 1000.0).to_bits()),
        ("times", |n| 1_700_000_000_000_000_000 + n * 1_000_000),
    ];
    for bits in [10, 15] {
        for (name, key) in kinds {
            let (mut found, mut expected) = (0, 0.0);
            for seed in 0..8 {
                let builder = CuckooFilter::builder().capacity(ITEMS as usize).seed(seed);
                let filter = builder.fingerprint_bits(bits).build().expect("a filter");
                for number in 0..ITEMS {
                    filter.insert(&key(number)).expect("capacity items fit");
                }
                let absent = (ITEMS..ITEMS + ABSENT).map(key);
                found += filter.contains_iter(absent).filter(|&found| found).count();
                let full = filter.len() as f64 / filter.capacity() as f64;
                expected += filter.false_positive_rate() * full * ABSENT as f64;
            }
            // Fingerprints of absent items are not independent, so their number varies a little
            // more than that of independent ones.
            let off = (found as f64 - expected).abs();
            assert!(
                off <= 2.0 * tolerance(expected),
                "{bits} bits, {name}: {found}, not {expected}"
            );
        }
    }
}

/// The rate holds up to the capacity. More items fit, and raise the rate above it.
#[test]
fn beyond_the_capacity_the_rate_rises() {
    let (asked, absent) = (1.7e-4, 4_000_000);
    let builder = CuckooFilter::builder().capacity(100_000).seed(1);
    let builder = builder.false_positive_rate(asked);
    let filter = builder.build().expect("a filter");
    let most = absent as f64 * asked;
    let at_capacity = false_positives(&filter, absent) as f64;
    assert!(
        at_capacity <= most + tolerance(most),
        "{at_capacity}, {most}"
    );
    let more = (100_000_u64..).take_while(|item| filter.insert(item).is_ok());
    assert!(more.count() > 20_000);
    let full = found_among(&filter, absent) as f64;
    assert!(full > most + tolerance(most), "{full}, {most}");
}

#[test]
fn an_empty_filter_finds_nothing() {
    let filter = CuckooFilter::builder()
        .capacity(10_000)
        .seed(1)
        .build()
        .expect("a filter");
    assert!((0..1_000_000_u64).all(|item| !filter.contains(&item)));
}
