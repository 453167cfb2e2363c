//! `COMMAND`: descriptions of the commands.

use super::{Args, Reply, glob, objects::MODULE};
use crate::{
    command::{Access, Command, Cost, Enabled, Keys},
    server::Server,
    session::Session,
};
use std::sync::Arc;

/// `COMMAND [COUNT | DOCS [name]... | GETKEYS name [argument]... | INFO [name]... |
/// LIST [FILTERBY MODULE|ACLCAT|PATTERN word]]`
pub(super) fn command(server: &Arc<Server>, _: &mut Session, args: Args<'_>) -> Reply {
    let commands = &server.commands;
    match args {
        [_] => Reply::Array(commands.iter().map(entry).collect()),
        [_, word, names @ ..] => match (word.to_ascii_uppercase().as_slice(), names) {
            (b"COUNT", []) => Reply::count(commands.len()),
            (b"LIST", []) => list(commands, |_| true),
            (b"LIST", [filter, kind, word]) if filter.eq_ignore_ascii_case(b"FILTERBY") => {
                list_some(commands, kind, word)
            }
            (b"LIST", _) => Reply::error("ERR syntax error"),
            (b"GETKEYS", [_, ..]) => keys(commands, names),
            // Each name would be described, however often it is repeated.
            (b"DOCS" | b"INFO", names) if names.len() > commands.len() => Reply::Error(
                format!(
                    "ERR {} names, and there are {} commands",
                    names.len(),
                    commands.len()
                )
                .into(),
            ),
            (b"DOCS", []) => Reply::Map(commands.iter().map(docs).collect()),
            (b"DOCS", names) => {
                let found = names.iter().filter_map(|name| commands.find(name));
                Reply::Map(found.map(docs).collect())
            }
            (b"INFO", []) => Reply::Array(commands.iter().map(entry).collect()),
            (b"INFO", names) => {
                let found = names.iter().map(|name| commands.find(name));
                Reply::Array(
                    found
                        .map(|found| found.map_or(Reply::Null, entry))
                        .collect(),
                )
            }
            _ => Command::help("COMMAND"),
        },
        [] => Reply::Null,
    }
}

fn list(commands: &Enabled, fits: impl Fn(&Command) -> bool) -> Reply {
    let commands = commands.iter().filter(|command| fits(command));
    let name = |command: &Command| Reply::bulk(command.name.to_lowercase());
    Reply::Array(commands.map(name).collect())
}

/// The commands of a module or of a category, or with names that match a pattern.
fn list_some(commands: &Enabled, kind: &[u8], word: &[u8]) -> Reply {
    match kind.to_ascii_uppercase().as_slice() {
        b"MODULE" => {
            let is_there = MODULE.as_bytes().eq_ignore_ascii_case(word);
            list(commands, |command| is_there && command.is_on_filter)
        }
        b"ACLCAT" => list(commands, |command| {
            let mut categories = categories(command).into_iter();
            categories.any(|category| category.as_bytes()[1..].eq_ignore_ascii_case(word))
        }),
        b"PATTERN" => match glob::check(word) {
            Err(refusal) => refusal,
            Ok(()) => {
                let pattern = word.to_ascii_lowercase();
                list(commands, |command| {
                    glob::matches(&pattern, command.name.to_lowercase().as_bytes())
                })
            }
        },
        _ => Reply::error("ERR syntax error"),
    }
}

/// The keys among the words of another command.
fn keys(commands: &Enabled, words: Args<'_>) -> Reply {
    let Some(command) = commands.find(words[0]) else {
        return Reply::error("ERR Invalid command specified");
    };
    if command.keys == Keys::NONE {
        return Reply::error("ERR The command has no key arguments");
    }
    if !command.takes(words.len()) {
        return Reply::error("ERR Invalid number of arguments specified for command");
    }
    let keys = command.keys.of(words);
    let sources = command.sources.of(words).iter().copied();
    let keys: Vec<_> = keys.chain(sources).map(Reply::try_bulk).collect();
    match keys.is_empty() {
        true => Reply::error("ERR The command has no key arguments"),
        false => Reply::Array(keys),
    }
}

/// The categories of a command, as ACLs of Redis name them.
fn categories(command: &Command) -> Vec<&'static str> {
    let of_access: &[&'static str] = match (command.access, command.is_on_filter) {
        (Access::Write, true) => &["@write", "@cuckoo"],
        (Access::Read, true) => &["@read", "@cuckoo"],
        (Access::Write, false) => &["@keyspace", "@write"],
        (Access::Read, false) => &["@keyspace", "@read"],
        (Access::Control, _) => &[],
    };
    let of_cost: &[&'static str] = match (command.cost, command.access) {
        (Cost::Short, _) => &["@fast"],
        (Cost::Long, Access::Control) => &["@admin", "@slow", "@dangerous"],
        (Cost::Long | Cost::Queue, _) => &["@slow"],
    };
    [of_access, of_cost].concat()
}

/// A command as `COMMAND` describes it.
fn entry(command: &Command) -> Reply {
    let subcommands = command.subcommands.iter().map(|it| {
        // The key of a subcommand follows its name.
        let has_key = command.keys != Keys::NONE && it.arity.abs() > 2;
        let keys = if has_key { command.keys } else { Keys::NONE };
        let name = format!("{}|{}", command.name, it.name);
        described(command, &name, it.arity, keys, Vec::new())
    });
    let subcommands = subcommands.collect();
    described(
        command,
        command.name,
        command.arity,
        command.keys,
        subcommands,
    )
}

/// Name, arity, flags, first and last key, step, categories, tips, key specifications, and subcommands.
fn described(
    command: &Command,
    name: &str,
    arity: i64,
    keys: Keys,
    subcommands: Vec<Reply>,
) -> Reply {
    let access: &[&'static str] = match command.access {
        Access::Write => &["write"],
        Access::Read => &["readonly"],
        Access::Control => &[],
    };
    let cost: &[&'static str] = match (command.cost, command.access) {
        (Cost::Short, _) => &["fast"],
        (Cost::Long, Access::Control) => &["admin"],
        (Cost::Long, Access::Read | Access::Write) | (Cost::Queue, _) => &[],
    };
    let open: &[&'static str] = match command.is_open {
        true => &["no_auth"],
        false => &[],
    };
    let Keys(first, last, step) = keys;
    Reply::Array(vec![
        Reply::bulk(name.to_lowercase()),
        Reply::Integer(arity),
        statuses(&[open, access, cost].concat()),
        Reply::Integer(first),
        Reply::Integer(last),
        Reply::Integer(step),
        statuses(&categories(command)),
        Reply::Array(Vec::new()),
        key_specifications(command.access, keys),
        Reply::Array(subcommands),
    ])
}

fn statuses(words: &[&'static str]) -> Reply {
    Reply::Array(words.iter().copied().map(Reply::Status).collect())
}

/// Where the keys are among the words of a command, and what it does with them.
fn key_specifications(access: Access, keys: Keys) -> Reply {
    if keys == Keys::NONE {
        return Reply::Array(Vec::new());
    }
    let Keys(first, last, step) = keys;
    let flags = match access {
        Access::Write => statuses(&["RW", "access", "update"]),
        Access::Read | Access::Control => statuses(&["RO", "access"]),
    };
    // From the first key, unless it is counted from the end.
    let last = if last < 0 { last } else { last - first };
    let begin = typed("index", &[("index", first)]);
    let find = typed(
        "range",
        &[("lastkey", last), ("keystep", step), ("limit", 0)],
    );
    let fields = [
        ("flags", flags),
        ("begin_search", begin),
        ("find_keys", find),
    ];
    let fields = fields.map(|(name, value)| (Reply::bulk(name), value));
    Reply::Array(vec![Reply::Map(fields.into())])
}

/// A part of a key specification.
fn typed(kind: &str, fields: &[(&str, i64)]) -> Reply {
    let field = |&(name, value): &(&str, i64)| (Reply::bulk(name), Reply::Integer(value));
    Reply::Map(vec![
        (Reply::bulk("type"), Reply::bulk(kind)),
        (
            Reply::bulk("spec"),
            Reply::Map(fields.iter().map(field).collect()),
        ),
    ])
}

fn docs(command: &Command) -> (Reply, Reply) {
    let group = match command.keys {
        _ if command.is_on_filter => "cf",
        Keys::NONE => "server",
        _ => "generic",
    };
    (
        Reply::bulk(command.name.to_lowercase()),
        Reply::Map(vec![
            (Reply::bulk("summary"), Reply::bulk(command.summary)),
            (Reply::bulk("since"), Reply::bulk(env!("CARGO_PKG_VERSION"))),
            (Reply::bulk("group"), Reply::bulk(group)),
        ]),
    )
}
