//! The files of filters: how they are created, and checked when they are opened.

use crate::{
    clock::Boottime,
    error::OpenError,
    header::{Header, MAX_PROCESSES, PAGE},
    map::Map,
    sparse::{allocate, allocate_new},
};
use guira::{
    Builder, CuckooFilter, Expiring, ExpiringFilter, Filter, Forever, Hashed, InsertError,
    Lifetime, SeededState, SnapshotError,
    shared::{Members, Memory, SharedClock, SharedPlace, SharedWords, Unshared},
};
use nix::{
    fcntl::{AT_FDCWD, AtFlags, FcntlArg, SealFlag, fcntl},
    libc,
    sys::{
        memfd::{MFdFlags, memfd_create},
        statfs::{FsType, fstatfs},
    },
    unistd::linkat,
};
use std::{
    fs::{self, File, OpenOptions},
    hash::BuildHasher,
    io,
    os::{
        fd::{AsRawFd, OwnedFd},
        unix::fs::OpenOptionsExt,
    },
    path::Path,
    sync::Arc,
};

/// The most holds of a stripe: one for each line.
const MOST_HOLDS: u64 = 511;

/// What is sealed: the length of a memfd, and the seals.
const SEALS: SealFlag = SealFlag::F_SEAL_SHRINK
    .union(SealFlag::F_SEAL_GROW)
    .union(SealFlag::F_SEAL_SEAL);

/// What a process does with a filter.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    Read,
    Write,
}

/// The words of the filter with this header, if its items have this lifetime.
pub(crate) fn words_of<T: Lifetime>(header: &[u8]) -> Result<SharedWords, OpenError> {
    let is_plain = || CuckooFilter::<SeededState>::shared_words(header).is_ok();
    let expires = || ExpiringFilter::<SeededState>::shared_words(header).is_ok();
    match Filter::<SeededState, T>::shared_words(header) {
        Ok(Ok(words)) => Ok(words),
        Ok(Err(Unshared::Counters)) => Err(OpenError::Counters),
        Ok(Err(Unshared::Grows)) => Err(OpenError::Grows),
        Err(SnapshotError::Magic) if expires() => Err(OpenError::Expires),
        Err(SnapshotError::Magic) if is_plain() => Err(OpenError::DoesNotExpire),
        Err(error) => Err(error.into()),
    }
}

/// How long items stay in a filter that is in a mapped file.
pub trait InFile: Lifetime + Sized {
    /// The filter in the file.
    fn filter<S: BuildHasher + 'static>(
        mapped: &Mapped,
        hasher: impl FnOnce(u64) -> S,
        place: SharedPlace,
    ) -> Result<Filter<S, Self>, OpenError>;

    /// Does what is left after this process has taken a seat.
    fn seated<S>(_filter: &Filter<S, Self>) {}

    /// [`Filter::contains`] of a hash, and so on: some kinds have a shorter way if processes share the filter.
    #[inline(always)]
    fn contains<S: BuildHasher + 'static>(filter: &Filter<S, Self>, hash: u64) -> bool {
        filter.contains(&Hashed(hash))
    }

    #[inline(always)]
    fn insert<S: BuildHasher + 'static>(
        filter: &Filter<S, Self>,
        hash: u64,
    ) -> Result<(), InsertError> {
        filter.insert(&Hashed(hash))
    }

    #[inline(always)]
    fn insert_unique<S: BuildHasher + 'static>(
        filter: &Filter<S, Self>,
        hash: u64,
    ) -> Result<bool, InsertError> {
        filter.insert_unique(&Hashed(hash))
    }

    #[inline(always)]
    fn remove<S: BuildHasher + 'static>(filter: &Filter<S, Self>, hash: u64) -> bool {
        filter.remove(&Hashed(hash))
    }
}

/// A mapped file whose header and length fit a filter.
#[expect(missing_debug_implementations, reason = "programs cannot name it")]
pub struct Mapped {
    pub(crate) map: Arc<Map>,
    pub(crate) header: Header,
    access: Access,
}

/// What the file of a new filter is to have.
pub(crate) struct New<S> {
    header: Header,
    /// The words that have memory from the start.
    first: usize,
    pub(crate) hasher: S,
}

/// The file of a new filter.
pub(crate) fn new_filter<S: BuildHasher + Clone + 'static, T: Lifetime>(
    builder: Builder<S, T>,
    members: usize,
) -> Result<New<S>, OpenError> {
    check_members(members)?;
    // Its pages are never touched, so it takes up no memory.
    like(&builder.build_by_hand().map_err(OpenError::Build)?, members)
}

/// The file of an empty filter like this one.
pub(crate) fn like<S: BuildHasher + Clone + 'static, T: Lifetime>(
    filter: &Filter<S, T>,
    members: usize,
) -> Result<New<S>, OpenError> {
    check_members(members)?;
    let (hasher, filter) = (filter.hasher().clone(), filter.header());
    let of_filter = words_of::<T>(&filter)?;
    Ok(New {
        header: Header {
            members,
            words: PAGE + of_filter.all,
            filter,
        },
        first: PAGE + of_filter.first,
        hasher,
    })
}

fn check_members(members: usize) -> Result<(), OpenError> {
    if !(1..=MAX_PROCESSES).contains(&members) {
        return Err(OpenError::TooManyProcesses {
            asked: members,
            max: MAX_PROCESSES,
        });
    }
    Ok(())
}

/// Creates the file of a filter. It gets its name when it is complete.
///
/// Before that it has none, so nothing stays if the process is killed. Only where a file system has no such
/// files, it has another name.
pub(crate) fn create<S>(path: &Path, new: &New<S>) -> Result<(), OpenError> {
    let directory = directory_of(path)?;
    create_by(without_name(directory), path, new)
}

/// [`create`] by this result of [`without_name`].
fn create_by<S>(unnamed: io::Result<File>, path: &Path, new: &New<S>) -> Result<(), OpenError> {
    match unnamed {
        Ok(file) => {
            fill(&file, new)?;
            give_name(&file, path).map_err(unless_it_exists)
        }
        Err(error) if has_no_such_files(&error) => create_with(path, new, |_| Ok(())),
        Err(error) => Err(error.into()),
    }
}

/// [`create`], with what `put` puts into the empty filter, which it opens under another name.
pub(crate) fn create_with<S>(
    path: &Path,
    new: &New<S>,
    put: impl FnOnce(&Path) -> Result<(), OpenError>,
) -> Result<(), OpenError> {
    let file = tempfile::NamedTempFile::new_in(directory_of(path)?)?;
    fill(file.as_file(), new)?;
    put(file.path())?;
    let named = file.persist_noclobber(path);
    named.map_err(|error| unless_it_exists(error.error))?;
    Ok(())
}

/// The directory of a file, whose file system is one for shared filters.
fn directory_of(path: &Path) -> Result<&Path, OpenError> {
    let directory = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let opened = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_PATH)
        .open(directory)?;
    check_file_system(&opened)?;
    Ok(directory)
}

fn unless_it_exists(error: io::Error) -> OpenError {
    match error.kind() {
        io::ErrorKind::AlreadyExists => OpenError::Exists,
        _ => OpenError::Io(error),
    }
}

/// Where the descriptors of this process have names.
const DESCRIPTORS: &str = "/proc/self/fd";

/// A file in the directory that has no name, and that only its owner can open.
fn without_name(directory: &Path) -> io::Result<File> {
    // Without this the file cannot get a name later.
    fs::metadata(DESCRIPTORS)?;
    OpenOptions::new()
        .read(true)
        .write(true)
        .mode(0o600)
        .custom_flags(libc::O_TMPFILE)
        .open(directory)
}

/// True if an error of [`without_name`] may mean that there are no such files here.
fn has_no_such_files(error: &io::Error) -> bool {
    const CODES: [i32; 4] = [libc::EOPNOTSUPP, libc::EISDIR, libc::EINVAL, libc::ENOENT];
    error
        .raw_os_error()
        .is_some_and(|code| CODES.contains(&code))
}

/// Gives a file without a name its name, unless another file has that.
fn give_name(file: &File, path: &Path) -> io::Result<()> {
    let opened = Path::new(DESCRIPTORS).join(file.as_raw_fd().to_string());
    let follow = AtFlags::AT_SYMLINK_FOLLOW;
    Ok(linkat(AT_FDCWD, &opened, AT_FDCWD, path, follow)?)
}

/// Creates a file that has no name, and whose length cannot change.
pub(crate) fn create_memfd<S>(new: &New<S>) -> Result<File, OpenError> {
    let flags = MFdFlags::MFD_CLOEXEC | MFdFlags::MFD_ALLOW_SEALING;
    let file = File::from(memfd_create(c"guira", flags).map_err(io::Error::from)?);
    fill(&file, new)?;
    fcntl(&file, FcntlArg::F_ADD_SEALS(SEALS)).map_err(io::Error::from)?;
    Ok(file)
}

/// Gives a new file its length, allocates it as far as an empty filter needs it, and makes that one.
fn fill<S>(file: &File, new: &New<S>) -> Result<(), OpenError> {
    let New { header, first, .. } = new;
    file.set_len(header.words as u64 * 8)?;
    // Reports a full tmpfs as an error here, instead of SIGBUS later.
    if *first < header.words {
        // An error here, if growth would be impossible.
        allocate(file, 0..*first)?;
    } else {
        allocate_new(file, header.words)?;
    }
    let map = Map::of_file(file, *first)?;
    header.write(map.words());
    Ok(())
}

/// Opens a file by its path.
pub(crate) fn open(path: &Path, access: Access) -> Result<File, OpenError> {
    let file = OpenOptions::new()
        .read(true)
        .write(access == Access::Write)
        .open(path)?;
    check_file_system(&file)?;
    Ok(file)
}

/// The file of a descriptor, if its length cannot change.
pub(crate) fn sealed(descriptor: OwnedFd) -> Result<File, OpenError> {
    // Files of most file systems have no seals, which is an error here.
    let seals = fcntl(&descriptor, FcntlArg::F_GET_SEALS).unwrap_or(0);
    if !SealFlag::from_bits_retain(seals).contains(SealFlag::F_SEAL_SHRINK) {
        return Err(OpenError::NotSealed);
    }
    Ok(File::from(descriptor))
}

impl Mapped {
    /// Maps a file, and checks its header and its length.
    pub(crate) fn new<T: Lifetime>(file: &File, access: Access) -> Result<Self, OpenError> {
        let bytes = file.metadata()?.len();
        if bytes < 8 * PAGE as u64 || !bytes.is_multiple_of(8) {
            return Err(OpenError::NotAFilter);
        }
        let words = usize::try_from(bytes / 8).map_err(|_| OpenError::NotAFilter)?;
        let map = match access {
            Access::Read => Map::of_file_read_only(file, words)?,
            Access::Write => Map::of_file(file, words)?,
        };
        let header = Header::read(map.words())?;
        let of_filter = words_of::<T>(&header.filter)?.all;
        if words - PAGE != of_filter {
            return Err(OpenError::Length {
                found: bytes,
                expected: 8 * (PAGE + of_filter) as u64,
            });
        }
        let map = Arc::new(map);
        Ok(Self {
            map,
            header,
            access,
        })
    }

    /// Where the filter is. `memory` is that of the file, and `own` belongs to this process only.
    pub(crate) fn place(
        &self,
        members: Arc<dyn Members>,
        memory: Arc<dyn Memory>,
        own: Arc<dyn Memory>,
    ) -> SharedPlace {
        SharedPlace {
            memory,
            start: PAGE,
            most_members: self.header.members,
            members,
            own,
        }
    }
}

impl InFile for Forever {
    fn filter<S: BuildHasher + 'static>(
        mapped: &Mapped,
        hasher: impl FnOnce(u64) -> S,
        place: SharedPlace,
    ) -> Result<CuckooFilter<S>, OpenError> {
        let filter = CuckooFilter::shared(&mapped.header.filter, hasher, place)?;
        let filter = filter.ok_or(OpenError::Counters)?;
        check_holds(filter.most_holds())?;
        if let Some([complete, in_use]) = filter.wrong_progress() {
            return Err(OpenError::Control {
                what: "number of doublings that have begun, or ended",
                found: complete.max(in_use),
            });
        }
        Ok(filter)
    }

    #[inline(always)]
    fn contains<S: BuildHasher + 'static>(filter: &CuckooFilter<S>, hash: u64) -> bool {
        filter.contains_shared(hash)
    }

    #[inline(always)]
    fn insert<S: BuildHasher + 'static>(
        filter: &CuckooFilter<S>,
        hash: u64,
    ) -> Result<(), InsertError> {
        filter.insert_shared(hash)
    }

    #[inline(always)]
    fn insert_unique<S: BuildHasher + 'static>(
        filter: &CuckooFilter<S>,
        hash: u64,
    ) -> Result<bool, InsertError> {
        filter.insert_unique_shared(hash)
    }

    #[inline(always)]
    fn remove<S: BuildHasher + 'static>(filter: &CuckooFilter<S>, hash: u64) -> bool {
        filter.remove_shared(hash)
    }
}

impl InFile for Expiring {
    fn filter<S: BuildHasher + 'static>(
        mapped: &Mapped,
        hasher: impl FnOnce(u64) -> S,
        place: SharedPlace,
    ) -> Result<ExpiringFilter<S>, OpenError> {
        let boottime = Boottime::new()?;
        let clock = SharedClock {
            boot: boottime.boot(),
            read: move || boottime.read(),
            may_write: mapped.access == Access::Write,
        };
        let filter = ExpiringFilter::shared(&mapped.header.filter, hasher, place, clock)?;
        let filter = filter.ok_or(OpenError::Grows)?;
        check_holds(filter.most_holds())?;
        if let Some(found) = filter.wrong_time() {
            return Err(OpenError::Control {
                what: "number of an epoch",
                found,
            });
        }
        Ok(filter)
    }

    fn seated<S>(filter: &ExpiringFilter<S>) {
        filter.note_epoch();
    }
}

fn check_holds(most: u64) -> Result<(), OpenError> {
    if most > MOST_HOLDS {
        return Err(OpenError::Control {
            what: "number of holds of a stripe",
            found: most,
        });
    }
    Ok(())
}

fn check_file_system(file: &File) -> Result<(), OpenError> {
    const REFUSED: [(FsType, &str); 5] = [
        (FsType(0x6969), "NFS"),
        (FsType(0x517b), "SMB"),
        (FsType(0xff53_4d42), "CIFS"),
        (FsType(0x6573_5546), "FUSE"),
        (FsType(0x0102_1997), "9P"),
    ];
    let found = fstatfs(file).map_err(io::Error::from)?.filesystem_type();
    match REFUSED.iter().find(|(refused, _)| *refused == found) {
        Some((_, name)) => Err(OpenError::FileSystem { name }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The file of a filter for 100 items.
    fn new() -> New<SeededState> {
        new_filter(CuckooFilter::builder().capacity(100).seed(1), 3).unwrap()
    }

    /// Not every file system has files without a name.
    #[test]
    fn a_file_is_created_where_each_has_a_name() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("filter");
        let none = |code| create_by(Err(io::Error::from_raw_os_error(code)), &path, &new());
        assert!(matches!(none(libc::ENOSPC), Err(OpenError::Io(_))));
        assert!(!path.exists());
        none(libc::EOPNOTSUPP).unwrap();
        assert!(matches!(none(libc::EOPNOTSUPP), Err(OpenError::Exists)));
        let file = open(&path, Access::Write).unwrap();
        let mapped = Mapped::new::<Forever>(&file, Access::Write).unwrap();
        assert!(mapped.header == new().header);
        assert_eq!(fs::read_dir(&directory).unwrap().count(), 1);
    }

    /// The length is that of the filter, and not only the one in the header.
    #[test]
    fn a_file_of_another_length_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("filter");
        for more in [-8, 0, 8] {
            let mut new = new();
            new.header.words = new.header.words.checked_add_signed(more).unwrap();
            let file = File::create_new(&path).unwrap();
            file.set_len(8 * new.header.words as u64).unwrap();
            let file = open(&path, Access::Write).unwrap();
            new.header.write(Map::of_file(&file, PAGE).unwrap().words());
            let mapped = Mapped::new::<Forever>(&file, Access::Write);
            let is_refused = matches!(
                mapped,
                Err(OpenError::Length { found, expected })
                    if found as i64 - expected as i64 == 8 * more as i64
            );
            assert_eq!((is_refused, mapped.is_ok()), (more != 0, more == 0));
            fs::remove_file(&path).unwrap();
        }
    }

    /// Each line can have one hold of a stripe.
    #[test]
    fn too_many_holds_are_refused() {
        assert!(check_holds(MOST_HOLDS).is_ok());
        assert!(matches!(
            check_holds(MOST_HOLDS + 1),
            Err(OpenError::Control {
                what: "number of holds of a stripe",
                found: 512
            })
        ));
    }
}
