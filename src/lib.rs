//! For Rust programs that share an approximate set between threads.
//!
//! guira is a concurrent cuckoo filter: approximate set membership with deletion, growth and expiry.
//! A lookup answers "certainly absent" or "probably present". A full filter takes 1.2 to 4.7 bytes per
//! item, whatever the size of the items; fewer bytes mean more false positives. Threads share a filter
//! through `&self`, and never wait for each other.
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
//! # What is where
//!
//! | | |
//! |---|---|
//! | [`CuckooFilter`] | a filter of a fixed size, or one that [grows](#growth); made by [`Builder`] |
//! | [`ExpiringFilter`] | a filter whose items [expire](#expiry), of a fixed size or one that grows; made by [`Builder`], too |
//! | [`Filter`] | both of them: their common methods |
//! | [`Estimate`] | what a filter will take, before it is made |
//! | [`save`](CuckooFilter::save), [`load`](Builder::load) | a filter in a file, across restarts |
//! | [`InsertError`], [`BatchError`], [`BuildError`], [`MergeError`], [`SnapshotError`], [`LoadError`] | what can go wrong, with the values involved |
//! | [`Restore`], [`SnapshotDecoder`] | how a filter is restored from bytes; from bytes that arrive in pieces |
//! | [`Stats`] | what a filter has done, for metrics |
//! | [`SeededState`] | the default hasher |
//! | [`Hashed`] | the hash of an item, in place of the item |
//! | [the guide] | which settings to choose, and how to run a filter in a service |
//! | [a page to watch][watch] | this crate's code at work in a browser, step by step |
//! | [DESIGN.md], [PROOF.md], [VERIFICATION.md] | the protocol, why it is correct, and what checks it |
//!
//! # Choosing
//!
//! | if | use |
//! |---|---|
//! | items must expire | [`ExpiringFilter`] |
//! | the number of items is known | [`capacity`](Builder::capacity) |
//! | it is not known within a factor of 2 | [`max_capacity`](Builder::max_capacity), which lets the filter grow, also an [expiring](ExpiringBuilder::max_capacity) one |
//! | a wrong answer costs a read | a [rate](Builder::false_positive_rate) of about 0.01 |
//! | a wrong answer loses an item | a rate of 10⁻⁶ or less |
//! | memory matters more than speed | [`Prefer::Space`], without growth |
//! | each item is counted once | [`insert_unique`](CuckooFilter::insert_unique) instead of [`insert`](CuckooFilter::insert) |
//! | many items are looked up at once | [batches](CuckooFilter::contains_batch), or [`contains_iter`](CuckooFilter::contains_iter) |
//! | attackers choose items and can read snapshots | a cryptographic [hasher](Builder::hasher) with a secret key |
//!
//! # Growth
//!
//! ```
//! use guira::CuckooFilter;
//!
//! let seen = CuckooFilter::builder()
//!     .capacity(1_000) // distinct items before the first doubling
//!     .max_capacity(100_000) // after the last one
//!     .build()?;
//! let at_first = seen.memory_usage();
//! for user in 0..50_000_u32 {
//!     seen.insert(&user)?; // some inserts split a few buckets
//! }
//! assert!(seen.memory_usage() > 10 * at_first);
//! assert!((0..50_000_u32).all(|user| seen.contains(&user)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The false-positive rate is kept at every size, and a lookup reads two buckets at every size.
//!
//! # Expiry
//!
//! ```
//! use guira::ExpiringFilter;
//! use std::time::Duration;
//!
//! let minutes = |minutes: u64| Duration::from_secs(60 * minutes);
//! let seen = ExpiringFilter::builder(minutes(60)) // the TTL
//!     .capacity(1_000_000) // distinct items per TTL
//!     .build()?;
//! seen.tick_at(|| minutes(0)); // a clock of the caller, for an exact example
//! assert!(seen.insert_unique("event-1")?); // the first time within an hour
//! assert!(!seen.insert_unique("event-1")?); // a repeat
//! for now in 1..=65 {
//!     seen.tick_at(|| minutes(now));
//! }
//! assert!(seen.insert_unique("event-1")?); // it has expired
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Time passes in writes, and in [`tick`](ExpiringFilter::tick). An `ExpiringFilter` has
//! [promises of its own](ExpiringFilter#time).
//!
//! # Promises
//!
//! | | |
//! |---|---|
//! | [`contains`](CuckooFilter::contains) | Wait-free. Returns `true` if the item is present during the whole call, whatever other threads do. It writes nothing, except a statistics counter if it has to read again. |
//! | [`insert`](CuckooFilter::insert) | Lock-free\*. After `Ok` the item is present. After an error no item has been added or removed; no item is ever evicted for another one. |
//! | [`insert_unique`](CuckooFilter::insert_unique) | Obstruction-free. When threads race to add an absent item, exactly one call returns `true`, unless all of them fail. At the false-positive rate it returns `false` for an absent item. |
//! | [`remove`](CuckooFilter::remove) | Lock-free\*. Of n copies, exactly n calls return `true`. Removing an item that was never inserted [can remove another one](CuckooFilter#removing). |
//! | [`count`](CuckooFilter::count) | Lock-free\*. Counts each copy once, also during relocations. |
//! | [batches](CuckooFilter::insert_batch) | Equivalent to one call per item, in order. |
//! | [`len`](CuckooFilter::len) | Exact while no thread writes; otherwise off by at most the number of concurrent writes. |
//! | time | `contains`, `remove` and `count` are O(1). So is an insert until the filter is nearly full; then its search for a free slot is bounded. |
//! | a stopped thread | Delays no other thread, wherever it stops. |
//! | [memory ordering](CuckooFilter#memory-ordering) | An insert that returned `Ok` happens before every call that finds its copy. |
//! | [capacity](Builder::capacity) | Holds at least this number of distinct items. Not rounded up to a power of two. |
//! | [false-positive rate](Builder::false_positive_rate) | Kept up to the capacity, and at every size of a filter that [grows](Builder::max_capacity). |
//! | [determinism](CuckooFilter#determinism) | With a seed, the same calls in one thread make the same filter, down to the bytes of its snapshot. |
//! | [snapshots](CuckooFilter::write_to) | Contain every item that was present during the whole call, while other threads write. |
//! | [merge](CuckooFilter::merge) | Adds every copy that was in the other filter during the whole call, while threads use both. |
//! | [union](CuckooFilter::union_with) | Raises each item to the number of copies in the other filter, while threads use both. |
//! | [intersection](CuckooFilter::intersect_with) | Lowers each item to the number of copies in the other filter, while threads use both. |
//! | [difference](CuckooFilter::difference_with) | Removes what the other filter has, while threads use both; at the false-positive rate, also other items. |
//! | untrusted bytes | Result in a filter or a typed error, never in a panic. |
//! | panics | A method that can panic says so. |
//!
//! \* Except that two `insert_unique` calls on the same buckets could remove each other's reservation
//! forever. Exponential backoff makes this practically impossible.
//!
//! # When not to use it
//!
//! * You need exact answers: use a concurrent hash set.
//! * You never remove items, and only space matters: a Bloom filter is smaller at most rates.
//! * You must remove items that may never have been inserted: see [Removing](CuckooFilter#removing).
//! * Your target has no 64-bit atomics, such as ARMv5, and 32-bit MIPS, PowerPC and RISC-V.
//!
//! # Features
//!
//! * `serde`: `Serialize` and `Deserialize` for [`SeededState`], as its seed, and for [`CuckooFilter`]
//!   and [`ExpiringFilter`], as the hasher and the bytes of a snapshot. A hasher of your own has to
//!   implement them, too.
//! * `wasm_js`: on `wasm32-unknown-unknown`, random seeds come from JavaScript. Without it, builds for
//!   that target have to provide another source of randomness.
//!
//! [the guide]: https://github.com/guira-rs/guira/blob/v0.1.0/docs/GUIDE.md
//! [DESIGN.md]: https://github.com/guira-rs/guira/blob/v0.1.0/docs/DESIGN.md
//! [PROOF.md]: https://github.com/guira-rs/guira/blob/v0.1.0/docs/PROOF.md
//! [VERIFICATION.md]: https://github.com/guira-rs/guira/blob/v0.1.0/docs/VERIFICATION.md
//! [watch]: https://github.com/guira-rs/guira/tree/v0.1.0/docs/watch

#![forbid(unsafe_code)]
#![warn(missing_docs)]

#[cfg(not(target_has_atomic = "64"))]
compile_error!(
    "guira needs 64-bit atomics, which this target does not have: a bucket is one 64-bit word"
);

/// The examples of these pages are compiled and run.
#[cfg(doctest)]
mod pages {
    #[doc = include_str!("../README.md")]
    struct Readme;
    #[doc = include_str!("../docs/GUIDE.md")]
    struct Guide;
}

// The methods of a filter are documented in the order of these modules. The empty lines keep rustfmt from
// sorting them.
mod builder;

mod filter;

mod contains_iter;

mod extend;

mod snapshot;

mod header;

mod digest;

mod merge;

mod union;

mod intersection;

mod state;

mod stats;

// The other modules.
mod clock;
#[cfg(guira_faults)]
pub mod coherence;
#[cfg(all(test, not(any(guira_loom, guira_shuttle))))]
mod concurrent_tests;
mod error;
mod estimate;
mod fault;
mod geometry;
#[cfg(all(test, not(any(guira_loom, guira_shuttle))))]
mod golden_tests;
mod hash;
mod lifetime;
mod memory;
#[cfg(any(guira_loom, guira_faults, guira_shuttle))]
pub mod model;
mod raw;
#[cfg(feature = "serde")]
mod serde;
#[cfg(feature = "shared")]
#[doc(hidden)]
pub mod shared;
mod step;
mod sync;
mod table;
#[cfg(guira_loom)]
mod trace;

pub use crate::{
    builder::{Builder, ExpiringBuilder, Prefer},
    contains_iter::ContainsIter,
    error::{
        BatchError, BuildError, Difference, InsertError, LoadError, MergeError, Mismatch,
        SnapshotError,
    },
    estimate::{Estimate, Size},
    filter::{CuckooFilter, ExpiringFilter, Filter},
    hash::{Hashable, Hashed, SeededHasher, SeededState},
    lifetime::{Expiring, Forever, Lifetime},
    snapshot::{
        decoder::{ExpiringSnapshotDecoder, FilterDecoder, SnapshotDecoder},
        restore::Restore,
    },
    stats::Stats,
};
