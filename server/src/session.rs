//! The state of one connection, without its socket.

mod run;
mod transaction;

pub use transaction::Transaction;

pub(crate) use run::{Run, Runnable};
pub(crate) use transaction::Queued;

use crate::{
    clients::{Client, Clients, Listed},
    command::{Command, Cost, InTransaction, MANY},
    resp::Protocol,
    server::Server,
    snapshots::Snapshot,
};
use std::{sync::Arc, time::Instant};

/// The name of the only user.
pub const USER: &[u8] = b"default";

/// The client cannot have this name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("Client names cannot contain spaces, newlines or special characters.")]
pub struct NameError;

/// What to do after a reply was sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum After {
    /// Run the next command.
    #[default]
    GoOn,
    /// Close the connection.
    Close,
    /// Stop the server.
    Shutdown,
}

/// The state of a connection.
#[derive(Debug)]
pub struct Session {
    /// Unique while the server runs.
    pub id: u64,
    /// The client's address.
    pub address: String,
    /// The part of the state that other clients may see.
    pub client: Arc<Client>,
    /// The version of the protocol that the client has chosen.
    pub protocol: Protocol,
    /// Whether the client may use all commands.
    pub authenticated: bool,
    /// The client's place in the list of unauthenticated clients.
    unauthenticated: Option<Unauthenticated>,
    /// The keys that the client watches, and the commands that it has queued.
    pub transaction: Option<Box<Transaction>>,
    /// The snapshot that the client reads, if it is a standby.
    pub(crate) snapshot: Option<Arc<Snapshot>>,
    /// What to do after the reply.
    pub after: After,
}

/// The place of a client that has not authenticated yet.
#[derive(Debug)]
struct Unauthenticated {
    _listed: Listed<Server>,
    since: Instant,
}

impl Session {
    /// The session of a connection that has not sent anything.
    #[must_use]
    pub fn new(id: u64, address: String, authenticated: bool) -> Self {
        Self {
            id,
            client: Arc::new(Client::new(id, address.clone())),
            address,
            protocol: Protocol::default(),
            authenticated,
            unauthenticated: None,
            transaction: None,
            snapshot: None,
            after: After::default(),
        }
    }

    /// Lists the client as unauthenticated.
    pub fn await_authentication(&mut self, server: &Arc<Server>) {
        let listed = Clients::enter_unauthenticated(server.clone(), &self.client);
        self.unauthenticated = Some(Unauthenticated {
            _listed: listed,
            since: Instant::now(),
        });
    }

    /// The time since which the client has been unauthenticated.
    #[must_use]
    pub fn unauthenticated_since(&self) -> Option<Instant> {
        self.unauthenticated.as_ref().map(|it| it.since)
    }

    /// Marks the client as authenticated.
    pub fn authenticate(&mut self) {
        self.authenticated = true;
        self.unauthenticated = None;
    }

    /// Resets the session to its initial state.
    pub fn reset(&mut self, authenticated: bool) {
        self.set_protocol(Protocol::default());
        self.authenticated = authenticated;
        self.transaction = None;
        self.snapshot = None;
        self.client.names().name.clear();
    }

    /// Names the client.
    ///
    /// # Errors
    ///
    /// If the name contains anything but printable ASCII characters without spaces.
    pub fn set_name(&self, name: &[u8]) -> Result<(), NameError> {
        if !is_name(name) {
            return Err(NameError);
        }
        self.client.names().name = name.to_vec();
        Ok(())
    }

    /// Sets the version of the protocol for all further replies.
    pub fn set_protocol(&mut self, protocol: Protocol) {
        self.protocol = protocol;
        self.client.set_protocol(protocol);
    }

    /// True between `MULTI` and `EXEC`.
    #[must_use]
    pub fn is_queueing(&self) -> bool {
        self.transaction.as_ref().is_some_and(|it| it.is_queueing())
    }

    /// True if `EXEC` may take long.
    #[must_use]
    pub fn will_take_long(&self) -> bool {
        self.transaction
            .as_ref()
            .is_some_and(|it| it.will_take_long())
    }

    /// True if a command may take long with this number of words, including its name.
    #[must_use]
    pub fn takes_long(&self, command: &Command, words: usize) -> bool {
        if !self.authenticated {
            return false;
        }
        let is_long = match (command.cost, command.in_transaction) {
            (Cost::Short, _) => false,
            (Cost::Long, InTransaction::AtOnce) => true,
            (Cost::Long, InTransaction::Queued | InTransaction::Refused) => !self.is_queueing(),
            (Cost::Queue, _) => self.is_queueing() && self.will_take_long(),
        };
        is_long || words > MANY
    }

    /// Marks a pending transaction as aborted because a command was refused: `EXEC` will run none
    /// of its commands.
    pub fn spoil_transaction(&mut self) {
        if let Some(transaction) = &mut self.transaction {
            transaction.spoil();
        }
    }
}

/// True if a client or a library can have this name.
pub(crate) fn is_name(name: &[u8]) -> bool {
    name.iter().all(u8::is_ascii_graphic)
}
