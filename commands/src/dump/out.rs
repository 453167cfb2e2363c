//! `CF.SCANDUMP`: snapshots that clients read, each in an unnamed file.

use super::{
    LENGTH_BYTES, MAX_IN_PROGRESS, OFFSET_BITS, PIECE, Spool, offset_of, piece, position_of,
};
use crate::{Filter, Reply};
use std::{
    collections::VecDeque,
    env,
    io::{self, BufWriter, Write},
    os::unix::fs::FileExt,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};
use thiserror::Error;

/// The size of the write buffer in bytes.
const BUFFER: usize = 1 << 18;

/// The number of dump numbers, which are reused cyclically.
const NUMBERS: u64 = (1 << (53 - OFFSET_BITS)) - 1;

/// The dumps that clients are reading.
#[derive(Debug)]
pub struct Dumps {
    /// The directory of their files.
    directory: PathBuf,
    inner: Mutex<Inner>,
}

/// The number and size of dumps or loads in progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InProgress {
    /// The number of dumps or loads.
    pub count: usize,
    /// Their total size in bytes.
    pub bytes: u64,
}

#[derive(Debug, Default)]
struct Inner {
    last_number: u64,
    dumps: VecDeque<Dump>,
}

#[derive(Debug)]
struct Dump {
    number: u64,
    key: Box<[u8]>,
    bytes: Arc<Spool>,
    /// The time at which the client last requested a piece.
    touched: Instant,
}

/// The reason why a filter cannot be dumped.
#[derive(Debug, Error)]
pub enum DumpError {
    /// No dump has returned this position.
    #[error("Invalid position")]
    Position,
    /// The file cannot be written, perhaps because the disk is full.
    #[error("ERR the dump cannot be written to {}: {error}", directory.display())]
    Write {
        /// The directory of the file.
        directory: PathBuf,
        /// The cause.
        error: io::Error,
    },
    /// The file cannot be read.
    #[error("ERR the dump cannot be read: {0}")]
    Read(io::Error),
}

impl Dumps {
    /// No dumps. Their files will be in `directory`, or in the system's directory for temporary files.
    #[must_use]
    pub fn new(directory: Option<PathBuf>) -> Self {
        Self {
            directory: directory.unwrap_or_else(env::temp_dir),
            inner: Mutex::default(),
        }
    }

    /// Takes a snapshot of the filter of `key`, and returns the position of its first piece. If there
    /// are too many dumps, the oldest one ends.
    ///
    /// # Errors
    ///
    /// [`DumpError::Write`]
    pub fn begin(&self, key: &[u8], filter: &Filter) -> Result<u64, DumpError> {
        let written = loop {
            match self.spool(filter) {
                // A new dump takes the place of one that a client may still be reading.
                Err(error) if error.kind() == io::ErrorKind::StorageFull && self.drop_oldest() => {}
                written => break written,
            }
        };
        let bytes = written.map_err(|error| DumpError::Write {
            directory: self.directory.clone(),
            error,
        })?;
        let mut inner = self.lock();
        let number = inner.next_number();
        inner.dumps.push_back(Dump {
            number,
            key: key.into(),
            bytes: Arc::new(bytes),
            touched: Instant::now(),
        });
        drop(inner);
        while self.lock().dumps.len() > MAX_IN_PROGRESS {
            self.drop_oldest();
        }
        Ok(position_of(number, 0))
    }

    /// Writes the snapshot, preceded by its length: what comes after the header of a dump.
    ///
    /// # Errors
    ///
    /// The errors of the file system.
    pub fn spool(&self, filter: &Filter) -> io::Result<Spool> {
        Spool::new(&self.directory, |file| {
            let mut out = BufWriter::with_capacity(BUFFER, file);
            out.write_all(&[0; LENGTH_BYTES])?;
            filter.write_to(&mut out)?;
            out.into_inner()?;
            let of_snapshot = file.metadata()?.len() - LENGTH_BYTES as u64;
            file.write_all_at(&of_snapshot.to_le_bytes(), 0)
        })
    }

    /// Replies with the piece at `position`. The dump ends after its last piece.
    ///
    /// # Errors
    ///
    /// [`DumpError::Position`], if no dump of `key` has returned this position; [`DumpError::Read`].
    pub fn go_on(&self, key: &[u8], position: u64) -> Result<Reply, DumpError> {
        let (number, offset) = offset_of(position);
        let bytes = {
            let mut inner = self.lock();
            let found = |dump: &Dump| dump.number == number && *dump.key == *key;
            let index = inner.dumps.iter().position(found);
            let index = index.ok_or(DumpError::Position)?;
            let dump = &mut inner.dumps[index];
            let length = dump.bytes.length();
            if offset > length {
                return Err(DumpError::Position);
            }
            if offset == length {
                inner.dumps.remove(index);
                return Ok(Reply::Array(vec![Reply::Integer(0), Reply::Null]));
            }
            dump.touched = Instant::now();
            dump.bytes.clone()
        };
        let bytes = bytes.piece(offset, PIECE).map_err(DumpError::Read)?;
        let end = offset + bytes.len() as u64;
        Ok(piece(position_of(number, end), bytes))
    }

    /// Ends the dump that has returned `position`.
    pub fn end(&self, position: u64) {
        let (number, _) = offset_of(position);
        self.end_all(|dump| dump.number == number);
    }

    /// Ends the dumps of these keys.
    pub fn abandon(&self, which: impl Fn(&[u8]) -> bool) {
        self.end_all(|dump| which(&dump.key));
    }

    /// Ends the dumps from which no piece was requested for `idle`.
    pub fn expire(&self, idle: Duration) {
        self.end_all(|dump| dump.touched.elapsed() >= idle);
    }

    /// The dumps in progress. Their bytes are in files.
    #[must_use]
    pub fn in_progress(&self) -> InProgress {
        let inner = self.lock();
        InProgress {
            count: inner.dumps.len(),
            bytes: inner.dumps.iter().map(|dump| dump.bytes.length()).sum(),
        }
    }

    fn end_all(&self, which: impl Fn(&Dump) -> bool) {
        self.lock().dumps.retain(|dump| !which(dump));
    }

    fn drop_oldest(&self) -> bool {
        self.lock().dumps.pop_front().is_some()
    }

    /// The state is consistent even if a thread panicked while it held the lock.
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    /// Returns a number that no dump in progress has. Numbers are reused cyclically.
    fn next_number(&mut self) -> u64 {
        loop {
            self.last_number = self.last_number % NUMBERS + 1;
            let is_other = |dump: &Dump| dump.number != self.last_number;
            if self.dumps.iter().all(is_other) {
                return self.last_number;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Clock, Growth, Options, dump::Header};

    fn filter() -> Filter {
        let options = Options {
            capacity: 100,
            ..Options::default()
        };
        let growth = Growth::furthest(&options, usize::MAX).unwrap();
        Filter::build(options, growth).unwrap()
    }

    /// The next position, and the piece.
    fn next(dumps: &Dumps, position: u64) -> (u64, Vec<u8>) {
        let Reply::Array(reply) = dumps.go_on(b"k", position).unwrap() else {
            panic!("no array");
        };
        match &reply[..] {
            [Reply::Integer(next), Reply::Bulk(piece)] => (*next as u64, piece.clone()),
            [Reply::Integer(0), Reply::Null] => (0, Vec::new()),
            other => panic!("{other:?}"),
        }
    }

    /// A reused number is never that of a dump in progress.
    #[test]
    fn each_dump_has_a_number_of_its_own() {
        let (dumps, filter) = (Dumps::new(None), filter());
        dumps.begin(b"k", &filter).unwrap();
        filter.insert(b"new", || false).unwrap();
        for _ in 0..=NUMBERS {
            let position = dumps.begin(b"k", &filter).unwrap();
            let (position, piece) = next(&dumps, position);
            let (header, clock) = (Header::of(&filter), Clock::Process);
            let copy = Filter::read_from(&piece[LENGTH_BYTES..], header, clock).unwrap();
            assert!(copy.contains(b"new"), "this is an earlier dump");
            assert_eq!(next(&dumps, position).0, 0);
        }
    }

    #[test]
    fn a_dump_is_of_one_key_and_ends() {
        let (dumps, filter) = (Dumps::new(None), filter());
        let refused = |key: &[u8], position: u64| {
            let refused = dumps.go_on(key, position);
            matches!(refused, Err(DumpError::Position))
        };
        let positions = [(); MAX_IN_PROGRESS + 1].map(|()| dumps.begin(b"k", &filter).unwrap());
        assert_eq!(dumps.in_progress().count, MAX_IN_PROGRESS);
        assert!(refused(b"k", positions[0]), "the oldest one yields");
        let [.., last] = positions;
        assert!(refused(b"l", last));
        assert!(refused(b"k", last + dumps.in_progress().bytes));
        dumps.end(last);
        assert!(refused(b"k", last));
        dumps.abandon(|key| key == b"l");
        dumps.expire(Duration::from_secs(3600));
        assert_eq!(dumps.in_progress().count, MAX_IN_PROGRESS - 1);
        dumps.abandon(|key| key == b"k");
        assert_eq!(dumps.in_progress(), InProgress { count: 0, bytes: 0 });
    }

    #[test]
    fn a_directory_that_is_not_there_is_an_error() {
        let dumps = Dumps::new(Some("/nonexistent".into()));
        let text = dumps.begin(b"k", &filter()).unwrap_err().to_string();
        let expected = "ERR the dump cannot be written to /nonexistent: ";
        assert!(text.starts_with(expected), "{text}");
    }
}
