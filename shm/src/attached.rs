//! A filter in a mapped file, and the part of this process in it: what all kinds of filters share.

use crate::{
    error::{AttachError, NotAlone, OpenError},
    file::{self, Access, InFile, Mapped},
    header::{Participants, Seats},
    locks::Origin,
    map::Map,
    processes::Processes,
    sparse::Sparse,
};
use guira::{Builder, Filter, Lifetime, SeededState};
use std::{
    fs::File,
    hash::BuildHasher,
    io,
    os::fd::{BorrowedFd, OwnedFd},
    path::Path,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

/// The default number of processes that can share a filter.
pub(crate) const MEMBERS: usize = 63;

/// How long an opener lets other processes finish that repair, take or leave the last seats, and how long
/// it sleeps between two looks. (One of them may be stopped.)
const MOST_WAIT: Duration = Duration::from_secs(1);
const WAIT: Duration = Duration::from_millis(1);

/// How often a file may appear and disappear again while it is opened or created.
const MOST_TRIES: usize = 16;

/// Opens a file, or creates it if there is none. Other processes may do the same.
fn open_or_create<T>(
    open: impl Fn() -> Result<T, OpenError>,
    create: impl Fn() -> Result<T, OpenError>,
) -> Result<T, OpenError> {
    for _ in 0..MOST_TRIES {
        match open() {
            Err(OpenError::Io(error)) if error.kind() == io::ErrorKind::NotFound => {}
            opened => return opened,
        }
        match create() {
            Err(OpenError::Exists) => {}
            created => return created,
        }
    }
    // The file comes and goes.
    Err(OpenError::Exists)
}

/// An error if a filter has other numbers than it was asked for. Both lists have the same names.
fn check_numbers(
    found: [(&'static str, u64); 8],
    asked: [(&'static str, u64); 8],
) -> Result<(), OpenError> {
    for ((what, found), (_, asked)) in found.into_iter().zip(asked) {
        if found != asked {
            return Err(OpenError::Different { what, found, asked });
        }
    }
    Ok(())
}

/// A filter in a mapped file.
pub(crate) struct Attached<S, T: Lifetime> {
    pub(crate) filter: Filter<S, T>,
    processes: Arc<Processes>,
    map: Arc<Map>,
    pub(crate) was_closed_cleanly: bool,
}

impl<T: InFile> Attached<SeededState, T> {
    /// Opens the filter in a file, or creates it if there is none. Other processes may do the same.
    pub(crate) fn open_or_create(
        path: &Path,
        builder: Builder<SeededState, T>,
    ) -> Result<Self, OpenError> {
        // Its pages are never touched, so it takes up no memory.
        let asked = builder.build_by_hand().map_err(OpenError::Build)?;
        let new = file::like(&asked, MEMBERS)?;
        let open = || {
            let opened = Self::open(path, SeededState::new)?;
            check_numbers(opened.filter.numbers(), asked.numbers())?;
            Ok(opened)
        };
        open_or_create(open, || {
            file::create(path, &new)?;
            Self::open(path, |_| new.hasher.clone())
        })
    }
}

impl<S: BuildHasher + Clone + 'static, T: InFile> Attached<S, T> {
    /// Creates a file with an empty filter.
    pub(crate) fn create(
        path: &Path,
        builder: Builder<S, T>,
        members: usize,
    ) -> Result<Self, OpenError> {
        let new = file::new_filter(builder, members)?;
        file::create(path, &new)?;
        Self::open(path, |_| new.hasher)
    }

    /// Creates a file with a copy of `filter`.
    pub(crate) fn create_copy(
        path: &Path,
        filter: &Filter<S, T>,
        members: usize,
    ) -> Result<Self, OpenError> {
        let new = file::like(filter, members)?;
        let put = |temporary: &Path| {
            let copy = Self::open(temporary, |_| new.hasher.clone())?;
            copy.filter.merge(filter).map_err(OpenError::Copy)
        };
        file::create_with(path, &new, put)?;
        Self::open(path, |_| new.hasher)
    }

    /// Creates an empty filter in memory that has no name.
    pub(crate) fn create_memfd(builder: Builder<S, T>, members: usize) -> Result<Self, OpenError> {
        let new = file::new_filter(builder, members)?;
        Self::of_memfd(file::create_memfd(&new)?, |_| new.hasher)
    }

    /// Creates a copy of `filter` in memory that has no name.
    pub(crate) fn create_memfd_copy(
        filter: &Filter<S, T>,
        members: usize,
    ) -> Result<Self, OpenError> {
        let new = file::like(filter, members)?;
        let copy = Self::of_memfd(file::create_memfd(&new)?, |_| new.hasher)?;
        copy.filter.merge(filter).map_err(OpenError::Copy)?;
        Ok(copy)
    }
}

impl<S: BuildHasher + 'static, T: InFile> Attached<S, T> {
    /// Opens the filter in a file.
    pub(crate) fn open(path: &Path, hasher: impl FnOnce(u64) -> S) -> Result<Self, OpenError> {
        let file = file::open(path, Access::Write)?;
        let mapped = Mapped::new::<T>(&file, Access::Write)?;
        Self::new(mapped, Origin::of_path(path, &file)?, hasher)
    }

    /// Opens the filter behind a descriptor that another process has made.
    pub(crate) fn from_memfd(
        descriptor: OwnedFd,
        hasher: impl FnOnce(u64) -> S,
    ) -> Result<Self, OpenError> {
        Self::of_memfd(file::sealed(descriptor)?, hasher)
    }

    fn of_memfd(file: File, hasher: impl FnOnce(u64) -> S) -> Result<Self, OpenError> {
        let mapped = Mapped::new::<T>(&file, Access::Write)?;
        Self::new(mapped, Origin::of_descriptor(file)?, hasher)
    }

    /// The filter in a mapped file, with a seat for this process.
    fn new(
        mapped: Mapped,
        origin: Origin,
        hasher: impl FnOnce(u64) -> S,
    ) -> Result<Self, OpenError> {
        let origin = Arc::new(origin);
        let memory = Sparse::new(mapped.map.clone(), origin.clone());
        let processes = Processes::new(origin, mapped.map.clone(), mapped.header.members)?;
        let processes = Arc::new(processes);
        let was_closed_cleanly = processes.none_died()?;
        let place = mapped.place(processes.clone(), Arc::new(memory), processes.own());
        let opened = Self {
            filter: T::filter(&mapped, hasher, place)?,
            processes,
            map: mapped.map,
            was_closed_cleanly,
        };
        opened.attach()?;
        T::seated(&opened.filter);
        Ok(opened)
    }

    /// Takes a seat for this process, unless it has one.
    pub(crate) fn attach(&self) -> Result<(), AttachError> {
        let since = Instant::now();
        // When all workers of a filter start again at the same time, each seat is that of a dead process
        // first, and then another opener repairs or takes it.
        while self.processes.take_seat()?.is_none() {
            self.filter.repair_dead();
            if since.elapsed() > MOST_WAIT {
                return Err(self.processes.too_many());
            }
            thread::sleep(WAIT);
        }
        Ok(())
    }

    /// The processes that share the filter.
    pub(crate) fn participants(&self) -> Participants {
        self.map.participants(self.processes.members())
    }

    /// Counts the items, if no other process has a seat.
    pub(crate) fn recount(&mut self) -> Result<usize, NotAlone> {
        self.filter.repair_dead();
        let file = self.processes.origin().open().map_err(NotAlone::Io)?;
        let claims = self.processes.claim_all_others(&file);
        let _claims = claims.map_err(NotAlone::Io)?.ok_or(NotAlone::InUse)?;
        let items = self.filter.recount();
        self.processes.note_recount();
        Ok(items)
    }

    /// The descriptor of a filter that has no path.
    pub(crate) fn memfd(&self) -> Option<BorrowedFd<'_>> {
        self.processes.origin().descriptor()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    /// Another process creates the file after it was not found.
    #[test]
    fn a_file_that_another_process_has_just_created_is_opened() {
        let exists = Cell::new(false);
        let open = || match exists.get() {
            true => Ok("opened"),
            false => Err(OpenError::Io(io::ErrorKind::NotFound.into())),
        };
        let create = || {
            exists.set(true);
            Err(OpenError::Exists)
        };
        assert_eq!(open_or_create(open, create).unwrap(), "opened");
        // It comes and goes.
        let open = || Err::<(), _>(OpenError::Io(io::ErrorKind::NotFound.into()));
        let opened = open_or_create(open, || Err(OpenError::Exists));
        assert!(matches!(opened, Err(OpenError::Exists)));
    }
}
