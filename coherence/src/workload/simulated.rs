//! Workloads whose threads and caches are simulated.

use super::{Event, Length, Stage, work};
use crate::{
    machine::{self, Cost, LINE, Machine},
    processor::{Processor, Time},
    simulation::{self, Body, Outcome},
};
use guira::coherence::{self, Access, Field, Kind};
use std::collections::BTreeMap;

/// The cycles of other work. These are assumptions, not measurements.
const AROUND_ACCESS: u64 = 3;
const AROUND_OPERATION: u64 = 12;

/// The results of a workload.
#[derive(Debug)]
pub struct Run {
    /// Millions of operations per second.
    pub rate: f64,
    /// The number of measured operations.
    pub operations: u64,
    /// The number of transfers.
    pub transfers: u64,
    /// Lines that were transferred or waited for, the most transferred ones first.
    pub lines: Vec<HotLine>,
}

/// A line and its costs.
#[derive(Clone, Debug)]
pub struct HotLine {
    /// The fields in the line.
    pub fields: String,
    /// True if the line holds items.
    pub holds_items: bool,
    /// The number of transfers of the line.
    pub transfers: u64,
    /// The time for which threads have waited for the line.
    pub waited: Time,
}

/// What threads have spent on all lines with the same fields.
#[derive(Clone, Debug)]
pub struct FieldCost {
    /// The fields.
    pub fields: String,
    /// The number of transfers per operation.
    pub transfers: f64,
    /// The nanoseconds of waiting per operation.
    pub waited: f64,
}

impl Run {
    /// The costs by field, the most waited for first.
    #[must_use]
    pub fn by_field(&self) -> Vec<FieldCost> {
        let mut sums = BTreeMap::<&str, (u64, Time)>::new();
        for line in &self.lines {
            let sum = sums.entry(&line.fields).or_default();
            *sum = (sum.0 + line.transfers, sum.1 + line.waited);
        }
        let operations = self.operations as f64;
        let cost = |(fields, (transfers, waited)): (&str, (u64, Time))| FieldCost {
            fields: fields.to_owned(),
            transfers: transfers as f64 / operations,
            waited: waited as f64 / 1000.0 / operations,
        };
        let mut costs: Vec<FieldCost> = sums.into_iter().map(cost).collect();
        costs.sort_by(|one, other| other.waited.total_cmp(&one.waited));
        costs
    }

    /// The most transferred line without items, and its share of all transfers.
    #[must_use]
    pub fn hottest(&self) -> Option<(&HotLine, f64)> {
        let line = self.lines.iter().find(|line| !line.holds_items)?;
        Some((line, line.transfers as f64 / self.transfers as f64))
    }
}

impl Stage {
    /// Runs `threads` threads on a processor, each on its own core.
    #[must_use]
    pub fn run(&mut self, processor: Processor, threads: usize, length: Length) -> Run {
        let mut machine = Machine::new(processor, threads);
        for field in self.filter.fields() {
            if field.name == "table.words" {
                machine.warm(field.addresses);
            }
        }
        let (job, filter) = (self.workload.job, &self.filter);
        let windows = &self.windows();
        let bodies = self.lanes[..threads].iter_mut().map(|lane| {
            let body: Body<'_> =
                Box::new(move || work(job, filter, lane, windows, length, comes_to));
            body
        });
        let bodies = bodies.collect();
        let outcome = simulation::run(machine, AROUND_ACCESS, coherence::simulate_thread, bodies);
        self.report(&outcome, threads as u64 * length.measured)
    }

    fn report(&self, outcome: &Outcome, operations: u64) -> Run {
        let fields = self.filter.fields();
        let costs = outcome.machine.costs();
        Run {
            rate: outcome.rate * 1000.0,
            operations,
            transfers: costs.iter().map(|line| line.transfers).sum(),
            lines: costs.into_iter().map(|it| hot(&fields, it)).collect(),
        }
    }
}

fn hot(fields: &[Field], line: Cost) -> HotLine {
    let addresses = line.address..line.address + LINE;
    let mut inside: Vec<&Field> = fields
        .iter()
        .filter(|it| it.addresses.start < addresses.end && addresses.start < it.addresses.end)
        .collect();
    inside.sort_by_key(|field| field.addresses.len());
    let mut names: Vec<&str> = inside.iter().map(|field| field.name).collect();
    names.dedup();
    HotLine {
        fields: names.join(", "),
        holds_items: inside.iter().any(|field| field.holds_items),
        transfers: line.transfers,
        waited: line.waited,
    }
}

/// From now on the caches see the accesses of simulated threads. Call this once, before the first
/// filter is made.
pub fn begin() {
    coherence::observe(observe);
}

fn observe(access: Access) {
    let kind = match access.kind {
        Kind::Load => machine::Kind::Load,
        Kind::Store => machine::Kind::Store,
        Kind::Exchange => machine::Kind::Exchange,
    };
    simulation::access(access.address, kind);
}

fn comes_to(event: Event) {
    match event {
        Event::WarmedUp => simulation::warmed_up(),
        Event::Begins => simulation::work(AROUND_OPERATION),
        Event::Ends => simulation::complete(),
    }
}
