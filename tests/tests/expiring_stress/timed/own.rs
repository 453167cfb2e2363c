//! A thread with items that no other thread writes, so it knows when each must be present.

use super::{
    round::{Report, Round, Scene},
    steps::Nanos,
    violation::{Span, Violation},
};
use guira::InsertError;
use rand::{RngExt, rngs::SmallRng};

/// An item of this thread.
#[derive(Clone, Copy, Debug)]
struct Item {
    number: u64,
    /// The last call that inserted or refreshed it.
    written: Span,
    /// The latest epoch that was known at that time.
    step: usize,
    /// The thread refreshes the item until this time.
    wanted_until: Nanos,
}

/// A thread with items of its own.
pub(crate) struct Owner<'a> {
    scene: &'a Scene,
    round: Round,
    places: Vec<Option<Item>>,
    next: u64,
    pub(crate) report: Report,
    pub(crate) violations: Vec<Violation>,
    /// A remove was too late, and may have removed the copy of another item.
    pub(crate) tainted: bool,
}

impl<'a> Owner<'a> {
    pub(crate) fn new(scene: &'a Scene, round: Round, thread: usize) -> Self {
        Self {
            scene,
            round,
            places: vec![None; (round.items / round.threads).max(1)],
            next: (thread as u64 + 1) << 40,
            report: Report::default(),
            violations: Vec::new(),
            tainted: false,
        }
    }

    fn lives_until(&self, item: Item) -> Nanos {
        item.written.invoked + self.scene.ttl
    }

    /// Performs a call, and reads the clock before and after it.
    fn timed<T>(&mut self, call: impl FnOnce() -> T) -> (T, Span) {
        let invoked = self.scene.steps.now();
        let answer = call();
        let returned = self.scene.steps.now();
        self.report.operations += 1;
        (answer, Span { invoked, returned })
    }

    /// Checks that a result that the item is absent does not come too early.
    fn gone(&mut self, what: &'static str, item: Item, answered: Span) {
        let lives_until = self.lives_until(item);
        if answered.returned < lives_until {
            self.violations.push(Violation {
                what,
                item: item.number,
                written: Some(item.written),
                lives_until,
                answered,
                step: self.scene.filter.epoch(),
            });
        }
    }

    /// Records whether a certainly absent item was found.
    fn absent(&mut self, found: bool) {
        self.report.absent += 1;
        self.report.false_positives += u64::from(found);
        self.report.expected += self.scene.rate;
    }

    fn written(&self, number: u64, written: Span, random: &mut SmallRng) -> Item {
        let wanted = match random.random_ratio(1, 3) {
            true => random.random_range(0..3 * self.scene.ttl),
            false => 0,
        };
        Item {
            number,
            written,
            step: self.scene.steps.latest(),
            wanted_until: written.returned + wanted,
        }
    }

    pub(crate) fn step(&mut self, random: &mut SmallRng) {
        let place = random.random_range(0..self.places.len());
        let Some(item) = self.places[place] else {
            if random.random_ratio(1, self.round.pause) {
                self.add(place, random);
            } else {
                self.look_for_nothing();
            }
            return;
        };
        let (now, steps) = (self.scene.steps.now(), &self.scene.steps);
        if now < self.lives_until(item) {
            self.places[place] = self.live(item, now, random);
            return;
        }
        let dead_by = steps.dead_by(item.written.returned, item.step, self.round.steps as usize);
        if dead_by.is_some_and(|dead_by| dead_by < now) {
            let (found, _) = self.timed(|| self.scene.filter.contains(&item.number));
            self.absent(found);
            self.places[place] = None;
        } else if self.round.removes || random.random_ratio(9, 10) {
            // The item may be present or not.
            self.timed(|| self.scene.filter.contains(&item.number));
        } else {
            self.places[place] = self.refresh(item, random);
        }
    }

    fn look_for_nothing(&mut self) {
        self.next += 1;
        let item = self.next;
        let (found, _) = self.timed(|| self.scene.filter.contains(&item));
        self.absent(found);
    }

    /// Inserts a new item.
    fn add(&mut self, place: usize, random: &mut SmallRng) {
        self.next += 1;
        let (number, filter) = (self.next, &self.scene.filter);
        let way = random.random_range(0..5);
        let (added, span) = match way {
            0 => self.timed(|| filter.insert(&number).map(|()| true)),
            1 => self.timed(|| {
                let added = filter.insert_batch(&[number]).map(|()| true);
                added.map_err(|error| error.error)
            }),
            2 => self.timed(|| filter.insert_unique(&number)),
            3 => self.timed(|| filter.insert_or_refresh(&number)),
            _ => self.timed(|| {
                let mut first = [false];
                let added = filter.insert_unique_batch(&[number], &mut first);
                added.map(|()| first[0]).map_err(|error| error.error)
            }),
        };
        match added {
            Ok(true) => {
                // Operations that look for the item first may have found another item of its class.
                if way >= 2 {
                    self.absent(false);
                }
                let item = self.written(number, span, random);
                self.places[place] = Some(item);
                let (found, span) = self.timed(|| filter.contains(&number));
                if !found {
                    self.gone("contains = false after an insert", item, span);
                }
            }
            Ok(false) => self.absent(true),
            Err(error) => self.refused(error, span),
        }
    }

    fn refused(&mut self, error: InsertError, span: Span) {
        let expected = [InsertError::Full, InsertError::Contended];
        assert!(expected.contains(&error), "{error:?}, {span:?}");
        self.report.full += 1;
    }

    /// Uses an item that is present at least until the returned clock reading.
    fn live(&mut self, item: Item, now: Nanos, random: &mut SmallRng) -> Option<Item> {
        let filter = &self.scene.filter;
        match random.random_range(0..100) {
            0..10 => {
                let (count, span) = self.timed(|| filter.count(&item.number));
                if count == 0 {
                    self.gone("count = 0", item, span);
                }
            }
            10..15 => self.look_up_some(random),
            15..25 => {
                let (first, span) = self.timed(|| filter.insert_unique(&item.number));
                match first {
                    Ok(true) => {
                        self.gone("a second insert_unique = true", item, span);
                        return Some(self.written(item.number, span, random));
                    }
                    Ok(false) => {}
                    Err(error) => self.refused(error, span),
                }
            }
            25..40 if now < item.wanted_until => return self.refresh(item, random),
            40 if self.round.removes => {
                if now + self.scene.ttl / 2 < self.lives_until(item) {
                    return self.remove(item);
                }
            }
            _ => {
                let (found, span) = self.timed(|| filter.contains(&item.number));
                if !found {
                    self.gone("contains = false", item, span);
                }
            }
        }
        Some(item)
    }

    fn look_up_some(&mut self, random: &mut SmallRng) {
        let from = random.random_range(0..self.places.len());
        let some: Vec<Item> = self.places[from..]
            .iter()
            .copied()
            .flatten()
            .take(8)
            .collect();
        let numbers: Vec<u64> = some.iter().map(|item| item.number).collect();
        let mut found = vec![false; some.len()];
        let ((), span) = self.timed(|| self.scene.filter.contains_batch(&numbers, &mut found));
        for (item, _) in some.into_iter().zip(found).filter(|(_, found)| !found) {
            self.gone("contains_batch = false", item, span);
        }
    }

    /// Refreshes the item. `None` if it is unknown whether the item is still present.
    fn refresh(&mut self, item: Item, random: &mut SmallRng) -> Option<Item> {
        let filter = &self.scene.filter;
        let inserts = random.random_ratio(1, 3);
        let (present, span) = match inserts {
            true => self.timed(|| filter.insert_or_refresh(&item.number).map(|first| !first)),
            false => self.timed(|| filter.refresh(&item.number)),
        };
        match present {
            Ok(true) => {
                // In a round with removes, the refreshed copy may be that of another item, which
                // may be removed.
                let own = !self.round.removes || span.returned < self.lives_until(item);
                let step = self.scene.steps.latest();
                own.then_some(Item {
                    written: span,
                    step,
                    ..item
                })
            }
            Ok(false) => {
                self.gone("refresh = false", item, span);
                inserts.then(|| self.written(item.number, span, random))
            }
            Err(error) => {
                self.refused(error, span);
                Some(item)
            }
        }
    }

    fn remove(&mut self, item: Item) -> Option<Item> {
        let (removed, span) = self.timed(|| self.scene.filter.remove(&item.number));
        self.tainted |= span.returned >= self.lives_until(item);
        if !removed {
            self.gone("remove = false", item, span);
        }
        None
    }
}
