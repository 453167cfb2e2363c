//! The subcommands of commands that have some.
//!
//! Like the arity of a command, they are checked before the command runs or is queued.

use super::{repeated, takes};
use guira_commands::{Args, Reply};

/// A subcommand.
#[derive(Clone, Copy, Debug)]
pub struct Subcommand {
    /// The name in capitals.
    pub name: &'static str,
    /// The number of words, including the names of the command and of the subcommand. A negative number
    /// is a minimum.
    pub arity: i64,
    /// Its name and its arguments, for `HELP`.
    usage: &'static str,
    /// A description in one line.
    summary: &'static str,
}

const HELP: Subcommand = of("HELP", 2, "HELP", "Returns this text.");

pub(super) const CLIENT: &[Subcommand] = &[
    of(
        "GETNAME",
        2,
        "GETNAME",
        "Returns the name of the connection.",
    ),
    HELP,
    of("ID", 2, "ID", "Returns the number of the connection."),
    of("INFO", 2, "INFO", "Describes the connection."),
    of(
        "KILL",
        -3,
        "KILL address | KILL filter value...",
        "Disconnects clients.",
    ),
    of(
        "LIST",
        -2,
        "LIST [TYPE type] [ID id...]",
        "Describes the connections.",
    ),
    of(
        "NO-EVICT",
        3,
        "NO-EVICT ON|OFF",
        "Does nothing: no client is evicted.",
    ),
    of(
        "NO-TOUCH",
        3,
        "NO-TOUCH ON|OFF",
        "Does nothing: accesses to keys are not tracked.",
    ),
    of(
        "REPLY",
        3,
        "REPLY ON",
        "Does nothing: replies are always on.",
    ),
    of(
        "SETINFO",
        4,
        "SETINFO LIB-NAME|LIB-VER value",
        "Names the library of the client.",
    ),
    of("SETNAME", 3, "SETNAME name", "Names the connection."),
];

pub(super) const COMMAND: &[Subcommand] = &[
    of("COUNT", 2, "COUNT", "Returns the number of commands."),
    of(
        "DOCS",
        -2,
        "DOCS [name]...",
        "Returns the summaries of commands.",
    ),
    of(
        "GETKEYS",
        -3,
        "GETKEYS name [argument]...",
        "Returns the keys of a command with these arguments.",
    ),
    HELP,
    of(
        "INFO",
        -2,
        "INFO [name]...",
        "Describes commands for clients.",
    ),
    of(
        "LIST",
        -2,
        "LIST [FILTERBY MODULE|ACLCAT|PATTERN word]",
        "Returns the names of commands.",
    ),
];

pub(super) const CONFIG: &[Subcommand] = &[
    of(
        "GET",
        -3,
        "GET pattern [pattern]...",
        "Returns the settings whose names match.",
    ),
    HELP,
    of("RESETSTAT", 2, "RESETSTAT", "Resets the counters."),
    of(
        "REWRITE",
        2,
        "REWRITE",
        "Is not supported: edit the settings file.",
    ),
    of(
        "SET",
        -4,
        "SET setting value [setting value]...",
        "Changes settings until the server stops.",
    ),
];

pub(super) const LATENCY: &[Subcommand] = &[
    of("DOCTOR", 2, "DOCTOR", "Describes the samples in sentences."),
    HELP,
    of(
        "HISTORY",
        3,
        "HISTORY event",
        "Returns the times and latencies in milliseconds of up to 160 samples, the oldest first.",
    ),
    of(
        "LATEST",
        2,
        "LATEST",
        "Returns for each event its name, the time of its latest sample, and its latest and longest latency in milliseconds.",
    ),
    of(
        "RESET",
        -2,
        "RESET [event]...",
        "Forgets the samples of the events command and fast-command, and returns of how many.",
    ),
];

pub(super) const MEMORY: &[Subcommand] = &[
    HELP,
    of(
        "USAGE",
        -3,
        "USAGE key [SAMPLES n]",
        "Returns the memory of a filter in bytes.",
    ),
];

pub(super) const MODULE: &[Subcommand] = &[
    HELP,
    of(
        "LIST",
        2,
        "LIST",
        "Returns the module that has the CF.* commands. It is part of the server.",
    ),
    of(
        "LOAD",
        -3,
        "LOAD path [argument]...",
        "Is not supported: there are no other modules.",
    ),
    of(
        "LOADEX",
        -3,
        "LOADEX path [argument]...",
        "Is not supported: there are no other modules.",
    ),
    of(
        "UNLOAD",
        3,
        "UNLOAD name",
        "Is not supported: the module is part of the server.",
    ),
];

pub(super) const OBJECT: &[Subcommand] = &[
    of(
        "ENCODING",
        3,
        "ENCODING key",
        "Returns raw, as for any value of a module.",
    ),
    of(
        "FREQ",
        3,
        "FREQ key",
        "Returns an error, because accesses are not tracked.",
    ),
    HELP,
    of(
        "IDLETIME",
        3,
        "IDLETIME key",
        "Returns an error, because accesses are not tracked.",
    ),
    of("REFCOUNT", 3, "REFCOUNT key", "Returns 1."),
];

pub(super) const SLOWLOG: &[Subcommand] = &[
    of(
        "GET",
        -2,
        "GET [count]",
        "Returns the newest 10 or count entries, or all for -1: number, time, microseconds, words, address and name of the client.",
    ),
    HELP,
    of("LEN", 2, "LEN", "Returns the number of entries."),
    of("RESET", 2, "RESET", "Forgets all entries."),
];

pub(super) const SNAPSHOT: &[Subcommand] = &[
    of(
        "BEGIN",
        2,
        "BEGIN",
        "Takes a snapshot, and returns its length and its age in milliseconds.",
    ),
    HELP,
    of("READ", 3, "READ offset", "Returns a piece of the snapshot."),
];

const fn of(
    name: &'static str,
    arity: i64,
    usage: &'static str,
    summary: &'static str,
) -> Subcommand {
    Subcommand {
        name,
        arity,
        usage,
        summary,
    }
}

/// Refuses words whose second is none of the subcommands of `command`, or whose number it does not accept.
#[cold]
pub(super) fn check(command: &str, all: &[Subcommand], args: Args<'_>) -> Result<(), Reply> {
    let Some(word) = args.get(1) else {
        return Ok(());
    };
    let mut all = all.iter();
    match all.find(|it| it.name.as_bytes().eq_ignore_ascii_case(word)) {
        Some(found) if takes(found.arity, args.len()) => Ok(()),
        Some(found) => Err(Reply::wrong_arity(
            format!("{command}|{}", found.name).as_bytes(),
        )),
        None => Err(unknown(command, word)),
    }
}

fn unknown(command: &str, word: &[u8]) -> Reply {
    let word = repeated(word);
    Reply::Error(format!("ERR unknown subcommand '{word}'. Try {command} HELP.").into())
}

/// The reply to `HELP`.
pub(super) fn help(command: &str, all: &[Subcommand]) -> Reply {
    let title = format!("{command} <subcommand> [<arg> [value] [opt] ...]. Subcommands are:");
    let lines = all
        .iter()
        .flat_map(|it| [it.usage.to_owned(), format!("    {}", it.summary)]);
    Reply::Array([title].into_iter().chain(lines).map(Reply::bulk).collect())
}
