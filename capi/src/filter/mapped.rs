//! A filter in a file that processes share.

use crate::{
    batch::Undecided,
    status::{Failure, Status},
};
use guira::{Builder, InsertError, SeededState, Stats};
use guira_shm::{AttachError, NotAlone, OpenError, Participants, Repaired, SharedFilter};
use std::{
    fs,
    hash::{BuildHasher, Hash, Hasher},
    io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

/// Hashed items that are handed on at a time.
const AT_ONCE: usize = 512;

/// The hash of an item. [`Given`] takes it as it is.
#[derive(Clone, Copy)]
struct Hashed(u64);

impl Hash for Hashed {
    #[inline(always)]
    fn hash<H: Hasher>(&self, state: &mut H) {
        // Nothing else that is hashed here calls this method.
        state.write_isize(self.0 as isize);
    }
}

/// Hashes like [`SeededState`], whose files it opens, except that an item may be [`Hashed`].
#[derive(Clone)]
struct Given(SeededState);

struct GivenHasher {
    seeded: <SeededState as BuildHasher>::Hasher,
    given: Option<u64>,
}

impl BuildHasher for Given {
    type Hasher = GivenHasher;

    #[inline(always)]
    fn build_hasher(&self) -> GivenHasher {
        GivenHasher {
            seeded: self.0.build_hasher(),
            given: None,
        }
    }
}

impl Hasher for GivenHasher {
    #[inline(always)]
    fn write(&mut self, bytes: &[u8]) {
        self.seeded.write(bytes);
    }

    #[inline(always)]
    fn write_u8(&mut self, value: u8) {
        self.seeded.write_u8(value);
    }

    #[inline(always)]
    fn write_u64(&mut self, value: u64) {
        self.seeded.write_u64(value);
    }

    #[inline(always)]
    fn write_isize(&mut self, hash: isize) {
        self.given = Some(hash as u64);
    }

    #[inline(always)]
    fn finish(&self) -> u64 {
        self.given.unwrap_or_else(|| self.seeded.finish())
    }
}

/// A filter in a file.
pub(crate) struct Mapped {
    filter: SharedFilter<Given>,
    path: PathBuf,
    /// The device and the number of the file.
    identity: (u64, u64),
}

/// The filter as its snapshot sees it, in a mapping and a seat of its own: the snapshot has the seed
/// of a [`SeededState`], which `filter` does not have.
pub(crate) struct Snapshot(SharedFilter);

impl Snapshot {
    pub(crate) fn write_to(&self, writer: impl io::Write) -> io::Result<()> {
        self.0.write_to(writer)
    }
}

fn identity(path: &Path) -> io::Result<(u64, u64)> {
    let file = fs::metadata(path)?;
    Ok((file.dev(), file.ino()))
}

fn of_path(path: &Path, error: OpenError) -> Failure {
    Failure::from(error).about(path.display())
}

impl Mapped {
    /// # Safety
    ///
    /// As [`SharedFilter::create_for`].
    #[allow(unsafe_code)]
    pub(crate) unsafe fn create(
        path: &Path,
        builder: Builder<SeededState>,
        max_processes: usize,
    ) -> Result<Self, Failure> {
        // SAFETY: the caller promises it.
        let created = unsafe { SharedFilter::create_for(path, builder, max_processes) };
        drop(created.map_err(|error| of_path(path, error))?);
        // SAFETY: the caller promises it.
        unsafe { Self::open(path) }
    }

    /// # Safety
    ///
    /// As [`SharedFilter::open`].
    #[allow(unsafe_code)]
    pub(crate) unsafe fn open(path: &Path) -> Result<Self, Failure> {
        let opened = || {
            let path = path.canonicalize()?;
            let identity = identity(&path)?;
            // This mapping gives its seat back at once: there may be only one.
            // SAFETY: the caller promises it.
            let hasher = Given(unsafe { SharedFilter::open(&path) }?.hasher().clone());
            // SAFETY: the caller promises it.
            let filter = unsafe { SharedFilter::open_with_hasher(&path, hasher) }?;
            Ok(Self {
                filter,
                path,
                identity,
            })
        };
        let opened = opened().map_err(|error| of_path(path, error))?;
        opened.is_still_there()?;
        Ok(opened)
    }

    /// Neither the check nor what it guards is atomic, but the mapping keeps the number of the file
    /// from being used again.
    fn is_still_there(&self) -> Result<(), Failure> {
        match identity(&self.path) {
            Ok(found) if found == self.identity => Ok(()),
            Ok(_) => Err(Failure::new(
                Status::Missing,
                format_args!("another file has replaced {}", self.path.display()),
            )),
            Err(error) => Err(of_path(&self.path, error.into())),
        }
    }

    /// Ready to be written.
    #[allow(unsafe_code)]
    pub(crate) fn snapshot(&self) -> Result<Snapshot, Failure> {
        self.is_still_there()?;
        // SAFETY: the same file is open already, with the promises that this needs.
        let seeded = unsafe { SharedFilter::open(&self.path) };
        let seeded = seeded.map_err(|error| of_path(&self.path, error))?;
        self.is_still_there()?;
        seeded.attach()?;
        Ok(Snapshot(seeded))
    }

    #[inline(always)]
    pub(crate) fn hasher(&self) -> &SeededState {
        &self.filter.hasher().0
    }

    pub(crate) fn insert_hash(&self, hash: u64) -> Result<(), InsertError> {
        self.filter.insert(&Hashed(hash))
    }

    pub(crate) fn insert_unique_hash(&self, hash: u64) -> Result<bool, InsertError> {
        self.filter.insert_unique(&Hashed(hash))
    }

    pub(crate) fn contains_hash(&self, hash: u64) -> bool {
        self.filter.contains(&Hashed(hash))
    }

    pub(crate) fn remove_hash(&self, hash: u64) -> bool {
        self.filter.remove(&Hashed(hash))
    }

    pub(crate) fn count_hash(&self, hash: u64) -> usize {
        self.filter.count(&Hashed(hash))
    }

    pub(crate) fn insert_hash_batch(&self, hashes: &[u64]) -> Result<(), Undecided> {
        let mut items = [Hashed(0); AT_ONCE];
        for (part, hashes) in hashes.chunks(AT_ONCE).enumerate() {
            let items = copied(hashes, &mut items);
            self.filter.insert_batch(items).map_err(|error| Undecided {
                index: part * AT_ONCE + error.index,
                error: error.error,
            })?;
        }
        Ok(())
    }

    pub(crate) fn insert_unique_hash_batch(
        &self,
        hashes: &[u64],
        results: &mut [bool],
    ) -> Result<(), Undecided> {
        for (index, (&hash, added)) in hashes.iter().zip(results).enumerate() {
            *added = self
                .insert_unique_hash(hash)
                .map_err(|error| Undecided { index, error })?;
        }
        Ok(())
    }

    pub(crate) fn contains_hash_batch(&self, hashes: &[u64], results: &mut [bool]) {
        let mut items = [Hashed(0); AT_ONCE];
        for (hashes, results) in hashes.chunks(AT_ONCE).zip(results.chunks_mut(AT_ONCE)) {
            self.filter
                .contains_batch(copied(hashes, &mut items), results);
        }
    }

    pub(crate) fn remove_hash_batch(&self, hashes: &[u64], results: &mut [bool]) {
        for (&hash, removed) in hashes.iter().zip(results) {
            *removed = self.remove_hash(hash);
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.filter.len()
    }

    pub(crate) fn capacity(&self) -> usize {
        self.filter.capacity()
    }

    pub(crate) fn stats(&self) -> Stats {
        self.filter.stats()
    }

    pub(crate) fn clear(&self) -> Result<(), Failure> {
        Ok(self.filter.clear()?)
    }

    pub(crate) fn attach(&self) -> Result<(), Failure> {
        Ok(self.filter.attach()?)
    }

    pub(crate) fn repair(&self) -> Repaired {
        self.filter.repair()
    }

    pub(crate) fn participants(&self) -> Participants {
        self.filter.participants()
    }

    pub(crate) fn recount(&mut self) -> Result<usize, Failure> {
        Ok(self.filter.recount()?)
    }
}

fn copied<'a>(hashes: &[u64], items: &'a mut [Hashed; AT_ONCE]) -> &'a [Hashed] {
    let items = &mut items[..hashes.len()];
    for (item, &hash) in items.iter_mut().zip(hashes) {
        *item = Hashed(hash);
    }
    items
}

/// An error of a file.
fn of_file(error: &io::Error, text: impl std::fmt::Display) -> Failure {
    use io::ErrorKind;
    let status = match error.kind() {
        ErrorKind::NotFound => Status::Missing,
        ErrorKind::StorageFull | ErrorKind::OutOfMemory | ErrorKind::QuotaExceeded => {
            Status::Memory
        }
        _ => Status::File,
    };
    Failure::new(status, format_args!("{text}: {error}"))
}

impl From<OpenError> for Failure {
    fn from(error: OpenError) -> Self {
        let status = match error {
            OpenError::Io(ref source) => return of_file(source, &error),
            OpenError::Build(error) => return error.into(),
            OpenError::Filter(error) => return error.into(),
            OpenError::Attach(error) => return error.into(),
            OpenError::Exists => Status::Exists,
            OpenError::Growing | OpenError::FileSystem { .. } => Status::Unsupported,
            OpenError::TooManyProcesses { .. } => Status::Invalid,
            _ => Status::Snapshot,
        };
        Self::new(status, format_args!("{error}"))
    }
}

impl From<AttachError> for Failure {
    fn from(error: AttachError) -> Self {
        match error {
            AttachError::Io(ref source) => of_file(source, &error),
            _ => Self::new(Status::Occupied, format_args!("{error}")),
        }
    }
}

impl From<NotAlone> for Failure {
    fn from(error: NotAlone) -> Self {
        match error {
            NotAlone::Io(ref source) => of_file(source, &error),
            _ => Self::new(Status::Occupied, format_args!("{error}")),
        }
    }
}
