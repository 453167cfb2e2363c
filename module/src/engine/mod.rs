//! Safe types for the API of Valkey and Redis, the *engine*.
//!
//! All `unsafe` code of the module is here. The bindings are written by hand: the engine provides its
//! functions by name (`api`), so building the module needs only a Rust toolchain.
//!
//! | | |
//! |---|---|
//! | `api` | the functions, by name |
//! | `alloc` | the engine's allocator as the global allocator |
//! | `border` | stops panics before they leave the module |
//! | `context`, `string`, `key` | what a command uses of the engine |
//! | `status` | the state of the engine |
//! | `fault` | deliberate faults, which tests must detect |
//! | `command`, `config`, `info` | what the module registers when it is loaded |
//! | `data_type`, `io` | values: serialization, copies, and freeing |
//! | `block` | clients that another thread replies to |
//! | `timer` | what the engine calls by itself |
#![allow(unsafe_code)]

mod alloc;
mod api;
mod block;
mod border;
mod command;
mod config;
mod context;
#[cfg(any(test, feature = "fuzzing"))]
mod counting;
mod data_type;
pub(crate) mod fault;
mod info;
mod io;
mod key;
mod status;
mod string;
mod timer;

#[cfg(feature = "faults")]
pub(crate) use alloc::log_alignments;
pub(crate) use alloc::{EngineAllocator, allocations};
pub(crate) use api::warn;
pub(crate) use block::Waiting;
pub(crate) use border::{guarded, panics};
pub(crate) use command::{CategoryRefused, Command, CommandRefused, Description};
pub(crate) use config::{Fraction, Number, SettingError};
pub(crate) use context::Context;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) use counting::peak_of;
pub(crate) use data_type::{DataType, TypeRefused, Value};
pub(crate) use info::{Section, SectionRefused};
pub(crate) use io::{Load, Rewrite, Save};
pub(crate) use key::{Access, Found, Key, Lent, NotWritable};
pub(crate) use status::{Flags, Memory, memory, standing};
pub(crate) use string::{OwnedStr, Str};
pub(crate) use timer::EventsRefused;

use api::{ERR, OK, api};
use fault::Fault;
use std::{
    ffi::{CStr, c_int},
    fmt,
};

/// The arguments of the function in [`entry_point`].
pub(crate) use api::{Ctx as RawContext, Str as RawStr};

/// The options of the module.
const OPTIONS: c_int = HANDLE_IO_ERRORS
    | NO_IMPLICIT_SIGNAL_MODIFIED
    | HANDLE_REPL_ASYNC_LOAD
    | HANDLE_ATOMIC_SLOT_MIGRATION;

/// A truncated file is an error of the load, instead of the end of the process.
const HANDLE_IO_ERRORS: c_int = 1;

/// Opening a key for writing is not a change: watchers and caches are notified only of changes.
const NO_IMPLICIT_SIGNAL_MODIFIED: c_int = 1 << 1;

/// A replica may load a copy from its primary while it serves its previous data.
const HANDLE_REPL_ASYNC_LOAD: c_int = 1 << 2;

/// Valkey 9 may move slots with `CLUSTER MIGRATESLOTS`. Otherwise it refuses this for the whole
/// node.
const HANDLE_ATOMIC_SLOT_MIGRATION: c_int = 1 << 5;

/// The module as the engine lists it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Module<E> {
    /// The name of the module, which is also the prefix of its settings.
    pub(crate) name: &'static CStr,
    pub(crate) version: c_int,
    /// Registers the module's commands and types with the engine, given the module's arguments.
    pub(crate) load: fn(&mut Context, &[Str<'_>]) -> Result<(), E>,
}

/// Defines the entry point, through which the engine loads this [`Module`].
///
/// The engine calls the function of this name first, and refuses the module unless it returns 0.
/// Valkey uses the same name.
macro_rules! entry_point {
    ($module:expr) => {
        /// # Safety
        ///
        /// Only the engine calls it.
        #[allow(unsafe_code, reason = "all of it is in `engine`")]
        #[unsafe(no_mangle)]
        unsafe extern "C" fn RedisModule_OnLoad(
            context: *mut $crate::engine::RawContext,
            arguments: *mut *mut $crate::engine::RawStr,
            count: std::ffi::c_int,
        ) -> std::ffi::c_int {
            // SAFETY: the engine calls it with its context, and with this number of arguments.
            unsafe { $crate::engine::on_load(context, arguments, count, $module) }
        }
    };
}

pub(crate) use entry_point;

/// # Safety
///
/// The engine must have passed the context and the `count` arguments to this call.
pub(crate) unsafe fn on_load<E: fmt::Display>(
    context: *mut api::Ctx,
    arguments: *mut *mut api::Str,
    count: c_int,
    module: Module<E>,
) -> c_int {
    // SAFETY: the engine hands over its context.
    if unsafe { api::load(context) }.is_err() {
        // The error has been logged.
        return ERR;
    }
    border::log_panics();
    let load = || {
        // SAFETY: the context and the arguments are valid during this call, on this thread.
        let (mut context, arguments) =
            unsafe { (Context::new(context), Str::arguments(arguments, count)) };
        // SAFETY: the context is valid. This call comes first, because it creates the module in the
        // context.
        unsafe {
            let name = module.name.as_ptr();
            (api().SetModuleAttribs)(context.raw(), name, module.version, 1);
            let left_out = match fault::is(Fault::NoSlotMigration) {
                true => HANDLE_ATOMIC_SLOT_MIGRATION,
                false => 0,
            };
            (api().SetModuleOptions)(context.raw(), OPTIONS & !left_out);
        }
        match (module.load)(&mut context, arguments) {
            Ok(()) => OK,
            Err(error) => {
                warn(&format!("the module is not loaded: {error}"));
                ERR
            }
        }
    };
    guarded("loading the module", load, || ERR)
}
