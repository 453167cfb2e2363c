//! The workloads on one and two cores of this machine.

use clap::Parser;
use guira_coherence::workload::{self, Length, Stage, Workload};
use std::{
    process::ExitCode,
    sync::atomic::{AtomicU64, Ordering},
    thread,
    time::{Duration, Instant},
};

/// The time of a round on one core. A busy machine seldom lets threads run for longer.
const ROUND: Duration = Duration::from_millis(3);

/// Measures the workloads that run as long as one likes on one and two cores. Prints, separated by
/// tabs: name, millions of operations per second on one core and on two, and the nanoseconds from one
/// core to the other at that time.
#[derive(Debug, Parser)]
struct Arguments {
    /// Log2 of the number of slots of a large table
    #[arg(long, default_value_t = 25)]
    log_slots: u32,
    /// Undisturbed rounds of each workload; their median counts
    #[arg(long, default_value_t = 101)]
    rounds: usize,
    /// The most seconds for each workload
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// Only workloads whose name contains this text
    #[arg(long, default_value = "")]
    workload: String,
}

pub(crate) fn main() -> ExitCode {
    let arguments = Arguments::parse();
    if core_affinity::get_core_ids().is_none_or(|cores| cores.len() < 2) {
        eprintln!("two cores are needed");
        return ExitCode::FAILURE;
    }
    let mut status = ExitCode::SUCCESS;
    for workload in workload::steady(arguments.log_slots) {
        if !workload.name.contains(&arguments.workload) {
            continue;
        }
        let Some([one, two, latency]) = compare(&arguments, workload) else {
            eprintln!("{}: the machine is too busy", workload.name);
            status = ExitCode::FAILURE;
            continue;
        };
        println!("{}\t{one:.2}\t{two:.2}\t{latency:.0}", workload.name);
    }
    status
}

/// The nanoseconds in which a line moves from one core to the other. The cores exchange one word in
/// turn, as in the source C2C of the published figures.
fn latency() -> f64 {
    const TURNS: u64 = 400;
    const WARM_UP: u64 = 100;
    let word = &AtomicU64::new(0);
    let take_turns = |core, first: u64| {
        core_affinity::set_for_current(core);
        let mut begin = Instant::now();
        for turn in 0..TURNS {
            if turn == WARM_UP {
                begin = Instant::now();
            }
            let now = 2 * turn + first;
            // AcqRel, Relaxed: only the transfers matter.
            while word
                .compare_exchange(now, now + 1, Ordering::AcqRel, Ordering::Relaxed)
                .is_err()
            {
                std::hint::spin_loop();
            }
        }
        begin.elapsed().as_nanos() as f64 / (2 * (TURNS - WARM_UP)) as f64
    };
    let take_turns = &take_turns;
    thread::scope(|scope| {
        let cores = core_affinity::get_core_ids().unwrap_or_default();
        let cores = cores.into_iter().take(2);
        let running: Vec<_> = (0..)
            .zip(cores)
            .map(|(first, core)| scope.spawn(move || take_turns(core, first)))
            .collect();
        let times = running.into_iter().map(|it| it.join());
        times
            .map(|time| time.expect("no thread panics"))
            .fold(0.0, f64::max)
    })
}

/// The rates of one thread and of two, and the latency, of the round with the median speed-up.
///
/// Each round measures all three, one right after the other, because what else the machine does changes
/// them. A virtual machine may also move from core to core.
fn compare(arguments: &Arguments, workload: Workload) -> Option<[f64; 3]> {
    let mut stage = Stage::new(workload);
    let length = length(&mut stage);
    let mut rounds = Vec::new();
    let end = Instant::now() + Duration::from_secs(arguments.seconds);
    while Instant::now() < end && rounds.len() < arguments.rounds {
        let latency = latency();
        let one = stage.measure(1, length);
        if let Some((one, two)) = one.zip(stage.measure(2, length)) {
            rounds.push([one, two, latency]);
        }
    }
    eprintln!("{}: {} rounds", workload.name, rounds.len());
    rounds.sort_by(|round, other| (round[1] / round[0]).total_cmp(&(other[1] / other[0])));
    rounds.get(rounds.len() / 2).copied()
}

/// A length of about [`ROUND`].
fn length(stage: &mut Stage) -> Length {
    let of = |measured: u64| Length {
        warm_up: measured / 3,
        measured,
    };
    let mut measured = 1000;
    loop {
        let begin = Instant::now();
        stage.measure(1, of(measured));
        if begin.elapsed() >= ROUND {
            return of(measured);
        }
        measured *= 2;
    }
}
