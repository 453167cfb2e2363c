//! The Python package `guira_filter`: filters of `guira` as Python classes.
//!
//! | file | contents |
//! |---|---|
//! | `item` | the hash of a Python value |
//! | `batch` | many items: where they come from, and what is done with them |
//! | `buffer`, `arrow` | items in the memory of other objects, with `unsafe` |
//! | `ndarray` | arrays of numpy, with `unsafe` |
//! | `direct` | fast calls of methods, and fast access to items, with `unsafe` |
//! | `filter`, `expiring`, `shared` | the classes, with their `methods` in Python |
//! | `common` | the methods that filters of threads and of processes have in common |
//! | `clock` | when the epochs of an expiring filter begin |
//! | `snapshot` | bytes, files, and dumps of the server |
//! | `tokens` | what to do while all reservation tokens are in use |
//! | `arguments`, `errors`, `estimate`, `stats` | conversions |

#![deny(unsafe_code)]
// The examples in docstrings are Python. Python runs them: tests/test_documents.py.
#![allow(rustdoc::invalid_rust_codeblocks)]

mod arguments;
#[cfg(feature = "arrow")]
mod arrow;
mod batch;
mod buffer;
mod clock;
mod common;
mod direct;
mod errors;
mod estimate;
mod expiring;
mod filter;
mod item;
mod ndarray;
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
mod shared;
mod snapshot;
mod stats;
mod tokens;

use pyo3::prelude::*;

/// Python aligns objects to 16 bytes, and on 32-bit targets to 8, whatever their type asks for.
const fn fits<T>() {
    assert!(align_of::<T>() <= 2 * size_of::<usize>());
}

const _: () = {
    fits::<filter::Filter>();
    fits::<expiring::ExpiringFilter>();
};
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
const _: () = {
    fits::<shared::SharedFilter>();
    fits::<shared::SharedReader>();
    fits::<shared::SharedExpiringFilter>();
    fits::<shared::SharedExpiringReader>();
};

/// The compiled part of `guira_filter`.
#[pymodule(gil_used = false)]
mod _guira_filter {
    #[cfg(all(target_os = "linux", target_pointer_width = "64"))]
    #[pymodule_export]
    use super::shared::{
        Participants, SharedExpiringFilter, SharedExpiringReader, SharedFileError, SharedFilter,
        SharedReader, restore_shared_expiring_filter, restore_shared_expiring_reader,
        restore_shared_filter, restore_shared_reader,
    };
    use super::*;
    #[pymodule_export]
    use super::{
        errors::{BusyError, FullError, SnapshotError},
        estimate::Estimate,
        expiring::{ExpiringFilter, restore_expiring_filter},
        filter::{Filter, restore_filter},
        stats::Stats,
    };

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        errors::init(module.py())?;
        direct::init(module.py())?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        module.add("_has_arrow", cfg!(feature = "arrow"))
    }
}
