//! `cargo xtask break`: weakens one thing, and shows how the smallest model that needs it fails.

use crate::{
    controls,
    run::{Failed, command, output, root},
};
use std::fs;

/// The exit code of a model that has shown its failure. `loom-tests/src/breaking.rs` defines it.
const SHOWN: i32 = 42;

pub(crate) fn run(name: &str) -> Result<(), Failed> {
    let mut files = controls::of_models()?;
    files.retain(|file| file.has(name));
    if files.is_empty() {
        return Err(Failed(format!(
            "no model has a control named {name}: cargo xtask controls names all"
        )));
    }
    let order = promises()?;
    let place = |file: &String| order.iter().position(|known| known == file);
    let mut files: Vec<String> = files.iter().map(controls::File::stem).collect();
    files.sort_by_key(|file| place(file).unwrap_or(usize::MAX));
    for file in files {
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

/// The files of models in the order of the promises: the simple ones come first.
fn promises() -> Result<Vec<String>, Failed> {
    let page = fs::read_to_string(root().join("docs/VERIFICATION.md"))?;
    let models = page.lines().filter_map(|row| row.split('|').nth(2));
    let models = models.flat_map(|cell| cell.split(',').map(str::trim));
    Ok(models.map(str::to_owned).collect())
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
    fn the_simplest_file_of_a_promise_comes_first() {
        let order = promises().unwrap();
        let place = |file: &str| order.iter().position(|known| known == file);
        let lookup = place("lookup").unwrap();
        assert!(lookup < place("attempts").unwrap() && lookup < place("growth_lookup").unwrap());
    }

    #[test]
    fn an_unknown_name_is_refused() {
        let Err(Failed(what)) = run("NoSuchThing") else {
            panic!("a model failed");
        };
        assert!(
            what.contains("NoSuchThing") && what.contains("xtask controls"),
            "{what}"
        );
    }
}
