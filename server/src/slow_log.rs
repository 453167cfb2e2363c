//! Commands that took long, as `SLOWLOG` and `LATENCY` show them.

mod latency;

pub(crate) use latency::{EVENTS, Event, Latency, Sample};

use crate::lock::lock;
use crate::{clients::Client, command::Command};
use guira_commands::Args;
use std::{
    collections::VecDeque,
    sync::{
        Mutex, MutexGuard,
        atomic::{AtomicI64, AtomicU64, AtomicUsize, Ordering::Relaxed},
    },
    time::{Duration, SystemTime, UNIX_EPOCH},
};

/// The number of words of a command, and of bytes of a word, that are kept.
const WORDS: usize = 32;
const WORD: usize = 128;

/// What the log has in place of a secret word.
const REDACTED: &[u8] = b"(redacted)";

/// The commands that took longer than a threshold, the newest first, and the samples of `LATENCY`.
#[derive(Debug)]
pub struct SlowLog {
    /// The lower of both thresholds in microseconds, so that a short command needs one comparison.
    floor: AtomicU64,
    /// The threshold in microseconds. A negative one keeps no command.
    threshold: AtomicI64,
    most: AtomicUsize,
    inner: Mutex<Inner>,
    /// The threshold in milliseconds. With 0 there are no samples.
    latency_threshold: AtomicU64,
    /// The samples for `LATENCY`.
    pub(crate) latency: Latency,
}

#[derive(Debug, Default)]
pub(crate) struct Inner {
    next: i64,
    pub(crate) entries: VecDeque<Entry>,
}

#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) id: i64,
    /// The time at which the command ended, in seconds since 1970.
    pub(crate) at: i64,
    pub(crate) microseconds: i64,
    pub(crate) words: Vec<Vec<u8>>,
    pub(crate) address: String,
    pub(crate) name: Vec<u8>,
}

impl SlowLog {
    /// An empty log of the last `most` commands that took at least `threshold` microseconds; of
    /// none if it is negative. Commands that took at least `latency` milliseconds are sampled for
    /// `LATENCY`; none are if it is 0.
    #[must_use]
    pub fn new(threshold: i64, most: usize, latency: u64) -> Self {
        Self {
            floor: lower(threshold, latency).into(),
            threshold: threshold.into(),
            most: most.into(),
            inner: Mutex::default(),
            latency_threshold: latency.into(),
            latency: Latency::default(),
        }
    }

    /// The threshold in microseconds from which on a command is kept.
    #[must_use]
    pub fn threshold(&self) -> i64 {
        self.threshold.load(Relaxed)
    }

    /// The number of commands that are kept.
    #[must_use]
    pub fn most(&self) -> usize {
        self.most.load(Relaxed)
    }

    /// The threshold in milliseconds from which on a command is sampled for `LATENCY`; with 0 none
    /// is.
    #[must_use]
    pub fn latency_threshold(&self) -> u64 {
        self.latency_threshold.load(Relaxed)
    }

    pub(crate) fn set_threshold(&self, threshold: i64) {
        let _one_at_a_time = self.lock();
        self.threshold.store(threshold, Relaxed);
        self.set_floor();
    }

    pub(crate) fn set_latency_threshold(&self, threshold: u64) {
        let _one_at_a_time = self.lock();
        self.latency_threshold.store(threshold, Relaxed);
        self.set_floor();
    }

    fn set_floor(&self) {
        let floor = lower(self.threshold(), self.latency_threshold());
        self.floor.store(floor, Relaxed);
    }

    pub(crate) fn set_most(&self, most: usize) {
        self.most.store(most, Relaxed);
        self.lock().entries.truncate(most);
    }

    /// Keeps a command if `time`, its duration, reaches a threshold.
    #[inline]
    pub fn note(&self, client: &Client, command: &Command, args: Args<'_>, time: Duration) {
        let microseconds = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        if microseconds >= self.floor.load(Relaxed) {
            self.keep(client, command, args, microseconds);
        }
    }

    #[cold]
    fn keep(&self, client: &Client, command: &Command, args: Args<'_>, microseconds: u64) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let at = now.map_or(0, |now| now.as_secs() as i64);
        let microseconds = i64::try_from(microseconds).unwrap_or(i64::MAX);
        let (milliseconds, latency) = (microseconds / 1_000, self.latency_threshold());
        if latency > 0 && milliseconds.unsigned_abs() >= latency {
            self.latency.note(command.cost, at, milliseconds);
        }
        let (threshold, most) = (self.threshold(), self.most());
        if threshold < 0 || microseconds < threshold || most == 0 {
            return;
        }
        let mut entry = Entry {
            id: 0,
            at,
            microseconds,
            words: shortened(command, args),
            address: client.address.clone(),
            name: client.names().name.clone(),
        };
        let mut inner = self.lock();
        entry.id = inner.next;
        inner.next += 1;
        inner.entries.push_front(entry);
        inner.entries.truncate(most);
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Inner> {
        lock(&self.inner)
    }
}

/// The lower of a threshold in microseconds and one in milliseconds, in microseconds.
fn lower(microseconds: i64, milliseconds: u64) -> u64 {
    let slow = u64::try_from(microseconds).unwrap_or(u64::MAX);
    let late = match milliseconds {
        0 => u64::MAX,
        milliseconds => milliseconds.saturating_mul(1_000),
    };
    slow.min(late)
}

/// The words as the log keeps them: shortened, and without passwords and seeds.
fn shortened(command: &Command, args: Args<'_>) -> Vec<Vec<u8>> {
    if command.is_secret {
        return vec![args[0].to_vec(), REDACTED.to_vec()];
    }
    let shown = match args.len() {
        ..=WORDS => args.len(),
        _ => WORDS - 1,
    };
    let mut words: Vec<_> = args[..shown].iter().map(|word| cut(word)).collect();
    if let Some(secret) = command.secret {
        let is_secret = |name: &[u8]| name.eq_ignore_ascii_case(secret.as_bytes());
        for (name, word) in args.iter().zip(words.iter_mut().skip(1)) {
            if is_secret(name) {
                *word = REDACTED.to_vec();
            }
        }
    }
    if shown < args.len() {
        let more = args.len() - shown;
        words.push(format!("... ({more} more arguments)").into_bytes());
    }
    words
}

fn cut(word: &[u8]) -> Vec<u8> {
    match word.len() {
        ..=WORD => word.to_vec(),
        bytes => {
            let mut cut = word[..WORD].to_vec();
            cut.extend(format!("... ({} more bytes)", bytes - WORD).bytes());
            cut
        }
    }
}
