//! Many threads on one filter: throughput, what got lost, and how long single operations take.

use crate::{
    arena::Arena,
    crew::{cores, crew, named, thread_counts},
    effort::Effort,
    growth::{TIMES, grown},
    lanes::{Job, Tally, Writes},
    latency::clock_cost,
    measure::{items, mops, say},
    peers::{self, Can, Entry, Room},
    table::{Table, Unit},
};
use Writes::{Hot, InTurn};
use std::time::Duration;

/// A way to use the filter.
#[derive(Clone, Copy, Debug)]
struct Workload {
    /// Its name in tables and plots.
    name: &'static str,
    /// What it is, in a sentence.
    about: &'static str,
    /// Percent of the slots in use at the start.
    load: u64,
    /// What each thread does; nothing: it fills the table.
    job: Option<Job>,
}

const fn job(lookups: u64, writes: Writes) -> Option<Job> {
    Some(Job { lookups, writes })
}

/// All of them.
#[rustfmt::skip]
const WORKLOADS: [Workload; 6] = [
    Workload { name: "lookups", load: 95, job: job(100, InTurn), about: "only lookups, half of them hits, at 95 %" },
    Workload { name: "90/5/5", load: 90, job: job(90, InTurn), about: "90 % lookups, 5 % inserts, 5 % removes, at 90 %" },
    Workload { name: "50/25/25", load: 90, job: job(50, InTurn), about: "50 % lookups, 25 % inserts, 25 % removes, at 90 %" },
    Workload { name: "fill", load: 0, job: None, about: "inserts from empty to 95 %" },
    Workload { name: "churn", load: 95, job: job(0, InTurn), about: "an insert and a remove in turn, at 95 %" },
    Workload { name: "hot keys", load: 50, job: job(90, Hot), about: "90 % lookups, 5 % inserts, 5 % removes of 8 keys" },
];

impl Workload {
    /// Its name in keys and files.
    fn key(&self) -> String {
        self.name.replace(['/', ' '], "-")
    }

    /// The peers that can do what this asks for.
    fn entries(&self) -> Vec<Entry> {
        let mut entries = peers::all();
        if let Some(job) = self.job {
            let removes = job.lookups < 100;
            entries.retain(|entry| entry.can(Can::Delete) || !removes);
            entries.retain(|entry| entry.can(Can::Copy) || job.writes != Hot);
        }
        entries
    }
}

/// What a run of a peer with this number of threads gave, and the time from first to last.
type Run = (&'static str, usize, Tally, Duration);

/// How many items the peers have lost.
type Lost = Vec<(&'static str, u64)>;

/// Lets each of these numbers of threads do the job in all peers, in turn.
fn contest(
    effort: Effort,
    (job, load): (Job, u64),
    entries: &[Entry],
    (counts, time): (&[usize], Duration),
    timed: bool,
) -> (Vec<Run>, Lost) {
    let (count, mut runs) = (items(effort.log_medium), Vec::new());
    let of = |entry: &Entry| Arena::new((entry.make)(Room::of(count)).into(), count / 95 * load);
    let mut arenas: Vec<_> = entries.iter().map(of).collect();
    for _ in 0..effort.rounds {
        for &threads in counts {
            for (arena, entry) in arenas.iter_mut().zip(entries) {
                let (tally, elapsed) = arena.run(job, threads, time, timed);
                runs.push((entry.name, threads, tally, elapsed));
            }
        }
    }
    let names = entries.iter().map(|entry| entry.name);
    (runs, names.zip(arenas.iter().map(Arena::lost)).collect())
}

/// The fill needs a new filter for each run, and ends by itself.
fn fill(effort: Effort, entries: &[Entry]) -> (Vec<Run>, Lost) {
    let (mut runs, mut lost) = (Vec::new(), Vec::new());
    for _ in 0..effort.rounds {
        for threads in thread_counts() {
            for entry in entries {
                let share = items(effort.log_medium) / threads as u64;
                let peer = (entry.make)(Room::of(items(effort.log_medium)));
                let numbers = |index: usize| index as u64 * share..(index as u64 + 1) * share;
                let (accepted, elapsed) = crew(threads, |index| peer.insert_all(numbers(index)));
                let mut tally = Tally::default();
                tally.operations = share * threads as u64;
                tally.refused = tally.operations - accepted.iter().sum::<u64>();
                // A refused item may be missing; which ones were refused is not kept.
                let missing = peer.missing(0..tally.operations);
                lost.push((entry.name, missing.saturating_sub(tally.refused)));
                runs.push((entry.name, threads, tally, elapsed));
            }
        }
    }
    (runs, lost)
}

/// A table for each workload: millions of operations per second by the number of threads.
pub(crate) fn measure(effort: Effort) -> Vec<Table> {
    WORKLOADS.map(|it| throughput(effort, it)).into()
}

fn throughput(effort: Effort, workload: Workload) -> Table {
    let title = format!("{}: {}", workload.name, workload.about);
    let (entries, counts) = (workload.entries(), thread_counts());
    let mut table = Table::new(format!("threads/{}", workload.key()), title)
        .with(Unit::Rate, counts.iter().map(|&threads| named(threads)))
        .with(Unit::Count, ["denied", "lost", "refused"]);
    say(&table.title);
    let time = effort.run(entries.len() * counts.len() * effort.rounds * (WORKLOADS.len() - 1));
    let (runs, lost) = match workload.job {
        Some(job) => contest(
            effort,
            (job, workload.load),
            &entries,
            (&counts, time),
            false,
        ),
        None => fill(effort, &entries),
    };
    for (row, threads, tally, elapsed) in runs {
        table.push(row, &named(threads), mops(tally.operations, elapsed));
        table.push(row, "denied", tally.denied as f64);
        table.push(row, "refused", tally.refused as f64);
    }
    for (row, lost) in lost {
        table.push(row, "lost", lost as f64);
    }
    table
}

/// How long operations take in two of the mixes, beside writers and beside growth.
pub(crate) fn measure_latency(effort: Effort) -> Vec<Table> {
    let mut tables = Vec::new();
    for workload in &WORKLOADS[1..3] {
        let tables_of = |job| latencies(effort, *workload, job);
        tables.extend(workload.job.map(tables_of).into_iter().flatten());
    }
    let (entries, count) = (WORKLOADS[1].entries(), items(effort.log_medium));
    let title = "lookups during a fill from 90 to 95 %, 2 threads";
    let fixed = entries.iter();
    let fixed = fixed.map(|entry| (entry.name, entry, Room::of(count)));
    tables.push(beside_inserts(effort, ("fill", title), fixed, (90, 95), 1));
    let threads = 4 * cores();
    let title = format!(
        "lookups while the filter grows {TIMES} times, {}",
        named(threads)
    );
    let growing = entries.iter().filter(|entry| entry.can(Can::Grow));
    let growing = growing.map(|entry| (entry.name, entry, grown(count, 0.001)));
    let runs = growing.chain([("guira, built large", &entries[0], Room::of(count))]);
    let of = ("growth", title.as_str());
    tables.push(beside_inserts(effort, of, runs, (1, 95), threads / 2));
    let mut clock = Tally::table("latency/clock", "Reading the clock twice");
    clock_cost().fill_in(&mut clock, "clock", "");
    tables.push(clock);
    tables
}

/// A mix with a thread for each core, and with four.
fn latencies(effort: Effort, workload: Workload, job: Job) -> [Table; 2] {
    say(&format!("latency of {}", workload.name));
    let (entries, counts) = (workload.entries(), [cores(), 4 * cores()]);
    let time = effort.run(2 * counts.len() * entries.len() * effort.rounds);
    let (runs, _) = contest(
        effort,
        (job, workload.load),
        &entries,
        (&counts, time),
        true,
    );
    counts.map(|threads| {
        let key = format!("latency/{}/{threads}", workload.key());
        let mut table = Tally::table(key, format!("{}, {}", workload.name, named(threads)));
        for Entry { name, .. } in &entries {
            let rounds = runs.iter().filter(|run| (run.0, run.1) == (*name, threads));
            Tally::sum(rounds.map(|run| &run.2)).fill_in(&mut table, name);
        }
        table
    })
}

/// Lookups of some threads while the same number insert: from this percentage of the slots to that.
fn beside_inserts<'a>(
    effort: Effort,
    (key, title): (&str, &str),
    runs: impl Iterator<Item = (&'a str, &'a Entry, Room)>,
    (from, to): (u64, u64),
    threads: usize,
) -> Table {
    let mut table = Tally::table(format!("latency/{key}"), title);
    say(title);
    for (name, entry, room) in runs {
        let mut all = Tally::default();
        for _ in 0..effort.rounds {
            let mut arena = Arena::new((entry.make)(room).into(), room.items / 95 * from);
            all.add(&arena.lookups_beside_inserts(room.items / 95 * (to - from), threads));
        }
        all.fill_in(&mut table, name);
    }
    table
}
