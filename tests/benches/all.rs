//! `cargo bench` in the root of the repository: hands over to the benches of
//! `guira-benches`, whose peers are dependencies of theirs alone. Arguments go to criterion.

use std::{
    env,
    process::{Command, exit},
};

fn main() {
    // cargo marks a run of benches by `--bench`; in a run of tests there is nothing to do.
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
