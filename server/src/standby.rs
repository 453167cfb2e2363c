//! A standby is a server that copies all keys of its primary at an interval.
//!
//! It reads a snapshot of the primary into filters that no client sees, and replaces its keys once
//! the snapshot is complete. Until then the present keys stay, whatever the primary sends.

mod link;
mod tls;

use crate::{
    certificates::TlsError,
    config::{self, Address, Config},
    fault,
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

/// The longest pause before another attempt after a failure.
const RETRY: Duration = Duration::from_secs(5);

/// The role of the server, and the status of copying.
#[derive(Debug)]
pub struct Standby {
    primary: Option<Primary>,
    every: Duration,
    /// Whether the server follows its primary, so that clients can only read.
    follows: AtomicBool,
    /// Locked while keys are replaced, and while `follows` changes.
    turn: Mutex<()>,
    /// Notified when `follows` becomes true.
    followed: Notify,
    /// The connection of the copy in progress.
    connection: Mutex<Option<TcpStream>>,
    /// When the primary began the last snapshot that was copied.
    copied: Mutex<Option<Instant>>,
    /// When the server started.
    since: Instant,
    is_copying: AtomicBool,
    last_failed: AtomicBool,
    copies: AtomicU64,
    failures: AtomicU64,
}

/// The address of the primary, and the credentials for it.
#[derive(Debug)]
struct Primary {
    address: Address,
    settings: config::Standby,
    tls: Option<Files>,
}

/// The status of copying.
#[derive(Clone, Copy, Debug)]
pub struct Status {
    /// The time since the primary began the last snapshot that was copied; `None` before the first.
    pub age: Option<Duration>,
    /// Whether the last attempt succeeded.
    pub is_up: bool,
    /// Whether a copy is in progress.
    pub is_copying: bool,
    /// The number of complete copies.
    pub copies: u64,
    /// The number of failed attempts.
    pub failures: u64,
}

/// The keys were not copied, and are unchanged.
#[derive(Debug, Error)]
enum CopyError {
    #[error(transparent)]
    Link(#[from] LinkError),
    #[error(transparent)]
    Tls(#[from] TlsError),
    #[error("its snapshot has {length} bytes, and maxmemory allows at most {most}")]
    Length { length: u64, most: u64 },
    #[error("its snapshot cannot be loaded: {0}")]
    Load(#[from] persist::LoadError),
    #[error("this server does not follow it any more")]
    Promoted,
    #[error("a panic: see the log")]
    Panic,
}

impl Standby {
    /// Creates the state for these settings.
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

    /// The primary that the server follows; `None` if it is a primary itself.
    #[must_use]
    pub fn primary(&self) -> Option<&Address> {
        let primary = self.primary.as_ref().filter(|_| self.is_replica());
        primary.map(|primary| &primary.address)
    }

    /// True if clients can only read.
    #[inline]
    #[must_use]
    pub fn is_replica(&self) -> bool {
        // Relaxed: a write during the change is lost with the next copy, as all others are.
        self.follows.load(Relaxed)
    }

    /// The status of copying.
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

    /// The time since the primary began the last snapshot that was copied, or since the start.
    #[must_use]
    pub fn age(&self) -> Duration {
        self.status().age.unwrap_or_else(|| self.since.elapsed())
    }

    /// Makes the server a primary. After this returns, no copy changes a key.
    pub fn promote(&self) {
        let turn = lock(&self.turn);
        let has_followed = self.follows.swap(false, Relaxed);
        drop(turn);
        if let Some(connection) = &*lock(&self.connection) {
            // The connection may have ended.
            let _ = connection.shutdown(Shutdown::Both);
        }
        if has_followed {
            warn!("this server is a primary now: clients can write");
        }
    }

    /// Makes the server a standby of the primary that it was started with. Returns false if `host`
    /// and `port` name another one.
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

    /// Waits until the next copy is due.
    pub(crate) async fn next(&self) {
        if self.is_replica() && self.copied_or_failed() {
            let wait = match self.last_failed.load(Relaxed) {
                true => self.every.min(RETRY),
                false => self.every,
            };
            // The first copy after a `REPLICAOF` begins at once.
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
        // A decoder that panics leaves only filters that no client has seen.
        let copied = catch_unwind(AssertUnwindSafe(|| self.try_copy(primary, store)));
        *lock(&self.connection) = None;
        self.is_copying.store(false, Relaxed);
        match copied.unwrap_or(Err(CopyError::Panic)) {
            Ok(()) => {
                self.copies.fetch_add(1, Relaxed);
                self.last_failed.store(false, Relaxed);
            }
            Err(error @ CopyError::Promoted) => info!(%error, "a copy was dropped"),
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
        fault::hold_copy();
        let _turn = lock(&self.turn);
        if !self.is_replica() && !fault::ignores_promotion() {
            return Err(CopyError::Promoted);
        }
        let removed = store.keyspace.replace(filters);
        if !removed.is_empty() {
            store.abandon(|key| removed.contains(key));
            // A primary that has restarted may have lost them.
            warn!(
                keys = removed.len(),
                "keys are gone that the primary does not have any more"
            );
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
