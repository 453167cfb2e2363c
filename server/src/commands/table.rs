//! All commands by name.

use super::{
    Args, Reply, cf,
    command::{Command, Kind, find_in, session, store},
    connection, describe, dump, info, keys, reserve, server as control,
};
use crate::{server::Server, session::Session};
use std::sync::Arc;

use Kind::{Control, Open, Read, Slow, Write};

/// All commands, ordered by name.
#[rustfmt::skip]
pub static COMMANDS: [Command; 43] = [
    session("AUTH", -2, Open, connection::auth, "Says who the client is"),
    session("BGSAVE", -1, Control, control::background_save, "Saves all filters, in the background"),
    store("CF.ADD", 3, Write, cf::add, "Adds a copy of an item"),
    store("CF.ADDNX", 3, Write, cf::add_nx, "Adds an item if it is absent"),
    store("CF.COMPACT", 2, Slow, cf::compact, "Completes a doubling that has begun"),
    store("CF.COUNT", 3, Read, cf::count, "Counts the copies of an item"),
    store("CF.DEBUG", 2, Read, cf::debug, "Describes a filter in a line"),
    store("CF.DEL", 3, Write, cf::delete, "Deletes a copy of an item"),
    store("CF.EXISTS", 3, Read, cf::exists, "Tells whether an item is present"),
    store("CF.INFO", 2, Read, cf::info, "Describes a filter"),
    store("CF.INSERT", -4, Write, cf::insert, "Adds a copy of each of many items"),
    store("CF.INSERTNX", -4, Write, cf::insert_nx, "Adds those of many items that are absent"),
    store("CF.LOADCHUNK", 4, Slow, dump::load_chunk, "Restores a piece of a dump"),
    store("CF.MEXISTS", -3, Read, cf::exist_many, "Tells which of many items are present"),
    store("CF.RESERVE", -3, Write, reserve::reserve, "Makes a filter"),
    store("CF.SCANDUMP", 3, Slow, dump::scan_dump, "Dumps a piece of a filter"),
    session("CLIENT", -2, Control, connection::client, "The connection and its client"),
    session("COMMAND", -1, Control, command, "Describes the commands"),
    session("CONFIG", -2, Control, control::config, "Shows settings"),
    store("DBSIZE", 1, Read, keys::size, "Counts the keys"),
    store("DEL", -2, Slow, keys::delete, "Deletes keys"),
    session("ECHO", 2, Control, connection::echo, "Answers with its argument"),
    session("EXEC", -1, Control, connection::transaction, "Not supported"),
    store("EXISTS", -2, Read, keys::exists, "Counts those keys that exist"),
    store("FLUSHALL", -1, Slow, keys::flush, "Deletes all keys"),
    store("FLUSHDB", -1, Slow, keys::flush, "Deletes all keys"),
    session("HELLO", -1, Open, connection::hello, "Chooses the version of the protocol"),
    session("INFO", -1, Slow, info::info, "Describes the server"),
    store("KEYS", 2, Slow, keys::keys, "Lists the keys that fit a pattern"),
    session("LASTSAVE", 1, Control, control::last_save, "When the last save was completed"),
    store("MEMORY", -2, Read, keys::memory, "The bytes of a filter"),
    session("MULTI", 1, Control, connection::transaction, "Not supported"),
    session("PING", -1, Control, connection::ping, "Answers PONG"),
    session("QUIT", -1, Open, connection::quit, "Closes the connection"),
    session("RESET", 1, Open, connection::reset, "Makes the connection as new"),
    session("SAVE", 1, Slow, control::save, "Saves all filters"),
    store("SCAN", -2, Slow, keys::scan, "Lists the keys"),
    session("SELECT", 2, Control, connection::select, "Chooses database 0, the only one"),
    session("SHUTDOWN", -1, Slow, control::shutdown, "Ends the server"),
    session("TIME", 1, Control, control::time, "The time"),
    store("TYPE", 2, Read, keys::type_of, "The type of a key"),
    store("UNLINK", -2, Slow, keys::delete, "Deletes keys"),
    session("WAIT", 3, Control, control::wait, "Counts replicas: none"),
];

/// `COMMAND`, which describes the table itself.
fn command(_: &Arc<Server>, _: &mut Session, args: Args<'_>) -> Reply {
    describe::command(&COMMANDS, args)
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
