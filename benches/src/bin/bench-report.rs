//! Measures everything, and writes `BENCHMARKS.md` and its plots.

use clap::Parser;
use guira_benches::targets::{self, Effort};

/// Measures guira and its peers side by side.
#[derive(Parser)]
struct Options {
    /// A minute's worth: shows that all of it works, not how fast it is.
    #[arg(long)]
    quick: bool,
}

fn main() {
    let options = Options::parse();
    let effort = if options.quick { Effort::QUICK } else { Effort::FULL };
    for target in targets::measure(effort) {
        println!("{} {:?} {:.2} {} | {}", target.met(), target.bound, target.measured, target.what, target.details);
    }
}
