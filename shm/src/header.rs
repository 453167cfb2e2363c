//! The first page of the file: what filter it holds, and which seats are in use.

use crate::error::OpenError;
use guira::shared::Memory;
use std::sync::atomic::{AtomicU64, Ordering};

/// The words of the first page. The filter begins behind it.
pub(crate) const PAGE: usize = 512;

/// The most processes: their seats are in the first page.
pub(crate) const MAX_PROCESSES: usize = 255;

/// How a file begins, as the bytes of a number of this machine.
const MAGIC: u64 = u64::from_ne_bytes(*b"guirashm");

/// The version of the format. The order of its bytes shows that of the machine.
const VERSION: u64 = 0x0102_0304_0000_0001;

/// The words of the immutable part before its checksum.
const FIXED: usize = 13;

/// Where the filter's own header is, of 68 bytes.
const FILTER: std::ops::Range<usize> = 4..FIXED;

/// The word that counts the processes that have died.
const DEATHS: usize = 32;

/// The word that has the number of deaths at the last recount.
const RECOUNTED: usize = 40;

/// The word of the first seat.
const SEATS: usize = 64;

/// What a file says of its filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    /// The most processes.
    pub(crate) members: usize,
    /// The words of the file.
    pub(crate) words: usize,
    /// The filter's own header.
    pub(crate) filter: [u8; 68],
}

impl Header {
    fn fixed(&self) -> [u64; FIXED] {
        let mut fixed = [0; FIXED];
        fixed[..4].copy_from_slice(&[MAGIC, VERSION, self.words as u64, self.members as u64]);
        for (word, bytes) in fixed[FILTER].iter_mut().zip(self.filter.chunks(8)) {
            let mut eight = [0; 8];
            eight[..bytes.len()].copy_from_slice(bytes);
            *word = u64::from_le_bytes(eight);
        }
        fixed
    }

    /// Writes it into a file that no other process knows.
    pub(crate) fn write(&self, words: &[AtomicU64]) {
        let fixed = self.fixed();
        let checksum = checksum(&fixed);
        for (word, value) in words.iter().zip(fixed.into_iter().chain([checksum])) {
            // Relaxed: the file gets its name later.
            word.store(value, Ordering::Relaxed);
        }
    }

    /// Reads it from the words of a file.
    pub(crate) fn read(words: &[AtomicU64]) -> Result<Self, OpenError> {
        // Relaxed: the file got its name when it was complete.
        let load = |at: usize| words[at].load(Ordering::Relaxed);
        if load(0) != MAGIC {
            return Err(OpenError::NotAFilter);
        }
        match load(1) {
            VERSION => {}
            other if other.swap_bytes() >> 32 == VERSION >> 32 => {
                return Err(OpenError::Architecture);
            }
            found => {
                return Err(OpenError::Version {
                    found: found as u32,
                });
            }
        }
        let fixed: [u64; FIXED] = std::array::from_fn(load);
        let (stored, computed) = (load(FIXED), checksum(&fixed));
        if stored != computed {
            return Err(OpenError::Checksum { stored, computed });
        }
        let (found, members) = (fixed[2], fixed[3] as usize);
        if found != words.len() as u64 {
            return Err(OpenError::Length {
                found: words.len() as u64 * 8,
                expected: found.saturating_mul(8),
            });
        }
        if !(1..=MAX_PROCESSES).contains(&members) {
            return Err(OpenError::Control {
                what: "number of processes",
                found: members as u64,
            });
        }
        let mut filter = [0; 68];
        for (bytes, word) in filter.chunks_mut(8).zip(&fixed[FILTER]) {
            bytes.copy_from_slice(&word.to_le_bytes()[..bytes.len()]);
        }
        Ok(Self {
            members,
            words: words.len(),
            filter,
        })
    }
}

fn checksum(fixed: &[u64; FIXED]) -> u64 {
    let mut hasher = crc32fast::Hasher::new();
    for word in fixed {
        hasher.update(&word.to_ne_bytes());
    }
    hasher.finalize().into()
}

/// How many processes share a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Participants {
    /// Processes that have a seat, including dead ones that have not been repaired.
    pub in_use: usize,
    /// The maximum number of processes.
    pub max: usize,
    /// Processes that died while they had a seat, and have been repaired.
    pub deaths: u64,
}

/// What the word of a seat says in its lowest bits. Those above count how often the seat was taken.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// No process has it, and none has left anything.
    Free = 0,
    /// A process has it, or had it when it died.
    Taken = 1,
    /// Its process is known to be dead.
    Dead = 2,
}

const STATE_BITS: u32 = 2;

impl State {
    /// What the word says. Words are untrusted: what no process writes is repaired like a death.
    pub(crate) fn of(word: u64) -> Self {
        match word & !(u64::MAX << STATE_BITS) {
            0 => Self::Free,
            1 => Self::Taken,
            _ => Self::Dead,
        }
    }

    /// Stores it in the word of a seat that only this process changes.
    pub(crate) fn store(self, word: &AtomicU64) {
        self.store_plus(0, word);
    }

    /// Stores it in the word of a seat that this process takes.
    pub(crate) fn store_next(self, word: &AtomicU64) {
        self.store_plus(1 << STATE_BITS, word);
    }

    fn store_plus(self, more: u64, word: &AtomicU64) {
        // Relaxed: no other process changes it now.
        let count = word.load(Ordering::Relaxed) & u64::MAX << STATE_BITS;
        // Release: all that this process has done here comes before the next one with this seat.
        word.store(count.wrapping_add(more) | self as u64, Ordering::Release);
    }
}

/// The seats in the first page, and the number of deaths.
pub(crate) trait Seats {
    /// The word of a seat.
    fn seat_word(&self, seat: usize) -> &AtomicU64;

    /// The number of processes that have died.
    fn deaths(&self) -> &AtomicU64;

    /// That number at the last recount.
    fn deaths_at_recount(&self) -> &AtomicU64;

    /// How many of `max` processes there are.
    fn participants(&self, max: usize) -> Participants {
        let state = |seat: usize| State::of(self.seat_word(seat).load(Ordering::Acquire));
        let is_used = |&seat: &usize| state(seat) != State::Free;
        Participants {
            in_use: (0..max).filter(is_used).count(),
            max,
            // Relaxed: it counts, and orders nothing.
            deaths: self.deaths().load(Ordering::Relaxed),
        }
    }
}

impl<M: Memory> Seats for M {
    fn seat_word(&self, seat: usize) -> &AtomicU64 {
        &self.words()[SEATS + seat]
    }

    fn deaths(&self) -> &AtomicU64 {
        &self.words()[DEATHS]
    }

    fn deaths_at_recount(&self) -> &AtomicU64 {
        &self.words()[RECOUNTED]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is read from a page with a header of this number of processes, for this number of words.
    fn read(members: usize, words: usize) -> Result<Header, OpenError> {
        let header = Header {
            members,
            words,
            filter: [7; 68],
        };
        let page: Vec<_> = (0..PAGE).map(|_| AtomicU64::new(0)).collect();
        header.write(&page);
        let read = Header::read(&page);
        assert!(read.as_ref().is_ok_and(|read| *read == header) || read.is_err());
        read
    }

    #[test]
    fn numbers_that_cannot_be_are_refused() {
        for members in [1, MAX_PROCESSES] {
            assert!(read(members, PAGE).is_ok());
        }
        for members in [0, MAX_PROCESSES + 1, usize::MAX] {
            let expected = members as u64;
            assert!(matches!(
                read(members, PAGE),
                Err(OpenError::Control { what: "number of processes", found }) if found == expected
            ));
        }
        for words in [PAGE - 1, PAGE + 1] {
            assert!(matches!(read(1, words), Err(OpenError::Length { .. })));
        }
    }

    #[test]
    fn seats_of_the_dead_are_in_use() {
        let page: Box<[AtomicU64]> = (0..PAGE).map(|_| AtomicU64::new(0)).collect();
        State::Taken.store_next(page.seat_word(0));
        State::Dead.store(page.seat_word(2));
        State::Taken.store(page.seat_word(3));
        assert_eq!(page.participants(3).in_use, 2);
    }
}
