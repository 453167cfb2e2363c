//! What the commands do: from arguments to a reply.
//!
//! Nothing here knows of sockets or of a protocol's notation. The `CF.*` commands
//! are in the crate `guira-commands`, which works on a [`Store`].

mod call;
mod clients;
mod command;
mod config;
mod connection;
mod describe;
mod enabled;
mod expiry;
mod glob;
mod info;
mod keys;
mod latency;
mod loads;
mod multi;
mod objects;
mod rename;
mod scan;
mod server;
mod slowlog;
mod store;
mod table;

pub use call::{NOAUTH, call, unknown};
pub use command::{Access, Command, Cost, InTransaction, Keys};
pub use enabled::Enabled;
pub use guira_commands::{Args, Reply};
pub use latency::Latency;
pub use loads::Loads;
pub use multi::{QUEUED, Transaction};
pub use slowlog::SlowLog;
pub use store::Store;
pub use table::COMMANDS;
