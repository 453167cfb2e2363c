//! `COMMAND`: what the commands are.

use super::{Access, Args, Command, Cost, Enabled, Keys, Reply};

/// `COMMAND [COUNT | DOCS [name]... | INFO [name]... | LIST]`
pub(super) fn command(commands: &Enabled, args: Args<'_>) -> Reply {
    match args {
        [_] => Reply::Array(commands.iter().map(entry).collect()),
        [_, word, names @ ..] => match (word.to_ascii_uppercase().as_slice(), names) {
            (b"COUNT", []) => Reply::count(commands.len()),
            (b"LIST", []) => {
                let name = |command: &'static Command| Reply::bulk(command.name.to_lowercase());
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
            _ => Reply::error("ERR unknown subcommand. Try COMMAND COUNT, DOCS, INFO or LIST."),
        },
        [] => Reply::Null,
    }
}

/// As `COMMAND` describes a command: name, arity, flags, first and last key, step.
fn entry(command: &Command) -> Reply {
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
    let flags: Vec<&'static str> = [open, access, cost].concat();
    let Keys(first, last, step) = command.keys;
    Reply::Array(vec![
        Reply::bulk(command.name.to_lowercase()),
        Reply::Integer(command.arity),
        Reply::Array(flags.into_iter().map(Reply::Status).collect()),
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
        _ if command.is_on_filter() => "cf",
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
