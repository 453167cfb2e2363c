//! `SLOWLOG`: shows commands that took long.

use super::{Args, Reply, unknown::unknown_subcommand};
use crate::{
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
        (b"HELP", []) => Reply::Array(
            [
                "SLOWLOG GET [count]: the newest commands that took long, 10 unless count says \
                 how many (-1: all). Of each: its number, when it was done, the microseconds it \
                 took, its words, and the address and the name of its client.",
                "SLOWLOG LEN: how many there are.",
                "SLOWLOG RESET: forgets them.",
            ]
            .map(Reply::Status)
            .into(),
        ),
        _ => unknown_subcommand("slowlog", word),
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
