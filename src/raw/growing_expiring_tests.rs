//! Copies expire by their time, and no other copy goes, while the filter grows.

use super::RawFilter;
use crate::table::{
    Levels,
    class::Class,
    layout::GrowingExpiring,
    time::{Epochs, Moment},
    word::Bucket,
};
use std::{
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

type Raw = RawFilter<GrowingExpiring>;

/// E: the age of the oldest live copies.
const OLDEST: u64 = 5;

fn filter() -> Raw {
    let levels = Levels { first: 21, more: 9 };
    let raw = Raw::new(64, levels).expect("a few bytes");
    raw.growing_early().with_time(Epochs::new(OLDEST))
}

fn class(raw: &Raw, item: u64) -> Class {
    let mixed = (item + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    raw.class(mixed ^ mixed >> 29)
}

/// The live and the dead copies in all words.
fn held(raw: &Raw) -> [usize; 2] {
    let (now, mut held) = (raw.moment(), [0; 2]);
    for (_, _, word) in raw.table.words_made() {
        let all = word.occupied() as usize;
        let live = now.without_dead(word, 0).occupied() as usize;
        held = [held[0] + live, held[1] + all - live];
    }
    held
}

#[test]
fn an_oracle_agrees_while_the_filter_grows() {
    let raw = filter();
    let mut seen = Vec::new();
    let mut levels = Vec::new();
    let mut next = 0;
    for item in 0..24_000_u64 {
        let class = class(&raw, item);
        raw.insert(class).expect("it grows");
        seen.push((class, raw.moment().epoch()));
        if item % 3 == 0 && item > 300 {
            let class = seen[item as usize - 300].0;
            let now = raw.moment().epoch();
            // Of the copies of a class, a refresh takes the oldest one that is live.
            let of_class = seen.iter_mut().filter(|(other, _)| *other == class);
            let live = of_class
                .map(|(_, epoch)| epoch)
                .filter(|epoch| now <= **epoch + OLDEST);
            let oldest = live.min();
            assert_eq!(raw.refresh(class), Ok(oldest.is_some()), "at {item}");
            if let Some(epoch) = oldest {
                *epoch = now;
            }
        }
        // Faster and faster traffic: the filter grows.
        if item == next {
            next += 60 + item / 8;
            raw.advance();
            let now = raw.moment().epoch();
            let live = seen.iter().filter(|&&(_, epoch)| now <= epoch + OLDEST);
            let live: Vec<_> = live.collect();
            for (class, _) in &live {
                assert!(raw.contains(*class), "{class:?} at {item}");
            }
            assert_eq!(held(&raw), [live.len(), 0], "at {item}");
            assert_eq!(raw.len.copies(), live.len(), "at {item}");
            levels.push((raw.table.level(), raw.table.is_growing(raw.table.level())));
        }
    }
    assert!(raw.table.doublings() >= 4, "{}", raw.table.doublings());
    assert!(levels.iter().any(|&(_, grows)| grows), "{levels:?}");
    for _ in 0..=OLDEST {
        raw.advance();
    }
    assert_eq!(held(&raw), [0, 0]);
    assert_eq!(raw.len.copies(), 0);
}

#[test]
fn threads_insert_find_and_expire_while_the_filter_grows() {
    const EACH: u64 = 8_000;
    let raw = &filter();
    let done = &AtomicUsize::new(0);
    let winners: usize = thread::scope(|scope| {
        let writers = (0..3_u64).map(|thread| {
            scope.spawn(move || {
                let mut own = Vec::new();
                let mut winners = 0;
                for item in 0..EACH {
                    let class_of = |item| class(raw, item);
                    let mine = class_of(item * 4 + thread);
                    let before = raw.moment().epoch();
                    raw.insert(mine).expect("it grows");
                    own.push((mine, before));
                    // All threads race for one item.
                    let shared = class_of(item * 4 + 3);
                    winners += usize::from(raw.insert_unique(shared).expect("it grows"));
                    for back in [1, 7, 50, 400] {
                        let Some(&(class, epoch)) = own.iter().nth_back(back) else {
                            continue;
                        };
                        let found = raw.contains(class);
                        assert!(found || raw.moment().epoch() > epoch + OLDEST, "{class:?}");
                    }
                    // Relaxed: it only counts.
                    done.fetch_add(1, Ordering::Relaxed);
                }
                winners
            })
        });
        let writers: Vec<_> = writers.collect();
        let mut next = 0;
        while !writers.iter().all(|it| it.is_finished()) {
            // Longer and longer epochs.
            if done.load(Ordering::Relaxed) >= next {
                next += 400 + next / 8;
                raw.advance();
            }
            thread::yield_now();
        }
        writers
            .into_iter()
            .map(|it| it.join().expect("no panic"))
            .sum()
    });
    // A slow thread comes when the item has expired, and wins again; a colliding item takes the place
    // of few.
    assert!(winners as u64 * 100 >= EACH * 99, "{winners}");
    for _ in 0..=OLDEST {
        raw.advance();
    }
    assert_eq!(held(raw), [0, 0]);
    assert_eq!(raw.len.copies(), 0);
    assert!(raw.table.doublings() >= 4, "{}", raw.table.doublings());
}
