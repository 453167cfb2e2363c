//! A cuckoo filter that many threads share without a lock.
//!
//! A filter answers whether an item is in a set: "surely not", or "probably". It
//! needs 1.4 to 7.5 bytes an item, whatever the items' size: the fewer, the more often
//! "probably" is wrong. Unlike a Bloom filter it can forget items again. This one is for
//! servers: one filter, any number of threads that insert, look up and remove at the same
//! time.
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
//! # What it promises
//!
//! | | |
//! |---|---|
//! | [`contains`](CuckooFilter::contains) | Wait-free: a bounded number of loads, and no store unless a relocation or an `insert_unique` that is under way in its buckets, or a relocation in one of the pairs that share a version with them, makes it read again (it counts that). If an item is present during the whole call, the answer is true, whatever other threads do. |
//! | [`insert`](CuckooFilter::insert) | Lock-free\*. `Ok`: the item is in. `Full`: no item has come or gone; none is ever dropped for another. |
//! | [`insert_unique`](CuckooFilter::insert_unique) | Obstruction-free. Of any number of threads that race to add an absent item, exactly one is told that it did (none, if all get an error). |
//! | [`remove`](CuckooFilter::remove) | Lock-free\*. Of n copies exactly n removes get true, and a remove of a present item gets true. |
//! | [`count`](CuckooFilter::count) | Lock-free\*. How many copies there are, also while they are being relocated. |
//! | [`len`](CuckooFilter::len) | Exact while no thread writes. |
//! | a stopped thread | Delays nobody, wherever it stops. |
//! | [capacity](Builder::capacity) | So many distinct items fit; it is not rounded to a power of two. |
//! | [false-positive rate](Builder::false_positive_rate) | Kept when the filter is full, and at every size of a filter that [grows](Builder::max_capacity). |
//! | [snapshots](CuckooFilter::write_to) | Hold every item that was present throughout, though all threads go on. |
//! | [merge](CuckooFilter::merge) | Adds every copy that is in the other filter throughout, though all threads go on in both. |
//! | bytes from outside | Give a typed error, or a filter; they never make it panic. |
//!
//! \* As long as no two calls of `insert_unique` take each other's reservation in the very
//! bucket without end; each gives the other twice as much time after each loss, so in
//! practice they do not.
//!
//! `docs/DESIGN.md` in the repository has the protocol, and for each promise the model
//! that checks it and the negative control that shows that the model can fail;
//! `docs/PROOF.md` has the proof.
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
//! * `serde`: `Serialize` and `Deserialize` for [`CuckooFilter`], as the bytes of
//!   a snapshot.

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
mod digest;
mod error;
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
    builder::Builder,
    error::{BatchError, BuildError, InsertError, MergeError, SnapshotError},
    filter::CuckooFilter,
    hash::{SeededHasher, SeededState},
    stats::Stats,
};
