//! What one thread measures of filters that it fills: inserts, lookups, removes, and their size.

use crate::{
    crew::crew,
    effort::{Effort, Size},
    keys::{Asked, Walk},
    measure::{items, mops, rate, say, timed},
    peer::Peer,
    peers::{self, Can, Entry, Room},
    table::{Table, Unit},
};
use std::time::Duration;

/// A column of a sheet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum What {
    /// Inserts from this percentage of the capacity to that.
    Insert(u64, u64),
    /// Inserts by two threads, from empty to full.
    InsertByTwo,
    /// Lookups at full capacity.
    Look(Asked),
    /// Lookups at this percentage of the capacity.
    LookAt(u64, Asked),
    /// Removes from full capacity on.
    Remove,
    /// Bits of memory per item.
    Bits,
    /// The share of the absent keys that were found.
    FalsePositives,
}

impl What {
    /// What a page calls it.
    pub(crate) fn column(self) -> (String, Unit) {
        let name = match self {
            Self::Insert(from, to) => format!("insert {from}–{to} %"),
            Self::InsertByTwo => "insert, 2 threads".into(),
            Self::Look(asked) => asked.name().into(),
            Self::LookAt(percent, _) => format!("{percent} %"),
            Self::Remove => "remove".into(),
            Self::Bits => return ("bits per item".into(), Unit::Number),
            Self::FalsePositives => return ("measured rate".into(), Unit::Share),
        };
        (name, Unit::Rate)
    }
}

/// What is measured of all lookups.
pub(crate) const LOOKUPS: [What; 3] = [
    What::Look(Asked::Hits),
    What::Look(Asked::Misses),
    What::Look(Asked::Half),
];

/// A row of a sheet.
pub(crate) struct Contestant<'a> {
    pub(crate) name: String,
    /// The items of its capacity.
    pub(crate) count: u64,
    pub(crate) deletes: bool,
    pub(crate) make: Box<dyn Fn() -> Box<dyn Peer> + 'a>,
}

impl<'a> Contestant<'a> {
    pub(crate) fn new<P: Peer + 'static>(
        name: impl Into<String>,
        count: u64,
        make: impl Fn() -> P + 'a,
    ) -> Self {
        Self {
            name: name.into(),
            count,
            deletes: true,
            make: Box::new(move || Box::new(make())),
        }
    }

    pub(crate) fn of_entry(entry: &Entry, room: Room) -> Self {
        let make = entry.make;
        Self {
            name: entry.name.to_owned(),
            count: room.items,
            deletes: entry.can(Can::Delete),
            make: Box::new(move || make(room)),
        }
    }

    /// The peers that this suits. Out of cache, some would take too long to fill, and are left out.
    pub(crate) fn all(size: Size, suits: impl Fn(&Entry) -> bool) -> Vec<Self> {
        let entries = peers::all().into_iter().filter(suits);
        let entries = entries.filter(|entry| entry.can(Can::BeLarge) || !size.is_large);
        let room = Room::of(items(size.log_slots));
        entries.map(|entry| Self::of_entry(&entry, room)).collect()
    }
}

/// How often things are measured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    /// How often each contestant is filled, with rounds of lookups after each.
    pub(crate) fills: usize,
    pub(crate) looks: usize,
    /// Lookups and removes in one round.
    pub(crate) steps: u64,
    /// The contestants are there at the same time, and take turns with each round of lookups. In cache
    /// they would take it from each other, so there one follows the other.
    pub(crate) at_once: bool,
}

impl Effort {
    /// A plan for tables of this size.
    pub(crate) fn plan(&self, size: Size) -> Plan {
        let (fills, looks) = match size.is_large {
            true => (1, self.rounds),
            false => (self.rounds, 1),
        };
        Plan {
            fills,
            looks,
            steps: self.steps,
            at_once: size.is_large,
        }
    }
}

/// Measures a table of this key and title.
pub(crate) fn sheet(
    (key, title): (impl Into<String>, impl Into<String>),
    whats: &[What],
    contestants: &[Contestant<'_>],
    plan: Plan,
) -> Table {
    let mut table = Table::new(key, title);
    say(&table.title);
    for what in whats {
        let (name, unit) = what.column();
        table = table.with(unit, [name]);
    }
    let mut sheet = Sheet { whats, plan, table };
    let turns = if plan.at_once { contestants.len() } else { 1 };
    for fill in 0..plan.fills as u64 {
        for turn in contestants.chunks(turns) {
            let filled: Vec<_> = turn.iter().map(|it| sheet.filled(it, fill)).collect();
            for look in 0..plan.looks as u64 {
                for (it, peer) in turn.iter().zip(&filled) {
                    sheet.look(it, &**peer, fill + look);
                }
            }
            for (it, peer) in turn.iter().zip(&filled) {
                if it.deletes && whats.contains(&What::Remove) {
                    let steps = plan.steps.min(it.count / 4);
                    let walk = Walk::new(Asked::Hits, it.count, fill);
                    let removed = rate(steps, || peer.remove_all(walk, steps));
                    sheet.push(&it.name, What::Remove, removed);
                }
            }
        }
    }
    sheet.table
}

/// A table of what the first of each pair has of the speed of the second, each pair with its row and size.
pub(crate) fn shares<'a>(
    (key, title): (&str, &str),
    whats: &[What],
    effort: Effort,
    pairs: impl Iterator<Item = (String, Size, [Contestant<'a>; 2])>,
) -> Table {
    let columns = whats.iter().map(|what| what.column().0);
    let mut table = Table::new(key, title).with(Unit::Number, columns);
    for (row, size, pair) in pairs {
        let mut plan = effort.plan(size);
        // In cache a fill is short, and other jobs on the machine disturb it more.
        plan.fills *= if size.is_large { 1 } else { 3 };
        table.push_ratios(&row, &sheet((key, row.as_str()), whats, &pair, plan));
    }
    table
}

struct Sheet<'a> {
    whats: &'a [What],
    plan: Plan,
    table: Table,
}

impl Sheet<'_> {
    fn push(&mut self, row: &str, what: What, value: f64) {
        self.table.push(row, &what.column().0, value);
    }

    /// A contestant with all its items. Records the measurements of filling it.
    fn filled(&mut self, it: &Contestant<'_>, round: u64) -> Box<dyn Peer> {
        let count = it.count;
        let part = |from: u64, to: u64| count * from / 100..count * to / 100;
        if self.whats.contains(&What::InsertByTwo) {
            let peer = (it.make)();
            // By the processor time of each, as if other jobs left them alone: none waits for another.
            let (times, _) = crew(2, |half| {
                let from = half as u64 * 50;
                timed(|| peer.insert_all(part(from, from + 50))).1
            });
            let rates = times.into_iter().map(|time| mops(count / 2, time));
            self.push(&it.name, What::InsertByTwo, rates.sum());
        }
        let mut cuts = vec![0, 100];
        for what in self.whats {
            match what {
                What::Insert(from, to) => cuts.extend([from, to]),
                What::LookAt(percent, _) => cuts.push(*percent),
                _ => {}
            }
        }
        cuts.sort_unstable();
        cuts.dedup();
        let peer = (it.make)();
        let mut parts: Vec<(u64, u64, Duration)> = Vec::new();
        for cut in cuts.windows(2) {
            let (_, time) = timed(|| peer.insert_all(part(cut[0], cut[1])));
            parts.push((cut[0], cut[1], time));
            for &what in self.whats {
                if let What::LookAt(percent, asked) = what
                    && percent == cut[1]
                {
                    let present = part(0, percent).end;
                    for look in 0..self.plan.looks as u64 {
                        let (_, rate) =
                            self.lookups(&*peer, Walk::new(asked, present, round + look));
                        self.push(&it.name, what, rate);
                    }
                }
            }
        }
        for &what in self.whats {
            if let What::Insert(from, to) = what {
                let within = parts.iter().filter(|(a, b, _)| *a >= from && *b <= to);
                let (items, time) = (part(from, to), within.map(|(.., time)| *time).sum());
                self.push(&it.name, what, mops(items.end - items.start, time));
            }
        }
        peer.settle();
        if self.whats.contains(&What::Bits) {
            let bits = peer.bytes() as f64 * 8.0 / count as f64;
            self.push(&it.name, What::Bits, bits);
        }
        peer
    }

    /// The share of the keys that were found, and the rate.
    fn lookups(&self, peer: &dyn Peer, walk: Walk) -> (f64, f64) {
        let steps = self.plan.steps;
        let (found, time) = timed(|| peer.lookup(walk, steps));
        (found as f64 / steps as f64, mops(steps, time))
    }

    /// A round of lookups at full capacity.
    fn look(&mut self, it: &Contestant<'_>, peer: &dyn Peer, round: u64) {
        for &what in self.whats {
            let value = match what {
                What::Look(asked) => self.lookups(peer, Walk::new(asked, it.count, round)).1,
                // Not the absent keys of the lookups once more.
                What::FalsePositives => {
                    let walk = Walk::new(Asked::Misses, it.count, round + 1000);
                    self.lookups(peer, walk).0
                }
                _ => continue,
            };
            self.push(&it.name, what, value);
        }
    }
}
