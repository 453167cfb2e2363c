//! Calls for one item, by its bytes or by its hash.

use super::{Filter, shared};
use crate::{
    guard,
    pointer::{Out, hash_of_bytes},
    status::Status,
};
use std::ffi::c_void;

/// Adds a copy of an item of `len` bytes. Copies of one item are limited: 4 to 14 fit, or
/// 32 to 1536 with counters, by the options.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_filter_add(
    filter: *mut Filter,
    item: *const c_void,
    len: usize,
) -> Status {
    guard::status(|| {
        // SAFETY: the rules of the header.
        let filter = unsafe { shared(filter) }?;
        // SAFETY: the rules of the header.
        let hash = unsafe { hash_of_bytes(filter.hasher(), item, len) }?;
        filter
            .insert_hash(hash)
            .map_err(|error| filter.explained(error.into()))
    })
}

/// Adds an item of `len` bytes unless it seems present. `added`, if not null, is whether this
/// call added it. Of calls that race to add an absent item, exactly one adds it.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_filter_add_unique(
    filter: *mut Filter,
    item: *const c_void,
    len: usize,
    added: *mut bool,
) -> Status {
    guard::status(|| {
        // SAFETY: the rules of the header.
        let filter = unsafe { shared(filter) }?;
        // SAFETY: the rules of the header.
        let added_out = unsafe { Out::optional(added, "added") }?;
        // SAFETY: the rules of the header.
        let hash = unsafe { hash_of_bytes(filter.hasher(), item, len) }?;
        let added = filter.insert_unique_hash(hash);
        added_out.set(added.map_err(|error| filter.explained(error.into()))?);
        Ok(())
    })
}

/// Whether an item of `len` bytes is present. False is certain; true is wrong at the
/// false-positive rate.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_filter_contains(
    filter: *const Filter,
    item: *const c_void,
    len: usize,
) -> bool {
    guard::value(false, true, || {
        // SAFETY: the rules of the header.
        let filter = unsafe { shared(filter) }?;
        // SAFETY: the rules of the header.
        let hash = unsafe { hash_of_bytes(filter.hasher(), item, len) }?;
        Ok(filter.contains_hash(hash))
    })
}

/// Removes one copy of an item of `len` bytes, and says whether there was one. Remove only what
/// was added: else it may remove a copy of an item that looks alike.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_filter_remove(
    filter: *mut Filter,
    item: *const c_void,
    len: usize,
) -> bool {
    guard::value(false, false, || {
        // SAFETY: the rules of the header.
        let filter = unsafe { shared(filter) }?;
        // SAFETY: the rules of the header.
        let hash = unsafe { hash_of_bytes(filter.hasher(), item, len) }?;
        Ok(filter.remove_hash(hash))
    })
}

/// The copies of an item of `len` bytes, and of items that look alike.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_filter_count(
    filter: *const Filter,
    item: *const c_void,
    len: usize,
) -> usize {
    guard::value(0, 0, || {
        // SAFETY: the rules of the header.
        let filter = unsafe { shared(filter) }?;
        // SAFETY: the rules of the header.
        let hash = unsafe { hash_of_bytes(filter.hasher(), item, len) }?;
        Ok(filter.count_hash(hash))
    })
}

/// Adds a copy of the item with this hash. Copies of one item are limited: 4 to 14 fit,
/// or 32 to 1536 with counters, by the options.
///
/// All 64 bits of the hash must be as good as random: `guira_filter_hash_bytes` and its like make
/// them.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_filter_add_hash(filter: *mut Filter, hash: u64) -> Status {
    guard::status(|| {
        // SAFETY: the rules of the header.
        let filter = unsafe { shared(filter) }?;
        filter
            .insert_hash(hash)
            .map_err(|error| filter.explained(error.into()))
    })
}

/// Adds the item with this hash unless it seems present. `added`, if not null, is whether this
/// call added it. Of calls that race to add an absent item, exactly one adds it.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_filter_add_unique_hash(
    filter: *mut Filter,
    hash: u64,
    added: *mut bool,
) -> Status {
    guard::status(|| {
        // SAFETY: the rules of the header.
        let filter = unsafe { shared(filter) }?;
        // SAFETY: the rules of the header.
        let added_out = unsafe { Out::optional(added, "added") }?;
        let added = filter.insert_unique_hash(hash);
        added_out.set(added.map_err(|error| filter.explained(error.into()))?);
        Ok(())
    })
}

/// Whether the item with this hash is present. False is certain; true is wrong at the
/// false-positive rate.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_filter_contains_hash(filter: *const Filter, hash: u64) -> bool {
    guard::value(false, true, || {
        // SAFETY: the rules of the header.
        let filter = unsafe { shared(filter) }?;
        Ok(filter.contains_hash(hash))
    })
}

/// Removes one copy of the item with this hash, and says whether there was one. Remove only what
/// was added: else it may remove a copy of an item that looks alike.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_filter_remove_hash(filter: *mut Filter, hash: u64) -> bool {
    guard::value(false, false, || {
        // SAFETY: the rules of the header.
        let filter = unsafe { shared(filter) }?;
        Ok(filter.remove_hash(hash))
    })
}

/// The copies of the item with this hash, and of items that look alike.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_filter_count_hash(filter: *const Filter, hash: u64) -> usize {
    guard::value(0, 0, || {
        // SAFETY: the rules of the header.
        let filter = unsafe { shared(filter) }?;
        Ok(filter.count_hash(hash))
    })
}
