//! The words of a mapped file. Growth commits the later words.

use crate::{locks::Origin, map::Map};
use guira::shared::Memory;
use nix::{
    errno::Errno,
    fcntl::{FallocateFlags, fallocate},
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
    let (start, len) = (8 * words.start as i64, 8 * words.len() as i64);
    loop {
        match fallocate(file, FallocateFlags::empty(), start, len) {
            Ok(()) => return Ok(()),
            // A signal has come, as is likely while a large file is allocated.
            Err(Errno::EINTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}
