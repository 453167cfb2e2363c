//! The table of the functions of all commands.

use super::{
    clients, config, connection, describe, expiry, info, keys, latency, multi, objects, rename,
    replication, scan, server as control, slowlog,
};
use crate::{
    command::{COMMANDS, Command},
    session::{
        Run::{self, Filter, Session, Store},
        Runnable,
    },
    store,
};
use guira_commands::{COMMAND_COUNT, commands};

const OF_FILTERS: [guira_commands::Command<store::Store>; COMMAND_COUNT] = commands();

/// The commands that are not on filters. `command/table.rs` has their properties.
#[rustfmt::skip]
const OTHERS: [(&str, Run); 55] = [
    ("ASKING", Session(connection::no_cluster)),
    ("AUTH", Session(connection::auth)),
    ("BGSAVE", Session(control::background_save)),
    ("CLIENT", Session(clients::client)),
    ("CLUSTER", Session(connection::no_cluster)),
    ("COMMAND", Session(describe::command)),
    ("CONFIG", Session(config::config)),
    ("COPY", Store(rename::copy)),
    ("DBSIZE", Store(keys::size)),
    ("DEL", Store(keys::delete)),
    ("DISCARD", Session(multi::discard)),
    ("ECHO", Session(connection::echo)),
    ("EXEC", Session(multi::exec)),
    ("EXISTS", Store(keys::exists)),
    ("EXPIRE", Store(expiry::expire)),
    ("EXPIREAT", Store(expiry::expire_at)),
    ("EXPIRETIME", Store(expiry::expire_time)),
    ("FLUSHALL", Store(keys::flush)),
    ("FLUSHDB", Store(keys::flush)),
    ("HELLO", Session(connection::hello)),
    ("INFO", Session(info::info)),
    ("KEYS", Session(scan::keys)),
    ("LASTSAVE", Session(control::last_save)),
    ("LATENCY", Session(latency::latency)),
    ("MEMORY", Store(keys::memory)),
    ("MODULE", Store(objects::module)),
    ("MULTI", Session(multi::multi)),
    ("OBJECT", Store(objects::object)),
    ("PERSIST", Store(expiry::persist)),
    ("PEXPIRE", Store(expiry::expire_ms)),
    ("PEXPIREAT", Store(expiry::expire_at_ms)),
    ("PEXPIRETIME", Store(expiry::expire_time_ms)),
    ("PING", Session(connection::ping)),
    ("PTTL", Store(expiry::ttl_ms)),
    ("QUIT", Session(connection::quit)),
    ("READONLY", Session(connection::no_cluster)),
    ("READWRITE", Session(connection::no_cluster)),
    ("RENAME", Store(rename::rename)),
    ("RENAMENX", Store(rename::rename_nx)),
    ("REPLICAOF", Session(replication::replica_of)),
    ("RESET", Session(connection::reset)),
    ("ROLE", Session(replication::role)),
    ("SAVE", Session(control::save)),
    ("SCAN", Session(scan::scan)),
    ("SELECT", Session(connection::select)),
    ("SHUTDOWN", Session(control::shutdown)),
    ("SLOWLOG", Session(slowlog::slowlog)),
    ("SNAPSHOT", Session(replication::snapshot)),
    ("TIME", Session(control::time)),
    ("TTL", Store(expiry::ttl)),
    ("TYPE", Store(keys::type_of)),
    ("UNLINK", Store(keys::delete)),
    ("UNWATCH", Session(multi::unwatch)),
    ("WAIT", Session(control::wait)),
    ("WATCH", Session(multi::watch)),
];

/// All commands, in the order of [`COMMANDS`].
static RUNNABLE: [Runnable; COMMANDS.len()] = all();

/// The function of a command.
#[inline]
pub(super) fn runnable(command: &Command) -> &'static Runnable {
    &RUNNABLE[command.index()]
}

const fn all() -> [Runnable; COMMANDS.len()] {
    let mut all = [Runnable::new(&COMMANDS[0], function_of(COMMANDS[0].name)); COMMANDS.len()];
    let mut index = 1;
    while index < COMMANDS.len() {
        let command = &COMMANDS[index];
        all[index] = Runnable::new(command, function_of(command.name));
        index += 1;
    }
    all
}

/// The function of the command with this name. A missing function is a compile error.
const fn function_of(name: &str) -> Run {
    let mut index = 0;
    while index < OF_FILTERS.len() {
        if is_same(OF_FILTERS[index].name, name) {
            return Filter(OF_FILTERS[index].run);
        }
        index += 1;
    }
    index = 0;
    while index < OTHERS.len() {
        if is_same(OTHERS[index].0, name) {
            return OTHERS[index].1;
        }
        index += 1;
    }
    panic!("a command has no function")
}

/// Returns `a == b`; comparison operators are not available in constants.
const fn is_same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut index = 0;
    while index < a.len() && index < b.len() && a[index] == b[index] {
        index += 1;
    }
    index == a.len() && index == b.len()
}
