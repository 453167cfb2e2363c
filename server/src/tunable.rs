//! The settings that `CONFIG SET` changes while the server runs, unless another part keeps them.
//!
//! All accesses are Relaxed: a change takes effect soon, and orders nothing.

use crate::config::Config;
use crate::lock::lock;
use std::{
    num::NonZeroUsize,
    sync::{
        Mutex,
        atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed},
    },
    time::Duration,
};
use tokio::sync::watch;

/// The current settings.
#[derive(Debug)]
pub struct Tunable {
    maxclients: AtomicUsize,
    max_output: AtomicUsize,
    metrics_filters: AtomicUsize,
    /// In seconds.
    timeout: AtomicU64,
    save_every: watch::Sender<Option<Duration>>,
    log: Mutex<String>,
}

impl Tunable {
    pub(crate) fn new(config: &Config) -> Self {
        Self {
            maxclients: config.maxclients.get().into(),
            max_output: config.output_limit().into(),
            metrics_filters: (config.metrics_filters as usize).into(),
            timeout: config.timeout.as_secs().into(),
            save_every: watch::Sender::new(config.save_every()),
            log: config.log.to_string().into(),
        }
    }

    /// The most clients at a time.
    #[must_use]
    pub fn maxclients(&self) -> usize {
        self.maxclients.load(Relaxed)
    }

    /// The most clients that may be connected without having authenticated.
    #[must_use]
    pub fn unauthenticated_clients(&self) -> usize {
        self.maxclients().div_ceil(2)
    }

    pub(crate) fn set_maxclients(&self, clients: NonZeroUsize) {
        self.maxclients.store(clients.get(), Relaxed);
    }

    /// The most bytes of replies that a client may leave unread; `usize::MAX` for no limit.
    #[inline]
    #[must_use]
    pub fn max_output(&self) -> usize {
        self.max_output.load(Relaxed)
    }

    pub(crate) fn set_max_output(&self, bytes: usize) {
        self.max_output.store(bytes, Relaxed);
    }

    /// The number of filters that have their own metrics.
    #[must_use]
    pub fn metrics_filters(&self) -> usize {
        self.metrics_filters.load(Relaxed)
    }

    pub(crate) fn set_metrics_filters(&self, filters: u32) {
        self.metrics_filters.store(filters as usize, Relaxed);
    }

    /// How long a client may be idle; 0 means any time.
    #[inline]
    #[must_use]
    pub fn timeout(&self) -> Duration {
        Duration::from_secs(self.timeout.load(Relaxed))
    }

    pub(crate) fn set_timeout(&self, timeout: Duration) {
        self.timeout.store(timeout.as_secs(), Relaxed);
    }

    /// The time between saves, and its changes. With `None` there are no saves.
    #[must_use]
    pub fn save_every(&self) -> watch::Receiver<Option<Duration>> {
        self.save_every.subscribe()
    }

    pub(crate) fn set_save_every(&self, every: Option<Duration>) {
        self.save_every.send_replace(every);
    }

    /// The current log filter.
    #[must_use]
    pub fn log(&self) -> String {
        lock(&self.log).clone()
    }

    pub(crate) fn set_log(&self, filter: String) {
        *lock(&self.log) = filter;
    }
}
