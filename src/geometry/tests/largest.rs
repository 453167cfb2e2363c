//! Tables with the most buckets: the numbers of their buckets, chunks and pieces fit.

use super::*;
use crate::{
    raw::{
        crew::{bucket_bits, places::MOST_CHUNKS},
        frontier::chunk_buckets,
        pieces::division,
    },
    table::time::Progress,
};
use std::iter;

/// The series of plain filters.
fn plain() -> impl Iterator<Item = Series> {
    let counting = COUNTER_BITS
        .into_iter()
        .flat_map(|bits| Series::counting(bits).chain(Series::growable_counting(bits)));
    let others = Series::fixed().chain(Series::growable());
    others.chain(Series::semi_sorted()).chain(counting)
}

/// The series of expiring filters, with the epochs of a TTL.
fn expiring() -> impl Iterator<Item = (u32, Series)> {
    (1..=Series::MAX_EPOCHS).flat_map(|epochs| {
        let all = iter::once(0).chain(COUNTER_BITS).flat_map(move |bits| {
            Series::expiring(epochs, bits).chain(Series::growable_expiring(epochs, bits))
        });
        all.map(move |series| (epochs, series))
    })
}

/// The nodes of a search and the lines of a fixed filter have the number of a bucket in 32 bits.
#[test]
fn the_number_of_each_bucket_has_32_bits() {
    assert!(u32::try_from(MAX_BUCKETS - 1).is_ok());
}

/// A line of a shared filter has an entry and a bucket in one word.
#[test]
fn an_entry_and_a_bucket_of_any_growing_filter_fit_into_a_word() {
    let mut all = 0;
    for series in Series::growable() {
        let buckets = MAX_BUCKETS >> series.levels;
        let bits = bucket_bits::<Growing>(series.table_levels().first);
        assert!(buckets as u64 <= 1 << bits, "{series:?}: {bits} bits");
        all += 1;
    }
    assert!(all > 20, "{all}");
}

/// A place of a scan has the number of a chunk.
#[test]
fn no_scan_has_more_chunks_than_a_place_can_say() {
    for series in plain().chain(expiring().map(|(_, series)| series)) {
        let chunks = (MAX_BUCKETS >> series.levels).div_ceil(chunk_buckets(series.levels));
        assert!(chunks <= MOST_CHUNKS, "{series:?}: {chunks}");
    }
}

#[test]
fn no_sweep_has_more_pieces_than_its_progress_can_say() {
    for (_, series) in expiring() {
        for buckets in [MAX_BUCKETS >> series.levels, 2, 1000, 1026] {
            let buckets = buckets.min(MAX_BUCKETS >> series.levels);
            let (parts, planes) = division(buckets);
            let pieces = parts * (1_usize << series.levels).div_ceil(planes);
            assert!(pieces <= Progress::MOST_PIECES, "{series:?}: {pieces}");
        }
    }
}

/// The most buckets and items that a snapshot may claim, and one pair of buckets more.
#[test]
fn the_largest_table_can_be_saved_and_no_larger_one() {
    for series in plain() {
        let small = (
            series.fingerprint_bits,
            series.prefixes,
            series.slots(0),
            series.levels,
        );
        let most = MAX_BUCKETS >> series.levels;
        let items = (series.slots(series.levels) * most) << series.levels;
        let claim = |buckets: usize| {
            let numbers = [buckets, items, items, series.counter_bits as usize];
            Geometry::from_snapshot(small, numbers.map(|number| number as u64))
        };
        let geometry = claim(most).unwrap();
        assert_eq!((geometry.buckets, geometry.capacity), (most, items));
        assert_eq!(geometry.series, series);
        assert!(claim(most + 2).is_err(), "{series:?}");
    }
    for (epochs, series) in expiring() {
        let small = (
            series.fingerprint_bits,
            series.slots(0),
            epochs,
            series.levels,
            series.counter_bits,
        );
        let most = MAX_BUCKETS >> series.levels;
        let standing = series.slots(series.levels) * (most << series.levels);
        let items = Geometry::arriving(standing, epochs) as u64;
        let claim = |buckets| Geometry::from_expiring_snapshot(small, [buckets, items, items]);
        let geometry = claim(most as u64).unwrap();
        assert_eq!((geometry.buckets, geometry.series), (most, series));
        assert!(claim(most as u64 + 2).is_err(), "{series:?}");
    }
}
