//! Streams of events: each key is asked for as it comes, and steps go by.

use super::{
    Facts, THREADS,
    contestants::contestants,
    window::{Seen, Window},
};
use crate::{
    crew::crew,
    effort::Effort,
    keys::{ABSENT, Asked, Key, Walk},
    measure::{items, mops, rate, size},
    ops::Table,
};
use std::{
    sync::atomic::{AtomicU64, Ordering},
    thread,
};

/// Numbers that a thread takes at once.
const CHUNK: u64 = 64;

/// A stream of new keys, from which threads take their parts. A step begins whenever the keys of a
/// step have come: the thread that takes the first key beyond them begins it.
struct Source<'a> {
    window: &'a dyn Window,
    next: AtomicU64,
    /// The steps that have begun, and thrown away what they had to.
    steps: AtomicU64,
    /// Keys of a TTL, and of a step.
    items: u64,
    step: u64,
}

impl<'a> Source<'a> {
    fn new(window: &'a dyn Window, items: u64, steps: u32) -> Self {
        Self {
            window,
            next: AtomicU64::new(0),
            steps: AtomicU64::new(0),
            items,
            step: items / u64::from(steps),
        }
    }

    /// The first number of the next part.
    fn take(&self) -> u64 {
        let first = self.next.fetch_add(CHUNK, Ordering::Relaxed);
        let [before, after] = [first, first + CHUNK].map(|number| number / self.step);
        if before < after {
            self.wait_until(|steps| steps == before);
            self.window.step();
            self.steps.store(after, Ordering::Release);
        } else {
            // Contestants have room for what comes while a step begins, up to half a step.
            self.wait_until(|steps| first <= steps * self.step + self.step * 3 / 2);
        }
        first
    }

    /// Waits for the threads that begin steps: what a step costs is time of the stream.
    fn wait_until(&self, is_enough: impl Fn(u64) -> bool) {
        while !is_enough(self.steps.load(Ordering::Acquire)) {
            thread::yield_now();
        }
    }

    /// Brings in keys up to this number.
    fn run_to(&self, end: u64) -> u64 {
        let mut refused = 0;
        while self.next.load(Ordering::Relaxed) < end {
            let first = self.take();
            refused += count(self.window.see_all(first..first + CHUNK), Seen::Refused);
        }
        refused
    }
}

/// How many of the keys had this answer.
fn count(answers: [u64; 3], seen: Seen) -> u64 {
    answers[seen as usize].count_ones().into()
}

/// Lookups of a window that is full.
pub(super) fn lookups(effort: Effort) -> Table {
    let sizes = [effort.log_medium, effort.log_large.min(23)];
    let asked = ["hit", "miss", "half"];
    let columns = sizes.iter().flat_map(|&log_slots| {
        let items = size(log_slots);
        asked.map(|asked| format!("{asked}, {items} slots"))
    });
    let columns: Vec<String> = columns.collect();
    let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
    let mut table = Table::new("Lookups, one thread".into(), &columns);
    table.rows_for(contestants().iter().map(|it| it.name.to_owned()));
    for (block, log_slots) in sizes.into_iter().enumerate() {
        let count = items(log_slots);
        let filled = contestants().map(|it| {
            let window = (it.make)(count as usize);
            Source::new(&*window, count, it.steps).run_to(3 * count / 2);
            window
        });
        // The first of the keys that all remember surely.
        let first = 3 * count / 2 - count * 3 / 4;
        for round in 0..effort.rounds {
            for (column, asked) in Asked::ALL.into_iter().enumerate() {
                for (row, window) in filled.iter().enumerate() {
                    let walk = Walk::new(asked, count * 3 / 4, round as u64);
                    let steps = effort.steps / 2;
                    let look = || window.lookup(walk, first, steps);
                    table.push(row, 3 * block + column, rate(steps, look));
                }
            }
        }
    }
    table
}

/// Throughput by threads, and what the contestants are like.
pub(super) fn measure(effort: Effort) -> (Table, Vec<Facts>) {
    let columns = THREADS.map(|threads| format!("{threads} threads"));
    let columns = columns.each_ref().map(String::as_str);
    let title = "Streams: one call in four is for a key that came before".into();
    let mut table = Table::new(title, &columns);
    table.rows_for(contestants().iter().map(|it| it.name.to_owned()));
    let count = items(effort.log_medium);
    let mut facts: Vec<Facts> = Vec::new();
    for it in contestants() {
        let window = (it.make)(count as usize);
        Source::new(&*window, count, it.steps).run_to(3 * count / 2);
        let bits = window.bytes() as f64 * 8.0 / count as f64;
        let walk = Walk::new(Asked::Misses, count, 0);
        let found = window.lookup(walk, 0, 4 * effort.steps);
        facts.push(Facts {
            name: it.name,
            bits,
            lifetimes: lifetimes(effort, &it),
            rate: found as f64 / (4 * effort.steps) as f64,
            forgotten: 0,
            twice: twice(effort, &it),
            refused: 0,
            asked: 0,
        });
    }
    for _ in 0..effort.rounds {
        for (column, threads) in THREADS.into_iter().enumerate() {
            for (row, it) in contestants().into_iter().enumerate() {
                let window = (it.make)(count as usize);
                let source = Source::new(&*window, count, it.steps);
                let mut refused = source.run_to(count / 4);
                let (done, elapsed) = crew(threads, |_| work(&source, 5 * count / 2));
                let [calls, forgotten, more] = done
                    .into_iter()
                    .reduce(|a, b| std::array::from_fn(|i| a[i] + b[i]))
                    .unwrap_or_default();
                refused += more;
                table.push(row, column, mops(calls, elapsed));
                facts[row].forgotten += forgotten;
                facts[row].refused += refused;
                facts[row].asked += calls;
            }
        }
    }
    (table, facts)
}

/// A thread's part of the stream, up to this number: its calls, the keys that were forgotten, and
/// those refused.
fn work(source: &Source<'_>, end: u64) -> [u64; 3] {
    let window = source.window;
    let (mut own, mut refused): (Vec<(u64, u64)>, u64) = (Vec::new(), 0);
    let (mut calls, mut forgotten) = (0, 0);
    while source.next.load(Ordering::Relaxed) < end {
        let first = source.take();
        let answers = window.see_all(first..first + CHUNK);
        refused += count(answers, Seen::Refused);
        calls += CHUNK;
        // A part of this thread's own that came within half a TTL, so that surely a call has
        // returned for each of its keys. One that was taken for another key is not kept.
        own.push((first, answers[Seen::First as usize]));
        let (past, kept) = own[own.len().saturating_sub(1 + own.len() / 8)];
        let again = window.see_all(past..past + CHUNK / 3);
        calls += CHUNK / 3;
        // Unless this thread was preempted, they are no older than that.
        if source.next.load(Ordering::Relaxed) - past < source.items / 2 {
            forgotten += u64::from((again[Seen::First as usize] & kept).count_ones());
        }
    }
    [calls, forgotten, refused]
}

/// Of the keys that two threads ask for at once, how many both get as first.
fn twice(effort: Effort, it: &super::Contestant) -> u64 {
    let count = items(effort.log_medium) / 4;
    let window = (it.make)(count as usize);
    let source = Source::new(&*window, count, it.steps);
    // For each key where the stream was before the call that was first, and 1.
    let room = 3 * count + 16 * CHUNK;
    let first: Vec<AtomicU64> = (0..room).map(|_| AtomicU64::new(0)).collect();
    let (twice, _) = crew(4, |_| {
        let mut twice = 0;
        let at = || source.next.load(Ordering::Relaxed);
        while at() < 6 * count {
            // Each part goes to two threads. So steps are twice as far apart.
            let part = source.take() / CHUNK / 2 * CHUNK;
            let before = at();
            let new = window.see_all(part..part + CHUNK)[Seen::First as usize];
            for place in (0..CHUNK).filter(|place| new >> place & 1 == 1) {
                let other = first[(part + place) as usize].swap(before + 1, Ordering::Relaxed);
                // A thread may have been stopped until the key was forgotten.
                twice += u64::from(other != 0 && at() - (other - 1).min(before) < count / 2);
            }
        }
        twice
    });
    twice.into_iter().sum()
}

/// How long samples are found, in TTLs.
fn lifetimes(effort: Effort, it: &super::Contestant) -> [f64; 3] {
    let count = items(effort.log_small);
    let window = (it.make)(count as usize);
    let source = Source::new(&*window, count, it.steps);
    source.run_to(2 * count);
    let (start, mut alive, mut lives) = (2 * count, Vec::new(), Vec::new());
    let look = (count / 200).next_multiple_of(CHUNK);
    while source.next.load(Ordering::Relaxed) < start + 5 * count {
        let now = source.next.load(Ordering::Relaxed);
        if now < start + 2 * count {
            alive.push(ABSENT / 4 + now);
            window.first_seen(u64::nth(ABSENT / 4 + now));
        }
        source.run_to(now + look);
        let now = source.next.load(Ordering::Relaxed);
        alive.retain(|&number| {
            let found = window.contains(u64::nth(number));
            if !found {
                lives.push((now - (number - ABSENT / 4)) as f64 / count as f64);
            }
            found
        });
    }
    lives.sort_by(f64::total_cmp);
    let at = |share: f64| {
        let place = lives.len().saturating_sub(1) as f64 * share;
        lives.get(place as usize).copied().unwrap_or(f64::NAN)
    };
    [at(0.0), at(0.5), at(1.0)]
}
