//! `SLOWLOG`: shows commands that took long.

use super::{Args, Reply};
use crate::{
    command::Command,
    server::Server,
    session::Session,
    slow_log::{Entry, SlowLog},
};
use guira_commands::number;
use std::sync::Arc;

/// The number of entries that `SLOWLOG GET` shows by default.
const SHOWN: usize = 10;

/// `SLOWLOG GET [count] | LEN | RESET | HELP`
pub(super) fn slowlog(server: &Arc<Server>, _: &mut Session, args: Args<'_>) -> Reply {
    let log = &server.slow_log;
    let [_, word, rest @ ..] = args else {
        return Reply::wrong_arity(args[0]);
    };
    match (word.to_ascii_uppercase().as_slice(), rest) {
        (b"GET", []) => show(log, SHOWN),
        (b"GET", [count]) => match number::<i64>(count) {
            Some(-1) => show(log, usize::MAX),
            Some(count @ 0..) => show(log, usize::try_from(count).unwrap_or(usize::MAX)),
            _ => Reply::error("ERR count should be greater than or equal to -1"),
        },
        (b"LEN", []) => Reply::count(log.lock().entries.len()),
        (b"RESET", []) => {
            log.lock().entries.clear();
            Reply::OK
        }
        (b"HELP", _) => Command::help("SLOWLOG"),
        _ => Reply::wrong_arity(b"slowlog|get"),
    }
}

fn show(log: &SlowLog, most: usize) -> Reply {
    let inner = log.lock();
    let entry = |entry: &Entry| {
        Reply::Array(vec![
            Reply::Integer(entry.id),
            Reply::Integer(entry.at),
            Reply::Integer(entry.microseconds),
            Reply::Array(entry.words.iter().map(Reply::bulk).collect()),
            Reply::bulk(&entry.address),
            Reply::bulk(&entry.name),
        ])
    };
    Reply::Array(inner.entries.iter().take(most).map(entry).collect())
}
