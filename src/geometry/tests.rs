//! The chosen geometry keeps what was asked for; what cannot be met is an error.

mod expiring;
mod growing;
mod headroom;
mod largest;
mod refused;
mod space;

use super::*;
use crate::{
    builder::Builder,
    filter::CuckooFilter,
    raw::any::{AnyFilter, Layouts},
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
        let what = format!("level {level}: {what}");
        assert!(geometry.rate_at(level) <= rate * (1.0 + 1e-12), "{what}");
        let room = Geometry::arriving(geometry.capacity_at(level), epochs);
        assert!((before.max(items)..=most).contains(&room), "{what}");
        before = room;
    }
    assert_eq!(before, most, "{what}");
    Some(geometry.series.levels)
}

/// At most that of 2Sα comparisons with random fingerprints.
#[test]
fn the_rate_at_capacity_is_at_most_the_one_asked_for() {
    for (rate, capacity) in RATES
        .into_iter()
        .flat_map(|it| capacities().map(move |n| (it, n)))
    {
        let geometry = choose(capacity, rate).expect("no item is too much");
        let reached = rate_at_capacity(geometry);
        let load = capacity as f64 / (geometry.buckets * geometry.series.slots(0)) as f64;
        let told = geometry.series.rate(load, 0);
        let what = format!("{capacity} items at {rate}: {reached}, {told}");
        assert!(reached <= rate * (1.0 + 1e-12), "{what}");
        assert!((told - reached).abs() <= 1e-12 * reached, "{what}");
    }
}

/// No layout would have done with fewer buckets, or with longer fingerprints in the same number of buckets.
#[test]
fn the_smallest_table_is_chosen_and_of_equal_ones_the_lowest_rate() {
    let order = |it: Geometry| (it.buckets, u32::MAX - it.series.fingerprint_bits);
    for rate in RATES {
        for capacity in capacities().filter(|&capacity| capacity < 1 << 30) {
            let others = BITS.map(|bits| fixed(capacity, rate, Some(bits)));
            let best = others.into_iter().flatten().map(order).min();
            let chosen = order(choose(capacity, rate).unwrap());
            assert_eq!(Some(chosen), best, "{capacity} items at {rate}");
        }
    }
}

#[test]
fn asking_for_more_never_makes_a_smaller_table() {
    for bits in BITS.map(Some).into_iter().chain([None]) {
        for rate in RATES {
            let all = capacities().filter(|&capacity| capacity < 1 << 30);
            let all = all.filter_map(|capacity| fixed(capacity, rate, bits).ok());
            assert!(all.is_sorted_by_key(|it| it.buckets), "{bits:?} at {rate}");
        }
        for capacity in capacities().filter(|&capacity| capacity < 1 << 30) {
            let all = RATES
                .into_iter()
                .filter_map(|rate| fixed(capacity, rate, bits).ok());
            let is_sorted = all.is_sorted_by_key(|it| it.buckets);
            assert!(is_sorted, "{bits:?}, {capacity} items");
        }
    }
}

#[test]
fn the_default_is_1024_items_at_one_in_a_thousand() {
    let default = CuckooFilter::builder().build().unwrap();
    for (filter, capacity) in [(default, 1024), (CuckooFilter::with_capacity(5000), 5000)] {
        assert_eq!(filter.capacity(), capacity);
        assert!(filter.false_positive_rate() <= 0.001);
        assert!(filter.memory_usage() <= 3 * capacity, "{capacity}");
    }
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
    let builder = builder.hasher(std::hash::RandomState::new());
    let filter = builder.build().unwrap();
    assert_eq!((filter.capacity(), filter.fingerprint_bits()), (77, 20));
    filter.insert("ani").unwrap();
    assert!(filter.contains("ani"));
    assert!(filter.contains(&filter.hash_of("ani")));
}
