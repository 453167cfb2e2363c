//! Private caches, shared caches, and a directory that keeps them coherent (MOESI).

use crate::{
    cache::Cache,
    processor::{Processor, Time},
};
use std::{
    collections::{HashMap, VecDeque},
    ops::Range,
};

/// Bytes of a cache line.
pub const LINE: usize = 64;

/// What an access does to its line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Reads it.
    Load,
    /// Needs it exclusively, and does not wait for it: the store buffer does.
    Store,
    /// Needs it exclusively, and waits for it and for all loads before.
    Exchange,
}

/// Where a line is, and what has happened to it.
#[derive(Clone, Copy, Default)]
struct Line {
    address: usize,
    /// The core whose copy is newer than memory (M or O), or the only one that may write (E).
    owner: Option<usize>,
    /// Cores that have it in a private cache, a bit each.
    sharers: u128,
    /// Domains that have it in the third level, a bit each.
    domains: u64,
    /// When the transfer that runs is over: the next one waits for it.
    busy: Time,
    transfers: u64,
}

impl Line {
    /// The core that has the only copy, and may have changed it.
    fn sole_owner(&self) -> Option<usize> {
        self.owner.filter(|&owner| self.sharers == 1 << owner)
    }
}

/// A core's caches, and its loads that wait for their values.
struct Core {
    l1: Cache,
    l2: Cache,
    /// When each load was issued, and when it is complete.
    waiting: VecDeque<(Time, Time)>,
}

/// The caches of all cores.
pub struct Machine {
    processor: Processor,
    cores: Vec<Core>,
    l3: Vec<Cache>,
    numbers: HashMap<usize, u32>,
    lines: Vec<Line>,
    /// When the memory of each socket can begin with the next line.
    memory: Vec<Time>,
}

impl std::fmt::Debug for Machine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Machine")
            .field("processor", &self.processor.name)
            .field("cores", &self.cores.len())
            .finish_non_exhaustive()
    }
}

/// How often a line went from one private cache to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfers {
    /// Where the line begins.
    pub address: usize,
    /// How often it went.
    pub count: u64,
}

impl Machine {
    /// With nothing in its caches.
    ///
    /// # Panics
    ///
    /// If there are more than 128 cores.
    #[must_use]
    pub fn new(processor: Processor, cores: usize) -> Self {
        assert!(cores <= 128, "{cores} cores: at most 128 are simulated");
        let domains = processor.domain(cores - 1) + 1;
        Self {
            cores: (0..cores)
                .map(|_| Core {
                    l1: Cache::new(processor.l1),
                    l2: Cache::new(processor.l2),
                    waiting: VecDeque::new(),
                })
                .collect(),
            l3: (0..domains).map(|_| Cache::new(processor.l3)).collect(),
            numbers: HashMap::new(),
            lines: Vec::new(),
            memory: vec![0; processor.socket(domains - 1) + 1],
            processor,
        }
    }

    /// The processor that this simulates.
    #[must_use]
    pub fn processor(&self) -> &Processor {
        &self.processor
    }

    /// Fills the shared caches with lines of these addresses, as a long run would. If the range is
    /// larger than a cache, each domain gets a random part of it.
    pub fn warm(&mut self, addresses: Range<usize>) {
        let lines: Vec<u32> = addresses
            .step_by(LINE)
            .map(|address| self.number(address))
            .collect();
        for domain in 0..self.l3.len() {
            // The lines that come last stay.
            let (last, first) = lines.split_at(domain * lines.len() / self.l3.len());
            for &line in first.iter().chain(last) {
                self.fill_shared(domain, line);
            }
        }
    }

    /// Makes an access at `now`: the time at which its thread continues.
    pub fn access(&mut self, core: usize, now: Time, address: usize, kind: Kind) -> Time {
        let line = self.number(address);
        let cycle = self.processor.cycle;
        match kind {
            Kind::Load => {
                let complete = self.load(core, now, line);
                self.cores[core].waiting.push_back((now, complete));
                self.retire(core, now)
            }
            Kind::Store => {
                self.own(core, now, line);
                now
            }
            Kind::Exchange => {
                let waiting = self.cores[core].waiting.drain(..);
                let now = waiting.map(|(_, complete)| complete).fold(now, Time::max);
                self.own(core, now, line) + self.processor.exchange * cycle
            }
        }
    }

    /// When a core that has executed up to `now` really is there: loads that wait for longer than
    /// its window stop it.
    fn retire(&mut self, core: usize, mut now: Time) -> Time {
        let window = self.processor.window * self.processor.cycle;
        let waiting = &mut self.cores[core].waiting;
        while let Some(&(issued, complete)) = waiting.front() {
            if complete > now {
                if now <= issued + window {
                    break;
                }
                now = complete;
            }
            waiting.pop_front();
        }
        now
    }

    fn number(&mut self, address: usize) -> u32 {
        let address = address / LINE * LINE;
        *self.numbers.entry(address).or_insert_with(|| {
            self.lines.push(Line {
                address,
                ..Line::default()
            });
            (self.lines.len() - 1) as u32
        })
    }

    /// A load: when its value is there.
    fn load(&mut self, core: usize, now: Time, line: u32) -> Time {
        if let Some(cycles) = self.private(core, line) {
            return now + cycles * self.processor.cycle;
        }
        let complete = self.fetch(core, now, line);
        let state = &mut self.lines[line as usize];
        if state.sharers == 0 && state.domains == 0 {
            state.owner = Some(core);
        }
        state.transfers += u64::from(state.sole_owner().is_some_and(|owner| owner != core));
        self.fill(core, line);
        complete
    }

    /// A store or exchange: when the core owns the line.
    fn own(&mut self, core: usize, now: Time, line: u32) -> Time {
        let held = self.private(core, line);
        let state = &self.lines[line as usize];
        let me = 1_u128 << core;
        let here = self.processor.domain(core);
        let alone = state.sharers & !me == 0 && state.domains & !(1 << here) == 0;
        if let (Some(cycles), true) = (held, alone) {
            self.lines[line as usize].owner = Some(core);
            return now + cycles * self.processor.cycle;
        }
        let start = now.max(state.busy);
        let others = (0..self.cores.len()).filter(|&other| state.sharers & !me & 1 << other != 0);
        let others = others.map(|other| self.processor.domain(other));
        let shared = (0..self.l3.len()).filter(|&it| it != here && state.domains & 1 << it != 0);
        let invalidated = others.chain(shared);
        let farthest = invalidated
            .map(|from| self.processor.transfer(from, here))
            .max();
        let had_copies = state.sharers & !me != 0;
        let fetched = match held {
            Some(_) => start,
            None => self.fetch(core, start, line),
        };
        let complete = fetched.max(start + farthest.unwrap_or(0));
        let sharers = self.lines[line as usize].sharers & !me;
        for other in (0..self.cores.len()).filter(|&other| sharers & 1 << other != 0) {
            self.cores[other].l1.remove(line);
            self.cores[other].l2.remove(line);
        }
        for domain in 0..self.l3.len() {
            self.l3[domain].remove(line);
        }
        let state = &mut self.lines[line as usize];
        state.transfers += u64::from(had_copies);
        (state.owner, state.sharers, state.domains) = (Some(core), me, 0);
        state.busy = complete;
        if held.is_none() {
            self.fill(core, line);
        }
        complete
    }

    /// The cycles of a hit in a private cache.
    fn private(&mut self, core: usize, line: u32) -> Option<u64> {
        let Core { l1, l2, .. } = &mut self.cores[core];
        if l1.touch(line) {
            return Some(self.processor.l1.cycles);
        }
        if !l2.touch(line) {
            return None;
        }
        l1.insert(line);
        Some(self.processor.l2.cycles)
    }

    /// Gets a line that no private cache of the core has: when it arrives.
    fn fetch(&mut self, core: usize, now: Time, line: u32) -> Time {
        let here = self.processor.domain(core);
        let state = self.lines[line as usize];
        let now = now.max(state.busy);
        if let Some(owner) = state.sole_owner() {
            let complete = now + self.processor.transfer(self.processor.domain(owner), here);
            self.lines[line as usize].busy = complete;
            return complete;
        }
        let near = (0..self.cores.len())
            .filter(|&other| state.sharers & 1 << other != 0)
            .any(|other| self.processor.domain(other) == here);
        if near || self.l3[here].touch(line) {
            return now + self.processor.l3.cycles * self.processor.cycle;
        }
        if let Some(owner) = state.owner.filter(|&owner| state.sharers & 1 << owner != 0) {
            return now + self.processor.transfer(self.processor.domain(owner), here);
        }
        // A clean copy elsewhere does not help: memory has the line, too.
        let home = line as usize % self.memory.len();
        let start = now.max(self.memory[home]);
        self.memory[home] = start + LINE as u64 * 1000 / self.processor.bandwidth;
        let socket = self.processor.socket(here);
        let nanoseconds = if home == socket {
            self.processor.memory
        } else {
            self.processor.remote_memory
        };
        start + nanoseconds * 1000
    }

    /// Brings a line into the private caches of a core.
    fn fill(&mut self, core: usize, line: u32) {
        self.lines[line as usize].sharers |= 1 << core;
        self.cores[core].l1.insert(line);
        let Some(evicted) = self.cores[core].l2.insert(line) else {
            return;
        };
        self.cores[core].l1.remove(evicted);
        let state = &mut self.lines[evicted as usize];
        state.sharers &= !(1 << core);
        if state.owner == Some(core) {
            state.owner = None;
        }
        self.fill_shared(self.processor.domain(core), evicted);
    }

    /// Brings a line into the third level of a domain.
    fn fill_shared(&mut self, domain: usize, line: u32) {
        if self.l3[domain].touch(line) {
            return;
        }
        self.lines[line as usize].domains |= 1 << domain;
        if let Some(evicted) = self.l3[domain].insert(line) {
            self.lines[evicted as usize].domains &= !(1 << domain);
        }
    }

    /// Forgets the transfers so far.
    pub fn reset_transfers(&mut self) {
        for line in &mut self.lines {
            line.transfers = 0;
        }
    }

    /// The lines that went from core to core, the most frequent one first.
    #[must_use]
    pub fn transfers(&self) -> Vec<Transfers> {
        let mut all: Vec<_> = self
            .lines
            .iter()
            .filter(|line| line.transfers > 0)
            .map(|line| Transfers {
                address: line.address,
                count: line.transfers,
            })
            .collect();
        all.sort_by_key(|line| (std::cmp::Reverse(line.count), line.address));
        all
    }
}
