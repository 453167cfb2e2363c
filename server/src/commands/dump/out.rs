//! `CF.SCANDUMP`: snapshots that clients read, each in a file without a name.

use super::{LENGTH_BYTES, UNDER_WAY, UnderWay, lock, offset_of, piece, position_of};
use crate::{commands::Reply, filter::Filter, keyspace::Keyspace};
use std::{
    collections::VecDeque,
    env,
    fs::File,
    io::{self, BufWriter, Write},
    os::unix::fs::FileExt,
    path::PathBuf,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};
use tracing::warn;

/// Bytes of a piece.
const PIECE: u64 = 1 << 20;

/// Bytes that are written at a time.
const BUFFER: usize = 1 << 18;

/// Numbers of dumps, which come round again.
const NUMBERS: u64 = (1 << (53 - super::OFFSET_BITS)) - 1;

/// Dumps that clients are reading.
#[derive(Debug)]
pub struct Dumps {
    /// Where their files are.
    directory: PathBuf,
    inner: Mutex<Inner>,
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
    file: Arc<File>,
    length: u64,
    /// When its client last asked for a piece.
    touched: Instant,
}

impl Dumps {
    /// No dumps; their files are to be in `directory`, or else where the system has temporary ones.
    #[must_use]
    pub fn new(directory: Option<PathBuf>) -> Self {
        Self {
            directory: directory.unwrap_or_else(env::temp_dir),
            inner: Mutex::default(),
        }
    }

    pub(super) fn begin(&self, keyspace: &Keyspace, key: &[u8], filter: &Arc<Filter>) -> Reply {
        let written = loop {
            match self.write(filter) {
                // What others may still be reading yields to a dump that begins.
                Err(error) if error.kind() == io::ErrorKind::StorageFull && self.drop_oldest() => {}
                written => break written,
            }
        };
        let (file, length) = match written {
            Ok(written) => written,
            Err(error) => {
                let directory = self.directory.display().to_string();
                warn!(directory, %error, "a dump was not written");
                let text = format!("ERR the dump cannot be written to {directory}: {error}");
                return Reply::Error(text.into());
            }
        };
        let number = {
            let mut inner = lock(&self.inner);
            let number = inner.next_number();
            inner.dumps.push_back(Dump {
                number,
                key: key.into(),
                file: Arc::new(file),
                length,
                touched: Instant::now(),
            });
            number
        };
        while lock(&self.inner).dumps.len() > UNDER_WAY {
            self.drop_oldest();
        }
        let is_still_there = |now: &Arc<Filter>| Arc::ptr_eq(now, filter);
        if keyspace.with(key, is_still_there) != Some(true) {
            // It was deleted meanwhile, perhaps before the dump was there to be ended.
            self.end(|dump| dump.number == number);
            return Reply::error("ERR not found");
        }
        self.go_on(key, position_of(number, 0))
    }

    /// The snapshot with its length before it, and the bytes of both.
    fn write(&self, filter: &Filter) -> io::Result<(File, u64)> {
        let file = tempfile::tempfile_in(&self.directory)?;
        let mut out = BufWriter::with_capacity(BUFFER, &file);
        out.write_all(&[0; LENGTH_BYTES])?;
        filter.write_to(&mut out)?;
        out.into_inner()?;
        let length = file.metadata()?.len();
        let of_snapshot = length - LENGTH_BYTES as u64;
        file.write_all_at(&of_snapshot.to_le_bytes(), 0)?;
        Ok((file, length))
    }

    pub(super) fn go_on(&self, key: &[u8], position: u64) -> Reply {
        let (number, offset) = offset_of(position);
        let (file, length) = {
            let mut inner = lock(&self.inner);
            let found = |dump: &Dump| dump.number == number && *dump.key == *key;
            let Some(index) = inner.dumps.iter().position(found) else {
                return Reply::error("Invalid position");
            };
            let dump = &mut inner.dumps[index];
            if offset > dump.length {
                return Reply::error("Invalid position");
            }
            if offset == dump.length {
                inner.dumps.remove(index);
                return Reply::Array(vec![Reply::Integer(0), Reply::Null]);
            }
            dump.touched = Instant::now();
            (dump.file.clone(), dump.length)
        };
        let end = length.min(offset + PIECE);
        match read(&file, offset, (end - offset) as usize) {
            Ok(bytes) => piece(position_of(number, end), bytes),
            Err(error) => {
                warn!(%error, "a dump was not read");
                Reply::Error(format!("ERR the dump cannot be read: {error}").into())
            }
        }
    }

    /// Ends the dumps of these keys.
    pub(in crate::commands) fn abandon(&self, which: impl Fn(&[u8]) -> bool) {
        self.end(|dump| which(&dump.key));
    }

    /// Ends the dumps of which nobody has asked for a piece for `idle`.
    pub(in crate::commands) fn expire(&self, idle: Duration) {
        self.end(|dump| dump.touched.elapsed() >= idle);
    }

    /// What is under way; the bytes are in files.
    #[must_use]
    pub fn under_way(&self) -> UnderWay {
        let inner = lock(&self.inner);
        UnderWay {
            count: inner.dumps.len(),
            bytes: inner.dumps.iter().map(|dump| dump.length).sum(),
        }
    }

    fn end(&self, which: impl Fn(&Dump) -> bool) {
        lock(&self.inner).dumps.retain(|dump| !which(dump));
    }

    fn drop_oldest(&self) -> bool {
        lock(&self.inner).dumps.pop_front().is_some()
    }
}

fn read(file: &File, offset: u64, count: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(count)?;
    bytes.resize(count, 0);
    file.read_exact_at(&mut bytes, offset)?;
    Ok(bytes)
}

impl Inner {
    /// A number that no dump under way has: they come round again.
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
    use crate::commands::dump::tests::{dump, with_a_key};
    use guira::CuckooFilter;

    /// Numbers come round again: not that of a dump which is left standing.
    #[test]
    fn each_dump_has_a_number_of_its_own() {
        let (store, _) = with_a_key();
        dump(&store, 1);
        let filter = store.keyspace.get(b"k").unwrap();
        filter.cuckoo.insert(b"new").unwrap();
        for _ in 0..=NUMBERS {
            let (next, piece) = dump(&store, 1);
            let copy = CuckooFilter::from_bytes(&piece[LENGTH_BYTES..]).unwrap();
            assert!(copy.contains(b"new"), "this is an earlier dump");
            assert_eq!(dump(&store, next).0, 0);
        }
    }

    #[test]
    fn a_directory_that_is_not_there_is_an_error() {
        let (store, _) = with_a_key();
        let dumps = Dumps::new(Some("/nonexistent".into()));
        let filter = store.keyspace.get(b"k").unwrap();
        let Reply::Error(text) = dumps.begin(&store.keyspace, b"k", &filter) else {
            panic!("a dump to nowhere");
        };
        assert!(text.starts_with("ERR the dump cannot be written to /nonexistent: "));
    }
}
