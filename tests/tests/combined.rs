//! What a merge, a union, an intersection and a difference of two filters at rest must leave, and which
//! filters they refuse. The law is the same for both kinds of filters, in each layout.
//!
//! `merge`, `union` and `intersection` have what holds for one of them, and beside writers.

use crate::{
    common::filters::{COUNTING, GROWABLE_COUNTING},
    snapshot::common::{
        fields::{PROBE, number},
        layouts::{LAYOUTS, SEMI_SORTED, that_grows},
    },
};
use guira::{
    CuckooFilter, ExpiringBuilder, ExpiringFilter, Filter, InsertError, Lifetime, MergeError,
    Mismatch, Prefer, SeededState,
};
use proptest::{collection::vec, prelude::*, sample::select};
use std::{ops::Add, time::Duration};

type Seeded<T> = Filter<SeededState, T>;
type Call<T> = fn(&Seeded<T>, &Seeded<T>) -> Result<(), MergeError>;
/// The number of copies to leave, by those in both filters.
type Wanted = fn(usize, usize) -> usize;

/// The four calls, and what they leave.
fn calls<T: Lifetime>() -> [(&'static str, Call<T>, Wanted); 4] {
    [
        ("merge", Filter::merge, usize::add),
        ("union", Filter::union_with, usize::max),
        ("intersection", Filter::intersect_with, usize::min),
        ("difference", Filter::difference_with, |here, there| {
            if there == 0 { here } else { 0 }
        }),
    ]
}

/// The bits of fingerprints and of counters, and whether words are semi-sorted or the filter grows.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    /// A layout of [`LAYOUTS`]: some grow.
    Plain(u32),
    SemiSorted(f64),
    Counting(u32, u32),
    GrowingCounting(u32, u32),
}

fn kinds() -> Vec<Kind> {
    let plain = LAYOUTS.into_iter().map(Kind::Plain);
    let sorted = SEMI_SORTED.map(|(_, rate)| Kind::SemiSorted(rate));
    let counting = COUNTING.map(|(bits, counter)| Kind::Counting(bits, counter));
    let growing = GROWABLE_COUNTING.map(|(bits, counter)| Kind::GrowingCounting(bits, counter));
    plain.chain(sorted).chain(counting).chain(growing).collect()
}

/// An empty filter for `capacity` items, or for 16 times that number after growth.
pub(crate) fn empty(kind: Kind, capacity: usize) -> CuckooFilter {
    let builder = CuckooFilter::builder().capacity(capacity).seed(0x5eed);
    match kind {
        Kind::Plain(bits) => return that_grows(bits, capacity, 16),
        Kind::SemiSorted(rate) => builder.false_positive_rate(rate).prefer(Prefer::Space),
        Kind::Counting(bits, counter) => builder.fingerprint_bits(bits).counter_bits(counter),
        Kind::GrowingCounting(bits, counter) => builder
            .fingerprint_bits(bits)
            .counter_bits(counter)
            .max_capacity(16 * capacity),
    }
    .build()
    .expect("a filter")
}

/// Items below 2000, some of them repeated.
const ITEMS: u64 = 2_000;

fn items() -> impl Strategy<Value = Vec<u64>> {
    vec(prop_oneof![0..8_u64, 0..ITEMS], 0..300)
}

proptest! {
    #[test]
    fn numbers_of_copies_are_combined(
        kind in select(kinds()),
        // With less, a filter of 11 bits would have to start with too many bits.
        capacity in 10..300_usize,
        [here, there] in [items(), items()],
        [finish_here, finish_there] in any::<[bool; 2]>(),
    ) {
        for (name, call, wanted) in calls() {
            let [filter, other] = [(&here, finish_here), (&there, finish_there)].map(|(items, finish)| {
                let filter = empty(kind, capacity);
                for item in items {
                    // There may be no room.
                    let _ = filter.insert(item);
                }
                if finish {
                    filter.finish_growth();
                }
                filter
            });
            // By class, because items of one class have one number.
            let copies = |filter: &CuckooFilter| -> Vec<usize> {
                (0..ITEMS).map(|item| filter.count(&item)).collect()
            };
            let (before, of_other, len) = (copies(&filter), copies(&other), filter.len());
            let (digest, adds) = (other.digest(), matches!(name, "merge" | "union"));
            let combined = call(&filter, &other);
            prop_assert_eq!(other.digest(), digest, "the other filter stays as it is");
            for (item, after) in copies(&filter).into_iter().enumerate() {
                let (before, wanted) = (before[item], wanted(before[item], of_other[item]));
                match combined {
                    Ok(()) => prop_assert_eq!(after, wanted, "{} of {}", name, item),
                    Err(_) => prop_assert!((before..=wanted).contains(&after), "{name} of {item}"),
                }
            }
            prop_assert_eq!(filter.clone().len(), filter.len(), "what is left is counted");
            match combined {
                Ok(()) if name == "merge" => prop_assert_eq!(filter.len(), len + other.len()),
                Ok(()) => {
                    let digest = filter.digest();
                    prop_assert_eq!(call(&filter, &other), Ok(()));
                    prop_assert_eq!(filter.digest(), digest, "a repetition changes nothing");
                }
                Err(MergeError::Insert { merged, error }) => {
                    let expected = [InsertError::Full, InsertError::TooManyCopies];
                    prop_assert!(adds && expected.contains(&error), "{name}: {error}");
                    prop_assert_eq!(filter.len(), len + merged, "one copy for each");
                    prop_assert!(merged < other.len(), "{merged}");
                }
                Err(error) => panic!("{name}: {error}"),
            }
        }
    }
}

const TTL: Duration = Duration::from_secs(60);

/// E of the filters whose copies have ages.
const EPOCHS: usize = 4;

/// The copies of an item by their age, the youngest first.
type Ages = [usize; EPOCHS + 1];

/// Builders of each layout, and of filters that count or grow.
fn builders() -> Vec<ExpiringBuilder> {
    let builder = || ExpiringFilter::builder(TTL).epochs(EPOCHS as u32).seed(3);
    let fixed = [9, 11, 16, 26].map(|bits| builder().fingerprint_bits(bits).capacity(1_000));
    let counting = [(8, 4), (13, 4), (9, 8)].map(|(bits, counter)| {
        let builder = builder().fingerprint_bits(bits).counter_bits(counter);
        builder.capacity(1_000)
    });
    let growing = builder().capacity(100).max_capacity(1_000);
    let both = builder().fingerprint_bits(11).counter_bits(4);
    let both = both.capacity(100).max_capacity(1_000);
    let all = fixed.into_iter().chain(counting).chain([growing, both]);
    all.collect()
}

/// A filter with copies of these ages. The oldest ones have just died, and are not swept yet.
fn aged(builder: &ExpiringBuilder, ahead: u32, ages: &[usize]) -> ExpiringFilter {
    let filter = builder.clone().build().expect("a filter");
    (0..ahead).for_each(|_| assert!(filter.advance()));
    for age in (0..=EPOCHS + 1).rev() {
        for _ in ages.iter().filter(|&&copy| copy == age) {
            filter.insert(&7).expect("room");
        }
        assert!(age == 0 || filter.begin_epoch());
    }
    filter
}

/// The live copies by age, which a filter shows while it ages.
fn by_age(filter: &ExpiringFilter) -> Ages {
    let copy = filter.clone();
    // Those of at most each age, the oldest first.
    let within = [(); EPOCHS + 1].map(|()| {
        let count = copy.count(&7);
        copy.advance();
        count
    });
    let younger = |age: usize| {
        if age == 0 {
            0
        } else {
            within[EPOCHS + 1 - age]
        }
    };
    std::array::from_fn(|age| within[EPOCHS - age] - younger(age))
}

/// What a call leaves. As the current epoch of this filter may be about to end, copies from the other one
/// live for an epoch more.
fn expected(name: &str, here: Ages, there: Ages) -> Ages {
    let mut later = [0; EPOCHS + 1];
    for (age, count) in there.into_iter().enumerate() {
        later[age.saturating_sub(1)] += count;
    }
    let sums = |ages: Ages| {
        let mut sum = 0;
        ages.map(|count| {
            sum += count;
            sum
        })
    };
    match name {
        "merge" => std::array::from_fn(|age| here[age] + later[age]),
        // For each age, the number of copies that are at most that old is the larger one.
        "union" => {
            let (here, there) = (sums(here), sums(later));
            let most: Ages = std::array::from_fn(|age| here[age].max(there[age]));
            std::array::from_fn(|age| most[age] - if age == 0 { 0 } else { most[age - 1] })
        }
        // The youngest copies stay.
        "intersection" => {
            let mut most = there.iter().sum::<usize>();
            here.map(|count| {
                let stay = most.min(count);
                most -= stay;
                stay
            })
        }
        _ if there == [0; EPOCHS + 1] => here,
        _ => [0; EPOCHS + 1],
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// The epochs of the two filters may begin at different times.
    #[test]
    fn ages_of_copies_are_combined(
        builder in select(builders()),
        (ahead_here, ahead_there) in (prop_oneof![0..3_u32, Just(100)], 0..3_u32),
        [here, there] in [vec(0..=EPOCHS + 1, 0..3), vec(0..=EPOCHS + 1, 0..3)],
    ) {
        for (name, call, _) in calls() {
            let filter = aged(&builder, ahead_here, &here);
            let other = aged(&builder, ahead_there, &there);
            prop_assert_eq!(other.len(), there.len(), "nothing is swept");
            let (ages, of_other, digest) = (by_age(&filter), by_age(&other), other.digest());
            let live = there.iter().filter(|&&age| age <= EPOCHS).count();
            prop_assert_eq!(of_other.iter().sum::<usize>(), live);
            call(&filter, &other).expect("room");
            let wanted = expected(name, ages, of_other);
            prop_assert_eq!(by_age(&filter), wanted, "{}", name);
            prop_assert_eq!(other.digest(), digest, "the other filter stays as it is");
            if name != "merge" {
                let digest = filter.digest();
                call(&filter, &other).expect("room");
                prop_assert_eq!(filter.digest(), digest, "a repetition changes nothing");
            }
            for _ in 0..=EPOCHS {
                prop_assert!(filter.advance());
            }
            prop_assert_eq!((filter.len(), filter.slots_in_use()), (0, 0));
        }
    }
}

/// Each call gives this error, and changes nothing.
fn assert_refused<T: Lifetime>(filter: &Seeded<T>, other: &Seeded<T>, expected: MergeError) {
    filter.insert("ani").expect("room");
    let digests = [filter.digest(), other.digest()];
    for (name, call, _) in calls() {
        assert_eq!(call(filter, other), Err(expected), "{name}");
        assert_eq!(filter.check_mergeable(other), Err(expected), "{name}");
        assert_eq!([filter.digest(), other.digest()], digests, "{name}");
    }
}

/// The error of a filter with another hasher. The headers of each kind have its probe at `at`.
fn other_hasher<T: Lifetime>(filter: &Seeded<T>, other: &Seeded<T>, at: usize) -> MergeError {
    let [this, other] = [filter, other].map(|filter| number(&filter.header(), at));
    MergeError::Hasher { this, other }
}

/// The first filter of these with as many buckets as `buckets`.
fn with_buckets<T: Lifetime>(
    filters: impl Iterator<Item = Seeded<T>>,
    buckets: usize,
) -> Seeded<T> {
    let mut filters = filters.skip_while(|filter| filter.buckets() < buckets);
    let filter = filters.next().expect("a large one");
    assert_eq!(filter.buckets(), buckets);
    filter
}

#[test]
fn filters_that_place_items_differently_are_refused_by_name() {
    let build = |bits: u32, capacity: usize, seed: u64| {
        let builder = CuckooFilter::builder().capacity(capacity);
        builder.fingerprint_bits(bits).seed(seed).build().unwrap()
    };
    let filter = build(15, 1_000, 1);
    assert_refused(&filter, &filter, MergeError::SameFilter);
    let refused = MergeError::Geometry(Mismatch::FingerprintBits {
        this: 15,
        other: 20,
    });
    assert_refused(&filter, &build(20, 1_000, 1), refused);
    assert_eq!(
        refused.to_string(),
        "the filters differ in fingerprint bits: 15 in this one, 20 in the other one"
    );
    let other = build(15, 2_000, 1);
    let [this, of_other] = [&filter, &other].map(CuckooFilter::buckets);
    let buckets = Mismatch::Buckets {
        this,
        other: of_other,
    };
    assert_refused(&filter, &other, MergeError::Geometry(buckets));
    let other = build(15, 1_000, 2);
    let refused = other_hasher(&filter, &other, PROBE);
    assert_refused(&filter, &other, refused);
    let (text, probe) = (refused.to_string(), number(&other.header(), PROBE));
    assert!(text.contains(&format!("{probe:#x}")), "{text}");
    let semi_sorted = CuckooFilter::builder().prefer(Prefer::Space).seed(1);
    let semi_sorted = semi_sorted.fingerprint_bits(15).false_positive_rate(1.4e-4);
    let semi_sorted = semi_sorted.build().expect("a filter");
    let mismatch = Mismatch::SemiSorted {
        this: false,
        other: true,
    };
    assert_refused(&filter, &semi_sorted, MergeError::Geometry(mismatch));
    // The filters have the same numbers of bits and buckets, but different fingerprints.
    let growable = CuckooFilter::builder().fingerprint_bits(10).seed(1);
    let growable = growable.capacity(1_000).max_capacity(4_000);
    let growable = growable.build().expect("a filter");
    let fixed = (1..).map(|capacity| build(10, capacity, 1));
    let fixed = with_buckets(fixed, growable.buckets());
    for (this, other) in [(&fixed, &growable), (&growable, &fixed)] {
        let [of_this, of_other] = [this, other].map(|it| it.max_capacity() == 4_000);
        let growth = Mismatch::Growth {
            this: of_this,
            other: of_other,
        };
        assert_refused(this, other, MergeError::Geometry(growth));
    }
}

#[test]
fn expiring_filters_that_differ_are_refused_by_name() {
    let build = |ttl: Duration, bits: u32, epochs: u32, capacity: usize, seed: u64| {
        let builder = ExpiringFilter::builder(ttl).fingerprint_bits(bits);
        let builder = builder.epochs(epochs).capacity(capacity).seed(seed);
        builder.build().expect("a filter")
    };
    let filter = build(TTL, 16, 3, 1_000, 1);
    assert_refused(&filter, &filter, MergeError::SameFilter);
    let other = build(TTL, 16, 3, 1_000, 2);
    assert_refused(&filter, &other, other_hasher(&filter, &other, PROBE + 8));
    let (short, this) = (build(TTL, 16, 1, 1_000, 1), filter.buckets());
    // These have the same number of buckets, but fewer epochs.
    let few = (1..).map(|capacity| build(TTL, 16, 2, capacity, 1));
    let few = with_buckets(few, this);
    let buckets = short.buckets();
    for (other, mismatch) in [
        (
            build(TTL, 26, 3, 1_000, 1),
            Mismatch::FingerprintBits {
                this: 16,
                other: 26,
            },
        ),
        (
            build(2 * TTL, 16, 3, 1_000, 1),
            Mismatch::Ttl {
                this: TTL,
                other: 2 * TTL,
            },
        ),
        (
            short,
            Mismatch::Buckets {
                this,
                other: buckets,
            },
        ),
        (few, Mismatch::Epochs { this: 3, other: 2 }),
    ] {
        assert_refused(&filter, &other, MergeError::Geometry(mismatch));
    }
}
