//! Prints the predictions: `RUSTFLAGS="--cfg guira_faults" cargo run --release -p guira-coherence
//! --target-dir target/faults -- --help`. Without this cfg, measures on this machine what can be
//! compared with them.

#![forbid(unsafe_code)]

#[cfg(not(guira_faults))]
mod measure;
#[cfg(guira_faults)]
mod report;

fn main() -> std::process::ExitCode {
    #[cfg(guira_faults)]
    return report::main();
    #[cfg(not(guira_faults))]
    return measure::main();
}
