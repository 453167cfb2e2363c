//! Measures everything, and writes the report of this machine with its charts, and `BENCHMARKS.md`.

use clap::Parser;
use guira_benches::report::Report;
use std::process::ExitCode;

fn main() -> ExitCode {
    match Report::parse().write() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
