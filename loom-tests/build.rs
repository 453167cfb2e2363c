//! Makes each file of models a module of one test binary, so that the code which they share is
//! compiled once. `GUIRA_LOOM_FILES` limits it to some files.

use std::{env, fs, path::Path};

fn main() {
    println!("cargo::rerun-if-changed=tests");
    println!("cargo::rerun-if-env-changed=GUIRA_LOOM_FILES");
    let variable = |name| env::var(name).unwrap_or_default();
    let chosen = variable("GUIRA_LOOM_FILES");
    let chosen: Vec<&str> = chosen.split_whitespace().collect();
    let folder = Path::new(&variable("CARGO_MANIFEST_DIR")).join("tests");
    let mut modules = String::new();
    for entry in fs::read_dir(folder).expect("the folder of the models") {
        let path = entry.expect("a file").path();
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        if path.is_file() && (chosen.is_empty() || chosen.contains(&&*name)) {
            modules += &format!("#[path = {path:?}]\nmod {name};\n");
        }
    }
    let file = Path::new(&variable("OUT_DIR")).join("models.rs");
    fs::write(file, modules).expect("the list of modules");
}
