//! Processes for tests: numbers that live or not. And tests of lines.

use super::*;
use crate::{
    memory::Memory,
    raw::{RawFilter, shared::SharedPlace},
    table::{
        Levels,
        entry::Entry,
        layout::{F10x6, F15x4, F30x2, Growing, Layout, Shared},
    },
};
use std::{iter, sync::atomic::AtomicBool, thread};

pub(in crate::raw) type L = Shared<F15x4>;

pub(in crate::raw) type Raw = RawFilter<L>;

const BUCKETS: usize = 64;

/// The seat of one process.
pub(in crate::raw) struct Seated {
    pub(in crate::raw) member: usize,
    pub(in crate::raw) alive: Arc<[AtomicBool]>,
}

impl Seated {
    /// The seats of this number of processes, which live.
    pub(in crate::raw) fn all(members: usize) -> Vec<Arc<Self>> {
        let alive: Arc<[AtomicBool]> = (0..members).map(|_| AtomicBool::new(true)).collect();
        let of_member = |member| Self {
            member,
            alive: alive.clone(),
        };
        (0..members).map(of_member).map(Arc::new).collect()
    }

    pub(in crate::raw) fn die(&self) {
        // Release: pairs with the Acquire of `is_alive`, so a repair sees what the dead member wrote.
        self.alive[self.member].store(false, Ordering::Release);
    }
}

impl Members for Seated {
    fn seat(&self) -> Option<Seat> {
        Some(Seat::new(self.member as u32, 1))
    }

    fn is_alive(&self, member: usize) -> bool {
        // Acquire: pairs with the Release of `die`.
        self.alive[member].load(Ordering::Acquire)
    }

    fn repair_dead(&self, _at_once: bool, repair: &mut dyn FnMut(usize) -> bool) -> bool {
        let mut any = false;
        for (member, alive) in self.alive.iter().enumerate() {
            if !self.is_alive(member) {
                any = true;
                // The next process with a seat in which nothing is left has begun nothing.
                alive.store(repair(member), Ordering::Release);
            }
        }
        any
    }
}

/// The filter of each process.
pub(in crate::raw) fn processes(number: usize) -> (Vec<Arc<Seated>>, Vec<Raw>) {
    processes_with(number, 0)
}

/// The filter of each process, in which copies with an age of at most `oldest` are live.
pub(in crate::raw) fn processes_with<B: Layout>(
    number: usize,
    oldest: u64,
) -> (Vec<Arc<Seated>>, Vec<RawFilter<Shared<B>>>) {
    let memory: Arc<dyn Memory> = Arc::new(sync::zeroed(1 << 14).expect("memory"));
    let all = Seated::all(number);
    let filter = |members: &Arc<Seated>| {
        let place = SharedPlace {
            memory: memory.clone(),
            start: 0,
            most_members: number,
            members: members.clone(),
            own: Arc::new(sync::zeroed(2).expect("a few bytes")),
        };
        RawFilter::in_words(BUCKETS, Levels::FIXED, oldest, place).expect("enough words")
    };
    let filters = all.iter().map(filter).collect();
    (all, filters)
}

/// What a line says: its moves, its stripe and its reservation.
pub(in crate::raw) fn says(crew: &Crew, taken: &TakenLine<'_>) -> [u64; 4] {
    let load = |at| crew.word(taken.taken.number(), at).load(Ordering::Acquire);
    std::array::from_fn(load)
}

/// Two moves of a line can be on one gate, which is free after the last one.
#[test]
fn a_gate_is_free_after_both_moves() {
    let (_, filters) = processes(2);
    let [own, other] = [0, 1].map(|number: usize| filters[number].crew().expect("it is shared"));
    let class = filters[0].class(7);
    let hop = filters[0].hop_out_of(class.p, Entry::untagged(class.fingerprint));
    let (taken, of_other) = (own.take_line().unwrap(), other.take_line().unwrap());
    let (line, line_of_other) = (taken.for_moves(), of_other.for_moves());
    for (first, last) in [(Hand::First, Hand::Second), (Hand::Second, Hand::First)] {
        assert!(line.enter::<L>(first, hop) && line.enter::<L>(last, hop));
        for is_last in [false, true] {
            assert!(!line_of_other.enter::<L>(Hand::First, hop));
            assert_eq!(says(own, &of_other), [0; 4], "it makes no move");
            line.leave(if is_last { last } else { first });
        }
        assert_eq!(says(own, &taken), [0; 4]);
        assert!(line_of_other.enter::<L>(Hand::First, hop));
        line_of_other.leave(Hand::First);
        assert_eq!(own.taken_gates(), 0);
    }
}

/// A repair goes by what lines say, so a line says nothing of what is over, or was refused.
#[test]
fn a_line_says_nothing_after_its_call() {
    let (_, filters) = processes(1);
    let (raw, class) = (&filters[0], filters[0].class(7));
    let crew = raw.crew().expect("processes share it");
    let taken = crew.take_line().expect("a line");
    let line = taken.for_moves();
    taken.record_reservation::<L>(class);
    taken.clear_reservation();
    let (stripe, number) = (raw.versions.of(class), raw.versions.number_of(class));
    let hold = line.hold(stripe, number);
    assert_eq!(says(crew, &taken)[STRIPE], number as u64 + 1);
    drop(hold);
    assert_eq!(says(crew, &taken), [0; 4]);
    let _all_holds: Vec<_> = iter::from_fn(|| stripe.hold()).collect();
    assert!(line.hold(stripe, number).is_none());
    assert_eq!(says(crew, &taken), [0; 4]);
}

/// A thread keeps no line of the second half, so that calls of other threads find one.
#[test]
fn idle_threads_leave_lines() {
    let (_, filters) = processes(2);
    let crew = filters[0].crew().expect("processes share it");
    let half = crew.lines_of_member / 2;
    let _first: Vec<_> = (0..half)
        .map(|_| crew.take_line().expect("a line"))
        .collect();
    let next = crew.take_line().expect("a line").token();
    thread::scope(|scope| {
        let other = scope.spawn(|| crew.take_line().expect("a line").token());
        assert_eq!(other.join().unwrap(), next);
    });
}

/// The largest entry, and the last bucket of the largest table.
#[test]
fn a_line_says_the_last_bucket_that_can_be() {
    fn assert_said<L: Layout>(first: u32) {
        let last = usize::MAX >> (usize::BITS - bucket_bits::<L>(first).min(usize::BITS));
        let least = if L::GROWS { 1 << first } else { 1 };
        for entry in [least, L::LARGEST_ENTRY / least * least] {
            for bucket in [0, last] {
                let word = packed::<L>(first, entry, bucket);
                assert_eq!(unpacked::<L>(first, word), (entry, bucket), "{first}");
            }
        }
    }
    assert_said::<F10x6>(0);
    assert_said::<F15x4>(0);
    assert_said::<F30x2>(0);
    for first in 0..20 {
        assert_said::<Growing>(first);
    }
}
