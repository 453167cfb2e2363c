//! `cargo xtask api`: the public interface of the library, compared with `docs/internal/public-api.txt`.
//!
//! The tool reads the JSON of one version of rustdoc, so both are pinned.

use crate::run::{Failed, command, output, root, succeed};
use std::fs;

const SNAPSHOT: &str = "docs/internal/public-api.txt";

/// The tool, and the toolchain whose JSON it can read.
const TOOL: (&str, &str) = ("cargo-public-api", "0.49.0");
const TOOLCHAIN: &str = "1.88";

/// Compares the interface with the snapshot, or overwrites the snapshot if `bless`.
pub(crate) fn run(bless: bool) -> Result<(), Failed> {
    let found = interface()?;
    let path = root().join(SNAPSHOT);
    if bless {
        return Ok(fs::write(path, found)?);
    }
    let expected = fs::read_to_string(path)?;
    if found == expected {
        println!(
            "the public interface is that of {SNAPSHOT}: {} lines",
            found.lines().count()
        );
        return Ok(());
    }
    let of = |text: &str, sign: char, other: &str| {
        let lines = text
            .lines()
            .filter(|line| !other.lines().any(|known| known == *line));
        lines
            .map(|line| format!("{sign} {line}\n"))
            .collect::<String>()
    };
    let (gone, new) = (of(&expected, '-', &found), of(&found, '+', &expected));
    Err(Failed(format!(
        "the public interface has changed:\n{gone}{new}If that is intended, run cargo xtask api --bless"
    )))
}

/// The public items, one per line, except for the blanket ones of every type.
fn interface() -> Result<String, Failed> {
    let tools = root().join("target/tools");
    let (name, version) = TOOL;
    let root = tools.to_string_lossy();
    succeed(command(
        "cargo",
        &[
            "install",
            "--quiet",
            "--debug",
            "--locked",
            "--root",
            &root,
            name,
            "--version",
            version,
        ],
    ))?;
    let toolchain = [
        "toolchain",
        "install",
        TOOLCHAIN,
        "--profile",
        "minimal",
        "--no-self-update",
    ];
    output(command("rustup", &toolchain))?;
    let binary = tools.join("bin").join(name);
    let mut api = command(
        "rustup",
        &[
            "run",
            TOOLCHAIN,
            &binary.to_string_lossy(),
            "public-api",
            "--package",
            "guira",
            "--all-features",
            "--target-dir",
            "target/least",
            "-sss",
        ],
    );
    // Rustdoc writes JSON on nightly only. This variable enables nightly features on stable.
    api.env("RUSTC_BOOTSTRAP", "1")
        .env_remove("RUSTUP_TOOLCHAIN")
        .env_remove("CARGO");
    let listed = output(api)?;
    String::from_utf8(listed.stdout).map_err(|error| Failed(error.to_string()))
}
