//! A thread that stops for ever delays nobody, wherever it stops.
//!
//! Run with `RUSTFLAGS="--cfg guira_faults" cargo test --test stopped_threads`.
//!
//! A small filter is brought, insert by insert and always in the same way, to the
//! verge of an operation that has all steps: a relocation, the begin of a level,
//! splits, the end of a level. A thread then begins the operation and stops
//! before its nth event, for every n. Others must be able to do everything.
#![cfg(guira_faults)]

use guira::{
    CuckooFilter, InsertError,
    model::{Event, watch},
};
use std::{
    collections::BTreeSet,
    ops::Range,
    sync::{
        Arc,
        mpsc::{self, RecvTimeoutError},
    },
    thread,
    time::Duration,
};

/// Far beyond what the others need. Only a thread that is delayed for ever, which
/// is what must not be, comes near it.
const FOR_EVER: Duration = Duration::from_secs(120);

/// Items that a filter comes to hold in the end: it doubles several times.
const MANY: u64 = 9_000;

type Operation = fn(&CuckooFilter, u64);

fn empty() -> CuckooFilter {
    CuckooFilter::builder()
        .capacity(1_000)
        .max_capacity(30_000)
        .false_positive_rate(0.02)
        .fingerprint_bits(14)
        .seed(7)
        .build()
        .expect("a small filter")
}

/// The filter with the items from 0 to `items` - 1.
fn filled(items: u64) -> CuckooFilter {
    let filter = empty();
    for item in 0..items {
        filter.insert(&item).expect("it grows");
    }
    filter
}

/// The events of the operation on that filter when nobody else is at work.
fn events(items: u64, operation: Operation) -> Vec<Event> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let filter = filled(items);
        watch(move |event| sender.send(event).expect("the receiver is there"));
        operation(&filter, items);
    })
    .join()
    .expect("the operation succeeds");
    receiver.iter().collect()
}

/// Begins the operation in a thread, which stops for ever before the first event
/// at which `now` is true; that event, or none if the operation has ended.
fn stop(
    filter: &Arc<CuckooFilter>,
    operation: impl FnOnce(&CuckooFilter) + Send + 'static,
    mut now: impl FnMut(&CuckooFilter, Event) -> bool + Send + 'static,
) -> Option<Event> {
    let (stopped, reached) = mpsc::channel();
    let (filter, watched) = (filter.clone(), filter.clone());
    thread::spawn(move || {
        watch(move |event| {
            if now(&watched, event) {
                stopped.send(event).expect("the test waits for it");
                loop {
                    thread::park();
                }
            }
        });
        operation(&filter);
    });
    match reached.recv_timeout(FOR_EVER) {
        Ok(event) => Some(event),
        Err(RecvTimeoutError::Disconnected) => None,
        Err(RecvTimeoutError::Timeout) => panic!("the operation does not end"),
    }
}

/// Four threads do everything there is to do: with the items `first`, which are
/// in the filter, and with those from `next` on, but not with `besides`.
fn work(filter: &Arc<CuckooFilter>, first: Range<u64>, next: u64, besides: u64) {
    let (done, all_done) = mpsc::channel();
    for worker in 0..4 {
        let (filter, done, first) = (filter.clone(), done.clone(), first.clone());
        thread::spawn(move || {
            let own = |item: &u64| item % 4 == worker && *item != besides;
            let mut present: Vec<u64> = first.clone().filter(own).collect();
            let mut refused = 0;
            for item in (next..MANY).filter(own) {
                let inserted = match item % 8 < 4 {
                    true => filter.insert(&item).map(|()| true),
                    false => filter.insert_unique(&item),
                };
                match inserted {
                    Ok(true) => {
                        assert!(filter.contains(&item), "false negative of {item}");
                        present.push(item);
                    }
                    // An item of its class is in, which may be removed.
                    Ok(false) => {}
                    Err(InsertError::Full) => refused += 1,
                    Err(error) => panic!("insert of {item}: {error}"),
                }
            }
            for item in present {
                assert!(filter.contains(&item), "false negative of {item}");
                assert!(filter.count(&item) > 0, "count of {item}");
            }
            for item in first.filter(own) {
                assert!(filter.remove(&item), "remove of {item}");
            }
            done.send(refused).expect("the test waits for it");
        });
    }
    drop(done);
    let refused: usize = (0..4)
        .map(|_| {
            let done = all_done.recv_timeout(FOR_EVER);
            done.expect("nobody is delayed or fails")
        })
        .sum();
    // In the two words of the stopped move there may be no room.
    assert!(refused <= 2, "{refused} inserts were refused");
    filter.finish_growth();
    assert_eq!(filter.stats().buckets_to_split, 0, "the level is complete");
}

/// Stops a thread before each event of the operation in turn; the events.
fn stop_everywhere(items: u64, besides: u64, operation: Operation) -> Vec<Event> {
    let mut events = Vec::new();
    loop {
        let filter = Arc::new(filled(items));
        let level = filter.stats().level;
        let mut left = events.len();
        let mut reads = 0;
        let nth = move |_: &CuckooFilter, event| {
            // A search is a long row of equal reads.
            let read = matches!(event, Event::Hint | Event::Prepare);
            reads += u32::from(read);
            if read && reads > 20 {
                return false;
            }
            let now = left == 0;
            left = left.wrapping_sub(1);
            now
        };
        let Some(event) = stop(&filter, move |filter| operation(filter, items), nth) else {
            return events;
        };
        events.push(event);
        work(&filter, 0..items, items + 1, besides);
        assert!(filter.stats().level > level + 1, "it grows on");
    }
}

/// The first number of items at which the next insert does what `is_it` looks for.
fn verge(is_it: impl Fn(&CuckooFilter, &CuckooFilter) -> bool) -> u64 {
    let (before, after) = (empty(), filled(1));
    for items in 0..MANY {
        if is_it(&before, &after) {
            return items;
        }
        before.insert(&items).expect("it grows");
        after.insert(&(items + 1)).expect("it grows");
    }
    panic!("no insert does it");
}

fn insert(filter: &CuckooFilter, item: u64) {
    filter.insert(&item).expect("it grows");
}

fn insert_unique(filter: &CuckooFilter, item: u64) {
    filter.insert_unique(&item).expect("it grows");
}

fn remove_first(filter: &CuckooFilter, _: u64) {
    assert!(filter.remove(&0_u64));
}

fn look_up_first(filter: &CuckooFilter, _: u64) {
    assert!(filter.contains(&0_u64));
    assert!(filter.count(&0_u64) > 0);
    assert!(!filter.contains(&u64::MAX));
}

fn finish_growth(filter: &CuckooFilter, _: u64) {
    filter.finish_growth();
}

fn assert_among(events: &[Event], wanted: &[Event]) {
    for event in wanted {
        assert!(events.contains(event), "{event:?} is not among the events");
    }
}

const MOVE: [Event; 6] = [
    Event::Shadow,
    Event::Advance,
    Event::Decide,
    Event::Deliver,
    Event::Erase,
    Event::Settle,
];

const SPLIT: [Event; 3] = [Event::Freeze, Event::Copy, Event::Cut];

#[test]
fn in_an_insert_that_relocates() {
    let items = relocation();
    let events = stop_everywhere(items, items, insert);
    assert_among(&events, &[Event::Prepare, Event::Shadow, Event::Decide]);
}

#[test]
fn in_inserts_that_relocate_towards_the_lower_bucket() {
    let mut seen = BTreeSet::new();
    let mut items = 0;
    // One after the other, until a move towards P was among them.
    while !seen.contains(&(Event::Advance as u8)) {
        items = items.max(1) + 1;
        let events = events(items, insert);
        if events.contains(&Event::Advance) {
            seen.extend(
                stop_everywhere(items, items, insert)
                    .iter()
                    .map(|&event| event as u8),
            );
        }
    }
    assert!(MOVE.iter().all(|&event| seen.contains(&(event as u8))));
}

#[test]
fn in_an_insert_that_begins_a_level() {
    let items = verge(|before, after| {
        before.stats().buckets_to_split == 0 && after.stats().buckets_to_split > 0
    });
    let events = stop_everywhere(items, items, insert);
    assert_among(&events, &SPLIT);
    assert_among(&events, &[Event::Claim]);
}

#[test]
fn in_an_insert_that_completes_a_level() {
    let items = verge(|before, after| after.stats().level > before.stats().level);
    let events = stop_everywhere(items, items, insert);
    assert_among(&events, &SPLIT);
    assert_among(&events, &[Event::Sweep, Event::Hint]);
}

#[test]
fn in_an_insert_unique_that_begins_a_level() {
    let splits = |&items: &u64| {
        let events = events(items, insert_unique);
        SPLIT.iter().all(|event| events.contains(event))
    };
    let near = verge(|_, after| after.stats().buckets_to_split > 0);
    let items = (near.saturating_sub(1_500)..near + 500)
        .find(splits)
        .expect("an insert_unique that splits");
    let events = stop_everywhere(items, items, insert_unique);
    assert_among(&events, &[Event::Reserve, Event::Confirm]);
}

/// A mover stops with the item in delivery; whoever removes the item stops before
/// that, too.
#[test]
fn in_a_move_and_in_a_remove_of_its_item() {
    let items = relocation();
    let filter = Arc::new(filled(items));
    let in_delivery = |_: &CuckooFilter, event| event == Event::Deliver;
    let at = stop(&filter, move |filter| insert(filter, items), in_delivery);
    assert_eq!(at, Some(Event::Deliver));
    let remove_all = move |filter: &CuckooFilter| {
        assert!((0..items).all(|item| filter.remove(&item)));
    };
    let at = stop(&filter, remove_all, |_, event| event == Event::Kill);
    assert_eq!(at, Some(Event::Kill));
    work(&filter, 0..0, items + 1, items);
}

/// A mover stops before it takes its shadow back, because the item is gone.
#[test]
fn in_a_move_that_is_given_up() {
    let items = relocation();
    let filter = Arc::new(filled(items));
    let mut decides = false;
    let given_up = move |filter: &CuckooFilter, event| {
        if event == Event::Decide && !decides {
            decides = true;
            assert!((0..items).all(|item| filter.remove(&item)));
        }
        event == Event::Retract
    };
    let at = stop(&filter, move |filter| insert(filter, items), given_up);
    assert_eq!(at, Some(Event::Retract));
    work(&filter, 0..0, items + 1, items);
}

/// An insert_unique stops before it gives up its reservation, because the item
/// has come into the other bucket.
#[test]
fn in_an_insert_unique_that_gives_up() {
    let filter = Arc::new(filled(1_000));
    let insert_all = |filter: &CuckooFilter| {
        for item in 1_000..1_100 {
            insert_unique(filter, item);
        }
    };
    let mut item = 999;
    let mut events = [Event::Hint; 2];
    let gives_up = move |filter: &CuckooFilter, event| {
        item += u64::from(event == Event::Reserve);
        events = [events[1], event];
        if events == [Event::Reserve, Event::Hint] {
            insert(filter, item);
        }
        event == Event::Cancel
    };
    let at = stop(&filter, insert_all, gives_up);
    assert_eq!(at, Some(Event::Cancel));
    work(&filter, 0..1_000, 1_100, MANY);
}

/// Items after which the next insert relocates, and does not grow.
fn relocation() -> u64 {
    verge(|before, after| {
        after.stats().relocations > before.stats().relocations
            && after.stats().level == before.stats().level
            && after.stats().buckets_to_split == 0
    })
}

#[test]
fn in_the_sweep_of_a_level() {
    let items = verge(|before, after| after.stats().level > before.stats().level);
    let events = stop_everywhere(items, items, finish_growth);
    assert_among(&events, &SPLIT);
    assert_among(&events, &[Event::Sweep]);
    // How many events there are depends on the thread: the last for sure.
    let filter = Arc::new(filled(items));
    let last = |_: &CuckooFilter, event| event == Event::Complete;
    let at = stop(&filter, CuckooFilter::finish_growth, last);
    assert_eq!(at, Some(Event::Complete));
    work(&filter, 0..items, items, MANY);
}

#[test]
fn in_a_remove_and_in_a_lookup_during_growth() {
    let items = 1 + verge(|before, after| {
        before.stats().buckets_to_split == 0 && after.stats().buckets_to_split > 0
    });
    let events = stop_everywhere(items, 0, remove_first);
    assert_among(&events, &[Event::Observe, Event::Prepare, Event::Take]);
    let events = stop_everywhere(items, 0, look_up_first);
    assert_among(
        &events,
        &[
            Event::ReadP,
            Event::ReadQ,
            Event::RereadP,
            Event::RereadQ,
            Event::Validate,
        ],
    );
}
