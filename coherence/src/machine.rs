//! Private caches, shared caches, and a directory that keeps them coherent (MOESI).

use crate::{
    cache::Cache,
    processor::{Processor, Time},
};
use std::{
    collections::{HashMap, VecDeque},
    ops::Range,
};

/// The size of a cache line in bytes.
pub const LINE: usize = 64;

/// The effect of an access on its line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Reads the line.
    Load,
    /// Needs exclusive ownership, but does not wait for it, because the store buffer does.
    Store,
    /// Needs exclusive ownership, and waits for it and for all earlier loads.
    Exchange,
}

/// The location and state of a line.
#[derive(Clone, Copy, Default)]
struct Line {
    address: usize,
    /// The core whose copy is newer than memory (M or O), or the only core that may write (E).
    owner: Option<usize>,
    /// The cores that have the line in a private cache, as a bit set.
    sharers: u128,
    /// The domains that have the line in their third-level cache, as a bit set.
    domains: u64,
    /// The end of the current transfer, for which the next one waits.
    busy: Time,
    transfers: u64,
    /// The time for which cores have waited for the line.
    waited: Time,
}

impl Line {
    /// The core that has the only copy, and may have modified it.
    fn sole_owner(&self) -> Option<usize> {
        self.owner.filter(|&owner| self.sharers == 1 << owner)
    }
}

/// The caches of a core, and its pending loads.
struct Core {
    l1: Cache,
    l2: Cache,
    /// The pending loads.
    waiting: VecDeque<Pending>,
}

/// A load whose value has not arrived.
struct Pending {
    issued: Time,
    complete: Time,
    line: u32,
}

/// The caches of all cores.
pub struct Machine {
    processor: Processor,
    cores: Vec<Core>,
    l3: Vec<Cache>,
    numbers: HashMap<usize, u32>,
    lines: Vec<Line>,
    /// The time at which the memory of each socket can start the next line.
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

/// What cores have spent on a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost {
    /// The address of the line.
    pub address: usize,
    /// The number of transfers from one private cache to another.
    pub transfers: u64,
    /// The time for which cores have waited for the line.
    pub waited: Time,
}

impl Machine {
    /// A machine with empty caches.
    ///
    /// # Panics
    ///
    /// If there are more than 128 cores.
    #[must_use]
    pub fn new(processor: Processor, cores: usize) -> Self {
        assert!(
            cores <= 128,
            "at most 128 cores can be simulated, not {cores}"
        );
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

    /// The simulated processor.
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
            // The lines that are added last stay in the cache.
            let (last, first) = lines.split_at(domain * lines.len() / self.l3.len());
            for &line in first.iter().chain(last) {
                self.fill_shared(domain, line);
            }
        }
    }

    /// Performs an access at `now`, and returns the time at which the thread continues.
    pub fn access(&mut self, core: usize, now: Time, address: usize, kind: Kind) -> Time {
        let line = self.number(address);
        let cycle = self.processor.cycle;
        match kind {
            Kind::Load => {
                let complete = self.load(core, now, line);
                self.cores[core].waiting.push_back(Pending {
                    issued: now,
                    complete,
                    line,
                });
                self.retire(core, now)
            }
            Kind::Store => {
                self.own(core, now, line);
                now
            }
            Kind::Exchange => {
                let mut now = now;
                for load in self.cores[core].waiting.drain(..) {
                    self.lines[load.line as usize].waited += load.complete.saturating_sub(now);
                    now = now.max(load.complete);
                }
                let owned = self.own(core, now, line);
                self.lines[line as usize].waited += owned - now;
                owned + self.processor.exchange * cycle
            }
        }
    }

    /// The time at which a core that has executed up to `now` can continue, because loads that are
    /// pending for longer than its window stop it.
    fn retire(&mut self, core: usize, mut now: Time) -> Time {
        let window = self.processor.window * self.processor.cycle;
        let waiting = &mut self.cores[core].waiting;
        while let Some(load) = waiting.front() {
            if load.complete > now {
                if now <= load.issued + window {
                    break;
                }
                self.lines[load.line as usize].waited += load.complete - now;
                now = load.complete;
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

    /// A load. Returns the time at which its value is available.
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

    /// A store or exchange. Returns the time at which the core owns the line.
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

    /// Fetches a line that no private cache of the core has, and returns the time of its arrival.
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
        // A clean copy elsewhere is not used, because memory also has the line.
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

    /// Adds a line to the private caches of a core.
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

    /// Adds a line to the third-level cache of a domain.
    fn fill_shared(&mut self, domain: usize, line: u32) {
        if self.l3[domain].touch(line) {
            return;
        }
        self.lines[line as usize].domains |= 1 << domain;
        if let Some(evicted) = self.l3[domain].insert(line) {
            self.lines[evicted as usize].domains &= !(1 << domain);
        }
    }

    /// Resets the costs of all lines.
    pub fn reset_costs(&mut self) {
        for line in &mut self.lines {
            (line.transfers, line.waited) = (0, 0);
        }
    }

    /// The lines that were transferred between cores or waited for, the most transferred ones first.
    #[must_use]
    pub fn costs(&self) -> Vec<Cost> {
        let of_line = |line: &Line| Cost {
            address: line.address,
            transfers: line.transfers,
            waited: line.waited,
        };
        let mut all: Vec<_> = self.lines.iter().map(of_line).collect();
        all.retain(|cost| cost.transfers > 0 || cost.waited > 0);
        all.sort_by_key(|cost| (std::cmp::Reverse(cost.transfers), cost.address));
        all
    }
}
