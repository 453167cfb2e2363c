//! Measures everything, and writes `BENCHMARKS.md` and its plots.

use clap::Parser;
use guira_benches::{
    effort::Effort,
    growth,
    report::Results,
    snapshot,
    targets::{self, Target},
};
use std::{io, path::PathBuf};

/// Measures guira and its peers side by side.
#[derive(Parser)]
struct Options {
    /// Takes a minute: shows that all of it works, not how fast it is.
    #[arg(long)]
    quick: bool,
    /// Measures the targets only, and prints them.
    #[arg(long)]
    targets: bool,
    /// Where `BENCHMARKS.md` is written.
    #[arg(long, default_value = ".")]
    root: PathBuf,
    /// Where the plots are written, from the root on.
    #[arg(long, default_value = "docs/plots", value_parser = relative)]
    plots: PathBuf,
    /// What is to be known about the machine beside what it says of itself.
    #[arg(long)]
    note: Option<String>,
}

fn relative(path: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(path);
    let relative = path.is_relative().then_some(path);
    relative.ok_or_else(|| "it must be a relative path, which begins at the root".to_owned())
}

fn main() -> io::Result<()> {
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
    let mut results = Results::measure(effort);
    if let Some(note) = options.note {
        results.machine += &format!("- {note}\n");
    }
    results.write(&options.root, &options.plots)
}
