//! Batches: the hashes of many items, and one pass over the table for all of them.

use crate::{pointer, status::Failure};
use guira::{BatchError, Hashed, InsertError, SeededState};
use std::ffi::c_void;

/// For `kind`: the data are hashes of 64 bits.
pub const ITEMS_HASHES: u32 = 0;
/// For `kind`: the data are items of one width, one after the other.
pub const ITEMS_ROWS: u32 = 1;
/// For `kind`: the data are one block, and offsets say where items begin and end.
pub const ITEMS_PACKED: u32 = 2;

/// The items of a batch. `guira_hashes`, `guira_rows` and `guira_packed` make it.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Items {
    /// `GUIRA_ITEMS_HASHES`, `GUIRA_ITEMS_ROWS` or `GUIRA_ITEMS_PACKED`.
    pub kind: u32,
    /// 0.
    pub reserved: u32,
    /// The number of items.
    pub count: usize,
    /// Hashes: `count` numbers of 64 bits. Rows: `count` times `size` bytes. Packed: `size` bytes.
    pub data: *const c_void,
    /// Rows: the bytes of an item. Packed: the bytes of all items.
    pub size: usize,
    /// Packed: `count + 1` offsets into the data. Item i is from `offsets[i]` to `offsets[i + 1]`.
    pub offsets: *const u64,
}

/// The same, checked.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Batch<'a> {
    Hashes(&'a [Hashed]),
    Rows {
        data: &'a [u8],
        width: usize,
        count: usize,
    },
    Packed {
        data: &'a [u8],
        offsets: &'a [u64],
    },
}

/// Why a batch ends before its last item: as [`BatchError`], which only the library can make.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Undecided {
    /// The number of decided items.
    pub(crate) index: usize,
    pub(crate) error: InsertError,
}

impl From<BatchError> for Undecided {
    fn from(BatchError { index, error, .. }: BatchError) -> Self {
        Self { index, error }
    }
}

impl From<Undecided> for Failure {
    fn from(error: Undecided) -> Self {
        error.error.into()
    }
}

/// Items that are hashed before the table is looked at. Their hashes, 4 KiB, stay in the first
/// cache. The cache misses at both ends of a pipeline of this length hardly count.
const AT_ONCE: usize = 512;

impl<'a> Batch<'a> {
    /// # Safety
    ///
    /// The pointer keeps the rules of the header for [`Items`].
    #[allow(unsafe_code)]
    pub(crate) unsafe fn new(items: *const Items) -> Result<Self, Failure> {
        // SAFETY: the caller promises it.
        let items = *unsafe { pointer::shared(items, "items") }?;
        let Items {
            kind,
            reserved,
            count,
            data,
            size,
            offsets,
        } = items;
        if reserved != 0 {
            return Err(Failure::invalid(format_args!(
                "reserved of items is {reserved}: it must be 0"
            )));
        }
        match kind {
            ITEMS_HASHES => {
                // SAFETY: the caller promises `count` numbers, and `Hashed` has the representation of one.
                let hashes = unsafe { pointer::slice(data.cast(), count, "hashes") }?;
                Ok(Self::Hashes(hashes))
            }
            ITEMS_ROWS => {
                let Some(bytes) = count.checked_mul(size) else {
                    return Err(Failure::invalid(format_args!(
                        "{count} rows of {size} bytes exceed the address space"
                    )));
                };
                // SAFETY: the caller promises `count * size` bytes.
                let data = unsafe { pointer::slice(data.cast(), bytes, "rows") }?;
                Ok(Self::Rows {
                    data,
                    width: size,
                    count,
                })
            }
            ITEMS_PACKED => {
                // No items have no offset either, if the caller has none.
                if count == 0 {
                    return Ok(Self::Packed {
                        data: &[],
                        offsets: &[0],
                    });
                }
                let len = count.saturating_add(1);
                // SAFETY: the caller promises `count + 1` offsets.
                let offsets = unsafe { pointer::slice(offsets, len, "offsets") }?;
                // SAFETY: the caller promises `size` bytes.
                let data: &[u8] = unsafe { pointer::slice(data.cast(), size, "packed items") }?;
                check(offsets, data.len())?;
                Ok(Self::Packed { data, offsets })
            }
            _ => Err(Failure::invalid(format_args!(
                "kind of items is {kind}: it must be 0, 1 or 2"
            ))),
        }
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Hashes(hashes) => hashes.len(),
            Self::Rows { count, .. } => *count,
            Self::Packed { offsets, .. } => offsets.len() - 1,
        }
    }

    /// Hands the hashes of all items and their results to `of`, in parts. The error of a part ends
    /// it. Its index then counts from the first item.
    #[inline(always)]
    pub(crate) fn with_results<E: Into<Undecided>>(
        self,
        state: &SeededState,
        results: &mut [bool],
        mut of: impl FnMut(&[Hashed], &mut [bool]) -> Result<(), E>,
    ) -> Result<(), Undecided> {
        if let Self::Hashes(hashes) = self {
            return of(hashes, results).map_err(E::into);
        }
        self.in_parts(state, |begin, hashes| {
            of(hashes, &mut results[begin..begin + hashes.len()])
        })
    }

    /// As [`with_results`](Self::with_results), for what has none.
    #[inline(always)]
    pub(crate) fn without_results<E: Into<Undecided>>(
        self,
        state: &SeededState,
        mut of: impl FnMut(&[Hashed]) -> Result<(), E>,
    ) -> Result<(), Undecided> {
        if let Self::Hashes(hashes) = self {
            return of(hashes).map_err(E::into);
        }
        self.in_parts(state, |_, hashes| of(hashes))
    }

    #[inline(always)]
    fn in_parts<E: Into<Undecided>>(
        self,
        state: &SeededState,
        mut of: impl FnMut(usize, &[Hashed]) -> Result<(), E>,
    ) -> Result<(), Undecided> {
        let mut hashes = [Hashed(0); AT_ONCE];
        for begin in (0..self.len()).step_by(AT_ONCE) {
            let part = &mut hashes[..AT_ONCE.min(self.len() - begin)];
            self.hash(state, begin, part);
            of(begin, part).map_err(|error| {
                let Undecided { index, error } = error.into();
                Undecided {
                    index: begin + index,
                    error,
                }
            })?;
        }
        Ok(())
    }

    /// The hashes of the items from `begin` on, filling `into`.
    #[inline(always)]
    fn hash(self, state: &SeededState, begin: usize, into: &mut [Hashed]) {
        match self {
            Self::Hashes(hashes) => into.copy_from_slice(&hashes[begin..begin + into.len()]),
            Self::Rows { width: 0, .. } => into.fill(Hashed(state.hash_bytes(&[]))),
            Self::Rows { width, data, .. } => {
                let rows = data[begin * width..].chunks_exact(width);
                for (hash, row) in into.iter_mut().zip(rows) {
                    hash.0 = state.hash_bytes(row);
                }
            }
            Self::Packed { data, offsets } => {
                for (hash, ends) in into.iter_mut().zip(offsets[begin..].windows(2)) {
                    // They are at most the length of the data, as `check` has found.
                    let [from, to] = [ends[0], ends[1]].map(|end| end as usize);
                    hash.0 = state.hash_bytes(&data[from..to]);
                }
            }
        }
    }
}

/// Offsets do not fall, and end within the data.
fn check(offsets: &[u64], len: usize) -> Result<(), Failure> {
    // The highest bit is set in the difference to a larger offset, and in an offset beyond all data.
    // There is no branch, so the compiler checks several offsets at once.
    let bits = offsets.windows(2).fold(offsets[0], |bits, ends| {
        bits | ends[1] | ends[1].wrapping_sub(ends[0])
    });
    let rises = bits >> (u64::BITS - 1) == 0;
    match offsets.last() {
        Some(&last) if rises && last <= len as u64 => Ok(()),
        _ => Err(misplaced(offsets, len)),
    }
}

#[cold]
#[inline(never)]
fn misplaced(offsets: &[u64], len: usize) -> Failure {
    let falls = offsets.windows(2).position(|ends| ends[1] < ends[0]);
    match (falls, offsets.last()) {
        (Some(index), _) => Failure::invalid(format_args!(
            "offset {} is {}, which is less than the one before it, {}",
            index + 1,
            offsets[index + 1],
            offsets[index]
        )),
        (None, last) => Failure::invalid(format_args!(
            "the last offset is {}, and the data have {len} bytes",
            last.unwrap_or(&0)
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Packed items and rows hash like their bytes, in order, whatever the parts.
        #[test]
        fn each_item_has_the_hash_of_its_bytes(
            items in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..4), 0..1300),
            width in 0_usize..4,
        ) {
            let state = SeededState::new(7);
            let data: Vec<u8> = items.concat();
            let mut offsets = vec![0];
            for item in &items {
                offsets.push(offsets[offsets.len() - 1] + item.len() as u64);
            }
            prop_assert!(check(&offsets, data.len()).is_ok());
            let hashes = |batch: Batch<'_>| {
                let mut all = Vec::new();
                let mut results = vec![false; batch.len()];
                let done = batch.with_results(&state, &mut results, |hashes, results| {
                    assert_eq!(hashes.len(), results.len());
                    all.extend_from_slice(hashes);
                    results.fill(true);
                    Ok::<_, Undecided>(())
                });
                assert!(done.is_ok() && results.iter().all(|&done| done));
                all
            };
            let of = |item: &[u8]| Hashed(state.hash_bytes(item));
            let expected: Vec<_> = items.iter().map(|item| of(item)).collect();
            prop_assert_eq!(hashes(Batch::Packed { data: &data, offsets: &offsets }), expected.clone());
            prop_assert_eq!(hashes(Batch::Hashes(&expected)), expected);

            let count = data.len().checked_div(width).unwrap_or(700);
            let rows = Batch::Rows { data: &data[..count * width], width, count };
            let expected: Vec<_> = (0..count).map(|row| of(&data[row * width..][..width])).collect();
            prop_assert_eq!(hashes(rows), expected);
        }

        /// No offset is large enough to hide a fall.
        #[test]
        fn offsets_are_allowed_if_they_rise_within_the_data(
            offsets in prop::collection::vec(prop_oneof![0..9_u64, (1_u64 << 63) - 3..=(1 << 63) + 3, any::<u64>()], 1..6),
            len in prop_oneof![0..9_usize, Just(isize::MAX as usize)],
        ) {
            let rise = offsets.is_sorted();
            let within = offsets.iter().all(|&offset| offset <= len as u64);
            prop_assert_eq!(check(&offsets, len).is_ok(), rise && within, "{:?}", offsets);
        }

        /// The index of an error counts from the first item of all parts.
        #[test]
        fn an_error_has_the_index_of_its_item(count in 1_usize..2000, at: prop::sample::Index) {
            let filter = guira::CuckooFilter::builder().capacity(4_000).seed(7).build().expect("a filter");
            let at = at.index(count);
            let state = SeededState::new(7);
            let rows: Vec<u8> = (0..count).flat_map(|row| (row as u32).to_le_bytes()).collect();
            let refused = state.hash_bytes(&(at as u32).to_le_bytes());
            // Its buckets are full of it.
            while filter.insert(&Hashed(refused)).is_ok() {}
            let batch = Batch::Rows { data: &rows, width: 4, count };
            let outcome = batch.without_results(&state, |hashes| filter.insert_batch(hashes));
            prop_assert!(outcome.is_err_and(|error| error.index <= at));
        }
    }

    #[test]
    fn offsets_that_fall_or_end_outside_are_refused() {
        for (offsets, len) in [
            (&[0, 3, 2][..], 9),
            (&[4, 3], 9),
            (&[0, 5, 10], 9),
            (&[u64::MAX, 0], 9),
        ] {
            assert!(check(offsets, len).is_err(), "{offsets:?}");
        }
        for offsets in [&[0][..], &[0, 0, 9], &[2, 5, 5]] {
            assert!(check(offsets, 9).is_ok(), "{offsets:?}");
        }
    }
}
