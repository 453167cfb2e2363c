//! Prints the predictions: `RUSTFLAGS="--cfg guira_coherence" cargo run --release -p guira-coherence
//! --target-dir target/coherence -- --help`. Without this cfg, measures on this machine what can be
//! compared with them.

#![forbid(unsafe_code)]

#[cfg(not(guira_coherence))]
mod measure;
#[cfg(guira_coherence)]
mod report;

fn main() -> std::process::ExitCode {
    #[cfg(guira_coherence)]
    return report::main();
    #[cfg(not(guira_coherence))]
    return measure::main();
}
