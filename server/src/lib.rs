//! A server for the `CF.*` commands of the Redis protocol, over
//! [`guira::CuckooFilter`]s that all its threads share.
//!
//! From the inside out:
//!
//! | module | what it does |
//! |---|---|
//! | [`keyspace`] | holds the filters |
//! | [`store`] | what the commands on filters and keys work on |
//! | [`command`] | names the commands and their properties |
//! | [`commands`] | turn arguments into replies, without a socket |
//! | [`resp`] | the wire protocol |
//! | [`persist`] | writes files |
//! | [`net`] | owns the sockets |
//! | [`metrics`], [`stats`], [`process`] | report on the server |
//! | [`slow`] | runs long work |
//! | [`ready`] | asks whether another server is ready |
//! | [`estimate`] | says what a key will take |
//! | [`welcome`] | tells people what to do next |
//! | [`snapshots`], [`standby`] | copy all keys to another server |
//! | [`panics`] | decides what a panic ends |
//!
//! `docs/server/operations.md` in the repository is the manual.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod certificates;
pub mod clients;
pub mod command;
pub mod commands;
pub mod config;
pub mod estimate;
#[doc(hidden)]
pub mod fault;
pub mod files;
pub mod guesses;
pub mod keyspace;
mod limited;
mod lock;
pub mod logging;
pub mod metrics;
pub mod net;
pub mod panics;
pub mod persist;
pub mod pools;
pub mod process;
pub mod ready;
pub mod resp;
pub mod server;
pub mod session;
pub mod settings;
pub mod slow;
pub mod slow_log;
pub mod snapshots;
pub mod standby;
pub mod stats;
pub mod store;
pub mod tunable;
pub mod used;
pub mod welcome;
