//! Items that all threads insert. For each, only one call is the first.

use super::{
    round::{Report, Round, Scene},
    steps::Nanos,
    violation::{Span, Violation},
};
use rand::{RngExt, rngs::SmallRng};
use std::sync::atomic::{AtomicU64, Ordering};

/// The number of shared items.
pub(crate) const SHARED: usize = 48;

/// A call that found the item absent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct First {
    item: usize,
    span: Span,
}

/// The time until which each item is present, according to the calls that have returned.
pub(crate) struct Lives([AtomicU64; SHARED]);

impl Lives {
    pub(crate) fn new() -> Self {
        Self([const { AtomicU64::new(0) }; SHARED])
    }
}

/// The part of one thread.
pub(crate) struct Racer<'a> {
    scene: &'a Scene,
    round: Round,
    pub(crate) firsts: Vec<First>,
    pub(crate) report: Report,
    pub(crate) violations: Vec<Violation>,
}

impl<'a> Racer<'a> {
    pub(crate) fn new(scene: &'a Scene, round: Round) -> Self {
        Self {
            scene,
            round,
            firsts: Vec::new(),
            report: Report::default(),
            violations: Vec::new(),
        }
    }

    pub(crate) fn step(&mut self, random: &mut SmallRng) {
        let (scene, item) = (self.scene, random.random_range(0..SHARED));
        let (filter, key, life) = (&scene.filter, item as u64, &scene.lives.0[item]);
        // This load is Acquire and the update below is Release, because the call that set the value
        // has returned.
        let lives_until = life.load(Ordering::Acquire);
        let operation = random.random_range(0..100);
        let invoked = scene.steps.now();
        // Without removes, the copy that a refresh relies on stays: see `ExpiringFilter`, Copies.
        let (first, young, gone) = match operation {
            0..50 => {
                let found = filter.contains(&key);
                (false, false, !found)
            }
            50..60 if !self.round.removes && item % 2 == 0 => {
                let answer = filter.insert_or_refresh(&key);
                (answer == Ok(true), answer.is_ok(), answer == Ok(true))
            }
            60..65 if !self.round.removes && item % 2 == 0 => {
                let answer = filter.refresh(&key);
                (false, answer == Ok(true), answer == Ok(false))
            }
            _ => {
                let first = filter.insert_unique(&key) == Ok(true);
                (first, first, first)
            }
        };
        let returned = scene.steps.now();
        let span = Span { invoked, returned };
        self.report.operations += 1;
        if gone && returned < lives_until {
            self.violations.push(Violation {
                what: match first {
                    true => "a second insert_unique = true",
                    false => "absent",
                },
                item: key,
                written: None,
                lives_until,
                answered: span,
                step: filter.epoch(),
            });
        }
        if first {
            self.report.firsts += 1;
            self.firsts.push(First { item, span });
        }
        if young {
            life.fetch_max(invoked + scene.ttl, Ordering::Release);
        }
    }
}

/// If two calls were first, one of them must have come when the other's item had expired.
pub(crate) fn twice(mut firsts: Vec<First>, ttl: Nanos) -> Option<Violation> {
    firsts.sort_by_key(|first| (first.item, first.span.invoked));
    let after = |one: Span, other: Span| other.returned >= one.invoked + ttl;
    let pair = firsts.windows(2).find(|pair| {
        let [one, other] = [pair[0], pair[1]];
        let apart = after(one.span, other.span) || after(other.span, one.span);
        one.item == other.item && !apart
    })?;
    Some(Violation {
        what: "two calls came first",
        item: pair[0].item as u64,
        written: Some(pair[0].span),
        lives_until: pair[0].span.invoked + ttl,
        answered: pair[1].span,
        step: 0,
    })
}
