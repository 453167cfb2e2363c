//! A standby: a server that copies all keys of its primary at an interval.
//!
//! It reads a snapshot of the primary into filters that no client sees, and replaces its keys when
//! the snapshot is complete. Whatever the primary sends, the present keys stay until then.

mod link;
mod tls;

use crate::{
    certificates::TlsError,
    config::{self, Address, Config},
    lock::lock,
    persist,
    store::Store,
};
use guira_commands::dump::longest_snapshot;
use link::{Link, LinkError};
use std::{
    net::{Shutdown, TcpStream},
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};
use thiserror::Error;
use tls::Files;
use tokio::{sync::Notify, time::timeout};
use tracing::{info, warn};

/// The longest time until the next attempt after a failure.
const RETRY: Duration = Duration::from_secs(5);

/// What the server is, and how copying goes.
#[derive(Debug)]
pub struct Standby {
    primary: Option<Primary>,
    every: Duration,
    /// The server follows its primary, and clients can only read.
    follows: AtomicBool,
    /// Locked while keys are replaced, and while `follows` changes.
    turn: Mutex<()>,
    /// `follows` has become true.
    followed: Notify,
    /// The connection of the present copy.
    connection: Mutex<Option<TcpStream>>,
    /// When the primary began the snapshot that was copied last.
    copied: Mutex<Option<Instant>>,
    /// When this began.
    since: Instant,
    is_copying: AtomicBool,
    last_failed: AtomicBool,
    copies: AtomicU64,
    failures: AtomicU64,
}

/// Where the primary is, and what it wants to know.
#[derive(Debug)]
struct Primary {
    address: Address,
    settings: config::Standby,
    tls: Option<Files>,
}

/// How copying goes.
#[derive(Clone, Copy, Debug)]
pub struct Status {
    /// Time since the primary began the snapshot that was copied last; `None` before the first one.
    pub age: Option<Duration>,
    /// The last attempt succeeded.
    pub is_up: bool,
    /// A snapshot is being copied.
    pub is_copying: bool,
    /// Complete copies.
    pub copies: u64,
    /// Attempts that failed.
    pub failures: u64,
}

/// The keys were not copied, and are as they were.
#[derive(Debug, Error)]
enum CopyError {
    #[error(transparent)]
    Link(#[from] LinkError),
    #[error(transparent)]
    Tls(#[from] TlsError),
    #[error("its snapshot is said to have {length} bytes, and maxmemory allows {most}")]
    Length { length: u64, most: u64 },
    #[error("its snapshot cannot be loaded: {0}")]
    Load(#[from] persist::LoadError),
    #[error("this server does not follow it any more")]
    Promoted,
    #[error("a panic: see the log")]
    Panic,
}

impl Standby {
    /// As these settings say.
    #[must_use]
    pub fn new(config: &Config) -> Self {
        let settings = &config.standby;
        let primary = settings.replica_of.clone().map(|address| Primary {
            address,
            settings: settings.clone(),
            tls: settings.tls_replication.then(|| Files::of(config)),
        });
        Self {
            follows: primary.is_some().into(),
            primary,
            every: settings.replica_every,
            turn: Mutex::default(),
            followed: Notify::new(),
            connection: Mutex::default(),
            copied: Mutex::default(),
            since: Instant::now(),
            is_copying: AtomicBool::new(false),
            last_failed: AtomicBool::new(false),
            copies: AtomicU64::new(0),
            failures: AtomicU64::new(0),
        }
    }

    /// The primary that the server follows; `None` if it is one itself.
    #[must_use]
    pub fn primary(&self) -> Option<&Address> {
        let primary = self.primary.as_ref().filter(|_| self.is_replica());
        primary.map(|primary| &primary.address)
    }

    /// True if clients can only read.
    #[inline]
    #[must_use]
    pub fn is_replica(&self) -> bool {
        // Relaxed: a write that is made just now is lost at the next copy, as all others are.
        self.follows.load(Relaxed)
    }

    /// How copying goes.
    #[must_use]
    pub fn status(&self) -> Status {
        let copied = *lock(&self.copied);
        Status {
            age: copied.map(|at| at.elapsed()),
            is_up: copied.is_some() && !self.last_failed.load(Relaxed),
            is_copying: self.is_copying.load(Relaxed),
            copies: self.copies.load(Relaxed),
            failures: self.failures.load(Relaxed),
        }
    }

    /// Time since the primary began the snapshot that was copied last, or since the start.
    #[must_use]
    pub fn age(&self) -> Duration {
        self.status().age.unwrap_or_else(|| self.since.elapsed())
    }

    /// Makes the server a primary. No key changes by a copy any more when this returns.
    pub fn promote(&self) {
        let turn = lock(&self.turn);
        let has_followed = self.follows.swap(false, Relaxed);
        drop(turn);
        if let Some(connection) = &*lock(&self.connection) {
            // It may have ended.
            let _ = connection.shutdown(Shutdown::Both);
        }
        if has_followed {
            warn!("this server is a primary now: clients can write");
        }
    }

    /// Makes the server a standby of the primary that it was started with: false if `host` and
    /// `port` are not those.
    pub fn follow_again(&self, host: &[u8], port: &[u8]) -> bool {
        let Some(Primary { address, .. }) = &self.primary else {
            return false;
        };
        if address.host.as_bytes() != host || address.port.to_string().as_bytes() != port {
            return false;
        }
        let turn = lock(&self.turn);
        let has_followed = self.follows.swap(true, Relaxed);
        drop(turn);
        if !has_followed {
            warn!(primary = %address, "this server is a standby now: clients can only read");
            self.followed.notify_one();
        }
        true
    }

    /// Waits until it is time for the next copy.
    pub(crate) async fn next(&self) {
        if self.is_replica() && self.copied_or_failed() {
            let wait = match self.last_failed.load(Relaxed) {
                true => self.every.min(RETRY),
                false => self.every,
            };
            // Followed again: at once.
            let _ = timeout(wait, self.followed.notified()).await;
        }
        while !self.is_replica() {
            self.followed.notified().await;
        }
    }

    fn copied_or_failed(&self) -> bool {
        self.copies.load(Relaxed) + self.failures.load(Relaxed) > 0
    }

    /// Copies the keys of the primary into `store`.
    pub(crate) fn copy(&self, store: &Store) {
        let Some(primary) = &self.primary else { return };
        self.is_copying.store(true, Relaxed);
        // A decoder that panics leaves nothing but filters that no client has seen.
        let copied = catch_unwind(AssertUnwindSafe(|| self.try_copy(primary, store)));
        *lock(&self.connection) = None;
        self.is_copying.store(false, Relaxed);
        match copied.unwrap_or(Err(CopyError::Panic)) {
            Ok(()) => {
                self.copies.fetch_add(1, Relaxed);
                self.last_failed.store(false, Relaxed);
            }
            Err(CopyError::Promoted) => {}
            Err(_) if !self.is_replica() => {}
            Err(error) => {
                self.failures.fetch_add(1, Relaxed);
                self.last_failed.store(true, Relaxed);
                warn!(primary = %primary.address, %error, "the keys of the primary were not copied");
            }
        }
    }

    fn try_copy(&self, primary: &Primary, store: &Store) -> Result<(), CopyError> {
        let begun = Instant::now();
        let limit = store.keyspace.limit();
        let most = longest_snapshot(limit);
        let socket = link::connect(&primary.address).map_err(LinkError::Io)?;
        *lock(&self.connection) = Some(socket.try_clone().map_err(LinkError::Io)?);
        if !self.is_replica() {
            return Err(CopyError::Promoted);
        }
        let mut link = match &primary.tls {
            None => Link::new(Box::new(socket)),
            Some(files) => Link::new(files.connect(&primary.address.host, socket)?),
        };
        if let Some(password) = &primary.settings.masterauth {
            link.authenticate(primary.settings.masteruser.as_deref(), password)?;
        }
        let snapshot = link.begin()?;
        let length = snapshot.length;
        if length > most {
            return Err(CopyError::Length { length, most });
        }
        let copied = Instant::now().checked_sub(snapshot.age).unwrap_or(begun);
        let filters = persist::read_within(link.pieces(length), limit)?;
        let keys = filters.len();
        let _turn = lock(&self.turn);
        if !self.is_replica() {
            return Err(CopyError::Promoted);
        }
        let removed = store.keyspace.replace(filters);
        if !removed.is_empty() {
            store.abandon(|key| removed.contains(key));
        }
        *lock(&self.copied) = Some(copied);
        let milliseconds = begun.elapsed().as_millis() as u64;
        info!(
            keys,
            bytes = length,
            milliseconds,
            "copied the keys of the primary"
        );
        Ok(())
    }
}
