//! The programs of `examples/`.

use std::{env, path::Path, process::Command};

/// The example of this name, which `cargo test` has built next to this test.
pub(crate) fn example(name: &str) -> Command {
    let test = env::current_exe().unwrap();
    let profile = test.parent().and_then(Path::parent).unwrap();
    let example = profile
        .join("examples")
        .join(format!("{name}{}", env::consts::EXE_SUFFIX));
    assert!(
        example.exists(),
        "{} is not built: run `cargo test` without a choice of targets, or `cargo build --example {name}`",
        example.display()
    );
    Command::new(example)
}
