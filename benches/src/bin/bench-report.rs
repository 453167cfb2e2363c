//! Measures everything, and writes the report of this machine, its plots, and the summary in
//! `BENCHMARKS.md`.

use clap::{Parser, ValueEnum};
use guira_benches::{
    effort::Effort,
    report::{Part, Report, machine_name},
};
use std::{io, path::PathBuf, process::ExitCode, time::Instant};

/// Measures guira and its peers side by side.
#[derive(Parser)]
struct Options {
    /// Takes a minute: shows that all of it works, not how fast it is.
    #[arg(long)]
    quick: bool,
    /// Measures these parts only, and keeps the others.
    #[arg(long, value_enum, value_delimiter = ',')]
    only: Vec<Part>,
    /// Measures nothing, and writes the pages again.
    #[arg(long, conflicts_with = "only")]
    render: bool,
    /// The root of the repository.
    #[arg(long, default_value = ".")]
    root: PathBuf,
    /// The directory of the report below `docs/bench` [default: the processor's name].
    #[arg(long)]
    machine: Option<String>,
    /// The directory of the plots, relative to the root.
    #[arg(long, default_value = "docs/plots", value_parser = relative)]
    plots: PathBuf,
    /// A remark on this run, in addition to what the machine reports about itself.
    #[arg(long)]
    note: Option<String>,
}

fn relative(path: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(path);
    let relative = path.is_relative().then_some(path);
    relative.ok_or_else(|| "it must be a path relative to the root".to_owned())
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> io::Result<()> {
    let options = Options::parse();
    let effort = if options.quick {
        Effort::QUICK
    } else {
        Effort::FULL
    };
    let report = Report {
        root: options.root,
        machine: options.machine.unwrap_or_else(machine_name),
        plots: options.plots,
        note: options.note,
        effort,
    };
    let parts = match (options.render, options.only.is_empty()) {
        (true, _) => &[],
        (false, true) => Part::value_variants(),
        (false, false) => &options.only,
    };
    let start = Instant::now();
    report.write(parts, |what| {
        eprintln!("{:4.0} s: {what}", start.elapsed().as_secs_f64());
    })?;
    eprintln!("{:4.0} s: done", start.elapsed().as_secs_f64());
    Ok(())
}
