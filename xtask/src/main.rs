//! Tasks for contributors. `cargo xtask` lists them.

mod api;
mod break_it;
mod changes;
mod controls;
mod models;
mod rooms;
mod run;

use run::{Failed, Steps};
use std::{collections::BTreeSet, env, process::ExitCode};

const HELP: &str = "\
Usage: cargo xtask TASK

  check            the documents, formatting, imports, clippy and unit tests of the packages that
                   changed
  pr               the documents, formatting, imports, clippy, the tests of the library and of the
                   packages that changed, and the models of what changed and of each promise, at
                   bound 2
  full             everything: .ci/run
  loom [FILE...]   the models of these files, or of all whose inputs changed; --all, --bound N
  api              compares the public interface with its snapshot; --bless writes the snapshot
  rooms [FOLDER..] prints which module imports which; fails if modules import each other
  break NAME       weakens one step or ordering, and shows the interleaving that fails
  controls         prints what can be weakened, by file of tests; --bless writes the list

A package has changed if a file of it differs from the commit at which the branch left main.
Complaints about the documents are warnings, unless the variable CI is set.
";

/// The package whose tests check the imports between all modules.
const ROOMS: &str = "guira-xtask";

/// Ends the arguments of clippy.
const DENY: [&str; 3] = ["--", "-D", "warnings"];

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words[..] {
        ["check"] => Steps::of(check),
        ["pr"] => Steps::of(pr),
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

/// Fast, so that it can run after each edit.
fn check(steps: &mut Steps) -> Result<(), Failed> {
    documents(steps)?;
    steps.cargo(&["fmt", "--all", "--check"])?;
    let packages = changes::packages()?;
    if packages.is_empty() {
        return Ok(());
    }
    let clippy = ["clippy", "--all-targets"];
    steps.cargo(&[&clippy, &select(&packages)[..], &DENY].concat())?;
    // Among the selected packages must be one with a library. The tests of the Python package are
    // Python's.
    let mut tested = BTreeSet::from_iter(["guira", ROOMS].into_iter().chain(packages));
    tested.remove("guira-python");
    steps.cargo(&[&["test", "--lib", "--bins"], &select(&tested)[..]].concat())
}

/// What a contributor's change most likely breaks, in minutes. `.ci/run` has the rest.
fn pr(steps: &mut Steps) -> Result<(), Failed> {
    documents(steps)?;
    steps.cargo(&["fmt", "--all", "--check"])?;
    steps.cargo(&["test", "--package", ROOMS])?;
    let clippy = ["clippy", "--workspace", "--all-targets", "--all-features"];
    steps.cargo(&[&clippy[..], &DENY].concat())?;
    steps.cargo(&["test"])?;
    let mut packages = changes::packages()?;
    // These have been tested.
    let tested = ["guira", "guira-docs-tests", "guira-tests", ROOMS];
    packages.retain(|package| !tested.contains(package));
    // The other tests of the module need an engine: `ci/module.sh`.
    if packages.remove("guira-module") {
        steps.cargo(&["test", "--package", "guira-module", "--lib"])?;
    }
    if !packages.is_empty() {
        steps.cargo(&[&["test"], &select(&packages)[..]].concat())?;
    }
    steps.time("models", || models::concerned(&changes::files()?))
}

/// The checks of pages and comments. Only in CI do they fail.
fn documents(steps: &mut Steps) -> Result<(), Failed> {
    let package = ["--package", "guira-docs-tests"];
    match steps.cargo(&[&["test", "--no-fail-fast"], &package[..]].concat()) {
        Err(Failed(what)) if env::var_os("CI").is_none() => {
            steps.warn(what);
            Ok(())
        }
        checked => checked,
    }
}

/// The arguments of cargo that select these packages.
fn select<'a>(packages: &BTreeSet<&'a str>) -> Vec<&'a str> {
    let arguments = packages.iter().flat_map(|package| ["--package", package]);
    arguments.collect()
}
