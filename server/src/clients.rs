//! The connected clients, for commands that list or end connections.

mod unread;

pub use unread::{Ended, Unread};

use crate::{
    command::{COMMANDS, Command},
    lock::lock,
    pools::Pool,
    resp::Protocol,
};
use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock,
        atomic::{
            AtomicBool, AtomicU64, AtomicUsize,
            Ordering::{Acquire, Relaxed, Release},
        },
    },
    time::{Duration, Instant},
};
use tokio::sync::Notify;

type ByNumber = BTreeMap<u64, Arc<Client>>;

/// All clients, by number.
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

/// The information about a client that other threads can see.
#[derive(Debug)]
pub struct Client {
    /// A number that is unique during the run time of the server.
    pub id: u64,
    /// Its address.
    pub address: String,
    /// The address of the server to which it has connected.
    pub local_address: OnceLock<String>,
    since: Instant,
    names: Mutex<Names>,
    speaks_resp3: AtomicBool,
    /// The index of its last command in the table, or `usize::MAX` before the first.
    last_command: AtomicUsize,
    /// The time at which it last sent something, in milliseconds after `since`.
    last_active: AtomicU64,
    /// The number of its socket.
    pub socket: OnceLock<i32>,
    /// Its transaction, as other clients see it.
    transaction: Mutex<TransactionSeen>,
    /// Its replies, as far as they do not fit into the small buffer of its connection.
    pub unread: Unread,
    /// True if the client no longer counts.
    gone: AtomicBool,
    killed: AtomicBool,
    kill: Notify,
}

/// What other clients see of a transaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TransactionSeen {
    /// The number of queued commands between `MULTI` and `EXEC`.
    pub queued: Option<usize>,
    /// The number of watched keys.
    pub watched: usize,
    /// The memory of both in bytes.
    pub bytes: usize,
}

/// The names that a client has given itself.
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
    /// Lists a client while the returned value lives.
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

    /// The number of clients that have not authenticated.
    #[must_use]
    pub fn unauthenticated(&self) -> usize {
        self.lock(List::Unauthenticated).len()
    }

    /// Ends the connection of the unauthenticated client that connected first.
    pub fn kill_oldest_unauthenticated(&self) -> Option<Arc<Client>> {
        let (_, client) = self.lock(List::Unauthenticated).pop_first()?;
        client.kill();
        Some(client)
    }

    /// Ends the connection of the client with the most unread replies, and frees them. Does nothing if
    /// `client` would have more with `more` bytes, or none has any. Linear in the number of clients.
    pub fn end_largest(
        &self,
        pool: &Pool,
        client: Option<&Client>,
        more: usize,
    ) -> Option<Arc<Client>> {
        let all = self.lock(List::All);
        let others = all
            .values()
            .filter(|other| client.is_none_or(|client| client.id != other.id));
        let largest = others.max_by_key(|other| other.unread.bytes())?;
        let own = client.map_or(1, |client| client.unread.bytes() + more);
        if largest.unread.bytes() < own {
            return None;
        }
        // Under the lock, so that a concurrent caller does not end a further client.
        largest.unread.end(pool);
        largest.kill();
        Some(largest.clone())
    }

    fn lock(&self, list: List) -> MutexGuard<'_, ByNumber> {
        let list = match list {
            List::All => &self.all,
            List::Unauthenticated => &self.unauthenticated,
        };
        lock(list)
    }
}

/// Removes a client from its list when dropped.
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
    /// A client that has just connected.
    #[must_use]
    pub fn new(id: u64, address: String) -> Self {
        Self {
            id,
            address,
            local_address: OnceLock::new(),
            socket: OnceLock::new(),
            transaction: Mutex::default(),
            since: Instant::now(),
            names: Mutex::default(),
            speaks_resp3: AtomicBool::new(false),
            last_command: AtomicUsize::new(usize::MAX),
            last_active: AtomicU64::new(0),
            unread: Unread::default(),
            gone: AtomicBool::new(false),
            killed: AtomicBool::new(false),
            kill: Notify::new(),
        }
    }

    /// The time since it connected.
    #[must_use]
    pub fn age(&self) -> Duration {
        self.since.elapsed()
    }

    /// The time since it last sent something.
    #[must_use]
    pub fn idle(&self) -> Duration {
        let last = Duration::from_millis(self.last_active.load(Relaxed));
        self.age().saturating_sub(last)
    }

    /// Records that it has sent something at `now`.
    pub fn touch(&self, now: Instant) {
        let since = now.saturating_duration_since(self.since).as_millis();
        self.last_active
            .store(u64::try_from(since).unwrap_or(u64::MAX), Relaxed);
    }

    /// Stops counting it among the connected clients. Returns true the first time.
    pub fn leave(&self) -> bool {
        !self.gone.swap(true, Relaxed)
    }

    /// Records the command that it has sent.
    pub fn called(&self, command: &Command) {
        self.last_command.store(command.index(), Relaxed);
    }

    /// Its last command.
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

    /// Records the version of the protocol that it has chosen.
    pub fn set_protocol(&self, protocol: Protocol) {
        self.speaks_resp3
            .store(protocol == Protocol::Resp3, Relaxed);
    }

    /// The names that it has given itself.
    pub fn names(&self) -> MutexGuard<'_, Names> {
        lock(&self.names)
    }

    /// Its transaction.
    #[must_use]
    pub fn transaction(&self) -> TransactionSeen {
        *lock(&self.transaction)
    }

    /// Records its transaction.
    pub(crate) fn set_transaction(&self, seen: TransactionSeen) {
        *lock(&self.transaction) = seen;
    }

    /// Ends its connection after the current command.
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
            // Registers for notifications from here on.
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

    fn client(
        owner: &Arc<Owner>,
        pool: &Pool,
        id: u64,
        unread: usize,
    ) -> (Arc<Client>, Listed<Owner>) {
        let client = Arc::new(Client::new(id, String::new()));
        assert!(pool.charge(unread));
        client.unread.push(pool, vec![0; unread]).unwrap();
        let listed = Clients::enter(owner.clone(), &client);
        (client, listed)
    }

    #[test]
    fn the_largest_go_first_and_free_their_memory() {
        let owner = Arc::new(Owner(Clients::default()));
        let pool = Pool::new(60, Arc::default());
        let all = [(1, 10), (2, 30), (3, 20)].map(|(id, unread)| client(&owner, &pool, id, unread));
        let end = |id: usize, more| {
            let largest = owner.0.end_largest(&pool, Some(&all[id - 1].0), more)?;
            assert!(largest.was_killed());
            Some(largest.id)
        };
        assert!(!pool.charge(1));
        // The client itself would have the most.
        assert_eq!((end(1, 21), end(2, 0)), (None, None));
        assert_eq!((end(1, 20), pool.bytes()), (Some(2), 30));
        // It gets nothing from then on.
        assert!(pool.charge(5));
        assert_eq!(all[1].0.unread.push(&pool, vec![0; 5]), Err(Ended));
        assert_eq!(all[1].0.unread.append(0, |_| ()), Err(Ended));
        assert_eq!((end(2, 0), pool.bytes()), (Some(3), 10));
        let end_any = || Some(owner.0.end_largest(&pool, None, 0)?.id);
        assert_eq!((end_any(), end_any(), pool.bytes()), (Some(1), None, 0));
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
