//! The clients that are connected, for those who list and end connections.

use crate::{
    commands::{COMMANDS, Command},
    resp::Protocol,
};
use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{
            AtomicBool, AtomicU64, AtomicUsize,
            Ordering::{Acquire, Relaxed, Release},
        },
    },
    time::{Duration, Instant},
};
use tokio::sync::Notify;

/// All clients by number.
#[derive(Debug, Default)]
pub struct Clients(Mutex<BTreeMap<u64, Arc<Client>>>);

/// What others may know of a client.
#[derive(Debug)]
pub struct Client {
    /// Unique as long as the server runs.
    pub id: u64,
    /// Its address.
    pub address: String,
    /// The server's address that it has chosen.
    pub local_address: OnceLock<String>,
    since: Instant,
    names: Mutex<Names>,
    speaks_resp3: AtomicBool,
    /// Its last command: the place in the table, and `usize::MAX` before the first.
    last_command: AtomicUsize,
    /// Milliseconds after `since` when it last sent something.
    last_active: AtomicU64,
    killed: AtomicBool,
    kill: Notify,
}

/// What a client says of itself.
#[derive(Clone, Debug, Default)]
pub struct Names {
    /// Its name.
    pub name: Vec<u8>,
    /// The name of its library.
    pub library: Vec<u8>,
    /// The version of its library.
    pub library_version: Vec<u8>,
}

impl Clients {
    /// Lists a client as long as the value lives that is returned.
    pub fn enter<O: AsRef<Self>>(owner: Arc<O>, client: &Arc<Client>) -> Listed<O> {
        let id = client.id;
        (*owner).as_ref().lock().insert(id, client.clone());
        Listed { owner, id }
    }

    /// All clients, the oldest first.
    #[must_use]
    pub fn all(&self) -> Vec<Arc<Client>> {
        self.lock().values().cloned().collect()
    }

    /// A panic while the lock was held leaves nothing half-done here.
    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, Arc<Client>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Takes a client off the list in the end.
#[derive(Debug)]
pub struct Listed<O: AsRef<Clients>> {
    owner: Arc<O>,
    id: u64,
}

impl<O: AsRef<Clients>> Drop for Listed<O> {
    fn drop(&mut self) {
        (*self.owner).as_ref().lock().remove(&self.id);
    }
}

impl Client {
    /// A client that has come just now.
    #[must_use]
    pub fn new(id: u64, address: String) -> Self {
        Self {
            id,
            address,
            local_address: OnceLock::new(),
            since: Instant::now(),
            names: Mutex::default(),
            speaks_resp3: AtomicBool::new(false),
            last_command: AtomicUsize::new(usize::MAX),
            last_active: AtomicU64::new(0),
            killed: AtomicBool::new(false),
            kill: Notify::new(),
        }
    }

    /// How long it has been there.
    #[must_use]
    pub fn age(&self) -> Duration {
        self.since.elapsed()
    }

    /// How long it has sent nothing.
    #[must_use]
    pub fn idle(&self) -> Duration {
        let last = Duration::from_millis(self.last_active.load(Relaxed));
        self.age().saturating_sub(last)
    }

    /// It has sent something, at `now`.
    pub fn touch(&self, now: Instant) {
        let since = now.saturating_duration_since(self.since).as_millis();
        self.last_active
            .store(u64::try_from(since).unwrap_or(u64::MAX), Relaxed);
    }

    /// It has sent this command.
    pub fn called(&self, command: &Command) {
        self.last_command.store(command.index(), Relaxed);
    }

    /// The last command that it sent.
    #[must_use]
    pub fn last_command(&self) -> Option<&'static Command> {
        COMMANDS.get(self.last_command.load(Relaxed))
    }

    /// The version of the protocol that it has chosen.
    #[must_use]
    pub fn protocol(&self) -> Protocol {
        match self.speaks_resp3.load(Relaxed) {
            false => Protocol::Resp2,
            true => Protocol::Resp3,
        }
    }

    /// It has chosen a version of the protocol.
    pub fn set_protocol(&self, protocol: Protocol) {
        self.speaks_resp3
            .store(protocol == Protocol::Resp3, Relaxed);
    }

    /// What it says of itself.
    pub fn names(&self) -> MutexGuard<'_, Names> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends its connection, as soon as what it does just now is done.
    pub fn kill(&self) {
        // Release: pairs with the Acquire of `was_killed`.
        self.killed.store(true, Release);
        self.kill.notify_one();
    }

    /// True if its connection is to end.
    #[must_use]
    pub fn was_killed(&self) -> bool {
        self.killed.load(Acquire)
    }

    /// Waits until its connection is to end.
    pub async fn killed(&self) {
        while !self.was_killed() {
            self.kill.notified().await;
        }
    }
}
