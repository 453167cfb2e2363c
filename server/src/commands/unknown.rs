//! The error for unknown commands.

use crate::{command::repeated, session::Session};
use guira_commands::{Args, Reply};

/// The reply to an unknown command.
pub fn unknown(session: &mut Session, args: Args<'_>) -> Reply {
    session.spoil_transaction();
    let mut text = format!(
        "ERR unknown command '{}', with args beginning with: ",
        repeated(args[0])
    );
    for word in args[1..].iter().take(8) {
        text.push_str(&format!("'{}' ", repeated(word)));
    }
    Reply::Error(text.into())
}
