//! A [guira](https://docs.rs/guira) filter in a file that several processes map.
//!
//! The filter is lock-free between processes, as it is between threads. It stays correct when a process
//! is killed at any instruction: no item is lost, and other processes complete or undo what the dead one
//! has begun. `docs/SHARED-MEMORY.md` in the repository explains when to use it, how it works, and what
//! is not promised.
//!
//! ```
//! # #[cfg(all(target_os = "linux", target_pointer_width = "64"))]
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use guira::CuckooFilter;
//! use guira_shm::SharedFilter;
//!
//! let dir = tempfile::tempdir()?;
//! let path = dir.path().join("seen");
//! // SAFETY: nothing else truncates or writes a file in this directory.
//! let here = unsafe { SharedFilter::create(&path, CuckooFilter::builder().capacity(10_000)) }?;
//! // Usually in another process.
//! let there = unsafe { SharedFilter::open(&path) }?;
//! assert_eq!(there.insert_unique("ani"), Ok(true));
//! assert!(here.contains("ani"));
//! # Ok(())
//! # }
//! # #[cfg(not(all(target_os = "linux", target_pointer_width = "64")))]
//! # fn main() {}
//! ```
//!
//! Requires 64-bit Linux. On other systems the package is empty.

#![cfg(all(target_os = "linux", target_pointer_width = "64"))]
#![deny(unsafe_code)]
#![warn(missing_docs)]

mod attached;
mod clock;
mod error;
mod expiring;
mod file;
mod filter;
mod header;
mod locks;
mod map;
mod processes;
mod reader;
mod sparse;

pub use error::{AttachError, NotAlone, OpenError};
pub use expiring::SharedExpiringFilter;
pub use filter::{Shared, SharedFilter};
pub use guira::shared::Repaired;
pub use header::Participants;
pub use reader::{Reader, SharedExpiringReader, SharedReader};
