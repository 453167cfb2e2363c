//! Tables of the predictions.

use clap::Parser;
use guira_coherence::{
    processor::{self, Processor},
    workload::{self, Length, Run, Stage, Workload},
};
use std::process::ExitCode;

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
    /// Operations of each thread, in addition to a third of that number as warm-up
    #[arg(long, default_value_t = 1500)]
    operations: u64,
    /// Only workloads whose name contains this text
    #[arg(long, default_value = "")]
    workload: String,
    /// Only the processor with this name: milan or icelake
    #[arg(long)]
    processor: Option<String>,
    /// Number of hot lines to show
    #[arg(long, default_value_t = 4)]
    lines: usize,
    /// Fail if a line that holds no items has more than this percentage of all transfers of a run
    #[arg(long)]
    limit: Option<f64>,
}

pub(crate) fn main() -> ExitCode {
    let arguments = Arguments::parse();
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

/// Prints the runs of one workload. Returns the largest share of a line without items.
fn table(arguments: &Arguments, workload: Workload, processor: Processor) -> f64 {
    println!("\n## {}, on {}\n", workload.name, processor.about);
    println!("| threads | M/s | speed-up | transfers per operation | hottest line without items |");
    println!("|---:|---:|---:|---:|---|");
    let measured = arguments.operations.min(workload.most_operations() / 4 * 3);
    let length = Length {
        warm_up: measured / 3,
        measured,
    };
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
