//! Streams of events: each key is asked for as it comes, and epochs go by.

use super::windows::{Contestant, Seen, Window, contestants};
use crate::{
    crew::{crew, named},
    effort::Effort,
    keys::{Asked, Walk},
    measure::{items, mops, rate, say, size},
    table::{Table, Unit},
};
use std::{
    sync::atomic::{AtomicU64, Ordering},
    thread,
};

/// Threads of the stream.
const THREADS: [usize; 5] = [1, 2, 4, 8, 16];

/// Numbers that a thread takes at once.
const CHUNK: u64 = 64;

/// A stream of new keys, from which threads take their parts. An epoch begins whenever the keys of
/// one have come: the thread that takes the first key beyond them begins it.
struct Source<'a> {
    window: &'a dyn Window,
    next: AtomicU64,
    /// The epochs that have begun, and thrown away what they had to.
    epochs: AtomicU64,
    /// Keys of a TTL, and of an epoch.
    items: u64,
    epoch: u64,
}

impl<'a> Source<'a> {
    fn new(window: &'a dyn Window, items: u64, epochs: u32) -> Self {
        Self {
            window,
            next: AtomicU64::new(0),
            epochs: AtomicU64::new(0),
            items,
            epoch: items / u64::from(epochs),
        }
    }

    /// The first number of the next part.
    fn take(&self) -> u64 {
        let first = self.next.fetch_add(CHUNK, Ordering::Relaxed);
        let [before, after] = [first, first + CHUNK].map(|number| number / self.epoch);
        if before < after {
            self.wait_until(|epochs| epochs == before);
            self.window.begin_epoch();
            self.epochs.store(after, Ordering::Release);
        } else {
            // Contestants have room for what comes while an epoch begins, up to half of one.
            self.wait_until(|epochs| first <= epochs * self.epoch + self.epoch * 3 / 2);
        }
        first
    }

    /// Waits for the threads that begin epochs: what one costs is time of the stream.
    fn wait_until(&self, is_enough: impl Fn(u64) -> bool) {
        while !is_enough(self.epochs.load(Ordering::Acquire)) {
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

/// Lookups of windows that are full.
pub(super) fn lookups(effort: Effort) -> Table {
    let sizes = [effort.log_medium, effort.log_large.min(23)];
    let column = |asked: Asked, log| format!("{}, {} slots", asked.name(), size(log));
    let columns = sizes.map(|log| Asked::ALL.map(|asked| column(asked, log)));
    let mut table = Table::new("expiring/lookups", "Lookups, one thread");
    table = table.with(Unit::Rate, columns.concat());
    say(&table.title);
    for log in sizes {
        let count = items(log);
        let filled = contestants().map(|it| {
            let window = (it.make)(count as usize);
            Source::new(&*window, count, it.epochs).run_to(3 * count / 2);
            (it.name, window)
        });
        for round in 0..effort.rounds as u64 {
            for asked in Asked::ALL {
                // All remember the latest three quarters surely.
                let (part, steps) = (count * 3 / 4, effort.steps / 2);
                let walk = Walk::new(asked, part, round).above(part);
                for (name, window) in &filled {
                    let rate = rate(steps, || window.lookup(walk, steps));
                    table.push(name, &column(asked, log), rate);
                }
            }
        }
    }
    table
}

/// Throughput by threads, and what the contestants are like.
pub(super) fn measure(effort: Effort) -> [Table; 2] {
    let title = "Streams: one call in four is for a key that came before";
    let mut rates = Table::new("expiring/stream", title).with(Unit::Rate, THREADS.map(named));
    let counted = ["forgotten", "twice first", "refused", "of calls"];
    let mut facts = Table::new("expiring/facts", "Memory and wrong answers")
        .with(Unit::Number, ["bits an item"])
        .with(Unit::Share, ["rate"])
        .with(Unit::Count, counted);
    say(title);
    let count = items(effort.log_medium);
    for it in contestants() {
        let window = (it.make)(count as usize);
        Source::new(&*window, count, it.epochs).run_to(3 * count / 2);
        let bits = window.bytes() as f64 * 8.0 / count as f64;
        facts.push(it.name, "bits an item", bits);
        let steps = 4 * effort.steps;
        let found = window.lookup(Walk::new(Asked::Misses, count, 0), steps);
        facts.push(it.name, "rate", found as f64 / steps as f64);
        facts.push(it.name, "twice first", twice(effort, &it) as f64);
    }
    for _ in 0..effort.rounds {
        for threads in THREADS {
            for it in contestants() {
                let window = (it.make)(count as usize);
                let source = Source::new(&*window, count, it.epochs);
                let refused = source.run_to(count / 4);
                let (done, elapsed) = crew(threads, |_| work(&source, 5 * count / 2));
                let sum = |part: usize| done.iter().map(|counts| counts[part]).sum::<u64>();
                let [calls, forgotten, more] = [0, 1, 2].map(sum);
                rates.push(it.name, &named(threads), mops(calls, elapsed));
                facts.push(it.name, "forgotten", forgotten as f64);
                facts.push(it.name, "refused", (refused + more) as f64);
                facts.push(it.name, "of calls", calls as f64);
            }
        }
    }
    [rates, facts]
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
fn twice(effort: Effort, it: &Contestant) -> u64 {
    let count = items(effort.log_medium) / 4;
    let window = (it.make)(count as usize);
    let source = Source::new(&*window, count, it.epochs);
    // For each key where the stream was before the call that was first, and 1.
    let room = 3 * count + 16 * CHUNK;
    let first: Vec<AtomicU64> = (0..room).map(|_| AtomicU64::new(0)).collect();
    let (twice, _) = crew(4, |_| {
        let mut twice = 0;
        let at = || source.next.load(Ordering::Relaxed);
        while at() < 6 * count {
            // Each part goes to two threads. So epochs are twice as far apart.
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
