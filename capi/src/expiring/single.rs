//! Calls for one item, by its bytes or by its hash.

use super::{Expiring, shared};
use crate::{
    guard,
    pointer::{Out, hash_of_bytes},
    status::Status,
};
use std::ffi::c_void;

/// Adds a copy of an item of `len` bytes. 4 to 14 copies of one item fit, by the options.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_expiring_add(
    filter: *mut Expiring,
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
pub unsafe extern "C" fn guira_expiring_add_unique(
    filter: *mut Expiring,
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

/// Lets an item of `len` bytes live for a whole TTL from now, if it is present. `present`, if not
/// null, is whether it is.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_expiring_refresh(
    filter: *mut Expiring,
    item: *const c_void,
    len: usize,
    present: *mut bool,
) -> Status {
    guard::status(|| {
        // SAFETY: the rules of the header.
        let filter = unsafe { shared(filter) }?;
        // SAFETY: the rules of the header.
        let present_out = unsafe { Out::optional(present, "present") }?;
        // SAFETY: the rules of the header.
        let hash = unsafe { hash_of_bytes(filter.hasher(), item, len) }?;
        let present = filter.refresh_hash(hash);
        present_out.set(present.map_err(|error| filter.explained(error.into()))?);
        Ok(())
    })
}

/// Refreshes an item of `len` bytes, or adds it if it is absent. `added`, if not null, is whether
/// it was added.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_expiring_add_or_refresh(
    filter: *mut Expiring,
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
        let added = filter.insert_or_refresh_hash(hash);
        added_out.set(added.map_err(|error| filter.explained(error.into()))?);
        Ok(())
    })
}

/// Whether an item of `len` bytes is present. False is certain; true is wrong at the
/// false-positive rate.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_expiring_contains(
    filter: *const Expiring,
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
pub unsafe extern "C" fn guira_expiring_remove(
    filter: *mut Expiring,
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
pub unsafe extern "C" fn guira_expiring_count(
    filter: *const Expiring,
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

/// Adds a copy of the item with this hash. 4 to 14 copies of one item fit, by the options.
///
/// All 64 bits of the hash must be as good as random: `guira_expiring_hash_bytes` and its like
/// make them.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_expiring_add_hash(filter: *mut Expiring, hash: u64) -> Status {
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
pub unsafe extern "C" fn guira_expiring_add_unique_hash(
    filter: *mut Expiring,
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

/// Lets the item with this hash live for a whole TTL from now, if it is present. `present`, if
/// not null, is whether it is.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_expiring_refresh_hash(
    filter: *mut Expiring,
    hash: u64,
    present: *mut bool,
) -> Status {
    guard::status(|| {
        // SAFETY: the rules of the header.
        let filter = unsafe { shared(filter) }?;
        // SAFETY: the rules of the header.
        let present_out = unsafe { Out::optional(present, "present") }?;
        let present = filter.refresh_hash(hash);
        present_out.set(present.map_err(|error| filter.explained(error.into()))?);
        Ok(())
    })
}

/// Refreshes the item with this hash, or adds it if it is absent. `added`, if not null, is
/// whether it was added.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_expiring_add_or_refresh_hash(
    filter: *mut Expiring,
    hash: u64,
    added: *mut bool,
) -> Status {
    guard::status(|| {
        // SAFETY: the rules of the header.
        let filter = unsafe { shared(filter) }?;
        // SAFETY: the rules of the header.
        let added_out = unsafe { Out::optional(added, "added") }?;
        let added = filter.insert_or_refresh_hash(hash);
        added_out.set(added.map_err(|error| filter.explained(error.into()))?);
        Ok(())
    })
}

/// Whether the item with this hash is present. False is certain; true is wrong at the
/// false-positive rate.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_expiring_contains_hash(filter: *const Expiring, hash: u64) -> bool {
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
pub unsafe extern "C" fn guira_expiring_remove_hash(filter: *mut Expiring, hash: u64) -> bool {
    guard::value(false, false, || {
        // SAFETY: the rules of the header.
        let filter = unsafe { shared(filter) }?;
        Ok(filter.remove_hash(hash))
    })
}

/// The copies of the item with this hash, and of items that look alike.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_expiring_count_hash(filter: *const Expiring, hash: u64) -> usize {
    guard::value(0, 0, || {
        // SAFETY: the rules of the header.
        let filter = unsafe { shared(filter) }?;
        Ok(filter.count_hash(hash))
    })
}
