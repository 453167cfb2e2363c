//! The hashes of items, by which other languages know them.

use super::{Filter, status, value};
use crate::{
    pointer::{Out, slice},
    status::{Failure, Status},
};
use std::ffi::{c_char, c_void};

/// The hash of an item of `len` bytes in this filter, which is that of Rust's `[u8]`.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_filter_hash_bytes(
    filter: *const Filter,
    item: *const c_void,
    len: usize,
) -> u64 {
    // SAFETY: the rules of the header.
    unsafe { value(filter, 0, |filter| filter.hash(item, len)) }
}

/// The hash of a string of `len` bytes of UTF-8, which is that of Rust's `str` and Python's
/// `str`. It is not the hash of the same bytes.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_filter_hash_str(
    filter: *const Filter,
    text: *const c_char,
    len: usize,
    hash: *mut u64,
) -> Status {
    // SAFETY: the rules of the header.
    unsafe {
        status(filter, |filter| {
            let hash = Out::new(hash, "hash")?;
            let text = std::str::from_utf8(slice(text.cast::<u8>(), len, "text")?);
            let text = text.map_err(|error| {
                Failure::invalid(format_args!("the text is not UTF-8: {error}"))
            })?;
            hash.set(filter.hasher.hash_str(text));
            Ok(())
        })
    }
}

/// The hash of an unsigned integer of up to 64 bits.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_filter_hash_u64(filter: *const Filter, item: u64) -> u64 {
    // SAFETY: the rules of the header.
    unsafe { value(filter, 0, |filter| Ok(filter.hasher.hash_u64(item))) }
}

/// The hash of a signed integer of 64 bits.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_filter_hash_i64(filter: *const Filter, item: i64) -> u64 {
    // SAFETY: the rules of the header.
    unsafe { value(filter, 0, |filter| Ok(filter.hasher.hash_i64(item))) }
}
