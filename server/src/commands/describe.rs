//! `COMMAND`: what the commands are.

use super::{
    Args, Reply,
    command::{Command, Keys, Kind, find_in},
};

/// `COMMAND [COUNT | DOCS [name]... | INFO [name]... | LIST]`
pub(super) fn command(commands: &[Command], args: Args<'_>) -> Reply {
    match args {
        [_] => Reply::Array(commands.iter().map(entry).collect()),
        [_, word, names @ ..] => match (word.to_ascii_uppercase().as_slice(), names) {
            (b"COUNT", []) => Reply::count(commands.len()),
            (b"LIST", []) => {
                let name = |command: &Command| Reply::bulk(command.name.to_lowercase());
                Reply::Array(commands.iter().map(name).collect())
            }
            // Each would be described, however often it is named.
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
                let found = names.iter().filter_map(|name| find_in(commands, name));
                Reply::Map(found.map(docs).collect())
            }
            (b"INFO", []) => Reply::Array(commands.iter().map(entry).collect()),
            (b"INFO", names) => {
                let found = names.iter().map(|name| find_in(commands, name));
                Reply::Array(
                    found
                        .map(|found| found.map_or(Reply::Null, entry))
                        .collect(),
                )
            }
            _ => Reply::error("ERR unknown subcommand. Try COMMAND COUNT, DOCS, INFO or LIST."),
        },
        [] => Reply::Null,
    }
}

/// As `COMMAND` describes a command: name, arity, flags, first and last key, step.
fn entry(command: &Command) -> Reply {
    let flags: &[&str] = match command.kind {
        Kind::Write => &["write", "fast"],
        Kind::SlowWrite => &["write"],
        Kind::Read => &["readonly", "fast"],
        Kind::SlowRead => &["readonly"],
        Kind::Control => &["fast"],
        Kind::SlowControl => &["admin"],
        Kind::Open => &["no_auth", "fast"],
    };
    let Keys(first, last, step) = command.keys;
    Reply::Array(vec![
        Reply::bulk(command.name.to_lowercase()),
        Reply::Integer(command.arity),
        Reply::Array(flags.iter().map(|flag| Reply::Status(flag)).collect()),
        Reply::Integer(first),
        Reply::Integer(last),
        Reply::Integer(step),
        Reply::Array(Vec::new()),
        Reply::Array(Vec::new()),
        Reply::Array(Vec::new()),
        Reply::Array(Vec::new()),
    ])
}

fn docs(command: &Command) -> (Reply, Reply) {
    let group = match command.keys {
        _ if command.name.starts_with("CF.") => "cf",
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
