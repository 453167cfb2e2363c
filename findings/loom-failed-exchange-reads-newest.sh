#!/usr/bin/env bash
# In loom a compare-exchange that fails always reads the newest value; the memory model allows older ones.
#
# Run on 2026-11-27 with loom 0.7.2.
# Guess: a failure with Relaxed is a relaxed load, so loom explores the old values that a load may read.
# Seen: a thread stores x, then a flag, both Relaxed. A reader that has seen the flag loads x: loom
# explores the old and the new value. With a compare-exchange that cannot succeed in place of the load,
# it explores only the new one. `fetch_or(0)` must read the newest value, and does.
#
# For users of filters: lock-free filters read by a failed exchange and decide by its value. A model
# that passes does not show that the decision survives an old one: a model of such a step needs a plain
# load in place of the exchange that fails, or an argument by hand.
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

/// What `read` returned after the flag had been seen, in all executions.
fn explored(read: fn(&AtomicUsize) -> usize) -> BTreeSet<usize> {
    let seen = std::sync::Arc::new(Mutex::new(BTreeSet::new()));
    let collected = seen.clone();
    loom::model(move || {
        let shared = Arc::new((AtomicUsize::new(0), AtomicUsize::new(0)));
        let written = shared.clone();
        let writer = thread::spawn(move || {
            written.0.store(1, Relaxed);
            written.1.store(1, Relaxed);
        });
        if shared.1.load(Relaxed) == 1 {
            seen.lock().unwrap().insert(read(&shared.0));
        }
        writer.join().unwrap();
    });
    collected.lock().unwrap().clone()
}

fn main() {
    let load = explored(|x| x.load(Relaxed));
    let exchange = explored(|x| x.compare_exchange(7, 8, Relaxed, Relaxed).unwrap_err());
    let update = explored(|x| x.fetch_or(0, Relaxed));
    println!("load: {load:?}, failed exchange: {exchange:?}, fetch_or(0): {update:?}");
    assert_eq!(load, BTreeSet::from([0, 1]));
    assert_eq!(exchange, BTreeSet::from([1]));
    assert_eq!(update, BTreeSet::from([1]));
}
PROGRAM
