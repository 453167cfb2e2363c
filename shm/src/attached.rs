//! A filter in a mapped file, and the part of this process in it: what all kinds of filters share.

use crate::{
    error::{AttachError, NotAlone, OpenError},
    file::Mapped,
    header::{Participants, Seats},
    locks::Origin,
    map::Map,
    processes::Processes,
    sparse::Sparse,
};
use guira::shared::{Repaired, SharedPlace};
use std::{
    io,
    os::fd::BorrowedFd,
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
pub(crate) fn open_or_create<T>(
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
pub(crate) fn check_numbers(
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
pub(crate) struct Attached<F> {
    pub(crate) filter: F,
    processes: Arc<Processes>,
    map: Arc<Map>,
    pub(crate) was_closed_cleanly: bool,
}

/// A filter that processes share, of any kind.
pub(crate) trait Repair {
    /// Completes or undoes what dead processes have begun.
    fn repair_dead(&self) -> Repaired;

    /// Counts the items, while no other thread uses the filter.
    fn recount(&self) -> usize;
}

impl<F: Repair> Attached<F> {
    /// The filter in a mapped file, which `make` makes, with a seat for this process.
    pub(crate) fn new(
        mapped: Mapped,
        origin: Origin,
        make: impl FnOnce(&Mapped, SharedPlace) -> Result<F, OpenError>,
    ) -> Result<Self, OpenError> {
        let origin = Arc::new(origin);
        let memory = Sparse::new(mapped.map.clone(), origin.clone());
        let processes = Processes::new(origin, mapped.map.clone(), mapped.header.members)?;
        let processes = Arc::new(processes);
        let was_closed_cleanly = processes.none_died()?;
        let place = mapped.place(processes.clone(), Arc::new(memory), processes.own());
        let opened = Self {
            filter: make(&mapped, place)?,
            processes,
            map: mapped.map,
            was_closed_cleanly,
        };
        opened.attach()?;
        Ok(opened)
    }

    /// Takes a seat for this process, unless it has one.
    pub(crate) fn attach(&self) -> Result<(), AttachError> {
        let since = Instant::now();
        // When all workers of a filter start again at the same time, each seat is that of a dead process
        // first, and then another opener repairs or takes it.
        while self.processes.take_seat()?.is_none() {
            self.filter.repair_dead();
            if self.processes.take_seat()?.is_some() {
                break;
            }
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
