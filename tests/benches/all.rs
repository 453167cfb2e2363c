//! `cargo bench` in the root of the repository runs the benches of `guira-benches`, so that only
//! that package depends on the peers. Arguments are passed to criterion.

use std::{
    env,
    process::{Command, exit},
};

fn main() {
    // cargo runs benches with `--bench`. Without it this is a run of tests, which does nothing.
    let (marks, arguments): (Vec<_>, Vec<_>) = env::args()
        .skip(1)
        .partition(|argument| argument == "--bench");
    if marks.is_empty() {
        return;
    }
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo)
        .args(["bench", "--package", "guira-benches", "--benches", "--"])
        .args(arguments)
        .status();
    match status {
        Ok(status) => exit(status.code().unwrap_or(1)),
        Err(error) => {
            eprintln!("cargo cannot be started: {error}");
            exit(1);
        }
    }
}
