//! The words of a mapped file. Growth commits the later words.

use crate::{locks::Origin, map::Map};
use guira::shared::Memory;
use nix::{
    errno::Errno,
    fcntl::{FallocateFlags, fallocate, posix_fallocate},
};
use std::{
    fs::File,
    io,
    ops::Range,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Instant,
};

/// The time after which a process asks again for memory that it did not get, in milliseconds. A file
/// system that is nearly full takes long to say no.
const PAUSE: u64 = 10;

/// A mapped file, whose holes get memory when a filter grows.
pub(crate) struct Sparse {
    map: Arc<Map>,
    /// Where the file is opened again.
    origin: Arc<Origin>,
    since: Instant,
    /// When there was no memory last, in milliseconds; 0 if there always was.
    refused: AtomicU64,
}

impl Sparse {
    pub(crate) fn new(map: Arc<Map>, origin: Arc<Origin>) -> Self {
        Self {
            map,
            origin,
            since: Instant::now(),
            refused: AtomicU64::new(0),
        }
    }
}

impl Memory for Sparse {
    fn words(&self) -> &[AtomicU64] {
        self.map.words()
    }

    fn commit(&self, words: Range<usize>) -> bool {
        let now = self.since.elapsed().as_millis() as u64 + 1;
        // Relaxed: two threads may both ask.
        let refused = self.refused.load(Ordering::Relaxed);
        if refused != 0 && now < refused + PAUSE {
            return false;
        }
        let has_memory = self
            .origin
            .open()
            .and_then(|file| allocate(&file, words))
            .is_ok();
        if !has_memory {
            self.refused.store(now, Ordering::Relaxed);
        }
        has_memory
    }
}

/// Allocates the pages of these words of a file, and leaves their values as they are.
///
/// This is the call of the kernel, and not `posix_fallocate`. Where a file system has no call for it, the C
/// library writes zeros, and other processes may have stored items there by then.
pub(crate) fn allocate(file: &File, words: Range<usize>) -> io::Result<()> {
    in_pieces(words, |start, len| {
        fallocate(file, FallocateFlags::empty(), start, len)
    })
}

/// Allocates the pages of a file that no other process knows, also where only the C library can.
pub(crate) fn allocate_new(file: &File, words: usize) -> io::Result<()> {
    in_pieces(0..words, |start, len| posix_fallocate(file, start, len))
}

/// The smallest piece that is allocated: a page.
const PIECE: i64 = 4096;

/// How often the smallest piece may be interrupted.
const MOST_INTERRUPTED: usize = 1000;

/// Calls `allocate` with the first byte and the length of pieces of the file that have these words.
///
/// A signal interrupts a call that allocates much, and tmpfs then frees what that has allocated. If signals
/// come regularly, the call never ends. So each call that is interrupted is followed by one for half of the
/// bytes.
fn in_pieces(
    words: Range<usize>,
    allocate: impl Fn(i64, i64) -> nix::Result<()>,
) -> io::Result<()> {
    let (mut start, end) = (8 * words.start as i64, 8 * words.end as i64);
    let (mut piece, mut interrupted) = (end - start, 0);
    while start < end {
        let len = piece.min(end - start);
        match allocate(start, len) {
            Ok(()) => (start, interrupted) = (start + len, 0),
            Err(Errno::EINTR) if interrupted < MOST_INTERRUPTED => {
                interrupted += usize::from(piece <= PIECE);
                piece = (len / 2).max(PIECE);
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::{Cell, RefCell};

    /// The bytes that are allocated if a call for more than `most` bytes is always interrupted.
    fn allocated(words: Range<usize>, most: i64) -> io::Result<Vec<Range<i64>>> {
        let pieces = RefCell::new(Vec::new());
        in_pieces(words, |start, len| {
            if len > most {
                return Err(Errno::EINTR);
            }
            pieces.borrow_mut().push(start..start + len);
            Ok(())
        })?;
        Ok(pieces.into_inner())
    }

    #[test]
    fn regular_signals_do_not_keep_a_file_from_its_memory() {
        for (words, most) in [(0..1 << 20, 1 << 16), (512..100_000, 5000), (0..512, 4096)] {
            let (mut next, end) = (8 * words.start as i64, 8 * words.end as i64);
            for piece in allocated(words, most).unwrap() {
                assert_eq!(piece.start, next);
                next = piece.end;
            }
            assert_eq!(next, end);
        }
        assert_eq!(allocated(0..1 << 20, i64::MAX).unwrap().len(), 1);
    }

    #[test]
    fn a_signal_before_each_page_is_no_error() {
        let pages = 2 * MOST_INTERRUPTED;
        let calls = Cell::new(0);
        let allocate = |_, len| {
            calls.set(calls.get() + 1);
            let is_interrupted = len > PIECE || calls.get() % 2 == 1;
            if is_interrupted {
                Err(Errno::EINTR)
            } else {
                Ok(())
            }
        };
        in_pieces(0..512 * pages, allocate).unwrap();
        assert!(calls.get() > 2 * MOST_INTERRUPTED);
    }

    /// A file system that is nearly full takes long to say no.
    #[test]
    fn memory_is_not_asked_for_again_at_once() {
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_len(8 * 4096).unwrap();
        let origin = Origin::of_path(file.path(), file.as_file()).unwrap();
        let map = Map::of_file(file.as_file(), 4096).unwrap();
        let sparse = Sparse::new(Arc::new(map), Arc::new(origin));
        assert!(sparse.commit(0..4096));
        // As if it had just been refused.
        sparse.refused.store(u64::MAX / 2, Ordering::Relaxed);
        assert!(!sparse.commit(0..4096));
    }

    #[test]
    fn signals_without_end_are_an_error() {
        let error = allocated(0..1 << 20, 0).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::Interrupted);
    }
}
