//! The processes that share a filter: the seat of this process, and which other processes are dead.

use crate::{
    error::AttachError,
    header::{DEAD, FREE, Seats, TAKEN},
    locks::{Lock, Origin, is_locked, try_lock, unlock},
    map::Map,
};
use arc_swap::ArcSwapOption;
use guira::shared::{Members, Memory, NUMBER_WORD, SEAT_WORD, Seat, process_number};
use std::{
    fs::File,
    io, mem,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Instant,
};

/// The minimum time between two searches for dead processes, in milliseconds.
const PAUSE: u64 = 10;

/// The processes that share a filter.
pub(crate) struct Processes {
    origin: Arc<Origin>,
    map: Arc<Map>,
    members: usize,
    /// What belongs to this process only: [`SEAT_WORD`], [`NUMBER_WORD`] and [`LOOKED`]. In a new child
    /// process it is 0.
    own: Arc<Map>,
    /// The lock that keeps the seat.
    lock: ArcSwapOption<Lock>,
    since: Instant,
}

/// The word that says when this process last searched for dead ones, in milliseconds; 0 if it never has.
const LOOKED: usize = 2;

/// The number of seats that this process and its parents have taken.
static TURNS: AtomicU32 = AtomicU32::new(0);

impl Processes {
    pub(crate) fn new(origin: Arc<Origin>, map: Arc<Map>, members: usize) -> io::Result<Self> {
        Ok(Self {
            origin,
            map,
            members,
            own: Arc::new(Map::wiped_on_fork(LOOKED + 1)?),
            lock: ArcSwapOption::empty(),
            since: Instant::now(),
        })
    }

    fn seat_now(&self) -> Option<Seat> {
        // Acquire: the lock was taken before.
        Seat::of_word(self.own.words()[SEAT_WORD].load(Ordering::Acquire))
    }

    /// Takes the lowest free seat that needs no repair, unless this process has one.
    pub(crate) fn take_seat(&self) -> Result<Seat, AttachError> {
        if let Some(seat) = self.seat_now() {
            return Ok(seat);
        }
        let file = self.origin.open()?;
        for member in 0..self.members {
            // The process with the lock may change the word.
            if !try_lock(&file, member)? {
                continue;
            }
            let word = self.map.seat_word(member);
            if word.load(Ordering::Acquire) != FREE {
                unlock(&file, member)?;
                continue;
            }
            return self.keep_seat(file, member);
        }
        Err(AttachError::TooManyProcesses { max: self.members })
    }

    fn keep_seat(&self, file: File, member: usize) -> Result<Seat, AttachError> {
        let lock = Lock::keep(file)?;
        // Relaxed: only the atomicity of the count matters.
        let turn = TURNS.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
        let seat = Seat::new(member as u32, turn);
        self.map.seat_word(member).store(TAKEN, Ordering::Release);
        // AcqRel: a thread that sees the seat has the lock.
        let exchange = self.own.words()[SEAT_WORD].compare_exchange(
            0,
            seat.word(),
            Ordering::AcqRel,
            Ordering::Acquire,
        );
        match exchange {
            Ok(_) => {
                // What a child finds here is its parent's.
                forget_page(self.lock.swap(Some(Arc::new(lock))));
                // Relaxed: it only chooses where the process counts.
                let number = process_number(member as u32);
                self.own.words()[NUMBER_WORD].store(number, Ordering::Relaxed);
                Ok(seat)
            }
            // Another thread of this process was first, and this seat is free again.
            Err(first) => {
                self.map.seat_word(member).store(FREE, Ordering::Release);
                drop(lock);
                Seat::of_word(first).ok_or_else(|| io::Error::from(io::ErrorKind::Other).into())
            }
        }
    }

    /// The most processes.
    pub(crate) fn members(&self) -> usize {
        self.members
    }

    /// The words that belong to this process only.
    pub(crate) fn own(&self) -> Arc<Map> {
        self.own.clone()
    }

    /// Where the file is opened again.
    pub(crate) fn origin(&self) -> &Origin {
        &self.origin
    }

    /// Locks the seats of all other processes; `None` if one of them lives.
    pub(crate) fn lock_all_others(&self) -> io::Result<Option<File>> {
        let own = self.seat_now().map(Seat::member);
        let file = self.origin.open()?;
        for member in (0..self.members).filter(|&member| Some(member) != own) {
            if !try_lock(&file, member)? {
                return Ok(None);
            }
        }
        Ok(Some(file))
    }

    /// True if no process has died with a seat since the last recount.
    pub(crate) fn none_died(&self) -> io::Result<bool> {
        let file = self.origin.open()?;
        for member in 0..self.members {
            let word = self.map.seat_word(member);
            // Acquire: a process that frees the seat of a dead one has counted its death before.
            let load = || word.load(Ordering::Acquire);
            let is_dead = match load() {
                FREE => false,
                DEAD => true,
                // With the lock, no other process can take the seat.
                _ => try_lock(&file, member)? && load() != FREE,
            };
            if is_dead {
                return Ok(false);
            }
        }
        // Relaxed: as above.
        let deaths = self.map.deaths().load(Ordering::Relaxed);
        Ok(deaths == self.map.deaths_at_recount().load(Ordering::Relaxed))
    }

    /// The number of items was counted, while no other process had a seat.
    pub(crate) fn note_recount(&self) {
        // Relaxed: a process that takes a seat later has synchronized by its lock.
        let deaths = self.map.deaths().load(Ordering::Relaxed);
        let at_recount = self.map.deaths_at_recount();
        at_recount.store(deaths, Ordering::Relaxed);
    }

    /// Calls `repair` for each dead member, and returns how many there were.
    fn repair_each(&self, repair: &mut dyn FnMut(usize) -> bool) -> io::Result<bool> {
        let own = self.seat_now().map(Seat::member);
        let file = self.origin.open()?;
        let mut any = false;
        for member in (0..self.members).filter(|&member| Some(member) != own) {
            let word = self.map.seat_word(member);
            if word.load(Ordering::Acquire) == FREE || !try_lock(&file, member)? {
                continue;
            }
            // Another process may have repaired it before the lock.
            if word.load(Ordering::Acquire) != FREE {
                any = true;
                // Relaxed: nothing depends on when others learn this.
                word.store(DEAD, Ordering::Relaxed);
                if repair(member) {
                    // Relaxed: it counts, and orders nothing.
                    self.map.deaths().fetch_add(1, Ordering::Relaxed);
                    // Release: the repair comes before the next process with this seat.
                    word.store(FREE, Ordering::Release);
                }
            }
            unlock(&file, member)?;
        }
        Ok(any)
    }

    fn is_early(&self) -> bool {
        let now = self.since.elapsed().as_millis() as u64 + 1;
        // Relaxed: two threads may both look.
        let looked = &self.own.words()[LOOKED];
        let last = looked.load(Ordering::Relaxed);
        let is_early = last != 0 && now < last + PAUSE;
        if !is_early {
            looked.store(now, Ordering::Relaxed);
        }
        is_early
    }
}

impl Members for Processes {
    fn seat(&self) -> Option<Seat> {
        self.seat_now().or_else(|| self.take_seat().ok())
    }

    /// True if it cannot be known.
    fn is_alive(&self, member: usize) -> bool {
        let asked = self.origin.open().and_then(|file| is_locked(&file, member));
        asked.unwrap_or(true)
    }

    /// Without the file, for example if this process has no free descriptor, nothing is repaired.
    fn repair_dead(&self, at_once: bool, repair: &mut dyn FnMut(usize) -> bool) -> bool {
        if !at_once && self.is_early() {
            return false;
        }
        self.repair_each(repair).unwrap_or(false)
    }
}

impl Drop for Processes {
    /// The process ends its part cleanly: no call of it is in progress.
    fn drop(&mut self) {
        let lock = self.lock.swap(None);
        match self.seat_now() {
            Some(seat) => {
                // Release: all calls of this process come before the next one with this seat.
                self.map
                    .seat_word(seat.member())
                    .store(FREE, Ordering::Release);
                drop(lock);
            }
            // In a child this would be the lock of its parent.
            None => forget_page(lock),
        }
    }
}

/// Frees the memory of a lock whose page this process does not have.
fn forget_page(lock: Option<Arc<Lock>>) {
    // Nothing else refers to the lock.
    if let Some(lock) = lock.and_then(Arc::into_inner) {
        mem::forget(lock);
    }
}
