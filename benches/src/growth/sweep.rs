//! Lookups during a doubling: one thread inserts, another looks up.

use super::{RATES, grown};
use crate::{
    crew::crew_with,
    effort::Effort,
    keys::{Asked, Key, Walk},
    measure::{items, mops, rate, size, thread_time},
    ops::Table,
};
use guira::CuckooFilter;
use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

const COLUMNS: [&str; 7] = [
    "at rest, before",
    "while the level is made",
    "at rest, half made",
    "beside inserts, after",
    "at rest, after",
    "made / at rest, after",
    "made / beside inserts",
];

const MADE: usize = 1;
const BESIDE: usize = 3;
const REST: usize = 4;

/// Inserts between two looks at whether the doubling is still in progress, and lookups between two
/// looks at whether the writer is still at work.
const STRETCH: u64 = 64;

/// Filters of two sizes, the last of whose doublings is watched.
pub(super) fn measure(effort: Effort) -> Table {
    let mut table = Table::new("Lookups while a level is made".into(), &COLUMNS);
    let sizes = [effort.log_medium, effort.log_large];
    table.rows_for(sizes.iter().flat_map(|&log_slots| {
        ["hits", "misses", "half hits"].map(|name| format!("{} slots, {name}", size(log_slots)))
    }));
    for (nth, log_slots) in sizes.into_iter().enumerate() {
        for round in 0..effort.rounds_at(log_slots) {
            for (index, asked) in Asked::ALL.into_iter().enumerate() {
                let row = Asked::ALL.len() * nth + index;
                let rates = one(items(log_slots), (asked, round as u64), effort.steps);
                for (column, rate) in rates.into_iter().enumerate() {
                    table.push(row, column, rate);
                }
                table.push(row, REST + 1, rates[MADE] / rates[REST]);
                table.push(row, REST + 2, rates[MADE] / rates[BESIDE]);
            }
        }
    }
    table
}

/// The rates of the table, in one filter that becomes as large as `count` items need.
fn one(count: u64, (asked, round): (Asked, u64), steps: u64) -> [f64; 5] {
    let filter = grown(count, RATES[0]);
    // The last doubling comes at more than a quarter of the items, and the one before earlier.
    let mut present = count / 4;
    insert(&filter, 0, present);
    filter.finish_growth();
    let at_rest = |present| {
        let mut walk = Walk::new(asked, present, round);
        rate(steps, || look(&filter, asked, &mut walk, steps))
    };
    let before = at_rest(present);
    while left(&filter) == 0 {
        insert(&filter, present, STRETCH);
        present += STRETCH;
    }
    let beside = |present, more: &(dyn Fn(u64) -> bool + Sync)| {
        let walk = Walk::new(asked, present, round + 1);
        beside_inserts(&filter, (asked, walk), present, more)
    };
    let all = left(&filter);
    let first = beside(present, &|_| left(&filter) > all / 2);
    let half_made = at_rest(present + first.inserted);
    let second = beside(present + first.inserted, &|_| left(&filter) > 0);
    let made = Beside {
        lookups: first.lookups + second.lookups,
        time: first.time + second.time,
        inserted: first.inserted + second.inserted,
    };
    present += made.inserted;
    let between = beside(present, &|done| done < made.inserted);
    let after = at_rest(present + between.inserted);
    [before, made.rate(), half_made, between.rate(), after]
}

/// The buckets that the doubling in progress has yet to split.
fn left(filter: &CuckooFilter) -> usize {
    filter.stats().buckets_to_split
}

fn insert(filter: &CuckooFilter, first: u64, count: u64) {
    for number in first..first + count {
        let inserted = filter.insert(&u64::nth(number));
        inserted.expect("as many items as were asked for fit");
    }
}

fn look(filter: &CuckooFilter, asked: Asked, walk: &mut Walk, steps: u64) {
    let lookup = |_| u64::from(filter.contains(&u64::nth(walk.next_number())));
    let found: u64 = (0..steps).map(lookup).sum();
    if asked == Asked::Hits {
        assert_eq!(found, steps, "no item is denied");
    }
}

/// Lookups by one thread, in its own processor time, and concurrent inserts of another.
struct Beside {
    lookups: u64,
    time: Duration,
    inserted: u64,
}

impl Beside {
    fn rate(&self) -> f64 {
        mops(self.lookups, self.time)
    }
}

/// One thread looks up while another inserts for as long as `more` says of what it has inserted.
fn beside_inserts(
    filter: &CuckooFilter,
    (asked, mut walk): (Asked, Walk),
    first: u64,
    more: &(dyn Fn(u64) -> bool + Sync),
) -> Beside {
    let stop = &AtomicBool::new(false);
    let mut beside = Beside {
        lookups: 0,
        time: Duration::ZERO,
        inserted: 0,
    };
    let (lookups, time, inserted) = (&mut beside.lookups, &mut beside.time, &mut beside.inserted);
    type Role<'a> = Box<dyn FnOnce() + Send + 'a>;
    let write: Role<'_> = Box::new(move || {
        while more(*inserted) {
            insert(filter, first + *inserted, STRETCH);
            *inserted += STRETCH;
        }
        stop.store(true, Ordering::Relaxed);
    });
    let read: Role<'_> = Box::new(move || {
        let start = thread_time();
        // Once at least: a reader that comes late has a rate, too.
        while *lookups == 0 || !stop.load(Ordering::Relaxed) {
            look(filter, asked, &mut walk, STRETCH);
            *lookups += STRETCH;
        }
        *time = thread_time() - start;
    });
    crew_with(vec![write, read], |role| role());
    beside
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_watched_doubling_is_the_last() {
        let count = 20_000;
        let filter = grown(count, RATES[0]);
        insert(&filter, 0, count / 4);
        filter.finish_growth();
        let level = filter.stats().doublings;
        insert(&filter, count / 4, count - count / 4);
        filter.finish_growth();
        assert_eq!(filter.stats().doublings, level + 1);
    }

    #[test]
    fn lookups_are_timed_in_all_states() {
        let rates = one(20_000, (Asked::Hits, 0), 1 << 10);
        assert!(rates.iter().all(|rate| rate.is_finite() && *rate > 0.0));
    }
}
