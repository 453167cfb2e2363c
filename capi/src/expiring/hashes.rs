//! The hashes of items, by which other languages know them.

use super::{Expiring, shared};
use crate::{
    batch::hash_of_text,
    guard,
    pointer::{Out, hash_of_bytes, slice},
    status::Status,
};
use std::ffi::{c_char, c_void};

/// The hash of an item of `len` bytes in this filter, which is that of Rust's `[u8]`.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_expiring_hash_bytes(
    filter: *const Expiring,
    item: *const c_void,
    len: usize,
) -> u64 {
    guard::value(0, 0, || {
        // SAFETY: the rules of the header.
        let filter = unsafe { shared(filter) }?;
        // SAFETY: the rules of the header.
        unsafe { hash_of_bytes(filter.hasher(), item, len) }
    })
}

/// The hash of a string of `len` bytes of UTF-8, which is that of Rust's `str` and Python's
/// `str`. It is not the hash of the same bytes.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_expiring_hash_str(
    filter: *const Expiring,
    text: *const c_char,
    len: usize,
    hash: *mut u64,
) -> Status {
    guard::status(|| {
        // SAFETY: the rules of the header.
        let filter = unsafe { shared(filter) }?;
        // SAFETY: the rules of the header.
        let hash_out = unsafe { Out::new(hash, "hash") }?;
        // SAFETY: the rules of the header.
        let text = unsafe { slice(text.cast::<u8>(), len, "text") }?;
        hash_out.set(hash_of_text(filter.hasher(), text)?);
        Ok(())
    })
}

/// The hash of an unsigned integer of up to 64 bits.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_expiring_hash_u64(filter: *const Expiring, item: u64) -> u64 {
    guard::value(0, 0, || {
        // SAFETY: the rules of the header.
        let filter = unsafe { shared(filter) }?;
        Ok(filter.hasher().hash_u64(item))
    })
}

/// The hash of a signed integer of 64 bits.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_expiring_hash_i64(filter: *const Expiring, item: i64) -> u64 {
    guard::value(0, 0, || {
        // SAFETY: the rules of the header.
        let filter = unsafe { shared(filter) }?;
        Ok(filter.hasher().hash_i64(item))
    })
}
