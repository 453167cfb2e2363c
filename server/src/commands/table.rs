//! All commands by name.

use super::{
    Args, Reply, Store, clients,
    command::{Command, Keys, Kind, filter, find_in, session, store},
    connection, describe, expiry, info, keys, multi, rename, scan, server as control, slowlog,
};
use crate::{server::Server, session::Session};
use std::sync::Arc;

use Kind::{Control, Open, Read, SlowControl, SlowRead, SlowWrite, Write};

const NONE: Keys = Keys::NONE;
const ONE: Keys = Keys::ONE;
const TWO: Keys = Keys::TWO;
const ALL: Keys = Keys::ALL;

/// Those on filters, ordered by name.
const OF_FILTERS: [guira_commands::Command<Store>; 16] = guira_commands::commands();

/// The others, ordered by name.
#[rustfmt::skip]
const OTHERS: [Command; 46] = [
    session("AUTH", -2, Open, NONE, connection::auth, "Says who the client is"),
    session("BGSAVE", -1, Control, NONE, control::background_save, "Saves all filters, in the background"),
    session("CLIENT", -2, Control, NONE, clients::client, "The connections and their clients"),
    session("COMMAND", -1, Control, NONE, command, "Describes the commands"),
    session("CONFIG", -2, Control, NONE, control::config, "Shows settings"),
    store("COPY", -3, SlowWrite, TWO, rename::copy, "Copies the filter of a key to another one"),
    store("DBSIZE", 1, Read, NONE, keys::size, "Counts the keys"),
    store("DEL", -2, SlowWrite, ALL, keys::delete, "Deletes keys"),
    session("DISCARD", 1, Control, NONE, multi::discard, "Gives up the commands queued since MULTI"),
    session("ECHO", 2, Control, NONE, connection::echo, "Answers with its argument"),
    session("EXEC", 1, Control, NONE, multi::exec, "Does the commands queued since MULTI"),
    store("EXISTS", -2, Read, ALL, keys::exists, "Counts those keys that exist"),
    store("EXPIRE", -3, Write, ONE, expiry::expire, "Lets a key expire in so many seconds"),
    store("EXPIREAT", -3, Write, ONE, expiry::expire_at, "Lets a key expire at a second"),
    store("EXPIRETIME", 2, Read, ONE, expiry::expire_time, "The second at which a key expires"),
    store("FLUSHALL", -1, SlowWrite, NONE, keys::flush, "Deletes all keys"),
    store("FLUSHDB", -1, SlowWrite, NONE, keys::flush, "Deletes all keys"),
    session("HELLO", -1, Open, NONE, connection::hello, "Chooses the version of the protocol"),
    session("INFO", -1, SlowControl, NONE, info::info, "Describes the server"),
    session("KEYS", 2, SlowRead, NONE, scan::keys, "Lists the keys that fit a pattern"),
    session("LASTSAVE", 1, Control, NONE, control::last_save, "When the last save was completed"),
    store("MEMORY", -2, Read, NONE, keys::memory, "The bytes of a filter"),
    session("MULTI", 1, Control, NONE, multi::multi, "Queues the commands that follow, until EXEC"),
    store("PERSIST", 2, Write, ONE, expiry::persist, "Lets a key not expire"),
    store("PEXPIRE", -3, Write, ONE, expiry::expire_ms, "Lets a key expire in so many milliseconds"),
    store("PEXPIREAT", -3, Write, ONE, expiry::expire_at_ms, "Lets a key expire at a millisecond"),
    store("PEXPIRETIME", 2, Read, ONE, expiry::expire_time_ms, "The millisecond at which a key expires"),
    session("PING", -1, Control, NONE, connection::ping, "Answers PONG"),
    store("PTTL", 2, Read, ONE, expiry::ttl_ms, "The milliseconds until a key expires"),
    session("QUIT", -1, Open, NONE, connection::quit, "Closes the connection"),
    store("RENAME", 3, SlowWrite, TWO, rename::rename, "Renames a key"),
    store("RENAMENX", 3, SlowWrite, TWO, rename::rename_nx, "Renames a key if the new name is free"),
    session("RESET", 1, Open, NONE, connection::reset, "Makes the connection as new"),
    session("ROLE", 1, Control, NONE, control::role, "The part in replication: a master without replicas"),
    session("SAVE", 1, SlowControl, NONE, control::save, "Saves all filters"),
    session("SCAN", -2, SlowRead, NONE, scan::scan, "Lists the keys, some at a time"),
    session("SELECT", 2, Control, NONE, connection::select, "Chooses database 0, the only one"),
    session("SHUTDOWN", -1, SlowControl, NONE, control::shutdown, "Ends the server"),
    session("SLOWLOG", -2, Control, NONE, slowlog::slowlog, "Commands that took long"),
    session("TIME", 1, Control, NONE, control::time, "The time"),
    store("TTL", 2, Read, ONE, expiry::ttl, "The seconds until a key expires"),
    store("TYPE", 2, Read, ONE, keys::type_of, "The type of a key"),
    store("UNLINK", -2, SlowWrite, ALL, keys::delete, "Deletes keys"),
    session("UNWATCH", 1, Control, NONE, multi::unwatch, "Watches no key any more"),
    session("WAIT", 3, Control, NONE, control::wait, "Counts replicas: none"),
    session("WATCH", -2, Control, ALL, multi::watch, "Lets EXEC do nothing if one of these keys has changed"),
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

/// `COMMAND`, which describes the table itself, without what is disabled.
fn command(server: &Arc<Server>, _: &mut Session, args: Args<'_>) -> Reply {
    let is_there = |command: &&Command| server.find(command.name.as_bytes()).is_some();
    let commands: Vec<Command> = COMMANDS.iter().filter(is_there).copied().collect();
    describe::command(&commands, args)
}

impl Command {
    /// Its place among [`COMMANDS`].
    ///
    /// # Panics
    ///
    /// Never: there are no other commands.
    #[must_use]
    pub fn index(&self) -> usize {
        COMMANDS
            .binary_search_by_key(&self.name, |command| command.name)
            .expect("commands are made in the table only")
    }
}

/// The command with this name, however it is written.
#[must_use]
pub fn find(name: &[u8]) -> Option<&'static Command> {
    find_in(&COMMANDS, name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_ordered_and_found() {
        assert!(COMMANDS.is_sorted_by(|a, b| a.name < b.name));
        for (index, command) in COMMANDS.iter().enumerate() {
            let name = command.name.to_lowercase();
            assert_eq!(
                find(name.as_bytes()).map(|found| found.name),
                Some(command.name)
            );
            assert_eq!(command.index(), index);
        }
        for name in ["", "CF", "CF.ADDN", "CF.ADDNXX", "ZZ"] {
            assert!(find(name.as_bytes()).is_none(), "{name}");
        }
    }
}
