//! A cuckoo filter that many threads share without a lock.
//!
//! A filter answers whether an item is in a set: "surely not", or "probably". It takes 1.4 to
//! 7.5 bytes per item, whatever the size of the items; fewer bytes mean more false positives.
//! Unlike a Bloom filter it can forget items again. This one is for servers: any number of
//! threads insert, look up and remove in one filter at the same time.
//!
//! ```
//! use guira::CuckooFilter;
//!
//! let denied = CuckooFilter::builder()
//!     .capacity(1_000_000)
//!     .false_positive_rate(0.001)
//!     .build()?;
//! denied.insert("203.0.113.7")?;
//! assert!(denied.contains("203.0.113.7"));
//! assert!(denied.remove("203.0.113.7"));
//! assert!(!denied.contains("203.0.113.7"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! New to cuckoo filters? [A page in the repository][watch] shows this one at work, step by step. It
//! opens in any browser, and runs the code of this crate:
//!
//! [![Two threads side by side, one checks a word and one moves it; below, two buckets, in which
//! the word is marked S and T][picture]][watch]
//!
//! [watch]: https://github.com/guira-rs/guira/tree/main/docs/watch
//! [picture]: https://raw.githubusercontent.com/guira-rs/guira/main/docs/watch/picture.png
//!
//! # What it promises
//!
//! | | |
//! |---|---|
//! | [`contains`](CuckooFilter::contains) | Wait-free. If an item is present during the whole call, the answer is true, whatever other threads do. The call makes a bounded number of loads. It stores nothing, unless other threads make it read again: it counts that. |
//! | [`insert`](CuckooFilter::insert) | Lock-free\*. After `Ok` the item is in. After an error no item has come or gone: none is ever dropped for another. |
//! | [`insert_unique`](CuckooFilter::insert_unique) | Obstruction-free. Of any number of threads that race to add an absent item, exactly one is told that it did. If all of them get an error, none is. |
//! | [`remove`](CuckooFilter::remove) | Lock-free\*. Of n copies exactly n removes get true. A remove of a present item gets true. |
//! | [`count`](CuckooFilter::count) | Lock-free\*. It counts each copy once, also while copies are being relocated. |
//! | [batches](CuckooFilter::insert_batch) | Each item is treated as by a call of its own, in order. |
//! | [`len`](CuckooFilter::len) | Exact while no thread writes, and otherwise off by at most the writes that overlap the call. |
//! | time | `contains`, `remove` and `count` are O(1). So is an insert, until the filter is nearly full; its search for room is bounded then. |
//! | a stopped thread | Delays nobody, wherever it stops. |
//! | [memory ordering](CuckooFilter#memory-ordering) | An insert that returned `Ok` happens before every call that finds its copy. |
//! | [capacity](Builder::capacity) | So many distinct items fit. It is not rounded to a power of two. |
//! | [false-positive rate](Builder::false_positive_rate) | Kept up to the capacity, and at every size of a filter that [grows](Builder::max_capacity). |
//! | [determinism](CuckooFilter#determinism) | With a seed the same calls in one thread make the same filter, down to the bytes of its snapshot. |
//! | [snapshots](CuckooFilter::write_to) | Hold every item that was present during the whole call, though all threads go on. |
//! | [merge](CuckooFilter::merge) | Adds every copy that is in the other filter throughout, though all threads go on in both. |
//! | bytes from outside | Give a typed error, or a filter. They never make it panic. |
//! | panics | Where a method can panic, its documentation says so. |
//!
//! \* As long as no two calls of `insert_unique` take each other's reservations in the very
//! buckets without end. Each gives the other twice as much time after each loss, so in
//! practice they do not.
//!
//! A lookup reads again when it meets a relocation or an `insert_unique` that is under way
//! in its two buckets. So it does for a relocation in one of the pairs of buckets that share
//! a version with them.
//!
//! `docs/DESIGN.md` in the repository has the protocol. For each promise it names the model
//! that checks it, and the negative control that shows that the model can fail.
//! `docs/PROOF.md` has the proof.
//!
//! [`ExpiringFilter`] is such a filter whose items are forgotten some time after they were last
//! seen. Its promises are [its own](ExpiringFilter#time).
//!
//! # When not to use it
//!
//! * When an answer "probably" is not enough: use a concurrent hash set.
//! * When nothing is ever removed and space is what counts: at most rates a Bloom
//!   filter is smaller.
//! * When you must remove items that may never have been inserted: see
//!   [Removing](CuckooFilter#removing).
//! * On platforms without 64-bit atomics, such as ARMv5 and 32-bit MIPS, PowerPC and
//!   RISC-V: it does not compile there.
//!
//! # Features
//!
//! * `serde`: `Serialize` and `Deserialize` for [`SeededState`], as its seed, and for
//!   [`CuckooFilter`] and [`ExpiringFilter`], as the hasher and the bytes of a snapshot. A hasher of
//!   your own needs to have them, too.
//! * `wasm_js`: on `wasm32-unknown-unknown`, random seeds come from JavaScript. Without it the
//!   build for that target asks for another source of randomness.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

#[cfg(not(target_has_atomic = "64"))]
compile_error!(
    "guira needs 64-bit atomics, which this target does not have: a bucket is one 64-bit word"
);

/// The example in there is compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod builder;
mod contains_iter;
mod digest;
mod error;
mod expiring;
mod extend;
mod fault;
mod filter;
mod geometry;
mod hash;
mod header;
mod merge;
#[cfg(any(guira_loom, guira_faults, guira_shuttle))]
pub mod model;
mod raw;
#[cfg(feature = "serde")]
mod serde;
mod snapshot;
mod stats;
mod step;
mod sync;
mod table;
mod threads;

pub use crate::{
    builder::{Builder, Prefer},
    contains_iter::{ContainsHashIter, ContainsIter},
    error::{
        BatchError, BuildError, InsertError, MemoryError, MergeError, Mismatch, SnapshotError,
    },
    expiring::{ExpiringBuilder, ExpiringFilter, ExpiringSnapshotDecoder},
    filter::CuckooFilter,
    hash::{SeededHasher, SeededState},
    snapshot::decoder::SnapshotDecoder,
    stats::Stats,
};
