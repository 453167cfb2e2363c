//! Calls for many items.

use super::{Expiring, shared};
use crate::{
    batch::{Batch, Items, Undecided, done_place, finished},
    guard,
    pointer::answers,
    status::Status,
};

/// Adds a copy of each item, in order.
///
/// `done`, if not null, is how many items from the first on are decided: all of them, unless the
/// status says why the next one is not. It is 0 after INVALID, and may be
/// too small after INTERNAL.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_expiring_add_many(
    filter: *mut Expiring,
    items: *const Items,
    done: *mut usize,
) -> Status {
    guard::status(|| {
        // SAFETY: the rules of the header.
        let done_out = unsafe { done_place(done) }?;
        // SAFETY: the rules of the header.
        let filter = unsafe { shared(filter) }?;
        // SAFETY: the rules of the header.
        let items = unsafe { Batch::new(items) }?;
        let count = items.len();
        let outcome =
            items.without_results(filter.hasher(), |hashes| filter.insert_hash_batch(hashes));
        finished(outcome, count, &done_out).map_err(|failure| filter.explained(failure))
    })
}

/// Adds each item that does not seem present. `added` has `count` elements: whether each item was
/// added.
///
/// `done`, if not null, is how many items from the first on are decided: all of them, unless the
/// status says why the next one is not. It is 0 after INVALID, and may be
/// too small after INTERNAL.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_expiring_add_unique_many(
    filter: *mut Expiring,
    items: *const Items,
    added: *mut bool,
    done: *mut usize,
) -> Status {
    guard::status(|| {
        // SAFETY: the rules of the header.
        let done_out = unsafe { done_place(done) }?;
        // SAFETY: the rules of the header.
        let filter = unsafe { shared(filter) }?;
        // SAFETY: the rules of the header.
        let items = unsafe { Batch::new(items) }?;
        // SAFETY: the rules of the header.
        let results = unsafe { answers(added, items.len()) }?;
        let count = items.len();
        let outcome = items.with_results(filter.hasher(), results, |hashes, results| {
            filter.insert_unique_hash_batch(hashes, results)
        });
        finished(outcome, count, &done_out).map_err(|failure| filter.explained(failure))
    })
}

/// Refreshes each item that is present. `present` has `count` elements: whether each item is.
///
/// `done`, if not null, is how many items from the first on are decided: all of them, unless the
/// status says why the next one is not. It is 0 after INVALID, and may be
/// too small after INTERNAL.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_expiring_refresh_many(
    filter: *mut Expiring,
    items: *const Items,
    present: *mut bool,
    done: *mut usize,
) -> Status {
    guard::status(|| {
        // SAFETY: the rules of the header.
        let done_out = unsafe { done_place(done) }?;
        // SAFETY: the rules of the header.
        let filter = unsafe { shared(filter) }?;
        // SAFETY: the rules of the header.
        let items = unsafe { Batch::new(items) }?;
        // SAFETY: the rules of the header.
        let results = unsafe { answers(present, items.len()) }?;
        let count = items.len();
        let outcome = items.with_results(filter.hasher(), results, |hashes, results| {
            filter.refresh_hash_batch(hashes, results)
        });
        finished(outcome, count, &done_out).map_err(|failure| filter.explained(failure))
    })
}

/// Refreshes each item, or adds it if it is absent. `added` has `count` elements: whether each
/// item was added.
///
/// `done`, if not null, is how many items from the first on are decided: all of them, unless the
/// status says why the next one is not. It is 0 after INVALID, and may be
/// too small after INTERNAL.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_expiring_add_or_refresh_many(
    filter: *mut Expiring,
    items: *const Items,
    added: *mut bool,
    done: *mut usize,
) -> Status {
    guard::status(|| {
        // SAFETY: the rules of the header.
        let done_out = unsafe { done_place(done) }?;
        // SAFETY: the rules of the header.
        let filter = unsafe { shared(filter) }?;
        // SAFETY: the rules of the header.
        let items = unsafe { Batch::new(items) }?;
        // SAFETY: the rules of the header.
        let results = unsafe { answers(added, items.len()) }?;
        let count = items.len();
        let outcome = items.with_results(filter.hasher(), results, |hashes, results| {
            filter.insert_or_refresh_hash_batch(hashes, results)
        });
        finished(outcome, count, &done_out).map_err(|failure| filter.explained(failure))
    })
}

/// Whether each item is present. `results` has `count` elements.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_expiring_contains_many(
    filter: *const Expiring,
    items: *const Items,
    results: *mut bool,
) -> Status {
    guard::status(|| {
        // SAFETY: the rules of the header.
        let filter = unsafe { shared(filter) }?;
        // SAFETY: the rules of the header.
        let items = unsafe { Batch::new(items) }?;
        // SAFETY: the rules of the header.
        let results = unsafe { answers(results, items.len()) }?;
        let done = items.with_results(filter.hasher(), results, |hashes, results| {
            filter.contains_hash_batch(hashes, results);
            Ok::<_, Undecided>(())
        });
        Ok(done?)
    })
}

/// Removes one copy of each item, in order. `results` has `count` elements: whether there was
/// one.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_expiring_remove_many(
    filter: *mut Expiring,
    items: *const Items,
    results: *mut bool,
) -> Status {
    guard::status(|| {
        // SAFETY: the rules of the header.
        let filter = unsafe { shared(filter) }?;
        // SAFETY: the rules of the header.
        let items = unsafe { Batch::new(items) }?;
        // SAFETY: the rules of the header.
        let results = unsafe { answers(results, items.len()) }?;
        let done = items.with_results(filter.hasher(), results, |hashes, results| {
            filter.remove_hash_batch(hashes, results);
            Ok::<_, Undecided>(())
        });
        Ok(done?)
    })
}
