#!/usr/bin/env bash
# After loom's `yield_now`, a load no longer returns an old value that its thread has seen before.
#
# Run on 2026-11-28 with loom 0.7.2.
# Guess: a yield is a point where the scheduler may switch, and changes nothing about what a load can read.
# Seen: a thread stores x, then a flag, both Relaxed. A reader has read x, then sees the flag, and reads
# x again: loom explores the old and the new value. With a yield before the second load, as in a loop
# that retries, it explores only the new one. So it does if the reader has made the atomic.
#
# For users of filters: a lookup without locks retries after a lost race, and a model of it must yield, or
# loom never ends. A fault that needs the same old value in two attempts is then in no execution. Count on
# a model with a yield for one attempt, and argue by hand for the next.
. "$(dirname "$0")/lib/rust.sh"
rust_with 'loom = "=0.7.2"' <<'PROGRAM'
use loom::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    thread,
};
use std::{collections::BTreeSet, sync::Mutex};

/// What the reader saw before it read the flag, and after it; with `retry` between the flag and the load.
fn explored(retry: fn()) -> BTreeSet<(usize, usize)> {
    let seen = std::sync::Arc::new(Mutex::new(BTreeSet::new()));
    let collected = seen.clone();
    loom::model(move || {
        let shared = Arc::new((AtomicUsize::new(0), AtomicUsize::new(0)));
        let written = shared.clone();
        let writer = thread::spawn(move || {
            written.0.store(1, Relaxed);
            written.1.store(1, Relaxed);
        });
        let seen = seen.clone();
        let reader = thread::spawn(move || {
            let before = shared.0.load(Relaxed);
            if shared.1.load(Relaxed) == 1 {
                retry();
                seen.lock().unwrap().insert((before, shared.0.load(Relaxed)));
            }
        });
        writer.join().unwrap();
        reader.join().unwrap();
    });
    collected.lock().unwrap().clone()
}

fn main() {
    let (plain, with_yield) = (explored(|| ()), explored(thread::yield_now));
    println!("before and after the flag: {plain:?}; with a yield: {with_yield:?}");
    assert_eq!(plain, BTreeSet::from([(0, 0), (0, 1), (1, 1)]));
    assert_eq!(with_yield, BTreeSet::from([(0, 1), (1, 1)]));
}
PROGRAM
