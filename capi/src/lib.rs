//! The C interface of guira. `include/guira.h`, which cbindgen makes of this crate, is its
//! documentation for callers, and `README.md` the manual.
//!
//! Each exported function has one shape: `guard` catches panics, `pointer` turns pointers into
//! references after it has checked them, and safe code does the rest.
//!
//! # Safety
//!
//! The callers keep the rules at the top of the header. `SAFETY: the rules of the header` refers to
//! them:
//!
//! * A pointer that is not null points to the valid values that the call asks for, during the call.
//! * A handle is alive.
//! * Results overlap neither each other nor what the call reads.
//! * Callbacks return: they neither unwind nor longjmp.

#![deny(
    unsafe_code,
    unsafe_op_in_unsafe_fn,
    clippy::undocumented_unsafe_blocks
)]
// The rules of the header hold for all functions.
#![allow(clippy::missing_safety_doc)]

mod batch;
#[allow(unsafe_code)]
mod bytes;
#[allow(unsafe_code)]
mod estimate;
#[allow(unsafe_code)]
pub mod filter;
mod guard;
mod lifetime;
mod options;
#[allow(unsafe_code)]
mod place;
#[allow(unsafe_code)]
mod pointer;
mod status;
#[allow(unsafe_code)]
mod stream;

pub use batch::{ITEMS_HASHES, ITEMS_PACKED, ITEMS_ROWS, Items};
pub use bytes::{Bytes, guira_bytes_free};
pub use estimate::{Estimate, guira_estimate};
pub use filter::Filter;
pub use options::{Options, PREFER_SPACE, PREFER_SPEED};
pub use status::{Status, guira_last_message, guira_version};
pub use stream::{Clock, Read, Write};

#[cfg(feature = "faults")]
pub use guard::guira_fault_panic;

const _: () = {
    const fn shared_by_threads<T: Send + Sync>() {}
    shared_by_threads::<Filter>();
};
