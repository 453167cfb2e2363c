//! `SLOWLOG`: commands that took long.

use super::{Args, Command, Reply, call::unknown_subcommand};
use crate::{server::Server, session::Session};
use guira_commands::number;
use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicI64, AtomicUsize, Ordering::Relaxed},
    },
    time::{Duration, SystemTime, UNIX_EPOCH},
};

/// Words of a command, and bytes of a word, that are kept.
const WORDS: usize = 32;
const WORD: usize = 128;

/// Entries that `SLOWLOG GET` shows unless its client says how many.
const SHOWN: usize = 10;

/// The commands that took longer than a threshold, the newest first.
#[derive(Debug)]
pub struct SlowLog {
    /// In microseconds; negative: none is kept.
    threshold: AtomicI64,
    most: AtomicUsize,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    next: i64,
    entries: VecDeque<Entry>,
}

#[derive(Debug)]
struct Entry {
    id: i64,
    /// When it was done, in seconds since 1970.
    at: i64,
    microseconds: i64,
    words: Vec<Vec<u8>>,
    address: String,
    name: Vec<u8>,
}

impl SlowLog {
    /// An empty one, which keeps the last `most` commands that took `threshold` microseconds or
    /// longer; none if that is negative.
    #[must_use]
    pub fn new(threshold: i64, most: usize) -> Self {
        Self {
            threshold: threshold.into(),
            most: most.into(),
            inner: Mutex::default(),
        }
    }

    /// From how many microseconds on a command is kept.
    #[must_use]
    pub fn threshold(&self) -> i64 {
        self.threshold.load(Relaxed)
    }

    /// How many commands are kept.
    #[must_use]
    pub fn most(&self) -> usize {
        self.most.load(Relaxed)
    }

    pub(super) fn set_threshold(&self, threshold: i64) {
        self.threshold.store(threshold, Relaxed);
    }

    pub(super) fn set_most(&self, most: usize) {
        self.most.store(most, Relaxed);
        self.lock().entries.truncate(most);
    }

    /// Keeps a command that took `time`, if that is long.
    #[inline]
    pub fn note(&self, session: &Session, command: &Command, args: Args<'_>, time: Duration) {
        let microseconds = i64::try_from(time.as_micros()).unwrap_or(i64::MAX);
        let threshold = self.threshold();
        if threshold >= 0 && microseconds >= threshold {
            self.keep(session, command, args, microseconds);
        }
    }

    #[cold]
    fn keep(&self, session: &Session, command: &Command, args: Args<'_>, microseconds: i64) {
        let most = self.most();
        if most == 0 {
            return;
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let mut entry = Entry {
            id: 0,
            at: now.map_or(0, |now| now.as_secs() as i64),
            microseconds,
            words: shortened(command, args),
            address: session.address.clone(),
            name: session.client.names().name.clone(),
        };
        let mut inner = self.lock();
        entry.id = inner.next;
        inner.next += 1;
        inner.entries.push_front(entry);
        inner.entries.truncate(most);
    }

    /// A panic while the lock was held leaves nothing half-done here.
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The words as they are kept: not all, not whole, and no passwords.
fn shortened(command: &Command, args: Args<'_>) -> Vec<Vec<u8>> {
    if command.is_secret {
        return vec![args[0].to_vec(), b"(redacted)".to_vec()];
    }
    let shown = match args.len() {
        ..=WORDS => args.len(),
        _ => WORDS - 1,
    };
    let mut words: Vec<_> = args[..shown].iter().map(|word| cut(word)).collect();
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

/// `SLOWLOG GET [count] | LEN | RESET | HELP`
pub(super) fn slowlog(server: &Arc<Server>, _: &mut Session, args: Args<'_>) -> Reply {
    let log = &server.slow_log;
    let [_, word, rest @ ..] = args else {
        return Reply::wrong_arity(args[0]);
    };
    match (word.to_ascii_uppercase().as_slice(), rest) {
        (b"GET", []) => show(log, SHOWN),
        (b"GET", [count]) => match number::<i64>(count) {
            Some(-1) => show(log, usize::MAX),
            Some(count @ 0..) => show(log, usize::try_from(count).unwrap_or(usize::MAX)),
            _ => Reply::error("ERR count should be greater than or equal to -1"),
        },
        (b"LEN", []) => Reply::count(log.lock().entries.len()),
        (b"RESET", []) => {
            log.lock().entries.clear();
            Reply::OK
        }
        (b"HELP", []) => Reply::Array(
            [
                "SLOWLOG GET [count]: the newest commands that took long, 10 unless count says \
                 how many (-1: all). Of each: its number, when it was done, the microseconds it \
                 took, its words, and the address and the name of its client.",
                "SLOWLOG LEN: how many there are.",
                "SLOWLOG RESET: forgets them.",
            ]
            .map(Reply::Status)
            .into(),
        ),
        _ => unknown_subcommand("slowlog", word),
    }
}

fn show(log: &SlowLog, most: usize) -> Reply {
    let inner = log.lock();
    let entry = |entry: &Entry| {
        Reply::Array(vec![
            Reply::Integer(entry.id),
            Reply::Integer(entry.at),
            Reply::Integer(entry.microseconds),
            Reply::Array(entry.words.iter().map(Reply::bulk).collect()),
            Reply::bulk(&entry.address),
            Reply::bulk(&entry.name),
        ])
    };
    Reply::Array(inner.entries.iter().take(most).map(entry).collect())
}
