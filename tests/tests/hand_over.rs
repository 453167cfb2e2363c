//! The hand-over of the guide, "Replace a live filter", from one window to another. Threads claim
//! items during it, and each item is claimed once in a TTL.

use guira::{ExpiringBuilder, ExpiringFilter, InsertError};
use std::{
    sync::{
        Barrier,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

const ITEMS: usize = 2000;

/// The filters that a thread asks.
#[derive(Clone, Copy, Debug)]
enum Asks {
    Old,
    Both,
    New,
}

impl Asks {
    fn is_first(
        self,
        old: &ExpiringFilter,
        new: &ExpiringFilter,
        item: &usize,
    ) -> Result<bool, InsertError> {
        match self {
            Self::Old => old.insert_unique(item),
            Self::New => new.insert_unique(item),
            Self::Both if !old.insert_unique(item)? => Ok(false),
            Self::Both => new
                .insert_unique(item)
                .inspect_err(|_| _ = old.remove(item)),
        }
    }
}

fn builder(capacity: usize, bits: u32) -> ExpiringBuilder {
    ExpiringFilter::builder(Duration::from_secs(3600))
        .epochs(4)
        .capacity(capacity)
        .fingerprint_bits(bits)
        .seed(7)
}

/// How often each item is claimed if each of these threads asks for each of them.
fn claims(
    old: &ExpiringFilter,
    new: &ExpiringFilter,
    threads: &[Asks],
    items: std::ops::Range<usize>,
) -> Vec<usize> {
    let claims: Vec<_> = items.clone().map(|_| AtomicUsize::new(0)).collect();
    let start = Barrier::new(threads.len());
    thread::scope(|scope| {
        for (number, asks) in threads.iter().enumerate() {
            let (claims, start, items) = (&claims, &start, items.clone());
            scope.spawn(move || {
                start.wait();
                let len = items.len();
                for step in 0..len {
                    let place = (step + 7 * number) % len;
                    let item = items.start + place;
                    if asks.is_first(old, new, &item).unwrap() {
                        claims[place].fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    claims.into_iter().map(AtomicUsize::into_inner).collect()
}

fn is_exact(old: &ExpiringFilter, new: &ExpiringFilter) {
    let once = vec![1; ITEMS];
    let (before, during, after) = (0..ITEMS, ITEMS..2 * ITEMS, 2 * ITEMS..3 * ITEMS);
    // Step 1: some threads do not know of the new filter yet.
    let mixed = [Asks::Old, Asks::Both, Asks::Old, Asks::Both];
    assert_eq!(claims(old, new, &mixed, before.clone()), once);
    assert_eq!(
        claims(old, new, &[Asks::Both; 2], before.clone()),
        vec![0; ITEMS]
    );
    // Step 2: one TTL and one epoch, in which all threads ask both.
    for _ in 0..=old.epochs() {
        old.advance();
        new.advance();
    }
    assert!(before.clone().all(|item| !old.contains(&item)));
    assert_eq!(claims(old, new, &[Asks::Both; 4], during.clone()), once);
    // Step 3: some threads have left the old filter.
    let mixed = [Asks::New, Asks::Both, Asks::New, Asks::Both];
    assert_eq!(claims(old, new, &mixed, after.clone()), once);
    assert_eq!(claims(old, new, &[Asks::New; 2], during), vec![0; ITEMS]);
    assert_eq!(claims(old, new, &[Asks::New; 2], after), vec![0; ITEMS]);
}

const CAPACITY: usize = 6 * ITEMS;

#[test]
fn each_item_is_claimed_once_while_a_window_becomes_larger() {
    let old = builder(CAPACITY, 26).build().unwrap();
    is_exact(&old, &builder(4 * CAPACITY, 26).build().unwrap());
}

#[test]
fn each_item_is_claimed_once_while_a_window_becomes_smaller_and_can_grow() {
    let old = builder(20 * CAPACITY, 26).build().unwrap();
    let new = builder(CAPACITY / 16, 20).max_capacity(CAPACITY);
    is_exact(&old, &new.build().unwrap());
}
