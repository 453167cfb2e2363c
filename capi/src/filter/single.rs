//! Calls for one item, by its bytes or by its hash.

use super::{Filter, answer, status, value};
use crate::{
    lifetime::{Either, with},
    place::{Heap, apart},
    status::{Failure, Status},
};
use guira::{Expiring, Hashed, InsertError};
use std::ffi::c_void;

impl Filter {
    #[inline(always)]
    fn insert(&self, hash: u64) -> Result<(), Failure> {
        with!(&self.kind, it => it.insert_hash(hash))
    }

    fn insert_and_count(&self, hash: u64) -> Result<usize, Failure> {
        with!(&self.kind, it => {
            let counted = it.to_write()?.insert_and_count(&Hashed(hash));
            counted.map_err(|error| it.explained(error))
        })
    }

    #[inline(always)]
    fn insert_unique(&self, hash: u64) -> Result<bool, Failure> {
        with!(&self.kind, it => it.insert_unique_hash(hash))
    }

    #[inline(always)]
    fn contains(&self, hash: u64) -> bool {
        match &self.kind {
            Either::Forever(it) => it.contains_hash(hash),
            Either::Expiring(it) => apart(|| it.contains_hash(hash)),
        }
    }

    #[inline(always)]
    fn remove(&self, hash: u64) -> Result<bool, Failure> {
        with!(&self.kind, it => it.remove_hash(hash))
    }

    #[inline(always)]
    fn count(&self, hash: u64) -> usize {
        with!(&self.kind, it => it.to_read().count(&Hashed(hash)))
    }

    /// A call that only filters with a TTL have.
    #[inline(always)]
    fn see(
        &self,
        of: impl FnOnce(&Heap<Expiring>) -> Result<bool, InsertError>,
    ) -> Result<bool, Failure> {
        let it = self.expiring()?;
        of(it.to_write()?).map_err(|error| it.explained(error))
    }
}

/// Adds a copy of an item of `len` bytes. Copies of one item are limited: 4 to 14 fit, or
/// 32 to 1536 with counters, by the options.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_filter_add(
    filter: *mut Filter,
    item: *const c_void,
    len: usize,
) -> Status {
    // SAFETY: the rules of the header.
    unsafe { status(filter, |filter| filter.insert(filter.hash(item, len)?)) }
}

/// Adds a copy of an item of `len` bytes. `count`, if not null, is how many copies there are now: with a
/// TTL those within it, so that this call is a rate limit. Of calls that race, at most n get a count up to
/// n. `FULL` if no further copy fits.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_filter_add_and_count(
    filter: *mut Filter,
    item: *const c_void,
    len: usize,
    count: *mut usize,
) -> Status {
    // SAFETY: the rules of the header.
    unsafe {
        answer(filter, (count, "count"), |filter| {
            filter.insert_and_count(filter.hash(item, len)?)
        })
    }
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
    // SAFETY: the rules of the header.
    unsafe {
        answer(filter, (added, "added"), |filter| {
            filter.insert_unique(filter.hash(item, len)?)
        })
    }
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
    // SAFETY: the rules of the header.
    unsafe {
        value(filter, true, |filter| {
            Ok(filter.contains(filter.hash(item, len)?))
        })
    }
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
    // SAFETY: the rules of the header.
    unsafe {
        value(filter, false, |filter| {
            filter.remove(filter.hash(item, len)?)
        })
    }
}

/// The copies of an item of `len` bytes, and of items that look alike.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_filter_count(
    filter: *const Filter,
    item: *const c_void,
    len: usize,
) -> usize {
    // SAFETY: the rules of the header.
    unsafe {
        value(
            filter,
            0,
            |filter| Ok(filter.count(filter.hash(item, len)?)),
        )
    }
}

/// Lets an item of `len` bytes live for a whole TTL from now, if it is present. `present`, if not
/// null, is whether it is. UNSUPPORTED without a TTL.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_filter_refresh(
    filter: *mut Filter,
    item: *const c_void,
    len: usize,
    present: *mut bool,
) -> Status {
    // SAFETY: the rules of the header.
    unsafe {
        answer(filter, (present, "present"), |filter| {
            let hash = filter.hash(item, len)?;
            filter.see(|it| it.refresh(&Hashed(hash)))
        })
    }
}

/// Refreshes an item of `len` bytes, or adds it if it is absent. `added`, if not null, is whether
/// it was added. UNSUPPORTED without a TTL.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_filter_add_or_refresh(
    filter: *mut Filter,
    item: *const c_void,
    len: usize,
    added: *mut bool,
) -> Status {
    // SAFETY: the rules of the header.
    unsafe {
        answer(filter, (added, "added"), |filter| {
            let hash = filter.hash(item, len)?;
            filter.see(|it| it.insert_or_refresh(&Hashed(hash)))
        })
    }
}

/// Adds a copy of the item with this hash. Copies of one item are limited: 4 to 14 fit,
/// or 32 to 1536 with counters, by the options.
///
/// All 64 bits of the hash must be as good as random: `guira_filter_hash_bytes` and its like make
/// them.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_filter_add_hash(filter: *mut Filter, hash: u64) -> Status {
    // SAFETY: the rules of the header.
    unsafe { status(filter, |filter| filter.insert(hash)) }
}

/// Adds a copy of the item with this hash. `count`, if not null, is how many copies there are now, as for
/// `guira_filter_add_and_count`.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_filter_add_and_count_hash(
    filter: *mut Filter,
    hash: u64,
    count: *mut usize,
) -> Status {
    // SAFETY: the rules of the header.
    unsafe {
        answer(filter, (count, "count"), |filter| {
            filter.insert_and_count(hash)
        })
    }
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
    // SAFETY: the rules of the header.
    unsafe {
        answer(filter, (added, "added"), |filter| {
            filter.insert_unique(hash)
        })
    }
}

/// Whether the item with this hash is present. False is certain; true is wrong at the
/// false-positive rate.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_filter_contains_hash(filter: *const Filter, hash: u64) -> bool {
    // SAFETY: the rules of the header.
    unsafe { value(filter, true, |filter| Ok(filter.contains(hash))) }
}

/// Removes one copy of the item with this hash, and says whether there was one. Remove only what
/// was added: else it may remove a copy of an item that looks alike.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_filter_remove_hash(filter: *mut Filter, hash: u64) -> bool {
    // SAFETY: the rules of the header.
    unsafe { value(filter, false, |filter| filter.remove(hash)) }
}

/// The copies of the item with this hash, and of items that look alike.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_filter_count_hash(filter: *const Filter, hash: u64) -> usize {
    // SAFETY: the rules of the header.
    unsafe { value(filter, 0, |filter| Ok(filter.count(hash))) }
}

/// Lets the item with this hash live for a whole TTL from now, if it is present. `present`, if
/// not null, is whether it is. UNSUPPORTED without a TTL.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_filter_refresh_hash(
    filter: *mut Filter,
    hash: u64,
    present: *mut bool,
) -> Status {
    // SAFETY: the rules of the header.
    unsafe {
        answer(filter, (present, "present"), |filter| {
            filter.see(|it| it.refresh(&Hashed(hash)))
        })
    }
}

/// Refreshes the item with this hash, or adds it if it is absent. `added`, if not null, is
/// whether it was added. UNSUPPORTED without a TTL.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_filter_add_or_refresh_hash(
    filter: *mut Filter,
    hash: u64,
    added: *mut bool,
) -> Status {
    // SAFETY: the rules of the header.
    unsafe {
        answer(filter, (added, "added"), |filter| {
            filter.see(|it| it.insert_or_refresh(&Hashed(hash)))
        })
    }
}
