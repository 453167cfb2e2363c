//! The files of the repository, for tests that read their text.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// The root of the repository.
pub(crate) fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

/// The path of `file` below the root, with `/` on every platform.
pub(crate) fn name(file: &Path) -> String {
    let name = file.strip_prefix(root()).expect("a file below the root");
    name.to_string_lossy().replace('\\', "/")
}

/// The text of a file, given by its path or its path below the root.
pub(crate) fn read(path: impl AsRef<Path>) -> String {
    let path = root().join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// All files with this extension, sorted, except for ignored ones.
pub(crate) fn with_extension(extension: &str) -> Vec<PathBuf> {
    let mut files = Vec::new();
    collect(root(), extension, &[], &mut files);
    files.sort();
    files
}

fn collect(directory: &Path, extension: &str, ignored: &[String], files: &mut Vec<PathBuf>) {
    let mut ignored = ignored.to_vec();
    if let Ok(text) = fs::read_to_string(directory.join(".gitignore")) {
        ignored.extend(text.lines().map(|line| line.trim_matches('/').to_owned()));
    }
    for entry in fs::read_dir(directory).expect("a directory") {
        let path = entry.expect("a directory entry").path();
        let name = path.file_name().expect("a file name").to_string_lossy();
        if name == ".git" || ignored.iter().any(|ignored| *ignored == name) {
            continue;
        }
        if path.is_dir() {
            collect(&path, extension, &ignored, files);
        } else if path.extension().is_some_and(|found| found == extension) {
            files.push(path);
        }
    }
}
