//! `cargo xtask break`: weakens one thing, and shows how the smallest model that needs it fails.

use crate::{
    models,
    run::{Failed, command, output, root},
};
use std::fs;

/// The exit code of a model that has shown its failure. `loom-tests/src/breaking.rs` defines it.
const SHOWN: i32 = 42;

/// Prints the names of all negative controls, and the files of models that have them.
pub(crate) fn list() -> Result<(), Failed> {
    for (file, names) in controls()? {
        println!("{file:16} {}", names.join(" "));
    }
    Ok(())
}

pub(crate) fn run(name: &str) -> Result<(), Failed> {
    let mut files = controls()?;
    files.retain(|(_, names)| names.iter().any(|known| known == name));
    if files.is_empty() {
        return Err(Failed(format!(
            "no model has a control named {name}: cargo xtask break --list names all"
        )));
    }
    // The table of models lists the simple ones first.
    let table = fs::read_to_string(root().join("loom-tests/README.md"))?;
    files.sort_by_key(|(file, _)| table.find(&format!("\n| {file} |")).unwrap_or(usize::MAX));
    for (file, _) in files {
        println!("building the models of {file}");
        let binary = build(&file)?;
        let mut model = command(&binary, &["--nocapture", "--test-threads", "1", "--quiet"]);
        model
            .env("GUIRA_LOOM_BREAK", name)
            .env("RUST_BACKTRACE", "0");
        let ran = model.output()?;
        if ran.status.code() == Some(SHOWN) {
            let text = String::from_utf8_lossy(&ran.stdout);
            let begin = text.find("scenario   ").unwrap_or(0);
            print!("{}", &text[begin..]);
            println!(
                "\nThe scenario is in loom-tests/tests/{file}.rs; docs/PROOF.md has the argument."
            );
            return Ok(());
        }
    }
    Err(Failed(format!("no model failed without {name}")))
}

/// The negative controls of each file of models.
fn controls() -> Result<Vec<(String, Vec<String>)>, Failed> {
    let mut controls = Vec::new();
    for file in models::files()? {
        let text = fs::read_to_string(path(&file))?;
        let mut names: Vec<_> = text
            .split("must_fail(")
            .skip(1)
            .filter_map(control)
            .collect();
        names.sort();
        names.dedup();
        controls.push((file, names));
    }
    Ok(controls)
}

/// The name in `Fault::Name, …` or `Step::Name, …`.
fn control(call: &str) -> Option<String> {
    let (_, name) = call.split_once("::")?;
    let end = name.find(|c: char| !c.is_alphanumeric())?;
    Some(name[..end].to_owned())
}

fn path(file: &str) -> std::path::PathBuf {
    root().join(format!("loom-tests/tests/{file}.rs"))
}

/// Builds one file of models, and returns the path of the binary.
fn build(file: &str) -> Result<String, Failed> {
    let mut cargo = command(
        "cargo",
        &[
            "test",
            "--package",
            "guira-loom-tests",
            "--profile",
            "loom",
            "--target-dir",
            "target/loom",
            "--test",
            "models",
            "--no-run",
        ],
    );
    cargo
        .env("GUIRA_LOOM_FILES", file)
        .env("RUSTFLAGS", "--cfg guira_loom")
        .env("CARGO_TERM_COLOR", "never");
    let built = output(cargo)?;
    let text = String::from_utf8_lossy(&built.stderr);
    let line = text.lines().find(|line| line.contains("Executable"));
    let path = line.and_then(|line| Some(line.split_once('(')?.1.trim_end_matches(')')));
    let path = path.ok_or(Failed(format!("cargo did not say what it built:\n{text}")))?;
    Ok(root().join(path).to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn controls_are_found_by_name() {
        let controls = controls().unwrap();
        let (_, names) = controls.iter().find(|(file, _)| file == "lookup").unwrap();
        assert!(names.contains(&"NoAdvance".to_owned()) && names.contains(&"ReadP".to_owned()));
        assert_eq!(control("Fault::NoAdvance, LAW)"), Some("NoAdvance".into()));
    }

    #[test]
    fn an_unknown_name_is_refused() {
        let Err(Failed(what)) = run("NoSuchThing") else {
            panic!("a model failed");
        };
        assert!(
            what.contains("NoSuchThing") && what.contains("--list"),
            "{what}"
        );
    }
}
