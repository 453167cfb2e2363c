//! Tasks for contributors. `cargo xtask` lists them.

mod api;
mod break_it;
mod changes;
mod controls;
mod models;
mod rooms;
mod run;

use run::{Failed, Steps};
use std::{env, process::ExitCode};

const HELP: &str = "\
Usage: cargo xtask TASK

  check            formatting, clippy and unit tests of the packages that changed, and the documents
  pr               check, all tests, and the models whose inputs changed, at bound 2
  full             everything: .ci/run
  loom [FILE...]   the models of these files, or of all whose inputs changed; --all, --bound N
  api              compares the public interface with its snapshot; --bless writes the snapshot
  rooms [FOLDER..] prints which module imports which; fails if modules import each other
  break NAME       weakens one step or ordering, and shows the interleaving that fails
  controls         prints what can be weakened, by file of tests; --bless writes the list

A package has changed if a file of it differs from the commit at which the branch left main.
";

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words[..] {
        ["check"] => check().map(Steps::print),
        ["pr"] => pr().map(Steps::print),
        ["full"] => run::bash(".ci/run", &[]),
        ["loom", ref rest @ ..] => models::run(rest),
        ["api"] => api::run(false),
        ["api", "--bless"] => api::run(true),
        ["rooms", ref folders @ ..] => rooms::run(folders),
        ["controls"] => controls::run(false),
        ["controls", "--bless"] => controls::run(true),
        ["break", name] => break_it::run(name),
        [] | ["help" | "--help" | "-h"] => {
            print!("{HELP}");
            Ok(())
        }
        _ => Err(Failed(format!(
            "unknown task: {}\n\n{HELP}",
            words.join(" ")
        ))),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failed(what)) => {
            eprintln!("xtask: {what}");
            ExitCode::FAILURE
        }
    }
}

fn check() -> Result<Steps, Failed> {
    let packages = changes::packages()?;
    let mut steps = Steps::default();
    steps.cargo(&["fmt", "--all", "--check"])?;
    for package in &packages {
        let package = ["--package", package];
        steps.cargo(
            &[
                &["clippy", "--all-targets"],
                &package[..],
                &["--", "-D", "warnings"],
            ]
            .concat(),
        )?;
        steps.cargo(&[&["test", "--lib", "--bins"], &package[..]].concat())?;
    }
    let documents = ["--test", "documents", "--test", "prose"];
    steps.cargo(&[&["test", "--package", "guira-tests"], &documents[..]].concat())?;
    Ok(steps)
}

fn pr() -> Result<Steps, Failed> {
    let mut steps = check()?;
    steps.cargo(&[
        "clippy",
        "--workspace",
        "--all-targets",
        "--all-features",
        "--",
        "-D",
        "warnings",
    ])?;
    steps.cargo(&["test"])?;
    steps.cargo(&["test", "--package", "guira-commands"])?;
    steps.time("models", || models::run(&["--bound", "2"]))?;
    Ok(steps)
}
