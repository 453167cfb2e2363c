//! Which seats are taken by processes that live: a lock of the kernel for each.
//!
//! A process that has a seat has locked a byte of the file, far behind its end. The lock belongs to an
//! open file description. Nothing keeps that open but the mapping of one page, which a child does not
//! inherit; its descriptor is closed at once. So the lock ends when the memory of the process does:
//!
//! | event | the lock |
//! |---|---|
//! | `kill -9`, exit, exec | ends |
//! | fork, and the parent dies | ends: the child has no part in it |
//! | a daemon closes all descriptors | stays |
//! | any other file descriptor of the file is closed | stays |

use memmap2::{Advice, MmapOptions, MmapRaw};
use nix::{
    errno::Errno,
    fcntl::{FcntlArg, fcntl},
    libc,
};
use std::{
    fs::{File, OpenOptions},
    io,
    os::{
        fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd},
        unix::fs::MetadataExt,
    },
    path::{Path, PathBuf},
};

/// Where the locked bytes are: behind all data.
const FIRST: i64 = 1 << 62;

/// Where the file of a filter is opened again.
///
/// It is opened again for each use, because other code of the process may close any descriptor. A lock
/// also belongs to the description that one opening has made.
#[derive(Debug)]
pub(crate) struct Origin {
    place: Place,
    /// The device and the number of the file there.
    identity: (u64, u64),
}

#[derive(Debug)]
enum Place {
    Path(PathBuf),
    /// A file without a name, which this descriptor keeps.
    Descriptor(OwnedFd),
}

impl Origin {
    /// The file that was opened by this path.
    pub(crate) fn of_path(path: &Path, file: &File) -> io::Result<Self> {
        Ok(Self {
            place: Place::Path(path.canonicalize()?),
            identity: identity(file)?,
        })
    }

    /// A file that has no path.
    pub(crate) fn of_descriptor(file: File) -> io::Result<Self> {
        Ok(Self {
            identity: identity(&file)?,
            place: Place::Descriptor(file.into()),
        })
    }

    /// The device and the number of the file there.
    pub(crate) fn identity(&self) -> (u64, u64) {
        self.identity
    }

    /// The descriptor of a file that has no path.
    pub(crate) fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        match &self.place {
            Place::Path(_) => None,
            Place::Descriptor(descriptor) => Some(descriptor.as_fd()),
        }
    }

    /// An open file description of its own.
    pub(crate) fn open(&self) -> io::Result<File> {
        let path = match &self.place {
            Place::Path(path) => path,
            // A child has the descriptor as well, under the same number.
            Place::Descriptor(descriptor) => {
                &PathBuf::from(format!("/proc/self/fd/{}", descriptor.as_raw_fd()))
            }
        };
        let file = OpenOptions::new().read(true).write(true).open(path)?;
        if identity(&file)? != self.identity {
            let text = format!("{} is another file by now", path.display());
            return Err(io::Error::new(io::ErrorKind::NotFound, text));
        }
        Ok(file)
    }
}

fn identity(file: &File) -> io::Result<(u64, u64)> {
    let metadata = file.metadata()?;
    Ok((metadata.dev(), metadata.ino()))
}

/// The byte of a seat.
fn byte(kind: libc::c_int, seat: usize) -> libc::flock {
    libc::flock {
        l_type: kind as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: FIRST + seat as i64,
        l_len: 1,
        l_pid: 0,
    }
}

/// Locks the byte of a seat, as long as the description is open; false if another one has it.
pub(crate) fn try_lock(file: &File, seat: usize) -> io::Result<bool> {
    let byte = byte(libc::F_WRLCK, seat);
    match fcntl(file, FcntlArg::F_OFD_SETLK(&byte)) {
        Ok(_) => Ok(true),
        Err(Errno::EAGAIN | Errno::EACCES) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Unlocks the byte of a seat, if this description has locked it.
pub(crate) fn unlock(file: &File, seat: usize) -> io::Result<()> {
    fcntl(file, FcntlArg::F_OFD_SETLK(&byte(libc::F_UNLCK, seat)))?;
    Ok(())
}

/// True if a description other than `file` has locked the byte of a seat.
pub(crate) fn is_locked(file: &File, seat: usize) -> io::Result<bool> {
    let mut byte = byte(libc::F_WRLCK, seat);
    fcntl(file, FcntlArg::F_OFD_GETLK(&mut byte))?;
    Ok(libc::c_int::from(byte.l_type) != libc::F_UNLCK)
}

/// A lock that lasts as long as the memory of this process, or until it is dropped.
///
/// A child of the process has no such page, so a copy of this in a child must not be dropped.
pub(crate) struct Lock {
    _page: MmapRaw,
}

impl Lock {
    /// Keeps the lock of this description, whose descriptor is closed.
    pub(crate) fn keep(file: File) -> io::Result<Self> {
        let page = MmapOptions::new().len(1).map_raw_read_only(&file)?;
        page.advise(Advice::DontFork)?;
        Ok(Self { _page: page })
    }
}
