//! Which seats are taken by processes that live: two locks of the kernel for each.
//!
//! | lock of a seat | who has it |
//! |---|---|
//! | its life | only the process that has the seat |
//! | its claim | a process that takes the seat, or repairs it, for the time of that |
//!
//! So whether a process lives never depends on who looks at its seat.
//!
//! A lock is on a byte of the file, far behind its end, and belongs to an open file description. Nothing
//! keeps that of a life open but the mapping of one page, which a child does not inherit; its descriptor is
//! closed at once. So a life ends when the memory of the process does:
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

/// A lock of a seat.
#[derive(Clone, Copy)]
pub(crate) enum Byte {
    /// Lasts as long as the process that has the seat.
    Life,
    /// Lasts as long as a process takes or repairs the seat.
    Claim,
}

/// Where the file of a filter is opened again.
///
/// It is opened again for each use, because other code of the process may close any descriptor. A lock
/// also belongs to the description that one opening has made.
#[derive(Debug)]
pub(crate) struct Origin {
    place: Place,
    /// The device and the number of the file there.
    identity: [u64; 2],
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

    /// The descriptor of a file that has no path.
    pub(crate) fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        match &self.place {
            Place::Path(_) => None,
            Place::Descriptor(descriptor) => Some(descriptor.as_fd()),
        }
    }

    /// The device and the number of the file there.
    pub(crate) fn identity(&self) -> [u64; 2] {
        self.identity
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

fn identity(file: &File) -> io::Result<[u64; 2]> {
    let metadata = file.metadata()?;
    Ok([metadata.dev(), metadata.ino()])
}

/// The byte of a seat, for the kernel.
fn range(kind: libc::c_int, byte: Byte, seat: usize) -> libc::flock {
    libc::flock {
        l_type: kind as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: FIRST + 2 * seat as i64 + byte as i64,
        l_len: 1,
        l_pid: 0,
    }
}

/// Locks a byte of a seat, as long as the description is open; false if another one has it.
pub(crate) fn try_lock(file: &File, byte: Byte, seat: usize) -> io::Result<bool> {
    let range = range(libc::F_WRLCK, byte, seat);
    match fcntl(file, FcntlArg::F_OFD_SETLK(&range)) {
        Ok(_) => Ok(true),
        Err(Errno::EAGAIN | Errno::EACCES) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// True if a description other than `file` has locked this byte of a seat.
pub(crate) fn is_locked(file: &File, byte: Byte, seat: usize) -> io::Result<bool> {
    let mut range = range(libc::F_WRLCK, byte, seat);
    fcntl(file, FcntlArg::F_OFD_GETLK(&mut range))?;
    Ok(libc::c_int::from(range.l_type) != libc::F_UNLCK)
}

/// The claim of a seat, until this is dropped: no other process takes or repairs the seat.
pub(crate) struct Claim<'a> {
    file: &'a File,
    seat: usize,
}

impl<'a> Claim<'a> {
    /// Claims the seat; `None` if another process does.
    pub(crate) fn of(file: &'a File, seat: usize) -> io::Result<Option<Self>> {
        let is_claimed = try_lock(file, Byte::Claim, seat)?;
        Ok(is_claimed.then_some(Self { file, seat }))
    }

    /// The description that has it.
    pub(crate) fn file(&self) -> &File {
        self.file
    }
}

impl Drop for Claim<'_> {
    /// It is unlocked, because a child that another thread has forked may keep the description.
    fn drop(&mut self) {
        let range = range(libc::F_UNLCK, Byte::Claim, self.seat);
        // Without this the claim ends with the description.
        let _ = fcntl(self.file, FcntlArg::F_OFD_SETLK(&range));
    }
}

/// A lock that lasts as long as the memory of this process, or until it is dropped.
///
/// A child of the process has no such page, so a copy of this in a child must not be dropped.
pub(crate) struct Lock {
    _page: MmapRaw,
}

impl Lock {
    /// Keeps the locks of this description, whose descriptor may be closed.
    pub(crate) fn keep(file: &File) -> io::Result<Self> {
        let page = MmapOptions::new().len(1).map_raw_read_only(file)?;
        page.advise(Advice::DontFork)?;
        Ok(Self { _page: page })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{fs, os::unix::fs::symlink};

    /// A link may lead elsewhere by the time that a process needs its file again.
    #[test]
    fn a_file_is_found_again_when_a_link_to_it_has_changed() {
        let directory = tempfile::tempdir().unwrap();
        let [one, other, link] = ["one", "other", "link"].map(|name| directory.path().join(name));
        for file in [&one, &other] {
            fs::write(file, "").unwrap();
        }
        symlink(&one, &link).unwrap();
        let origin = Origin::of_path(&link, &File::open(&link).unwrap()).unwrap();
        fs::remove_file(&link).unwrap();
        symlink(&other, &link).unwrap();
        let found = identity(&origin.open().unwrap()).unwrap();
        assert_eq!(found, origin.identity());
    }

    /// A child of another thread may keep the description that has made a claim.
    #[test]
    fn a_claim_ends_before_its_description() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let other = file.reopen().unwrap();
        let claim = Claim::of(file.as_file(), 3).unwrap();
        assert!(claim.is_some());
        assert!(Claim::of(&other, 3).unwrap().is_none());
        assert!(is_locked(&other, Byte::Claim, 3).unwrap());
        for (byte, seat) in [
            (Byte::Life, 3),
            (Byte::Life, 4),
            (Byte::Claim, 2),
            (Byte::Claim, 4),
        ] {
            assert!(!is_locked(&other, byte, seat).unwrap());
        }
        drop(claim);
        assert!(Claim::of(&other, 3).unwrap().is_some());
    }
}
