//! Prints the predictions: `RUSTFLAGS="--cfg guira_coherence" cargo run --release -p guira-coherence
//! --target-dir target/coherence -- --help`.

#![forbid(unsafe_code)]

#[cfg(guira_coherence)]
mod report;

#[cfg(guira_coherence)]
fn main() -> std::process::ExitCode {
    report::main()
}

#[cfg(not(guira_coherence))]
fn main() -> std::process::ExitCode {
    eprintln!("build this with RUSTFLAGS=\"--cfg guira_coherence\": see coherence/README.md");
    std::process::ExitCode::FAILURE
}
