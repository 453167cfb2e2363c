//! Bytes in a file without a name, which are written once and read in pieces.

use std::{fs::File, io, os::unix::fs::FileExt, path::Path};

/// The bytes, until they are dropped.
#[derive(Debug)]
pub struct Spool {
    file: File,
    length: u64,
}

impl Spool {
    /// What `write` writes to a new file in `directory`.
    ///
    /// # Errors
    ///
    /// The errors of `write` and of the file system.
    pub fn new(directory: &Path, write: impl FnOnce(&File) -> io::Result<()>) -> io::Result<Self> {
        let file = tempfile::tempfile_in(directory)?;
        write(&file)?;
        let length = file.metadata()?.len();
        Ok(Self { file, length })
    }

    /// The number of bytes.
    #[must_use]
    pub fn length(&self) -> u64 {
        self.length
    }

    /// The bytes from `offset` on, at most `most`. At the end there are none.
    ///
    /// # Errors
    ///
    /// The errors of the file system. It is also an error if there is no memory for the bytes.
    pub fn piece(&self, offset: u64, most: u64) -> io::Result<Vec<u8>> {
        let count = self.length.saturating_sub(offset).min(most) as usize;
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(count)?;
        bytes.resize(count, 0);
        self.file.read_exact_at(&mut bytes, offset)?;
        Ok(bytes)
    }
}
