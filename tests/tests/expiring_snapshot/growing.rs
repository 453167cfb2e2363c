//! Snapshots of expiring filters that grow.

use super::{HEADER, TTL, bytes_at_rest, end_of, works::fix_checksum};
use crate::snapshot::common::fields::{number, with};
use guira::{ExpiringFilter, SnapshotError};
use std::{
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

const EPOCHS: u32 = 3;

fn growable() -> ExpiringFilter {
    let builder = ExpiringFilter::builder(TTL).epochs(EPOCHS).seed(0);
    let builder = builder.capacity(20).max_capacity(10_000);
    builder.build().expect("a filter")
}

/// A filter that has grown with this number of items, a third of them in each epoch.
pub(super) fn grown(items: u32) -> ExpiringFilter {
    let filter = growable();
    for item in 0..items {
        if item > 0 && item % items.div_ceil(3) == 0 {
            filter.advance();
        }
        filter.insert(&item).expect("it grows");
    }
    filter
}

/// Copies that died while the snapshot was written are left out, in whichever plane they are.
#[test]
fn what_dies_during_a_snapshot_is_left_out_of_all_planes() {
    let filter = grown(2_000);
    assert!(filter.stats().doublings > 2);
    let bytes = bytes_at_rest(&filter);
    let end = end_of(&bytes, filter.epochs());
    let live_after = |passed: u64| {
        let restored = ExpiringFilter::from_bytes(&with(&bytes, end, filter.epoch() + passed));
        restored.expect("a snapshot").len()
    };
    let mut expected = Vec::new();
    let later = filter.clone();
    for passed in 0..=5 {
        assert_eq!(live_after(passed), later.len(), "{passed}");
        expected.push(later.len());
        later.advance();
    }
    assert_eq!((expected[0], expected[5]), (2_000, 0));
}

#[test]
fn impossible_passes_and_words_are_refused() {
    let filter = grown(1_000);
    filter.finish_growth();
    let (bytes, doublings) = (bytes_at_rest(&filter), u64::from(filter.stats().doublings));
    let with =
        |at: usize, number: u64| ExpiringFilter::from_bytes(&with(&bytes, at, number)).map(|_| ());
    assert!(doublings > 1 && with(HEADER, doublings).is_ok());
    // Too many levels, and too few planes for the words.
    assert!(matches!(
        with(HEADER, 99),
        Err(SnapshotError::Geometry {
            what: "level",
            found: 99
        })
    ));
    assert!(with(HEADER, doublings - 1).is_err());
    // A void pass needs a chunk.
    assert!(with(HEADER + 8, u64::MAX).is_err());
    let word = number(&bytes, HEADER + 16);
    let refused = |bits| {
        let is_named = matches!(with(HEADER + 16, bits), Err(SnapshotError::Word { bits: it, .. }) if it == bits);
        assert!(is_named, "{bits:#x}");
    };
    // Frozen; of a level too high; not made; with a mark; a tag without a fingerprint.
    refused(word ^ 1 << 58);
    refused(word + (4 << 59));
    refused(0);
    refused(word | 1 << 54);
    refused(word >> 58 << 58 | 1 << (40 - (word >> 59)));
}

/// A pass that the filter's doubling has made void, and then a whole one.
#[test]
fn a_void_pass_is_read_over() {
    let builder = ExpiringFilter::builder(TTL).epochs(EPOCHS).seed(0);
    let builder = builder.capacity(2_000).max_capacity(50_000);
    let [small, large] = [0, 20_000].map(|items| {
        let filter = builder.clone().build().expect("a filter");
        for item in 0..items {
            filter.insert(&item).expect("it grows");
        }
        filter
    });
    let doublings = large.stats().doublings;
    assert!(doublings > 1);
    let [start, whole] = [&small, &large].map(bytes_at_rest);
    let chunk = (512_usize >> whole[15]).max(8);
    let cut = |chunks: usize| HEADER + 8 + 8 * chunks * (1 + chunk);
    for chunks in [0, 1, 3] {
        // Some chunks of the small filter, and then the pass over the large one.
        let mut bytes = start[..cut(chunks)].to_vec();
        // The last one of them was read late.
        if let Some(at) = chunks.checked_sub(1).map(cut) {
            bytes[at..at + 8].copy_from_slice(&9_u64.to_le_bytes());
        }
        bytes.extend(u64::MAX.to_le_bytes());
        bytes.extend(&whole[HEADER..]);
        fix_checksum(&mut bytes);
        let read = ExpiringFilter::from_bytes(&bytes);
        // A pass that is void has a chunk.
        assert_eq!(read.is_ok(), chunks > 0, "{read:?}");
        if let Ok(read) = read {
            assert_eq!(read.stats().doublings, doublings);
            assert_eq!(bytes_at_rest(&read), whole);
        }
    }
}

/// A snapshot that is written while the filter grows has every item that was in the filter before.
#[test]
fn a_snapshot_beside_growth_has_what_is_live_throughout() {
    const KEPT: u64 = 500;
    let builder = ExpiringFilter::builder(Duration::from_secs(3600)).seed(0);
    let builder = builder.capacity(1_000).max_capacity(200_000).epochs(12);
    let filter = &builder.build().expect("a filter");
    for item in 0..KEPT {
        filter.insert(&item).expect("room");
    }
    let done = &AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(move || {
            for item in KEPT..120_000 {
                filter.insert(&item).expect("it grows");
                if item % 20_000 == 0 {
                    filter.advance();
                }
            }
            done.store(true, Ordering::Release);
        });
        let mut taken = 0;
        while taken < 3 || !done.load(Ordering::Acquire) {
            let copy = match taken % 2 {
                0 => ExpiringFilter::from_bytes(&filter.to_bytes()).expect("a snapshot"),
                _ => filter.clone(),
            };
            let missing = (0..KEPT).find(|item| !copy.contains(item));
            assert_eq!(missing, None, "snapshot {taken}");
            taken += 1;
        }
    });
    assert!(filter.stats().doublings > 4);
}
