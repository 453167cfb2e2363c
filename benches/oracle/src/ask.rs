//! The questions, each to a new filter. An answer is the text of a cell.

use crate::{
    filter::{Filter, Shared},
    peers::Peer,
};
use std::{
    collections::VecDeque,
    ops::Range,
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    process::Command,
    sync::atomic::{AtomicU64, Ordering},
    thread,
};

/// Items for which filters are made: with four slots a bucket, 88.5 % of 2^16 slots.
const ITEMS: u64 = 58_000;

/// A filter that accepts this number of items, more than 2^17, does not refuse.
const MOST: u64 = ITEMS * 23 / 10;

/// The answer of a package that has no such operation.
const NONE: &str = "–";

/// A key that looks random, another one for each number.
fn key(number: u64) -> u64 {
    let mixed = (number ^ number >> 32).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed ^ mixed >> 32
}

/// How many of these keys the filter denies.
fn missing(filter: &dyn Filter, numbers: impl Iterator<Item = u64>) -> u64 {
    numbers
        .filter(|&number| !filter.contains(&key(number)))
        .count() as u64
}

/// The answers, or that the package panics.
fn answers<const COUNT: usize>(question: impl FnOnce() -> [String; COUNT]) -> [String; COUNT] {
    let answered = catch_unwind(AssertUnwindSafe(question));
    answered.unwrap_or_else(|_| [(); COUNT].map(|()| "panics".into()))
}

fn answer(question: impl FnOnce() -> String) -> String {
    let [answer] = answers(|| [question()]);
    answer
}

/// What a filter does when it is full: three cells.
pub fn full(peer: &Peer) -> [String; 3] {
    answers(|| {
        let mut filter = (peer.make)(ITEMS as usize);
        let fill = |filter: &mut dyn Filter, numbers: Range<u64>| {
            let accepted = numbers.take_while(|&number| filter.insert(&key(number)));
            accepted.count() as u64
        };
        let first = fill(&mut *filter, 0..ITEMS);
        let lost = match first == ITEMS {
            true => missing(&*filter, 0..first).to_string(),
            false => "refuses".into(),
        };
        let accepted = first + fill(&mut *filter, first..MOST);
        if accepted == MOST {
            return ["never".into(), lost, NONE.into()];
        }
        let whole = if filter.load(0).is_some() {
            ""
        } else {
            " of the items"
        };
        let load = filter
            .load(accepted)
            .unwrap_or(accepted as f64 / ITEMS as f64);
        let (mut kept, mut refused) = ((0..accepted).collect::<Vec<_>>(), 1);
        for number in accepted + 1..MOST {
            match filter.insert(&key(number)) {
                true => kept.push(number),
                false => refused += 1,
            }
            if refused == 100 {
                break;
            }
        }
        let lost_at_refusals = missing(&*filter, kept.into_iter());
        [
            format!("{:.1} %{whole}", 100.0 * load),
            lost,
            format!("{lost_at_refusals} of {refused}"),
        ]
    })
}

/// How many copies of a key it holds, asked by deleting them.
pub fn copies(peer: &Peer) -> String {
    const TRIES: usize = 100;
    answer(|| {
        let mut filter = (peer.make)(ITEMS as usize);
        (0..TRIES).take_while(|_| filter.insert(&key(0))).count();
        let copies = (0..TRIES)
            .take_while(|_| filter.remove(&key(0)) == Some(true))
            .count();
        if filter.remove(&key(0)).is_none() {
            NONE.into()
        } else if copies == TRIES {
            format!("{TRIES} or more")
        } else {
            copies.to_string()
        }
    })
}

/// Of a filter with as many items as it was made for, half are deleted: what fails, or is lost.
pub fn deletes(peer: &Peer) -> String {
    answer(|| {
        let mut filter = (peer.make)(ITEMS as usize);
        let accepted: Vec<u64> = (0..ITEMS)
            .filter(|&number| filter.insert(&key(number)))
            .collect();
        let (deleted, kept): (Vec<u64>, Vec<u64>) =
            accepted.iter().partition(|&number| number % 2 == 0);
        let mut failed = 0;
        for &number in &deleted {
            match filter.remove(&key(number)) {
                None => return NONE.into(),
                Some(found) => failed += u64::from(!found),
            }
        }
        let lost = missing(&*filter, kept.into_iter());
        match failed + lost {
            0 => "exact".into(),
            _ => format!("{lost} lost, {failed} fail, of {}", deleted.len()),
        }
    })
}

/// Lets two threads do the same, each with its number.
fn two_threads<T: Send>(work: impl Fn(u64) -> T + Sync) -> [T; 2] {
    thread::scope(|scope| {
        let threads = [0, 1].map(|number| {
            let work = &work;
            scope.spawn(move || work(number))
        });
        threads.map(|thread| thread.join().expect("a thread that does not panic"))
    })
}

/// Two threads add the same keys at the same time: how many keys have two winners, or none.
pub fn winners(peer: &Peer) -> String {
    const RACES: u64 = 50_000;
    answer(|| {
        let filter = (peer.make)(ITEMS as usize);
        let Some(shared) = filter.shared() else {
            return NONE.into();
        };
        let arrived = AtomicU64::new(0);
        let won = two_threads(|_| {
            let race = |number| {
                arrived.fetch_add(1, Ordering::AcqRel);
                for spins in 0_u64.. {
                    if arrived.load(Ordering::Acquire) >= 2 * (number + 1) {
                        break;
                    }
                    // The other thread has no core to arrive on.
                    if spins > 2000 {
                        thread::yield_now();
                    }
                }
                // A thread that ended here would leave the other one waiting.
                catch_unwind(AssertUnwindSafe(|| shared.insert_unique(&key(number))))
            };
            (0..RACES).map(race).collect::<Vec<_>>()
        });
        let won = won.map(|answers| {
            let answers = answers.into_iter().map(|answer| answer.expect("no panic"));
            answers.collect::<Option<Vec<bool>>>()
        });
        let [Some(first), Some(second)] = won else {
            return NONE.into();
        };
        let count = |winners| {
            let pairs = first.iter().zip(&second);
            pairs
                .filter(|&(&a, &b)| u8::from(a) + u8::from(b) == winners)
                .count()
        };
        let share = |winners| 100.0 * count(winners) as f64 / RACES as f64;
        match count(2) {
            0 => format!("one in {:.1} %", share(1)),
            _ => format!("two in {:.1} %", share(2)),
        }
    })
}

/// What one thread of [`together`] saw.
#[derive(Default)]
struct Seen {
    missed: u64,
    failed: u64,
    refused: u64,
}

/// One thread's keys come and go in a small filter, and each is looked up while it is there.
fn come_and_go(shared: &dyn Shared, numbers: u64, inserts: u64) -> Seen {
    /// Four fifths of 256 slots, by two threads.
    const HELD: usize = 102;
    let (mut held, mut seen) = (VecDeque::new(), Seen::default());
    for number in (0..inserts).map(|number| numbers << 40 | number) {
        match shared.insert(&key(number)) {
            true => held.push_back(number),
            false => seen.refused += 1,
        }
        let Some(&asked) = held.get(number as usize % held.len().max(1)) else {
            continue;
        };
        seen.missed += u64::from(!shared.contains(&key(asked)));
        if held.len() == HELD {
            let oldest = held.pop_front().expect("it holds some");
            match shared.remove(&key(oldest)) {
                Some(found) => seen.failed += u64::from(!found),
                None => break, // without deletes the filter is full
            }
        }
    }
    seen
}

/// Two threads add and delete keys of their own: what of them is missing while it is there.
pub fn together(peer: &Peer) -> String {
    const INSERTS: u64 = 1_000_000;
    answer(|| {
        let filter = (peer.make)(226);
        let Some(shared) = filter.shared() else {
            return NONE.into();
        };
        let seen = two_threads(|thread| come_and_go(shared, thread, INSERTS));
        let sum = |of: fn(&Seen) -> u64| seen.iter().map(of).sum::<u64>();
        let (missed, failed, refused) = (
            sum(|it| it.missed),
            sum(|it| it.failed),
            sum(|it| it.refused),
        );
        let refusals = if refused == 0 {
            String::new()
        } else {
            format!("; {refused} refused")
        };
        match missed + failed {
            0 => format!("nothing{refusals}"),
            _ => format!("{missed} missed, {failed} fail{refusals}"),
        }
    })
}

/// Keys that are their own hashes: how many of 2000 are accepted, and how many of the next 2000 are found.
pub fn weak(peer: &Peer, shift: u32) -> String {
    const KEYS: u64 = 2000;
    let Some(make) = peer.make_weak else {
        return NONE.into();
    };
    answer(|| {
        let mut filter = make(KEYS as usize);
        let accepted = (0..KEYS)
            .take_while(|number| filter.insert(&(number << shift)))
            .count();
        let found = (KEYS..2 * KEYS)
            .filter(|number| filter.contains(&(number << shift)))
            .count();
        let share = 100.0 * found as f64 / KEYS as f64;
        match accepted as u64 == KEYS {
            true => format!("{share:.1} %"),
            false => format!("{accepted} accepted, {share:.1} %"),
        }
    })
}

/// How many of the items of a saved filter another process finds.
pub fn saved(peer: &Peer) -> String {
    if peer.load.is_none() {
        return NONE.into();
    }
    answer(|| {
        let mut filter = (peer.make)(ITEMS as usize);
        let accepted = (0..ITEMS / 2)
            .filter(|&number| filter.insert(&key(number)))
            .count();
        let name = format!("oracle-saved-{}-{}", std::process::id(), peer.package);
        let path = std::env::temp_dir().join(name);
        if !filter.save(&path) {
            return NONE.into();
        }
        let program = std::env::current_exe().expect("the path of this program");
        let output = Command::new(program).arg(peer.package).arg(&path).output();
        // `cuckoofilter-mmap` deletes the file when it is closed, as it does with its own.
        let _ = std::fs::remove_file(&path);
        let output = output.expect("this program runs once more");
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        let found = String::from_utf8_lossy(&output.stdout);
        match found.trim() == accepted.to_string() {
            true => "all".into(),
            false => format!("{} of {accepted}", found.trim()),
        }
    })
}

/// The other process of [`saved`]: how many of the first keys the file's filter has.
pub fn found_in(peer: &Peer, path: &Path) -> u64 {
    let filter = peer.load.expect("a filter that can be loaded")(path);
    ITEMS / 2 - missing(&*filter, 0..ITEMS / 2)
}
