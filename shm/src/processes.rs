//! The processes that share a filter: the seat of this process, and which other processes are dead.

use crate::{
    error::AttachError,
    header::{Seats, State},
    locks::{Byte, Claim, Lock, Origin, is_locked, try_lock},
    map::Map,
};
use arc_swap::ArcSwapOption;
use guira::shared::{Members, Memory, NUMBER_WORD, SEAT_WORD, Seat, process_number};
use std::{
    fs::File,
    io, mem,
    sync::{
        Arc,
        atomic::{AtomicU32, AtomicU64, Ordering},
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

    /// Takes a seat, unless this process has one. `None` if a seat is on the way to be free: a process
    /// has died with it, or takes, repairs or leaves it right now.
    pub(crate) fn take_seat(&self) -> Result<Option<Seat>, AttachError> {
        match self.seat_now() {
            None => self.take_free_seat(),
            seat => Ok(seat),
        }
    }

    /// Takes the lowest free seat, unless another thread of this process is faster.
    fn take_free_seat(&self) -> Result<Option<Seat>, AttachError> {
        let file = self.origin.open()?;
        for member in 0..self.members {
            // One that is about to leave it still has the lock.
            let is_free = || Ok(self.state_of(member) == State::Free);
            if let Some(claim) = claim_if(is_free, || Claim::of(&file, member))?
                && try_lock(&file, Byte::Life, member)?
            {
                return self.keep_seat(&claim, member).map(Some);
            }
        }
        let all_are_settled = self.all_are_settled(&file)?;
        // Another thread of this process may have taken the last one.
        match self.seat_now() {
            None if all_are_settled => Err(self.too_many()),
            seat => Ok(seat),
        }
    }

    /// True if processes that live have all seats, and none of them is about to take or to leave one.
    fn all_are_settled(&self, file: &File) -> io::Result<bool> {
        for member in 0..self.members {
            // The claim comes last: a process that has taken the seat ends it when its threads know.
            let is_settled = self.state_of(member) == State::Taken
                && is_locked(file, Byte::Life, member)?
                && !is_locked(file, Byte::Claim, member)?;
            if !is_settled {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// All seats are taken.
    pub(crate) fn too_many(&self) -> AttachError {
        AttachError::TooManyProcesses { max: self.members }
    }

    /// Keeps a seat that is claimed, and whose life is locked.
    fn keep_seat(&self, claim: &Claim<'_>, member: usize) -> Result<Seat, AttachError> {
        let lock = Lock::keep(claim.file())?;
        // Relaxed: only the atomicity of the count matters.
        let turn = TURNS.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
        let seat = Seat::new(member as u32, turn);
        let word = self.map.seat_word(member);
        // Only the process with the claim changes a free seat.
        State::Taken.store_next(word);
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
                State::Free.store(word);
                drop(lock);
                Seat::of_word(first).ok_or_else(|| io::Error::from(io::ErrorKind::Other).into())
            }
        }
    }

    fn state_of(&self, member: usize) -> State {
        // Acquire: what the last process with this seat has done comes before the next one.
        State::of(self.map.seat_word(member).load(Ordering::Acquire))
    }

    /// True if a process has died with the seat, and has not been repaired.
    fn is_dead(&self, file: &File, member: usize) -> io::Result<bool> {
        let is_locked = || is_locked(file, Byte::Life, member);
        is_dead(self.map.seat_word(member), is_locked)
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

    /// Claims the seats of all other processes; `None` if one of them lives.
    pub(crate) fn claim_all_others<'a>(
        &self,
        file: &'a File,
    ) -> io::Result<Option<Vec<Claim<'a>>>> {
        let own = self.seat_now().map(Seat::member);
        let mut claims = Vec::new();
        for member in (0..self.members).filter(|&member| Some(member) != own) {
            match Claim::of(file, member)? {
                Some(claim) if !is_locked(file, Byte::Life, member)? => claims.push(claim),
                _ => return Ok(None),
            }
        }
        Ok(Some(claims))
    }

    /// True if no process has died with a seat since the last recount.
    pub(crate) fn none_died(&self) -> io::Result<bool> {
        let file = self.origin.open()?;
        for member in 0..self.members {
            if self.is_dead(&file, member)? {
                return Ok(false);
            }
        }
        // Relaxed: a process that frees the seat of a dead one has counted its death before, and the seat
        // was loaded with Acquire.
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
        let file = self.origin.open()?;
        let mut any = false;
        for member in 0..self.members {
            let is_dead = || self.is_dead(&file, member);
            if let Some(_claim) = claim_if(is_dead, || Claim::of(&file, member))? {
                any = true;
                let word = self.map.seat_word(member);
                State::Dead.store(word);
                if repair(member) {
                    // Relaxed: it counts, and orders nothing.
                    self.map.deaths().fetch_add(1, Ordering::Relaxed);
                    State::Free.store(word);
                }
            }
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
        self.seat_now().or_else(|| self.take_seat().ok().flatten())
    }

    /// True if it cannot be known.
    fn is_alive(&self, member: usize) -> bool {
        let file = self.origin.open();
        let asked = file.and_then(|file| is_locked(&file, Byte::Life, member));
        asked.unwrap_or(true)
    }

    fn memory(&self) -> Option<[u64; 2]> {
        Some(self.origin.identity())
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
                State::Free.store(self.map.seat_word(seat.member()));
                drop(lock);
            }
            // In a child this would be the lock of its parent.
            None => forget_page(lock),
        }
    }
}

/// True if a process has died with the seat of this word, and has not been repaired. `is_locked` asks for
/// the life of the seat.
///
/// A process locks the life before it takes the seat, and frees the seat before it unlocks the life. Each
/// taking of a seat has a word of its own. So if the same one is there before and after a look that finds
/// no life, its process is dead.
fn is_dead(word: &AtomicU64, is_locked: impl FnOnce() -> io::Result<bool>) -> io::Result<bool> {
    // Acquire: as in `state_of`.
    let before = word.load(Ordering::Acquire);
    Ok(State::of(before) != State::Free && !is_locked()? && word.load(Ordering::Acquire) == before)
}

/// The claim of a seat that is as it is wanted. Others are not claimed, so that this is in no other process's
/// way.
fn claim_if<C>(
    is_wanted: impl Fn() -> io::Result<bool>,
    claim: impl FnOnce() -> io::Result<Option<C>>,
) -> io::Result<Option<C>> {
    if !is_wanted()? {
        return Ok(None);
    }
    let claim = claim()?;
    // Another process may have taken or repaired it before the claim.
    Ok(if is_wanted()? { claim } else { None })
}

/// Frees the memory of a lock whose page this process does not have.
fn forget_page(lock: Option<Arc<Lock>>) {
    // Nothing else refers to the lock.
    if let Some(lock) = lock.and_then(Arc::into_inner) {
        mem::forget(lock);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::header::PAGE;
    use tempfile::NamedTempFile;

    /// A file with the words of seats, and nothing else.
    fn file() -> NamedTempFile {
        let file = NamedTempFile::new().unwrap();
        file.as_file().set_len(8 * PAGE as u64).unwrap();
        file
    }

    /// A process that shares this file with at most one other one.
    fn process(file: &NamedTempFile) -> Processes {
        let origin = Origin::of_path(file.path(), file.as_file()).unwrap();
        let map = Map::of_file(file.as_file(), PAGE).unwrap();
        Processes::new(Arc::new(origin), Arc::new(map), 2).unwrap()
    }

    /// What a dead process has left can belong to a living one as well, and is repaired later.
    #[test]
    fn a_seat_is_free_when_nothing_of_the_dead_is_left() {
        let file = file();
        let process = process(&file);
        assert_eq!(process.take_seat().unwrap().map(Seat::member), Some(0));
        State::Taken.store_next(process.map.seat_word(1));
        for (is_all, state, deaths) in [
            (false, State::Dead, 0),
            (false, State::Dead, 0),
            (true, State::Free, 1),
        ] {
            let mut repaired = Vec::new();
            assert!(process.repair_dead(true, &mut |member| {
                repaired.push(member);
                assert!(process.state_of(member) == State::Dead);
                is_all
            }));
            assert_eq!(repaired, [1]);
            assert!(process.state_of(1) == state);
            assert_eq!(process.map.participants(2).deaths, deaths);
        }
        assert!(!process.repair_dead(true, &mut |_| unreachable!("none is dead")));
    }

    #[test]
    fn the_dead_are_looked_for_now_and_then_or_at_once() {
        let file = file();
        let process = process(&file);
        State::Taken.store_next(process.map.seat_word(1));
        let is_looked_for = |at_once| process.repair_dead(at_once, &mut |_| false);
        assert!(is_looked_for(false));
        // As if it had just been done.
        let looked = &process.own.words()[LOOKED];
        assert!(looked.load(Ordering::Relaxed) > 0);
        let late = u64::MAX / 2;
        looked.store(late, Ordering::Relaxed);
        assert!(!is_looked_for(false));
        assert!(is_looked_for(true));
        assert_eq!(looked.load(Ordering::Relaxed), late);
    }

    #[test]
    fn who_cannot_be_asked_for_lives() {
        let file = file();
        let process = process(&file);
        assert!(!process.is_alive(1));
        file.close().unwrap();
        assert!(process.is_alive(1));
    }

    /// Two threads of a process take a seat each, and the first one counts.
    #[test]
    fn a_process_has_one_seat_and_its_number() {
        let file = file();
        let process = process(&file);
        let take = |member| {
            let file = process.origin.open().unwrap();
            let claim = Claim::of(&file, member).unwrap().unwrap();
            assert!(try_lock(&file, Byte::Life, member).unwrap());
            process.keep_seat(&claim, member).unwrap().member()
        };
        let is_locked = |member| is_locked(file.as_file(), Byte::Life, member).unwrap();
        assert_eq!(take(1), 1);
        let number = process.own.words()[NUMBER_WORD].load(Ordering::Relaxed);
        assert_eq!(number, process_number(1));
        assert_ne!(number, process_number(0));
        assert_eq!(take(0), 1);
        assert!(process.state_of(0) == State::Free);
        assert_eq!([0, 1].map(is_locked), [false, true]);
    }

    /// Another thread takes the last free seat before this one looks for it.
    #[test]
    fn a_thread_uses_the_last_seat_if_another_thread_has_taken_it() {
        let file = file();
        let (process, other) = (process(&file), process(&file));
        other.take_seat().unwrap().unwrap();
        let seat = process.take_seat().unwrap().unwrap();
        let found = process.take_free_seat().unwrap().unwrap();
        assert_eq!((seat.member(), found.member()), (1, 1));
    }

    /// A process takes the seat of this word, as its number of the taking says.
    fn taken() -> AtomicU64 {
        let word = AtomicU64::new(0);
        State::Taken.store_next(&word);
        word
    }

    #[test]
    fn who_has_a_seat_and_no_life_is_dead() {
        let word = taken();
        assert!(is_dead(&word, || Ok(false)).unwrap());
        assert!(!is_dead(&word, || Ok(true)).unwrap());
        State::Dead.store(&word);
        assert!(is_dead(&word, || Ok(false)).unwrap());
        State::Free.store(&word);
        assert!(!is_dead(&word, || Ok(false)).unwrap());
        assert!(is_dead(&taken(), || Err(io::ErrorKind::Other.into())).is_err());
    }

    /// While this process looks, the other one leaves, and a third one takes the seat.
    #[test]
    fn who_leaves_a_seat_is_not_dead() {
        let word = taken();
        let leaves = || {
            State::Free.store(&word);
            Ok(false)
        };
        assert!(!is_dead(&word, leaves).unwrap());
        let word = taken();
        let leaves_to_another = || {
            State::Free.store(&word);
            State::Taken.store_next(&word);
            Ok(false)
        };
        assert!(!is_dead(&word, leaves_to_another).unwrap());
    }

    /// Before this process has the claim, another one repairs the seat, and a third one takes it.
    #[test]
    fn a_claim_that_comes_too_late_is_given_up() {
        let word = taken();
        let is_dead = || is_dead(&word, || Ok(word.load(Ordering::Relaxed) >> 2 > 1));
        assert_eq!(
            claim_if(is_dead, || Ok(Some("claim"))).unwrap(),
            Some("claim")
        );
        assert_eq!(claim_if(is_dead, || Ok(None::<()>)).unwrap(), None);
        let late = || {
            State::Free.store(&word);
            State::Taken.store_next(&word);
            Ok(Some("claim"))
        };
        assert_eq!(claim_if(is_dead, late).unwrap(), None);
        let unwanted = claim_if(is_dead, || -> io::Result<Option<()>> {
            unreachable!("it is claimed only if it is wanted")
        });
        assert_eq!(unwanted.unwrap(), None);
    }

    #[test]
    fn a_word_that_no_process_writes_is_that_of_a_dead_one() {
        for word in [3, u64::MAX, 6] {
            assert!(is_dead(&AtomicU64::new(word), || Ok(false)).unwrap());
            let word = AtomicU64::new(word);
            State::Free.store(&word);
            State::Taken.store_next(&word);
            State::Free.store(&word);
            assert!(!is_dead(&word, || Ok(false)).unwrap());
        }
    }
}
