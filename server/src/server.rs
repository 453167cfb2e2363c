//! The state that all connections share.

use crate::{
    clients::Clients,
    command::{Access, Command, Enabled},
    config::Config,
    fault::Fault,
    guesses::Guesses,
    keyspace::Lane,
    persist::{SaveError, Saver},
    pools::Pools,
    slow::{SlowWork, run_beside},
    slow_log::SlowLog,
    snapshots::Snapshots,
    standby::Standby,
    stats::Stats,
    store::Store,
    tunable::Tunable,
};
use std::{
    hash::{BuildHasher, RandomState},
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};
use tokio::time::{MissedTickBehavior, interval};

/// The interval at which expired keys are evicted.
const SWEEP: Duration = Duration::from_millis(100);

/// The Redis version that the server reports, for clients that depend on it.
pub const REDIS_VERSION: &str = "7.4.0";

/// The server without its sockets.
#[derive(Debug)]
pub struct Server {
    /// The keys.
    pub store: Store,
    /// The commands that clients can use.
    pub commands: Enabled,
    /// The settings that the server was started with.
    pub config: Config,
    /// The settings that `CONFIG SET` can change.
    pub tunable: Tunable,
    /// Saves the keys.
    pub saver: Saver,
    /// The snapshots that standbys read.
    pub snapshots: Snapshots,
    /// Whether the server is a standby, and its primary.
    pub standby: Standby,
    /// The counters.
    pub stats: Arc<Stats>,
    /// The recent guesses of the password.
    pub guesses: Guesses,
    /// The connected clients.
    pub clients: Clients,
    /// The commands that took long.
    pub slow_log: SlowLog,
    /// Runs commands that take long.
    pub slow: SlowWork,
    /// The memory for requests and replies of all clients.
    pub pools: Pools,
    /// The start time.
    pub started: Instant,
    /// A number of 40 hexadecimal digits that is unique to this run.
    pub run_id: String,
    /// The TCP port, once it is known.
    pub listening: OnceLock<u16>,
    /// Whether to save when the server stops: because it is configured, or because of `SHUTDOWN
    /// SAVE`.
    pub save_at_end: AtomicBool,
    /// Whether `SHUTDOWN NOSAVE` was sent, which takes precedence.
    pub skip_last_save: AtomicBool,
    /// Whether the filters are loaded and clients are accepted.
    pub is_ready: AtomicBool,
}

impl Server {
    /// Creates a server without keys.
    #[must_use]
    pub fn new(config: Config, saver: Saver) -> Self {
        let store = Store::new(config.memory_limit(), config.dir.clone())
            .with_defaults(config.default_options());
        let stats = Arc::default();
        Self {
            commands: Enabled::without(&config.disable_command),
            saver: saver.counting(&stats),
            snapshots: Snapshots::new(config.dir.clone()),
            standby: Standby::new(&config),
            stats,
            guesses: Guesses::default(),
            clients: Clients::default(),
            slow_log: SlowLog::new(
                config.slowlog_log_slower_than,
                config.slowlog_max_len as usize,
                config.latency_monitor_threshold.into(),
            ),
            tunable: Tunable::new(&config),
            run_id: run_id(),
            listening: OnceLock::new(),
            slow: SlowWork::default(),
            pools: Pools::new(
                config.max_requests_memory,
                config.max_replies_memory,
                store.keyspace.total(),
            ),
            store,
            started: Instant::now(),
            save_at_end: AtomicBool::new(config.save_on_exit),
            skip_last_save: AtomicBool::new(false),
            is_ready: AtomicBool::new(false),
            config,
        }
    }

    /// The port that the server listens on.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.listening.get().copied().unwrap_or(self.config.port)
    }

    /// True if the server is a standby and the command is a write.
    #[inline]
    #[must_use]
    pub fn refuses(&self, command: &Command) -> bool {
        command.access == Access::Write && self.standby.is_replica()
    }

    /// Copies the keys of the primary at the interval, forever.
    pub async fn follow(self: Arc<Self>) {
        loop {
            self.standby.next().await;
            let server = self.clone();
            let copy = move || {
                server.standby.copy(&server.store);
                server.stats.changed_otherwise(1);
            };
            if run_beside(copy).await.is_none() {
                return;
            }
        }
    }

    /// Evicts expired keys, forever.
    pub async fn sweep(self: Arc<Self>) {
        let mut ticks = interval(SWEEP);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            let keyspace = &self.store.keyspace;
            if !keyspace.has_expired() && !keyspace.has_gone() {
                continue;
            }
            Fault::Sweep.reach();
            let server = self.clone();
            // Freeing a large filter takes long.
            let sweep = move || {
                let mut begun = Instant::now();
                while server.store.sweep() {
                    server.stats.changed_otherwise(1);
                    // Other work gets half of the time, however few cores there are.
                    thread::sleep(begun.elapsed());
                    begun = Instant::now();
                }
                server.store.keyspace.reap();
            };
            if run_beside(sweep).await.is_none() {
                return;
            }
        }
    }

    /// Begins the epochs of the filters in one lane when they are due, forever.
    pub async fn tick(self: Arc<Self>, lane: Lane) {
        loop {
            self.store.keyspace.wait_for_tick(lane).await;
            Fault::Tick.reach();
            let server = self.clone();
            let tick = move || server.store.keyspace.tick_some(lane);
            if self.slow.run(tick).await.is_none() {
                return;
            }
        }
    }

    /// Starts a save of all filters on its own thread.
    ///
    /// # Errors
    ///
    /// Those of [`Saver::save_in_background`].
    pub fn save_in_background(self: &Arc<Self>) -> Result<(), SaveError> {
        Saver::save_in_background(self, |server| (&server.saver, &server.store.keyspace))
    }

    /// True if something has changed since the last save.
    #[must_use]
    pub fn has_changed(&self) -> bool {
        self.changes() > 0
    }

    /// The number of commands that may have changed keys, and of other changes, since the last save.
    #[must_use]
    pub fn changes(&self) -> u64 {
        self.stats
            .changes()
            .saturating_sub(self.saver.saved_changes())
    }

    /// Saves all filters when the server stops, if it should and there is a directory.
    ///
    /// # Errors
    ///
    /// Those of [`Saver::save`].
    pub fn last_save(&self) -> Result<(), SaveError> {
        let said = |what: &AtomicBool| what.load(Ordering::Relaxed);
        let wanted = said(&self.save_at_end) && !said(&self.skip_last_save);
        match wanted && self.saver.directory().is_some() {
            true => self.saver.save_last(&self.store.keyspace),
            false => Ok(()),
        }
    }
}

impl AsRef<Clients> for Server {
    fn as_ref(&self) -> &Clients {
        &self.clients
    }
}

fn run_id() -> String {
    let seed = RandomState::new();
    let word = |number: u8| format!("{:016x}", seed.hash_one(number));
    let mut id: String = (0..3).map(word).collect();
    id.truncate(40);
    id
}
