//! `COMMAND`: what the commands are.

use super::{
    Args, Reply,
    command::{Command, Kind, find_in},
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
    let has_key = command.name.starts_with("CF.")
        || matches!(command.name, "DEL" | "UNLINK" | "EXISTS" | "TYPE");
    let last = match command.name {
        "DEL" | "UNLINK" | "EXISTS" => -1,
        _ => i64::from(has_key),
    };
    let flag = match command.kind {
        Kind::Write => "write",
        Kind::Read => "readonly",
        Kind::Control | Kind::Slow => "admin",
        Kind::Open => "no_auth",
    };
    Reply::Array(vec![
        Reply::bulk(command.name.to_lowercase()),
        Reply::Integer(command.arity),
        Reply::Array(vec![Reply::Status(flag)]),
        Reply::Integer(i64::from(has_key)),
        Reply::Integer(last),
        Reply::Integer(i64::from(has_key)),
        Reply::Array(Vec::new()),
        Reply::Array(Vec::new()),
        Reply::Array(Vec::new()),
        Reply::Array(Vec::new()),
    ])
}

fn docs(command: &Command) -> (Reply, Reply) {
    let group = if command.name.starts_with("CF.") {
        "cf"
    } else {
        "server"
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
