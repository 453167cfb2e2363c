//! Tables of the predictions.

use clap::Parser;
use guira_coherence::{
    processor::{self, Processor},
    workload::{
        self, Job, Length, Stage, Workload,
        simulated::{self, Run},
    },
};
use std::{fs, path::PathBuf, process::ExitCode};

/// The number of transfers from which the share of one line is significant.
const ENOUGH: u64 = 1000;

/// Predicts the throughput of guira on many cores, and shows the lines that move between them.
#[derive(Debug, Parser)]
struct Arguments {
    /// Numbers of threads
    #[arg(long, value_delimiter = ',', default_value = "1,2,4,8,16,32,64,128")]
    threads: Vec<usize>,
    /// Log2 of the number of slots of a large table
    #[arg(long, default_value_t = 25)]
    log_slots: u32,
    /// Operations of each thread
    #[arg(long, default_value_t = 1500)]
    operations: u64,
    /// Operations of each thread before these, which fill its caches. Workloads that run out of items
    /// or empty slots have a third of the number of operations instead
    #[arg(long, default_value_t = 20_000)]
    warm_up: u64,
    /// Only workloads whose name contains this text
    #[arg(long, default_value = "")]
    workload: String,
    /// Only the processor with this name: milan or icelake, and genoa for a comparison
    #[arg(long)]
    processor: Option<String>,
    /// Number of hot lines to show
    #[arg(long, default_value_t = 4)]
    lines: usize,
    /// Fail if a line that holds no items has more than this percentage of all transfers of a run
    #[arg(long)]
    limit: Option<f64>,
    /// Compares the speed-up of two threads with the one in this file, which the build without the cfg
    /// has printed. Fails if the two differ by more than the tolerance
    #[arg(long)]
    measured: Option<PathBuf>,
    /// The most percent by which a predicted speed-up may differ from the measured one
    #[arg(long, default_value_t = 15.0)]
    tolerance: f64,
}

pub(crate) fn main() -> ExitCode {
    let arguments = Arguments::parse();
    simulated::begin();
    if let Some(path) = &arguments.measured {
        return match fs::read_to_string(path) {
            Ok(measured) => compare(&arguments, &measured),
            Err(error) => {
                eprintln!("{}: {error}", path.display());
                ExitCode::FAILURE
            }
        };
    }
    let mut worst = 0.0_f64;
    for workload in workload::all(arguments.log_slots) {
        if !workload.name.contains(&arguments.workload) {
            continue;
        }
        let processors = processor::ALL.into_iter().filter(|it| {
            arguments
                .processor
                .as_deref()
                .is_none_or(|name| name == it.name)
        });
        for processor in processors {
            worst = worst.max(table(&arguments, workload, processor));
        }
    }
    match arguments.limit {
        Some(limit) if worst * 100.0 > limit => {
            eprintln!(
                "a line without items has {:.1} % of all transfers: at most {limit} % are allowed",
                worst * 100.0
            );
            ExitCode::FAILURE
        }
        _ => ExitCode::SUCCESS,
    }
}

/// Prints the speed-up of two threads, measured and predicted.
fn compare(arguments: &Arguments, measured: &str) -> ExitCode {
    let name = arguments.processor.as_deref().unwrap_or("genoa");
    let Some(processor) = Processor::named(name) else {
        eprintln!("there are no figures of a processor {name:?}");
        return ExitCode::FAILURE;
    };
    println!("| workload | ns | 1 core, M/s | 2 cores, M/s | speed-up | predicted | difference |");
    println!("|---|---:|---:|---:|---:|---:|---:|");
    let mut is_close = true;
    for workload in workload::steady(arguments.log_slots) {
        let Some([one, two, latency]) = numbers(measured, workload.name) else {
            continue;
        };
        let processor = processor.of_two_cores(latency as u64);
        let rate = |threads| {
            Stage::new(workload)
                .run(processor, threads, length(arguments, workload))
                .rate
        };
        let (speed_up, predicted) = (two / one, rate(2) / rate(1));
        let percent = (predicted / speed_up - 1.0) * 100.0;
        is_close &= percent.abs() <= arguments.tolerance;
        println!(
            "| {} | {latency} | {one:.1} | {two:.1} | {speed_up:.2} | {predicted:.2} | {percent:+.0} % |",
            workload.name
        );
    }
    if is_close {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// The measurements with this name.
fn numbers(measured: &str, name: &str) -> Option<[f64; 3]> {
    let line = measured
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix('\t'))?;
    let numbers: Result<Vec<f64>, _> = line.split('\t').map(str::parse).collect();
    numbers.ok()?.try_into().ok()
}

fn length(arguments: &Arguments, workload: Workload) -> Length {
    let measured = arguments.operations.min(workload.most_operations() / 4 * 3);
    let warm_up = match workload.job {
        Job::Mix(_) => arguments.warm_up,
        // A level takes only a certain number of splits.
        Job::Insert | Job::Remove | Job::Split => measured / 3,
    };
    Length { warm_up, measured }
}

/// Prints the runs of one workload. Returns the largest share of a line without items.
fn table(arguments: &Arguments, workload: Workload, processor: Processor) -> f64 {
    println!("\n## {}, on {}\n", workload.name, processor.about);
    println!("| threads | M/s | speed-up | transfers per operation | hottest line without items |");
    println!("|---:|---:|---:|---:|---|");
    let length = length(arguments, workload);
    let (mut single, mut worst, mut last) = (None, 0.0_f64, None);
    for &threads in &arguments.threads {
        // Each run has a new filter, so that it is reproducible by itself.
        let run = Stage::new(workload).run(processor, threads, length);
        let single = *single.get_or_insert(run.rate / threads as f64);
        let hottest = match run.hottest() {
            Some((line, part)) if run.transfers >= ENOUGH => {
                worst = worst.max(part);
                format!("{}: {:.1} %", line.fields, part * 100.0)
            }
            _ => String::from("—"),
        };
        println!(
            "| {threads} | {:.0} | {:.1} | {:.3} | {hottest} |",
            run.rate,
            run.rate / single,
            run.transfers as f64 / run.operations as f64,
        );
        last = Some(run);
    }
    if let Some(run) = last {
        lines(arguments, &run);
    }
    worst
}

fn lines(arguments: &Arguments, run: &Run) {
    println!(
        "\n| fields in the last run | transfers per operation | ns of waiting per operation |"
    );
    println!("|---|---:|---:|");
    for cost in run.by_field().into_iter().take(arguments.lines) {
        println!(
            "| {} | {:.3} | {:.1} |",
            cost.fields, cost.transfers, cost.waited
        );
    }
    println!("\n| lines of the last run | holds items | transfers | part |");
    println!("|---|---|---:|---:|");
    for line in run.lines.iter().take(arguments.lines) {
        println!(
            "| {} | {} | {} | {:.2} % |",
            line.fields,
            if line.holds_items { "yes" } else { "no" },
            line.transfers,
            100.0 * line.transfers as f64 / run.transfers as f64
        );
    }
}
