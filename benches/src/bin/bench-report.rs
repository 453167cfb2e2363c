//! Measures everything, and writes `BENCHMARKS.md` and its plots.

use clap::{Parser, ValueEnum};
use guira_benches::{
    effort::Effort,
    growth,
    report::{Part, Report},
    snapshot,
    targets::{self, Target},
};
use std::{io, path::PathBuf, process::ExitCode, time::Instant};

/// Measures guira and its peers side by side.
#[derive(Parser)]
struct Options {
    /// Takes a minute: shows that all of it works, not how fast it is.
    #[arg(long)]
    quick: bool,
    /// Measures these parts only; what `BENCHMARKS.md` has of the others stays.
    #[arg(long, value_enum, value_delimiter = ',')]
    only: Vec<Part>,
    /// Measures the targets only, and prints them.
    #[arg(long, conflicts_with = "only")]
    targets: bool,
    /// Where `BENCHMARKS.md` is written.
    #[arg(long, default_value = ".")]
    root: PathBuf,
    /// Where the plots are written, from the root on.
    #[arg(long, default_value = "docs/plots", value_parser = relative)]
    plots: PathBuf,
    /// What is to be known of this run beside what the machine says of itself.
    #[arg(long)]
    note: Option<String>,
}

fn relative(path: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(path);
    let relative = path.is_relative().then_some(path);
    relative.ok_or_else(|| "it must be a relative path, which begins at the root".to_owned())
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
    if options.targets {
        let print = |target: &Target| println!("{target}");
        let _ = targets::measure(effort, print);
        growth::measure(effort, |_| ())
            .targets()
            .iter()
            .for_each(print);
        snapshot::measure(effort, |_| ())
            .targets()
            .iter()
            .for_each(print);
        return Ok(());
    }
    let report = Report {
        root: options.root,
        plots: options.plots,
        note: options.note,
        effort,
    };
    let parts = match options.only.is_empty() {
        true => Part::value_variants(),
        false => &options.only,
    };
    let start = Instant::now();
    report.write(parts, |what| {
        eprintln!("{:4.0} s: {what}", start.elapsed().as_secs_f64());
    })?;
    eprintln!("{:4.0} s: done", start.elapsed().as_secs_f64());
    Ok(())
}
