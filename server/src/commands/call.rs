//! From a request to the command that it names.

use super::{Args, Command, InTransaction, Reply, multi};
use crate::{fault::Fault, server::Server, session::Session};
use std::sync::Arc;

/// Bytes of a name that an error repeats.
const REPEATED: usize = 128;

/// The reply to nearly all commands before a client has authenticated, whether or not the command
/// exists.
pub const NOAUTH: Reply = Reply::error("NOAUTH Authentication required.");

/// Does `command`, or queues it, or says why not.
pub fn call(
    server: &Arc<Server>,
    session: &mut Session,
    command: &'static Command,
    args: Args<'_>,
) -> Reply {
    Fault::Command.reach();
    if !session.authenticated && !command.is_open {
        return NOAUTH;
    }
    if !command.takes(args.len()) {
        session.spoil_transaction();
        return Reply::wrong_arity(args[0]);
    }
    if session.is_queueing() {
        match command.in_transaction {
            InTransaction::Queued => return multi::queue(session, command, args),
            InTransaction::Refused => return multi::refuse(session),
            InTransaction::AtOnce => {}
        }
    }
    command.run(server, session, args)
}

/// The answer to a command that does not exist.
pub fn unknown(session: &mut Session, args: Args<'_>) -> Reply {
    session.spoil_transaction();
    let cut = |word: &[u8]| String::from_utf8_lossy(&word[..word.len().min(REPEATED)]).into_owned();
    let mut text = format!(
        "ERR unknown command '{}', with args beginning with: ",
        cut(args[0])
    );
    for word in args[1..].iter().take(8) {
        text.push_str(&format!("'{}' ", cut(word)));
    }
    Reply::Error(text.into())
}

/// The error of a command that has no such subcommand.
pub(super) fn unknown_subcommand(command: &str, word: &[u8]) -> Reply {
    let word = String::from_utf8_lossy(&word[..word.len().min(REPEATED)]).into_owned();
    Reply::Error(format!("ERR unknown subcommand '{word}' of {command}: see the manual").into())
}
