//! Snapshots of expiring filters: what they preserve, also during concurrent writes, and what is
//! refused.

mod decoder;
mod digest;
mod growing;
mod header;
mod restarts;
mod serde;
mod works;

use crate::{
    common::{step::finds_no_room, stop::Stop},
    snapshot::common::{
        damaged::{
            assert_corpus_keeps_to_the_law, assert_flipped_bits_are_refused,
            assert_other_lengths_are_refused, corpus,
        },
        fields::{with, with_byte},
    },
};
use guira::{ExpiringFilter, SnapshotError};
use proptest::prelude::*;
use std::{
    fs,
    sync::{
        LazyLock,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::Duration,
};
use works::{assert_works, check};

const LAYOUTS: [u32; 4] = [9, 11, 16, 26];
const TTL: Duration = Duration::from_secs(60);
const HEADER: usize = 64;
/// Where the words of the first chunk are, after the doublings and the epoch of the chunk.
const WORDS: usize = HEADER + 16;

fn filter(bits: u32, capacity: usize, epochs: u32) -> ExpiringFilter {
    let builder = ExpiringFilter::builder(TTL).capacity(capacity).seed(0);
    let builder = builder.fingerprint_bits(bits).epochs(epochs);
    builder.build().expect("a filter")
}

/// The snapshot by a clock that does not advance, so the age of the epoch is the restored one.
fn bytes_at_rest(filter: &ExpiringFilter) -> Vec<u8> {
    filter.to_bytes_at(|| Duration::ZERO)
}

/// A few numbers of epochs for a layout, and its maximum.
fn epochs(bits: u32) -> [u32; 3] {
    [1, 3, if bits == 9 { 5 } else { 13 }]
}

/// A filter with items of several epochs: item n was seen in epoch n / 10.
fn aged(bits: u32, epochs: u32) -> (ExpiringFilter, u32) {
    let filter = filter(bits, 100, epochs);
    for epoch in 0..=epochs {
        for item in 10 * epoch..10 * epoch + 5 {
            filter.insert(&item).expect("room");
        }
        filter.advance();
    }
    (filter, 10 * (epochs + 1))
}

#[test]
fn time_on_a_disk_passes() {
    for bits in LAYOUTS {
        for epochs in epochs(bits) {
            for passed in 0..2 * epochs {
                let (filter, _) = aged(bits, epochs);
                let elapsed = filter.epoch_length() * passed + Duration::from_millis(1);
                let bytes = bytes_at_rest(&filter);
                let restored = ExpiringFilter::restore()
                    .elapsed(elapsed)
                    .read_from(&bytes[..])
                    .expect("a snapshot");
                for _ in 0..passed {
                    filter.advance();
                }
                assert_eq!(restored.len(), filter.len(), "{bits}, {epochs}, {passed}");
                for item in 0..10 * epochs + 10 {
                    let (now, then) = (restored.count(&item), filter.count(&item));
                    assert_eq!(now, then, "{bits}, {epochs}, {passed}: {item}");
                }
            }
        }
    }
}

#[test]
fn what_was_inserted_before_is_in_each_snapshot_until_it_expires() {
    const ITEMS: u64 = 20_000;
    for bits in LAYOUTS {
        let epochs = epochs(bits)[2];
        let filter = filter(bits, 3 * ITEMS as usize, epochs);
        let (stop, next) = (AtomicBool::new(false), AtomicU64::new(ITEMS));
        for item in 0..ITEMS {
            filter.insert(&item).expect("room");
        }
        thread::scope(|scope| {
            // This thread begins epochs, and refreshes the first items.
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    for item in 0..ITEMS {
                        let answer = loop {
                            match filter.refresh(&item) {
                                // A copy is being moved, and there is no room for a second one.
                                Err(error) if finds_no_room(error) => thread::yield_now(),
                                answer => break answer,
                            }
                        };
                        assert_eq!(answer, Ok(true), "{item}");
                    }
                    assert!(filter.advance());
                }
            });
            // This thread inserts and removes, so that copies are relocated.
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    let item = next.fetch_add(1, Ordering::Relaxed);
                    let epoch = filter.epoch();
                    if filter.insert(&item).is_ok() && item % 2 == 0 && !filter.remove(&item) {
                        // If the item is absent, this thread was preempted during the insert.
                        assert!(filter.epoch() > epoch + u64::from(epochs), "{item}");
                    }
                }
            });
            let stopping = Stop(&stop);
            let mut found = 0;
            let mut number = 0;
            // On a busy machine, a snapshot can take so long that all its items have expired.
            while number < 20 || found == 0 {
                number += 1;
                // The items were refreshed in this epoch, or in the one before.
                let seen = filter.epoch().saturating_sub(1);
                let restored = if number % 2 == 0 {
                    ExpiringFilter::from_bytes(&filter.to_bytes()).expect("a snapshot")
                } else {
                    filter.clone()
                };
                while restored.epoch() <= seen + u64::from(epochs) {
                    let missing = (0..ITEMS).find(|item| !restored.contains(item));
                    assert_eq!(missing, None, "{bits}");
                    restored.advance();
                    found += 1;
                }
                for _ in 0..=epochs {
                    restored.advance();
                }
                assert!(restored.is_empty());
            }
            drop(stopping);
        });
    }
}

/// Small snapshots of all layouts, empty and with items of several epochs.
static SNAPSHOTS: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let of_layout = |bits| {
        let empty = bytes_at_rest(&filter(bits, 20, 2));
        let aged = epochs(bits).map(|epochs| bytes_at_rest(&aged(bits, epochs).0));
        [vec![empty], aged.to_vec()].concat()
    };
    let growing = [0, 30, 200, 1_000].map(|items| bytes_at_rest(&growing::grown(items)));
    let fixed = LAYOUTS.into_iter().flat_map(of_layout);
    fixed.chain(growing).collect()
});

#[test]
fn every_truncation_and_every_flipped_bit_is_refused() {
    for bytes in &*SNAPSHOTS {
        assert_other_lengths_are_refused(bytes, ExpiringFilter::from_bytes);
        assert_flipped_bits_are_refused(bytes, ExpiringFilter::from_bytes);
    }
}

/// The error for the snapshot `bytes` with this number at this position.
fn with_number(bytes: &[u8], at: usize, number: u64) -> SnapshotError {
    ExpiringFilter::from_bytes(&with(bytes, at, number)).expect_err("impossible")
}

#[test]
fn an_impossible_filter_is_refused_by_name() {
    let (filter, _) = aged(16, 3);
    let bytes = filter.to_bytes();
    let with_byte = |at: usize, byte: u8| {
        let refused = ExpiringFilter::from_bytes(&with_byte(&bytes, at, byte));
        refused.expect_err("impossible").to_string()
    };
    assert!(with_byte(0, 0).contains("magic"));
    assert!(with_byte(8, 1).contains("version 1; this release reads version 2"));
    assert!(with_byte(12, 15).contains("fingerprint bits 15"));
    assert!(with_byte(13, 4).contains("slots of a bucket 4"));
    assert!(with_byte(14, 0).contains("epochs 0"));
    assert!(with_byte(14, 14).contains("epochs 14"));
    // With 7 doublings, the slots are those of a filter that grows.
    assert!(with_byte(15, 7).contains("slots of a bucket 3"));
    assert!(with_byte(15, 8).contains("levels 8"));
    let number = |at, number| with_number(&bytes, at, number).to_string();
    assert!(number(16, 0).contains("buckets 0"));
    assert!(number(16, u32::MAX.into()).contains("buckets 8589934590"));
    assert!(number(16, 2 | 1_000_000_000 << 32).contains("nanoseconds 1000000000"));
    assert!(number(24, 1 << 40).contains(" capacity 1099511627776"));
    assert!(number(32, 1 << 40).contains("maximal capacity 1099511627776"));
    assert!(number(32, 99).contains(" capacity 100"));
    assert!(number(40, 0).contains("seconds of a TTL 0"));
    // The doublings, and the epoch of the only chunk. A first chunk cannot be missing.
    assert!(number(HEADER, 1).contains("level 1"));
    assert!(number(HEADER + 8, filter.epoch() + 1).contains("epoch"));
    assert!(number(HEADER + 8, u64::MAX).contains("epoch"));
    assert!(matches!(
        with_number(&bytes, 56, 1),
        SnapshotError::Hasher { .. }
    ));
    // The epoch at the end, and the ages.
    let end = end_of(&bytes, 3);
    let ttl = filter.ttl().as_nanos() as u64;
    let named = format!("nanoseconds of an epoch {}", ttl + 1);
    assert!(number(end + 8, ttl + 1).contains(&named));
    assert!(number(end + 8, u64::MAX).contains("nanoseconds of an epoch"));
    // The next epoch would have begun after this one.
    assert!(number(end + 8, ttl).contains("nanoseconds of an epoch"));
    assert!(number(end, filter.epoch() - 1).contains("epoch"));
    assert!(number(end, 1 << 63).contains("epoch"));
}

#[test]
fn an_impossible_word_is_refused_with_its_place() {
    let filter = filter(16, 20, 3);
    filter.advance();
    let bytes = filter.to_bytes();
    let refused = |word: u64| {
        let error = with_number(&bytes, WORDS + 8, word);
        let is_named =
            matches!(error, SnapshotError::Word { bucket: 1, plane: 0, bits } if bits == word);
        assert!(is_named, "{error}");
    };
    // Impossible words: a mark, a tag without a fingerprint, and a copy of epoch 2, which cannot
    // exist in epoch 1.
    refused(1 << 60 | 1);
    refused(1 << 16);
    refused(2 << 16 | 5);
    // Possible words: a copy of epoch 0 and one of epoch 1.
    let bytes = with(&bytes, WORDS + 8, 6 | 1 << 36 | 5 << 20);
    let restored = ExpiringFilter::from_bytes(&bytes).expect("a snapshot");
    assert_eq!(restored.len(), 2);
    assert_works(&restored);
}

/// Only the first chunk is wrong.
#[test]
fn an_impossible_word_of_the_first_chunk_is_refused() {
    let filter = filter(16, 5_000, 3);
    assert!(filter.buckets() > 2 * 512, "several chunks");
    let error = with_number(&filter.to_bytes(), WORDS + 8, 1 << 16);
    let is_named = matches!(error, SnapshotError::Word { bucket: 1, .. });
    assert!(is_named, "{error}");
}

/// Where the epoch at the end of a snapshot is, before the ages of `epochs` epochs and the checksum.
fn end_of(bytes: &[u8], epochs: u32) -> usize {
    bytes.len() - 4 - 8 * (1 + epochs as usize)
}

#[test]
fn copies_that_died_during_the_snapshot_are_left_out() {
    let filter = filter(26, 20, 3);
    filter.insert("ani").expect("room");
    let bytes = filter.to_bytes();
    let end = end_of(&bytes, 3);
    for (passed, expected) in [(3, 1), (4, 0), (16, 0), (1 << 53, 0)] {
        let restored = ExpiringFilter::from_bytes(&with(&bytes, end, passed)).expect("a snapshot");
        assert_eq!(restored.len(), expected, "{passed} epochs later");
        assert_eq!(restored.count("ani"), expected);
        assert_eq!(restored.epoch(), passed);
    }
}

/// A snapshot may have an epoch that no filter reaches. The snapshots of that filter can still be
/// read.
#[test]
fn a_filter_of_the_last_epoch_has_snapshots() {
    let bytes = filter(26, 20, 3).to_bytes();
    let end = end_of(&bytes, 3);
    let bytes = with(&with(&bytes, end, u64::MAX >> 1), end + 8, 7);
    let restored = ExpiringFilter::from_bytes(&bytes).expect("a snapshot");
    // The filter also has the age of the epoch.
    assert_eq!(
        bytes_at_rest(&restored)[end + 8..end + 16],
        bytes[end + 8..end + 16]
    );
    for _ in 0..3 {
        restored.insert("ani").expect("room");
        let again = ExpiringFilter::from_bytes(&restored.to_bytes()).expect("a snapshot");
        assert_eq!(again.count("ani"), restored.count("ani"));
        restored.advance();
    }
}

#[test]
fn the_corpus_keeps_to_the_law() {
    if std::env::var_os("GUIRA_MAKE_CORPUS").is_some() {
        let corpus = corpus("expiring_decode");
        fs::create_dir_all(&corpus).expect("a directory");
        for (number, bytes) in SNAPSHOTS.iter().enumerate() {
            fs::write(corpus.join(format!("snapshot-{number:02}")), bytes).expect("a new file");
        }
    }
    assert_corpus_keeps_to_the_law("expiring_decode", check);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 10_000, ..ProptestConfig::default() })]

    #[test]
    fn changed_snapshots_are_refused_or_work(
        which in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
    ) {
        let mut bytes = which.get(&SNAPSHOTS).clone();
        for (at, byte) in &changes {
            let at = at.index(bytes.len());
            bytes[at] = *byte;
        }
        prop_assert!(check(&bytes) || !changes.is_empty());
    }
}
