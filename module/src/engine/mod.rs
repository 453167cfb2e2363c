//! The engine, Valkey or Redis, behind safe types.
//!
//! All `unsafe` of the module is in here. The bindings are written by hand, as the engine hands out
//! its functions by name (`api`), and so nothing but a Rust toolchain is needed to build the module.
//!
//! | | |
//! |---|---|
//! | `api` | the functions, by name |
//! | `alloc` | the engine's allocator for all of the module |
//! | `border` | no panic leaves the module |
//! | `context`, `string`, `key` | what a command asks of the engine |
//! | `command`, `config`, `info` | what the module registers with the engine when it is loaded |
//! | `data_type`, `io` | values: their files, their copies, their end |
//! | `block` | clients that are answered by another thread |
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
mod info;
mod io;
mod key;
mod string;
mod timer;

pub(crate) use alloc::EngineAllocator;
#[cfg(feature = "faults")]
pub(crate) use alloc::{is_in_environment, log_alignments};
pub(crate) use api::warn;
pub(crate) use block::Waiting;
pub(crate) use border::{guarded, panics};
pub(crate) use command::{CategoryRefused, Command, CommandRefused, Description};
pub(crate) use config::{Fraction, Number, SettingError};
pub(crate) use context::{Context, Flags, Memory, memory, standing};
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) use counting::peak_of;
pub(crate) use data_type::{DataType, TypeRefused, Value};
pub(crate) use info::{Section, SectionRefused};
pub(crate) use io::{Load, Rewrite, Save};
pub(crate) use key::{Access, Found, Key, NotWritable};
pub(crate) use string::{OwnedStr, Str};
pub(crate) use timer::EventsRefused;

use crate::fault::{self, Fault};
use api::{ERR, OK, api};
use std::ffi::c_int;

/// What the module can bear, as the engine asks.
const OPTIONS: c_int = HANDLE_IO_ERRORS
    | NO_IMPLICIT_SIGNAL_MODIFIED
    | HANDLE_REPL_ASYNC_LOAD
    | HANDLE_ATOMIC_SLOT_MIGRATION;

/// A file that ends early is an error of the load, and not the end of the process.
const HANDLE_IO_ERRORS: c_int = 1;

/// Opening a key for writing is not a change of it: watchers and caches are notified only of
/// changes.
const NO_IMPLICIT_SIGNAL_MODIFIED: c_int = 1 << 1;

/// A replica may load what its primary sends while it answers from what it had.
const HANDLE_REPL_ASYNC_LOAD: c_int = 1 << 2;

/// Slots may move with Valkey 9's `CLUSTER MIGRATESLOTS`, which is refused on the whole node otherwise.
const HANDLE_ATOMIC_SLOT_MIGRATION: c_int = 1 << 5;

/// The engine calls it first, and refuses the module unless it returns 0. Valkey has this name, too.
///
/// # Safety
///
/// Only the engine calls it.
#[unsafe(no_mangle)]
unsafe extern "C" fn RedisModule_OnLoad(
    context: *mut api::Ctx,
    arguments: *mut *mut api::Str,
    count: c_int,
) -> c_int {
    // SAFETY: the engine hands over its context.
    if unsafe { api::load(context) }.is_err() {
        // It has been logged.
        return ERR;
    }
    border::log_panics();
    let load = || {
        // SAFETY: the context and the arguments are valid during this call, on this thread.
        let (mut context, arguments) =
            unsafe { (Context::new(context), Str::arguments(arguments, count)) };
        // SAFETY: the context is valid. This comes first: it makes the module in it.
        unsafe {
            let name = crate::NAME.as_ptr();
            (api().SetModuleAttribs)(context.raw(), name, crate::VERSION, 1);
            let left_out = match fault::is(Fault::NoSlotMigration) {
                true => HANDLE_ATOMIC_SLOT_MIGRATION,
                false => 0,
            };
            (api().SetModuleOptions)(context.raw(), OPTIONS & !left_out);
        }
        match crate::load(&mut context, arguments) {
            Ok(()) => OK,
            Err(error) => {
                warn(&format!("the module is not loaded: {error}"));
                ERR
            }
        }
    };
    guarded("loading the module", load, || ERR)
}
