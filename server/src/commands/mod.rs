//! The functions of the commands, from arguments to a reply.
//!
//! Nothing here depends on sockets or on a wire protocol. The `CF.*` commands are in the crate
//! `guira-commands`, which works on a [`Store`](crate::store::Store).

mod call;
mod clients;
mod config;
mod connection;
mod describe;
mod expiry;
mod glob;
mod info;
mod keys;
mod latency;
mod multi;
mod objects;
mod rename;
mod replication;
mod scan;
mod server;
mod slowlog;
mod table;
mod unknown;

pub use call::{NOAUTH, call};
pub use guira_commands::{Args, Reply};
pub use multi::QUEUED;
pub use unknown::unknown;
