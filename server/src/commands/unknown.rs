//! The error for unknown commands.

use crate::session::Session;
use guira_commands::{Args, Reply};

/// The maximum number of bytes of a name that an error repeats.
const REPEATED: usize = 128;

/// The reply to an unknown command.
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
