//! A decoder of pieces, for both kinds of filters.

use super::{allocated::allocated_by, fields::fix_checksum};
use guira::{Filter, FilterDecoder, Lifetime, SeededState, SnapshotError};
use proptest::{collection::vec, prelude::*, sample::Index};
use std::{fmt::Debug, hash::RandomState};

type Decoded<T> = Result<Filter<SeededState, T>, SnapshotError>;

/// Decodes pieces of these sizes, in rotation.
pub(crate) fn decode<T: Lifetime>(bytes: &[u8], sizes: &[usize], most: usize) -> Decoded<T> {
    let mut decoder = FilterDecoder::new(most);
    let (mut rest, mut sizes) = (bytes, sizes.iter().cycle());
    while !rest.is_empty() {
        let size = *sizes.next().expect("there is a size");
        let (piece, after) = rest.split_at(size.min(rest.len()));
        let taken = decoder.feed(piece)?;
        if taken < piece.len() {
            assert!(decoder.is_complete());
            let count = piece.len() - taken + after.len();
            return decoder
                .finish()
                .and(Err(SnapshotError::TrailingBytes { count }));
        }
        rest = after;
    }
    decoder.finish()
}

/// A snapshot, changes of it, and the sizes of the pieces.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    index: Index,
    sizes: Vec<usize>,
    changes: Vec<(Index, u8)>,
    is_fixed: bool,
    cut: usize,
}

pub(crate) fn cases() -> impl Strategy<Value = Case> {
    let changes = vec((any::<Index>(), any::<u8>()), 0..3);
    let sizes = vec(1_usize..3_000, 1..8);
    let all = (any::<Index>(), sizes, changes, any::<bool>(), 0_usize..40);
    all.prop_map(|(index, sizes, changes, is_fixed, cut)| Case {
        index,
        sizes,
        changes,
        is_fixed,
        cut,
    })
}

impl Case {
    /// Checks that pieces give what the whole gives: the same error, or a filter that is the same
    /// by `parts`.
    pub(crate) fn check<T: Lifetime, P: Debug + PartialEq>(
        &self,
        snapshots: &[Vec<u8>],
        parts: fn(&Filter<SeededState, T>) -> P,
    ) -> Result<(), TestCaseError> {
        let mut bytes = self.index.get(snapshots).clone();
        for (at, byte) in &self.changes {
            let at = at.index(bytes.len());
            bytes[at] ^= byte;
        }
        if self.is_fixed {
            fix_checksum(&mut bytes);
        }
        // Half of the snapshots are complete.
        match self.cut {
            cut @ 0..10 => bytes.truncate(bytes.len() - cut),
            cut @ 10..20 => bytes.resize(bytes.len() + cut - 9, 0),
            _ => {}
        }
        let outcome = |decoded: Decoded<T>| match decoded {
            Ok(filter) => Ok(parts(&filter)),
            Err(error) => Err(format!("{error:?}")),
        };
        let whole = outcome(Filter::from_bytes(&bytes));
        // If a header requests more memory than the limit, both decoders refuse it, with different
        // errors.
        match decode(&bytes, &self.sizes, 1 << 20) {
            Err(SnapshotError::TooLarge { asked, .. }) => {
                prop_assert!(asked > 1 << 20 && whole.is_err());
            }
            decoded => prop_assert_eq!(outcome(decoded), whole),
        }
        Ok(())
    }
}

/// Checks that the limit is that of the buckets, with a decoder that gets the first `fed` bytes. A
/// filter that is too large allocates nothing.
pub(crate) fn assert_limit<T: Lifetime>(filter: &Filter<SeededState, T>, fed: usize) {
    let (bytes, buckets) = (filter.to_bytes(), 8 * filter.buckets());
    for size in [1 << 12, 1 << 16] {
        assert!(decode::<T>(&bytes, &[size], buckets).is_ok());
    }
    let mut decoder = FilterDecoder::<T>::new(buckets - 1);
    let (refused, allocated) = allocated_by(|| decoder.feed(&bytes[..fed]));
    match refused {
        Err(SnapshotError::TooLarge { asked, allowed }) => {
            assert_eq!((asked, allowed), (buckets, buckets - 1));
        }
        other => panic!("{other:?}"),
    }
    assert!(allocated < 1_000, "{allocated}");
    assert_takes_nothing(decoder, &bytes);
}

/// Checks that a decoder takes nothing after an error.
pub(crate) fn assert_takes_nothing<T: Lifetime>(mut decoder: FilterDecoder<T>, bytes: &[u8]) {
    let refused = decoder.feed(bytes);
    assert!(matches!(refused, Err(SnapshotError::Truncated)));
    assert!(!decoder.is_complete());
    assert!(matches!(decoder.finish(), Err(SnapshotError::Truncated)));
}

/// Checks that the decoder of a filter with a random hasher refuses another one.
pub(crate) fn assert_another_hasher_is_refused<T: Lifetime>(filter: &Filter<RandomState, T>) {
    let mut decoder = FilterDecoder::<T>::new(1 << 20);
    decoder.feed(&filter.to_bytes()).expect("a snapshot");
    let restore = Filter::<SeededState, T>::restore().hasher(RandomState::new());
    let refused = restore.finish(decoder);
    assert!(matches!(refused, Err(SnapshotError::Hasher { .. })));
}
