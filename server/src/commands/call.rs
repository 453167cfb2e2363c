//! Runs the command of a request.

use super::{multi, replication::READ_ONLY, table::runnable};
use crate::{
    command::{Command, InTransaction},
    fault::Fault,
    server::Server,
    session::Session,
};
use guira_commands::{Args, Reply};
use std::sync::Arc;

/// The reply to nearly all commands before a client has authenticated, whether or not the command
/// exists.
pub const NOAUTH: Reply = Reply::error("NOAUTH Authentication required.");

/// Runs or queues `command`, or returns the reason why not.
pub fn call(
    server: &Arc<Server>,
    session: &mut Session,
    command: &Command,
    args: Args<'_>,
) -> Reply {
    Fault::Command.reach();
    if !session.authenticated && !command.is_open {
        return NOAUTH;
    }
    if let Err(refusal) = command.check(args) {
        session.spoil_transaction();
        return refusal;
    }
    if server.refuses(command) {
        session.spoil_transaction();
        return READ_ONLY;
    }
    let runnable = runnable(command);
    if session.is_queueing() {
        match command.in_transaction {
            InTransaction::Queued => return multi::queue(session, runnable, args),
            InTransaction::Refused => return multi::refuse(session),
            InTransaction::AtOnce => {}
        }
    }
    runnable.run(server, session, args)
}
