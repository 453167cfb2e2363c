//! The connected clients, for commands that list or end connections.

use crate::{
    command::{COMMANDS, Command},
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

type ByNumber = BTreeMap<u64, Arc<Client>>;

/// All clients by number.
#[derive(Debug, Default)]
pub struct Clients {
    all: Mutex<ByNumber>,
    unauthenticated: Mutex<ByNumber>,
}

/// One of the lists of clients.
#[derive(Clone, Copy, Debug)]
enum List {
    All,
    Unauthenticated,
}

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
    /// Bytes of replies that it has not read, if they are many.
    unread: AtomicUsize,
    /// It does not count any more.
    gone: AtomicBool,
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
        Self::enter_in(List::All, owner, client)
    }

    /// Lists a client as unauthenticated while the returned value lives.
    pub fn enter_unauthenticated<O: AsRef<Self>>(owner: Arc<O>, client: &Arc<Client>) -> Listed<O> {
        Self::enter_in(List::Unauthenticated, owner, client)
    }

    fn enter_in<O: AsRef<Self>>(list: List, owner: Arc<O>, client: &Arc<Client>) -> Listed<O> {
        let id = client.id;
        (*owner).as_ref().lock(list).insert(id, client.clone());
        Listed { owner, list, id }
    }

    /// All clients, the oldest first.
    #[must_use]
    pub fn all(&self) -> Vec<Arc<Client>> {
        self.lock(List::All).values().cloned().collect()
    }

    /// How many have not authenticated.
    #[must_use]
    pub fn unauthenticated(&self) -> usize {
        self.lock(List::Unauthenticated).len()
    }

    /// Ends the connection of the client that has been without authentication for the longest time.
    pub fn kill_oldest_unauthenticated(&self) -> Option<Arc<Client>> {
        let (_, client) = self.lock(List::Unauthenticated).pop_first()?;
        client.kill();
        Some(client)
    }

    /// Ends the connection of the client that has the most unread replies, if `excess` bytes are
    /// more than what clients have whose connections are about to end. Linear in all clients.
    pub fn kill_largest(&self, excess: usize) -> Option<Arc<Client>> {
        let all = self.lock(List::All);
        let (mut ending, mut largest) = (0, None);
        for client in all.values() {
            let unread = client.unread.load(Relaxed);
            if client.was_killed() {
                ending += unread;
            } else if unread > largest.map_or(0, |(unread, _)| unread) {
                largest = Some((unread, client));
            }
        }
        let (_, client) = largest.filter(|_| excess > ending)?;
        // Under the lock, so that another caller counts it among those about to end.
        client.kill();
        Some(client.clone())
    }

    /// A panic while the lock was held leaves nothing half-done here.
    fn lock(&self, list: List) -> MutexGuard<'_, ByNumber> {
        let list = match list {
            List::All => &self.all,
            List::Unauthenticated => &self.unauthenticated,
        };
        list.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Takes a client off the list in the end.
#[derive(Debug)]
pub struct Listed<O: AsRef<Clients>> {
    owner: Arc<O>,
    list: List,
    id: u64,
}

impl<O: AsRef<Clients>> Drop for Listed<O> {
    fn drop(&mut self) {
        (*self.owner).as_ref().lock(self.list).remove(&self.id);
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
            unread: AtomicUsize::new(0),
            gone: AtomicBool::new(false),
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

    /// Sets the bytes of replies that the client has not read.
    pub fn set_unread(&self, bytes: usize) {
        self.unread.store(bytes, Relaxed);
    }

    /// It does not count among the connected clients from now on: true the first time.
    pub fn leave(&self) -> bool {
        !self.gone.swap(true, Relaxed)
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
        self.kill.notify_waiters();
    }

    /// True if its connection is to end.
    #[must_use]
    pub fn was_killed(&self) -> bool {
        self.killed.load(Acquire)
    }

    /// Waits until its connection is to end.
    pub async fn killed(&self) {
        loop {
            // It hears of each `kill` from here on.
            let notified = self.kill.notified();
            if self.was_killed() {
                return;
            }
            notified.await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Owner(Clients);

    impl AsRef<Clients> for Owner {
        fn as_ref(&self) -> &Clients {
            &self.0
        }
    }

    fn client(owner: &Arc<Owner>, id: u64, unread: usize) -> (Arc<Client>, Listed<Owner>) {
        let client = Arc::new(Client::new(id, String::new()));
        client.set_unread(unread);
        let listed = Clients::enter(owner.clone(), &client);
        (client, listed)
    }

    #[test]
    fn the_largest_go_first_and_no_more_than_needed() {
        let owner = Arc::new(Owner(Clients::default()));
        let all = [(1, 10), (2, 30), (3, 20)].map(|(id, unread)| client(&owner, id, unread));
        let kill = |excess| owner.0.kill_largest(excess).map(|client| client.id);
        assert_eq!(kill(0), None);
        assert_eq!(kill(25), Some(2));
        // What it has is enough.
        assert_eq!(kill(25), None);
        assert_eq!(kill(31), Some(3));
        assert_eq!(kill(60), Some(1));
        assert_eq!(kill(61), None);
        drop(all);
        assert!(owner.0.all().is_empty());
    }

    #[test]
    fn the_oldest_unauthenticated_client_goes_first() {
        let owner = Arc::new(Owner(Clients::default()));
        let clients = [3, 1, 2].map(|id| Arc::new(Client::new(id, String::new())));
        let listed: Vec<_> = clients
            .iter()
            .map(|client| Clients::enter_unauthenticated(owner.clone(), client))
            .collect();
        assert_eq!(owner.0.unauthenticated(), 3);
        let killed = owner.0.kill_oldest_unauthenticated().unwrap();
        assert_eq!((killed.id, killed.was_killed()), (1, true));
        assert_eq!(owner.0.unauthenticated(), 2);
        drop(listed);
        assert!(owner.0.kill_oldest_unauthenticated().is_none());
    }

    #[tokio::test]
    async fn all_who_wait_for_the_end_of_a_connection_hear_of_it() {
        let client = Client::new(1, String::new());
        let both = async { tokio::join!(client.killed(), client.killed()) };
        tokio::join!(both, async {
            tokio::task::yield_now().await;
            client.kill();
        });
        client.killed().await;
    }
}
