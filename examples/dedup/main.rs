//! Passes each distinct line on once, like `sort -u` without sorting. Several threads share one
//! filter.
//!
//! ```text
//! cargo run --release --example dedup -- Cargo.lock
//! ```

mod args;
mod failure;
mod input;
mod pipeline;
mod report;
mod room;
mod seen;

use args::Args;
use clap::Parser;
use failure::Failure;
use input::Input;
use std::{
    io::{self, Write},
    process::ExitCode,
    time::Instant,
};

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            if !failure.is_broken_pipe() {
                say(format_args!("dedup: {failure}"));
            }
            failure.exit_code()
        }
    }
}

fn run(args: &Args) -> Result<(), Failure> {
    let started = Instant::now();
    let inputs = Input::all(&args.files);
    let filter = room::filter(args, &inputs)?;
    let progress = report::progress(&inputs, args.quiet)?;
    let totals = pipeline::run(&inputs, &filter, args.threads(), &progress);
    progress.finish_and_clear();
    let totals = totals?;
    if !args.quiet {
        say(format_args!(
            "{}",
            report::closing_line(&totals, &filter, started.elapsed())
        ));
    }
    Ok(())
}

/// Writes a line to standard error. A failure to write is ignored.
fn say(line: std::fmt::Arguments<'_>) {
    let _ = writeln!(io::stderr(), "{line}");
}
