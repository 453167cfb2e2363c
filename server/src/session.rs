//! What the server knows of one connection; no socket.

use crate::resp::Protocol;

/// What is to be done after a reply was sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum After {
    /// The next command.
    #[default]
    GoOn,
    /// The connection is closed.
    Close,
    /// The server ends.
    Shutdown,
}

/// The state of a connection.
#[derive(Debug)]
pub struct Session {
    /// Unique as long as the server runs.
    pub id: u64,
    /// The client's address.
    pub address: String,
    /// The version of the protocol it has chosen.
    pub protocol: Protocol,
    /// It may use all commands.
    pub authenticated: bool,
    /// The name it gave itself.
    pub name: Vec<u8>,
    /// The name of its library.
    pub library: Vec<u8>,
    /// The version of its library.
    pub library_version: Vec<u8>,
    /// What is to be done after the reply.
    pub after: After,
}

impl Session {
    /// A connection that has not said anything.
    #[must_use]
    pub fn new(id: u64, address: String, authenticated: bool) -> Self {
        Self {
            id,
            address,
            protocol: Protocol::default(),
            authenticated,
            name: Vec::new(),
            library: Vec::new(),
            library_version: Vec::new(),
            after: After::default(),
        }
    }
}
