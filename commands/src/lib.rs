//! What the `CF.*` commands do: from arguments to a reply.
//!
//! A host has the keys, and threads or sockets. It implements [`Store`], takes the commands from
//! [`commands`], and writes each [`Reply`] in its own wire protocol. The commands report what they
//! have changed, so that the host can save or replicate it.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod argument;
mod cf;
mod combine;
mod command;
pub mod dump;
mod estimate;
mod filter;
mod growth;
mod many;
mod numbers;
mod options;
mod reply;
mod reserve;
mod store;
mod table;
mod touch;
mod window;

pub use argument::{Argument, ArgumentKind};
pub use command::{Access, Answer, Args, AtOnce, Command, Cost, Effect, Sources, Together, takes};
pub use estimate::estimate;
pub use filter::{DuplicateError, Filter, FilterDecoder};
pub use growth::{Growth, GrowthError, bytes_refused};
pub use numbers::{number, shown_rate};
pub use options::{
    DEFAULT_CAPACITY, DEFAULT_RATE, MAX_CAPACITY, MAX_EXPANSION, MIN_CAPACITY, MIN_RATE, Options,
    Seed, Wanted,
};
pub use reply::{Reply, try_with_capacity};
pub use store::{MakeError, Store, Work};
pub use table::{COMMAND_COUNT, commands};
pub use window::{Clock, Window, Windowed};
