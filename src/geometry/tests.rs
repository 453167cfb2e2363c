//! The chosen geometry keeps what was asked for; what cannot be met is an error.

mod expiring;
mod expiring_growth;
mod growing;
mod headroom;
mod largest;
mod refused;
mod space;

use super::*;
use crate::{
    builder::Builder,
    filter::CuckooFilter,
    raw::{any::AnyFilter, ops::Layouts},
    table::layout::Growing,
};

const BITS: [u32; 5] = [10, 12, 15, 20, 30];

const RATES: [f64; 14] = [
    0.999_999, 0.5, 0.1, 0.03, 0.012, 0.01, 0.003, 0.001, 2.5e-4, 1e-4, 1e-5, 1e-6, 1e-8, MIN_RATE,
];

/// Every small capacity, and larger ones up to 4 billions, or to those for which
/// there are addresses at any rate.
fn capacities() -> impl Iterator<Item = usize> {
    let larger = (0..57).map(|step| (200.0 * 1.35_f64.powi(step)) as usize);
    let addressable = if usize::BITS > 32 {
        usize::MAX
    } else {
        1 << 28
    };
    let larger = larger.take_while(move |&capacity| capacity <= addressable);
    (0..200).chain(larger)
}

const PLAIN: Kind = Kind {
    epochs: 0,
    counter_bits: 0,
    semi_sorted: false,
};

const SPACE: Kind = Kind {
    semi_sorted: true,
    ..PLAIN
};

/// The kind of expiring filters with this number of epochs.
fn with_epochs(epochs: u32) -> Kind {
    Kind { epochs, ..PLAIN }
}

/// The kinds of filters whose items stay, or of those for which a TTL has this number of epochs.
fn kinds(epochs: u32) -> [Kind; 3] {
    [0, 4, 8].map(|counter_bits| Kind {
        epochs,
        counter_bits,
        semi_sorted: true,
    })
}

fn all_fixed() -> Vec<Series> {
    Series::all(PLAIN, false).collect()
}

fn all_growable() -> Vec<Series> {
    Series::all(PLAIN, true).collect()
}

fn choose_of(
    kind: Kind,
    items: usize,
    max_items: Option<usize>,
    rate: f64,
    bits: Option<u32>,
) -> Result<Geometry, BuildError> {
    let request = Request {
        kind,
        items,
        max_items,
        rate,
        bits,
    };
    request.geometry()
}

fn fixed(capacity: usize, rate: f64, bits: Option<u32>) -> Result<Geometry, BuildError> {
    choose_of(PLAIN, capacity, None, rate, bits)
}

fn growable(
    capacity: usize,
    max_capacity: usize,
    rate: f64,
    bits: Option<u32>,
) -> Result<Geometry, BuildError> {
    choose_of(PLAIN, capacity, Some(max_capacity), rate, bits)
}

fn choose(capacity: usize, rate: f64) -> Result<Geometry, BuildError> {
    fixed(capacity, rate, None)
}

fn rate_at_capacity(geometry: Geometry) -> f64 {
    let slots = geometry.series.slots(0) as f64;
    let load = geometry.capacity as f64 / (geometry.buckets as f64 * slots);
    rate(geometry.series, load)
}

/// Fan et al.'s formula, `1 - (1 - 2^-f)^(2Sα)`, with the fingerprints that there are: none is 0.
fn rate(series: Series, load: f64) -> f64 {
    let values = u64::from(series.prefixes.max(1)) << series.fingerprint_bits;
    let slots = series.slots(0) as f64;
    -f64::exp_m1(2.0 * slots * load * f64::ln_1p(-1.0 / (values - 1) as f64))
}

/// Asserts that a filter that grows from `items` to `most` has its rate at every level, and that its room
/// only grows. Returns how often it doubles; `None` if it has to begin with more items, as the error says.
fn assert_keeps_its_rate(epochs: u32, items: usize, most: usize, rate: f64) -> Option<u32> {
    let growing = |items, most| choose_of(with_epochs(epochs), items, Some(most), rate, None);
    let geometry = match growing(items, most) {
        Ok(geometry) => geometry,
        Err(BuildError::Growth { min, .. }) => {
            assert!(min > items, "{min} is no more than {items}");
            let larger = growing(min, most.max(min));
            assert!(larger.is_ok(), "{min}, {most}, {rate}: {larger:?}");
            return None;
        }
        Err(error) => panic!("{items}, {most}, {rate}: {error}"),
    };
    let what = format!("{items} to {most} in {epochs} at {rate}: {geometry:?}");
    let mut before = 0;
    for level in 0..=geometry.series.levels {
        assert!(
            geometry.rate_at(level) <= rate * (1.0 + 1e-12),
            "{level}, {what}"
        );
        let room = Geometry::arriving(geometry.capacity_at(level), epochs);
        assert!(
            (before.max(items)..=most).contains(&room),
            "{level}, {what}"
        );
        before = room;
    }
    assert_eq!(before, most, "{what}");
    Some(geometry.series.levels)
}

#[test]
fn the_rate_at_capacity_is_at_most_the_one_asked_for() {
    for rate in RATES {
        for capacity in capacities() {
            let Ok(geometry) = choose(capacity, rate) else {
                panic!("{capacity} items at {rate} cannot be had")
            };
            let reached = rate_at_capacity(geometry);
            assert!(
                reached <= rate * (1.0 + 1e-12),
                "{capacity} items at {rate}: {reached}"
            );
        }
    }
}

#[test]
fn a_built_filter_tells_the_rate_that_was_asked_for_or_less() {
    for rate in RATES {
        for capacity in [1, 2, 7, 100, 10_000] {
            let builder = CuckooFilter::builder()
                .capacity(capacity)
                .false_positive_rate(rate);
            let filter = builder.build().unwrap();
            assert!(filter.false_positive_rate() <= rate * (1.0 + 1e-12));
            assert_eq!(filter.capacity(), capacity);
            assert!(filter.buckets() * filter.bucket_slots() >= capacity);
        }
    }
}

#[test]
fn asking_for_more_never_makes_a_smaller_table() {
    for bits in BITS.map(Some).into_iter().chain([None]) {
        for rate in RATES {
            let buckets: Vec<usize> = capacities()
                .filter(|&capacity| capacity < 1 << 30)
                .filter_map(|capacity| fixed(capacity, rate, bits).ok())
                .map(|geometry| geometry.buckets)
                .collect();
            assert!(buckets.is_sorted(), "{bits:?} at {rate}");
        }
        for capacity in capacities().filter(|&capacity| capacity < 1 << 30) {
            let buckets: Vec<usize> = RATES
                .into_iter()
                .filter_map(|rate| fixed(capacity, rate, bits).ok())
                .map(|geometry| geometry.buckets)
                .collect();
            assert!(buckets.is_sorted(), "{bits:?}, {capacity} items");
        }
    }
}

/// No layout would have done with fewer buckets.
#[test]
fn the_smallest_table_is_chosen_and_of_equal_ones_the_lowest_rate() {
    for rate in RATES {
        for capacity in capacities().filter(|&capacity| capacity < 1 << 30) {
            let chosen = choose(capacity, rate).unwrap();
            for bits in BITS {
                let Ok(other) = fixed(capacity, rate, Some(bits)) else {
                    continue;
                };
                let tuple = |geometry: Geometry| {
                    (
                        geometry.buckets,
                        u32::MAX - geometry.series.fingerprint_bits,
                    )
                };
                assert!(
                    tuple(chosen) <= tuple(other),
                    "{capacity} items at {rate}: {bits} bits"
                );
            }
        }
    }
}

#[test]
fn a_rate_picks_the_layout_that_the_documentation_names() {
    let bits = |rate| choose(1_000_000, rate).unwrap().series.fingerprint_bits;
    assert_eq!(bits(0.02), 10);
    assert_eq!(bits(0.003), 12);
    assert_eq!(bits(0.001), 15);
    assert_eq!(bits(1e-5), 20);
    assert_eq!(bits(1e-8), 30);
}

#[test]
fn small_filters_are_small() {
    let filter = CuckooFilter::builder()
        .capacity(100)
        .false_positive_rate(0.001)
        .build()
        .unwrap();
    assert!(
        filter.memory_usage() <= 1024,
        "{} bytes",
        filter.memory_usage()
    );
    let filter = CuckooFilter::with_capacity(1_000_000);
    assert!(
        filter.memory_usage() <= 2_200_000,
        "{} bytes",
        filter.memory_usage()
    );
}

#[test]
fn fingerprint_bits_choose_the_layout() {
    for (bits, slots) in [(10, 6), (12, 5), (15, 4), (20, 3), (30, 2)] {
        let filter = CuckooFilter::builder()
            .capacity(500)
            .fingerprint_bits(bits)
            .build()
            .unwrap();
        assert_eq!(
            (filter.fingerprint_bits(), filter.bucket_slots()),
            (bits, slots)
        );
    }
}

#[test]
fn the_default_is_1024_items_at_one_in_a_thousand() {
    let filter = CuckooFilter::builder().build().unwrap();
    assert_eq!(filter.capacity(), 1024);
    assert!(filter.false_positive_rate() <= 0.001);
    let filter = CuckooFilter::with_capacity(5000);
    assert_eq!(filter.capacity(), 5000);
    assert!(filter.false_positive_rate() <= 0.001);
}

#[test]
fn a_seed_is_the_hashers_and_without_one_it_is_random() {
    let seed = |builder: Builder| builder.build().unwrap().hasher().seed();
    assert_eq!(seed(CuckooFilter::builder().seed(42)), 42);
    assert_ne!(seed(CuckooFilter::builder()), seed(CuckooFilter::builder()));
}

#[test]
fn a_hasher_of_ones_own_is_used_and_the_rest_is_kept() {
    let builder = CuckooFilter::builder().capacity(77).fingerprint_bits(20);
    let filter = builder
        .hasher(std::hash::RandomState::new())
        .build()
        .unwrap();
    assert_eq!((filter.capacity(), filter.fingerprint_bits()), (77, 20));
    filter.insert("ani").unwrap();
    assert!(filter.contains("ani"));
    assert!(filter.contains(&filter.hash_of("ani")));
}

// Errors.

#[test]
fn the_rate_is_that_of_2s_alpha_comparisons() {
    for series in all_fixed() {
        for load in [0.0, 0.1, 0.5, 0.95, 1.0] {
            let expected = rate(series, load);
            assert!((series.rate(load, 0) - expected).abs() <= 1e-12 * expected);
        }
    }
}
