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

/// All series of these kinds.
fn all(kinds: [Kind; 3]) -> impl Iterator<Item = Series> {
    let all = |kind| [false, true].map(|grows| Series::all(kind, grows).collect::<Vec<_>>());
    kinds.into_iter().flat_map(all).flatten()
}

/// The series of plain filters.
fn plain() -> impl Iterator<Item = Series> {
    all(kinds(0))
}

/// The series of expiring filters, with the epochs of a TTL.
fn expiring() -> impl Iterator<Item = (u32, Series)> {
    (1..=Geometry::MAX_EPOCHS)
        .flat_map(|epochs| all(kinds(epochs)).map(move |series| (epochs, series)))
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
    for series in all_growable() {
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
    let plain = plain().map(|series| (None, series));
    let expiring = expiring().map(|(epochs, series)| (Some(epochs), series));
    for (epochs, series) in plain.chain(expiring) {
        let most = MAX_BUCKETS >> series.levels;
        let standing = (series.slots(series.levels) * most) << series.levels;
        let items = Geometry::arriving(standing, epochs.unwrap_or(0));
        let claim = |buckets: usize| Claim {
            fingerprint_bits: series.fingerprint_bits,
            prefixes: series.prefixes,
            levels: series.levels,
            slots: series.slots(0) as u32,
            epochs,
            counter_bits: series.counter_bits.into(),
            buckets: buckets as u64,
            items: items as u64,
            max_items: items as u64,
        };
        let geometry = claim(most).geometry().unwrap();
        assert_eq!((geometry.buckets, geometry.series), (most, series));
        let capacity = Geometry::standing(items, epochs.unwrap_or(0));
        assert_eq!(geometry.capacity, capacity);
        assert!(claim(most + 2).geometry().is_err(), "{series:?}");
    }
}
