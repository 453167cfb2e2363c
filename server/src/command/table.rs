//! The table of all commands and their properties.

use super::{
    Access::{Control, Read, Write},
    Command,
    Cost::{Long, Queue, Short},
    InTransaction::{AtOnce, Queued, Refused},
    Keys, Subcommand, subcommands,
};
use crate::store::Store;
use guira_commands::{COMMAND_COUNT, Sources, commands};

const NONE: Keys = Keys::NONE;
const ONE: Keys = Keys::ONE;
const TWO: Keys = Keys::TWO;
const ALL: Keys = Keys::ALL;
const SUB: Keys = Keys::AFTER_SUBCOMMAND;

/// The commands on filters, ordered by name.
const OF_FILTERS: [guira_commands::Command<Store>; COMMAND_COUNT] = commands();

/// The other commands, ordered by name. `commands/table.rs` has their functions.
#[rustfmt::skip]
const OTHERS: [Command; 55] = [
    row("ASKING", 1, Control, Short, Queued, NONE, "Is refused: this is not a cluster"),
    row("AUTH", -2, Control, Short, Queued, NONE, "Authenticates the connection").open().secret(),
    row("BGSAVE", -1, Control, Short, Queued, NONE, "Saves all filters in the background"),
    row("CLIENT", -2, Control, Short, Queued, NONE, "Lists, names or disconnects clients").with(subcommands::CLIENT),
    row("CLUSTER", -2, Control, Short, Queued, NONE, "Is refused: this is not a cluster"),
    row("COMMAND", -1, Control, Short, Queued, NONE, "Describes the commands").with(subcommands::COMMAND),
    row("CONFIG", -2, Control, Short, Queued, NONE, "Shows or changes settings").with(subcommands::CONFIG),
    row("COPY", -3, Write, Long, Queued, TWO, "Copies the filter of a key to another key"),
    row("DBSIZE", 1, Read, Short, Queued, NONE, "Returns the number of keys"),
    row("DEL", -2, Write, Long, Queued, ALL, "Deletes keys"),
    row("DISCARD", 1, Control, Short, AtOnce, NONE, "Discards the commands queued since MULTI"),
    row("ECHO", 2, Control, Short, Queued, NONE, "Returns its argument"),
    row("EXEC", 1, Control, Queue, AtOnce, NONE, "Executes the commands queued since MULTI"),
    row("EXISTS", -2, Read, Short, Queued, ALL, "Counts the given keys that exist"),
    row("EXPIRE", -3, Write, Short, Queued, ONE, "Sets the expiry of a key, in seconds from now"),
    row("EXPIREAT", -3, Write, Short, Queued, ONE, "Sets the expiry of a key, as a Unix time in seconds"),
    row("EXPIRETIME", 2, Read, Short, Queued, ONE, "Returns when a key expires, as a Unix time in seconds"),
    row("FLUSHALL", -1, Write, Long, Queued, NONE, "Deletes all keys"),
    row("FLUSHDB", -1, Write, Long, Queued, NONE, "Deletes all keys"),
    row("HELLO", -1, Control, Short, Refused, NONE, "Selects the protocol version").open().secret(),
    row("INFO", -1, Control, Long, Queued, NONE, "Describes the server"),
    row("KEYS", 2, Read, Long, Queued, NONE, "Lists the keys that match a pattern"),
    row("LASTSAVE", 1, Control, Short, Queued, NONE, "Returns when the last save was completed"),
    row("LATENCY", -2, Control, Short, Queued, NONE, "Shows or clears the latency of commands that took long").with(subcommands::LATENCY),
    row("MEMORY", -2, Read, Short, Queued, SUB, "Returns the memory of a filter in bytes").with(subcommands::MEMORY),
    row("MODULE", -2, Control, Short, Queued, NONE, "Lists the module whose commands the server has").with(subcommands::MODULE),
    row("MULTI", 1, Control, Short, AtOnce, NONE, "Starts a transaction: queues commands until EXEC"),
    row("OBJECT", -2, Read, Short, Queued, SUB, "Describes the value of a key").with(subcommands::OBJECT),
    row("PERSIST", 2, Write, Short, Queued, ONE, "Removes the expiry of a key"),
    row("PEXPIRE", -3, Write, Short, Queued, ONE, "Sets the expiry of a key, in milliseconds from now"),
    row("PEXPIREAT", -3, Write, Short, Queued, ONE, "Sets the expiry of a key, as a Unix time in milliseconds"),
    row("PEXPIRETIME", 2, Read, Short, Queued, ONE, "Returns when a key expires, as a Unix time in milliseconds"),
    row("PING", -1, Control, Short, Queued, NONE, "Returns PONG"),
    row("PTTL", 2, Read, Short, Queued, ONE, "Returns the milliseconds until a key expires"),
    row("QUIT", -1, Control, Short, AtOnce, NONE, "Closes the connection").open(),
    row("READONLY", 1, Control, Short, Queued, NONE, "Is refused: this is not a cluster"),
    row("READWRITE", 1, Control, Short, Queued, NONE, "Is refused: this is not a cluster"),
    row("RENAME", 3, Write, Long, Queued, TWO, "Renames a key"),
    row("RENAMENX", 3, Write, Long, Queued, TWO, "Renames a key if the new name is free"),
    row("REPLICAOF", 3, Control, Long, Refused, NONE, "Makes a standby a primary"),
    row("RESET", 1, Control, Short, AtOnce, NONE, "Resets the connection to its initial state").open(),
    row("ROLE", 1, Control, Short, Queued, NONE, "Returns the replication role"),
    row("SAVE", 1, Control, Long, Refused, NONE, "Saves all filters"),
    row("SCAN", -2, Read, Long, Queued, NONE, "Lists the keys, a few per call"),
    row("SELECT", 2, Control, Short, Queued, NONE, "Selects database 0, the only one"),
    row("SHUTDOWN", -1, Control, Long, Refused, NONE, "Stops the server"),
    row("SLOWLOG", -2, Control, Short, Queued, NONE, "Shows or clears the log of slow commands").with(subcommands::SLOWLOG),
    row("SNAPSHOT", -2, Control, Long, Refused, NONE, "Returns a snapshot of all keys in pieces, for standbys").with(subcommands::SNAPSHOT),
    row("TIME", 1, Control, Short, Queued, NONE, "Returns the time"),
    row("TTL", 2, Read, Short, Queued, ONE, "Returns the seconds until a key expires"),
    row("TYPE", 2, Read, Short, Queued, ONE, "Returns the type of a key"),
    row("UNLINK", -2, Write, Long, Queued, ALL, "Deletes keys"),
    row("UNWATCH", 1, Control, Short, Queued, NONE, "Stops watching all keys"),
    row("WAIT", 3, Control, Short, Queued, NONE, "Returns the number of replicas: 0"),
    row("WATCH", -2, Control, Short, AtOnce, ALL, "Watches keys: EXEC does nothing if one of them has changed"),
];

/// The number of commands.
const COUNT: usize = OF_FILTERS.len() + OTHERS.len();

/// All commands, ordered by name.
pub static COMMANDS: [Command; COUNT] = all();

const fn all() -> [Command; COUNT] {
    const FILTERS: usize = OF_FILTERS.len();
    let mut all = [OTHERS[0]; COUNT];
    let mut index = 0;
    while index < COUNT {
        let command = match index {
            ..FILTERS => of_filters(&OF_FILTERS[index]),
            _ => OTHERS[index - FILTERS],
        };
        // The commands before this one are in order.
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

/// Returns `a < b`; comparison operators are not available in constants.
const fn is_before(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut index = 0;
    while index < a.len() && index < b.len() && a[index] == b[index] {
        index += 1;
    }
    index < b.len() && (index == a.len() || a[index] < b[index])
}

/// A command of `guira-commands`.
const fn of_filters(command: &guira_commands::Command<Store>) -> Command {
    use super::{Access, Cost, InTransaction};
    use guira_commands::{Access as Of, Cost as Takes};
    Command {
        name: command.name,
        arity: command.arity,
        summary: command.summary,
        access: match command.access {
            Of::Write => Access::Write,
            Of::Read => Access::Read,
        },
        cost: match command.cost {
            Takes::Constant | Takes::PerItem | Takes::Allocation => Cost::Short,
            Takes::Growth | Takes::Snapshot | Takes::Filters => Cost::Long,
        },
        keys: match command.sources {
            Sources::None | Sources::After(_) => Keys::ONE,
            Sources::Rest => Keys::ALL,
        },
        sources: match command.sources {
            Sources::After(_) => command.sources,
            _ => Sources::None,
        },
        in_transaction: InTransaction::Queued,
        is_open: false,
        is_secret: false,
        secret: command.secret,
        together: command.together,
        subcommands: &[],
        is_on_filter: true,
        index: 0,
    }
}

/// A command on the keys, the connection or the whole server.
const fn row(
    name: &'static str,
    arity: i64,
    access: super::Access,
    cost: super::Cost,
    in_transaction: super::InTransaction,
    keys: Keys,
    summary: &'static str,
) -> Command {
    Command {
        name,
        arity,
        summary,
        access,
        cost,
        keys,
        sources: Sources::None,
        in_transaction,
        is_open: false,
        is_secret: false,
        secret: None,
        together: None,
        subcommands: &[],
        is_on_filter: false,
        index: 0,
    }
}

impl Command {
    /// Marks the command as available before authentication.
    const fn open(self) -> Self {
        Self {
            is_open: true,
            ..self
        }
    }

    /// Gives it subcommands.
    const fn with(self, subcommands: &'static [Subcommand]) -> Self {
        Self {
            subcommands,
            ..self
        }
    }

    /// Marks its arguments as secret.
    const fn secret(self) -> Self {
        Self {
            is_secret: true,
            ..self
        }
    }
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
