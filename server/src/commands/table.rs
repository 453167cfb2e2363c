//! All commands by name.

use super::{
    Args, Reply, Store, clients,
    command::{
        Access::{Control, Read, Write},
        Command,
        Cost::{Long, Queue, Short},
        InTransaction::{AtOnce, Queued, Refused},
        Keys, filter, session, store,
    },
    config, connection, describe, expiry, info, keys, latency, multi, objects, rename, scan,
    server as control, slowlog,
};
use crate::{server::Server, session::Session};
use guira_commands::{COMMAND_COUNT, commands};
use std::sync::Arc;

const NONE: Keys = Keys::NONE;
const ONE: Keys = Keys::ONE;
const TWO: Keys = Keys::TWO;
const ALL: Keys = Keys::ALL;
const SUB: Keys = Keys::AFTER_SUBCOMMAND;

/// Those on filters, ordered by name.
const OF_FILTERS: [guira_commands::Command<Store>; COMMAND_COUNT] = commands();

/// The others, ordered by name.
#[rustfmt::skip]
const OTHERS: [Command; 49] = [
    session("AUTH", -2, Control, Short, Queued, NONE, connection::auth, "Authenticates the connection").open().secret(),
    session("BGSAVE", -1, Control, Short, Queued, NONE, control::background_save, "Saves all filters in the background"),
    session("CLIENT", -2, Control, Short, Queued, NONE, clients::client, "Lists, names or disconnects clients"),
    session("COMMAND", -1, Control, Short, Queued, NONE, command, "Describes the commands"),
    session("CONFIG", -2, Control, Short, Queued, NONE, config::config, "Shows or changes settings"),
    store("COPY", -3, Write, Long, TWO, rename::copy, "Copies the filter of a key to another key"),
    store("DBSIZE", 1, Read, Short, NONE, keys::size, "Returns the number of keys"),
    store("DEL", -2, Write, Long, ALL, keys::delete, "Deletes keys"),
    session("DISCARD", 1, Control, Short, AtOnce, NONE, multi::discard, "Discards the commands queued since MULTI"),
    session("ECHO", 2, Control, Short, Queued, NONE, connection::echo, "Returns its argument"),
    session("EXEC", 1, Control, Queue, AtOnce, NONE, multi::exec, "Executes the commands queued since MULTI"),
    store("EXISTS", -2, Read, Short, ALL, keys::exists, "Counts the given keys that exist"),
    store("EXPIRE", -3, Write, Short, ONE, expiry::expire, "Sets the expiry of a key, in seconds from now"),
    store("EXPIREAT", -3, Write, Short, ONE, expiry::expire_at, "Sets the expiry of a key, as a Unix time in seconds"),
    store("EXPIRETIME", 2, Read, Short, ONE, expiry::expire_time, "Returns when a key expires, as a Unix time in seconds"),
    store("FLUSHALL", -1, Write, Long, NONE, keys::flush, "Deletes all keys"),
    store("FLUSHDB", -1, Write, Long, NONE, keys::flush, "Deletes all keys"),
    session("HELLO", -1, Control, Short, Refused, NONE, connection::hello, "Selects the protocol version").open().secret(),
    session("INFO", -1, Control, Long, Queued, NONE, info::info, "Describes the server"),
    session("KEYS", 2, Read, Long, Queued, NONE, scan::keys, "Lists the keys that match a pattern"),
    session("LASTSAVE", 1, Control, Short, Queued, NONE, control::last_save, "Returns when the last save was completed"),
    session("LATENCY", -2, Control, Short, Queued, NONE, latency::latency, "Shows or clears the latency of commands that took long"),
    store("MEMORY", -2, Read, Short, SUB, keys::memory, "Returns the memory of a filter in bytes"),
    store("MODULE", -2, Control, Short, NONE, objects::module, "Lists the module whose commands the server has"),
    session("MULTI", 1, Control, Short, AtOnce, NONE, multi::multi, "Starts a transaction: queues commands until EXEC"),
    store("OBJECT", -2, Read, Short, SUB, objects::object, "Describes the value of a key"),
    store("PERSIST", 2, Write, Short, ONE, expiry::persist, "Removes the expiry of a key"),
    store("PEXPIRE", -3, Write, Short, ONE, expiry::expire_ms, "Sets the expiry of a key, in milliseconds from now"),
    store("PEXPIREAT", -3, Write, Short, ONE, expiry::expire_at_ms, "Sets the expiry of a key, as a Unix time in milliseconds"),
    store("PEXPIRETIME", 2, Read, Short, ONE, expiry::expire_time_ms, "Returns when a key expires, as a Unix time in milliseconds"),
    session("PING", -1, Control, Short, Queued, NONE, connection::ping, "Returns PONG"),
    store("PTTL", 2, Read, Short, ONE, expiry::ttl_ms, "Returns the milliseconds until a key expires"),
    session("QUIT", -1, Control, Short, AtOnce, NONE, connection::quit, "Closes the connection").open(),
    store("RENAME", 3, Write, Long, TWO, rename::rename, "Renames a key"),
    store("RENAMENX", 3, Write, Long, TWO, rename::rename_nx, "Renames a key if the new name is free"),
    session("RESET", 1, Control, Short, AtOnce, NONE, connection::reset, "Resets the connection to its initial state").open(),
    session("ROLE", 1, Control, Short, Queued, NONE, control::role, "Returns the replication role: a master without replicas"),
    session("SAVE", 1, Control, Long, Refused, NONE, control::save, "Saves all filters"),
    session("SCAN", -2, Read, Long, Queued, NONE, scan::scan, "Lists the keys, a few per call"),
    session("SELECT", 2, Control, Short, Queued, NONE, connection::select, "Selects database 0, the only one"),
    session("SHUTDOWN", -1, Control, Long, Refused, NONE, control::shutdown, "Stops the server"),
    session("SLOWLOG", -2, Control, Short, Queued, NONE, slowlog::slowlog, "Shows or clears the log of slow commands"),
    session("TIME", 1, Control, Short, Queued, NONE, control::time, "Returns the time"),
    store("TTL", 2, Read, Short, ONE, expiry::ttl, "Returns the seconds until a key expires"),
    store("TYPE", 2, Read, Short, ONE, keys::type_of, "Returns the type of a key"),
    store("UNLINK", -2, Write, Long, ALL, keys::delete, "Deletes keys"),
    session("UNWATCH", 1, Control, Short, Queued, NONE, multi::unwatch, "Stops watching all keys"),
    session("WAIT", 3, Control, Short, Queued, NONE, control::wait, "Returns the number of replicas: 0"),
    session("WATCH", -2, Control, Short, AtOnce, ALL, multi::watch, "Watches keys: EXEC does nothing if one of them has changed"),
];

/// How many commands there are.
const COUNT: usize = OF_FILTERS.len() + OTHERS.len();

/// All commands, ordered by name.
pub static COMMANDS: [Command; COUNT] = all();

const fn all() -> [Command; COUNT] {
    const FILTERS: usize = OF_FILTERS.len();
    let mut all = [OTHERS[0]; COUNT];
    let mut index = 0;
    while index < COUNT {
        let command = match index {
            ..FILTERS => filter(&OF_FILTERS[index]),
            _ => OTHERS[index - FILTERS],
        };
        // Those before it are in order.
        let mut place = index;
        while place > 0 && is_before(command.name, all[place - 1].name) {
            all[place] = all[place - 1];
            place -= 1;
        }
        all[place] = command;
        index += 1;
    }
    index = 0;
    while index < COUNT {
        all[index].index = index;
        index += 1;
    }
    all
}

/// As `a < b`, which cannot be asked of constants.
const fn is_before(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut index = 0;
    while index < a.len() && index < b.len() && a[index] == b[index] {
        index += 1;
    }
    index < b.len() && (index == a.len() || a[index] < b[index])
}

/// `COMMAND`, which describes the table itself, without disabled commands.
fn command(server: &Arc<Server>, _: &mut Session, args: Args<'_>) -> Reply {
    describe::command(&server.commands, args)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_ordered_by_name() {
        assert!(COMMANDS.is_sorted_by(|a, b| a.name < b.name));
        for (index, command) in COMMANDS.iter().enumerate() {
            assert_eq!(command.index(), index);
        }
    }
}
