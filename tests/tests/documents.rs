//! The tables of negative controls in the documents name those that the models have, and no
//! others; what the documents link to is there; and each of their lines is one sentence.

mod common {
    pub(crate) mod sentences;
}

use common::sentences::{Fault, findings};
use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

fn read(path: impl AsRef<Path>) -> String {
    let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/..")).join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The faults and steps of which a model says that it fails with them.
fn controls() -> BTreeSet<String> {
    let tests = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/..")).join("loom-tests/tests");
    let files = fs::read_dir(tests).expect("the models");
    let paths = files.map(|file| file.expect("an entry").path());
    let text: String = paths.filter(|path| path.is_file()).map(read).collect();
    let control = |call: &str| {
        // `Fault::Name`, or the same of a step.
        let (_, name) = call
            .split_once("::")
            .filter(|(of, _)| of.trim().chars().all(char::is_alphanumeric))
            .unwrap_or_else(|| panic!("what fails? {call:.40}"));
        let end = name.find(|c: char| !c.is_alphanumeric());
        name[..end.expect("an argument follows")].to_owned()
    };
    text.split("must_fail(").skip(1).map(control).collect()
}

/// The names in the column of controls of the table in `section` of a document.
fn named(document: &str, section: &str) -> BTreeSet<String> {
    let text = read(document);
    let (_, text) = text.split_once(section).expect("the section");
    let table = text
        .lines()
        .skip_while(|line| !line.starts_with('|'))
        .take_while(|line| line.starts_with('|'));
    let cells = table.skip(2).filter_map(|row| row.split('|').nth(3));
    let words = cells.flat_map(|cell| cell.split([',', ';', ' ']));
    let names = words.filter(|word| word.starts_with(char::is_uppercase));
    names.map(str::to_owned).collect()
}

#[test]
fn every_control_of_a_model_is_in_the_tables() {
    let controls = controls();
    assert!(controls.len() > 60, "{controls:?}");
    for (document, section) in [
        ("docs/DESIGN.md", "\n## 14."),
        ("docs/VERIFICATION.md", "\n## What checks which promise"),
    ] {
        let named = named(document, section);
        let difference: Vec<_> = controls.symmetric_difference(&named).collect();
        assert!(difference.is_empty(), "{document}: {difference:?}");
    }
}

/// The Markdown files below `directory`, without what a .gitignore names.
fn markdown_files(directory: &Path, ignored: &[String], files: &mut Vec<PathBuf>) {
    let mut ignored = ignored.to_vec();
    if let Ok(text) = fs::read_to_string(directory.join(".gitignore")) {
        ignored.extend(text.lines().map(|line| line.trim_matches('/').to_owned()));
    }
    for entry in fs::read_dir(directory).expect("a directory") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("a name").to_string_lossy();
        if name == ".git" || ignored.iter().any(|ignored| *ignored == name) {
            continue;
        }
        if path.is_dir() {
            markdown_files(&path, &ignored, files);
        } else if path.extension().is_some_and(|extension| extension == "md") {
            files.push(path);
        }
    }
}

/// The Markdown files of the repository.
fn pages() -> Vec<PathBuf> {
    let mut files = Vec::new();
    markdown_files(
        Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/..")),
        &[],
        &mut files,
    );
    files.sort();
    files
}

#[test]
fn every_file_that_a_page_links_to_is_there() {
    let mut plots = 0;
    for page in pages() {
        let text = read(&page);
        let targets = text.split("](").skip(1);
        for target in targets.map(|target| target.split([')', '#', ' ']).next().expect("a target"))
        {
            if target.is_empty() || target.contains("://") {
                continue;
            }
            let path = page.with_file_name(target);
            assert!(path.exists(), "{} links to {target}", page.display());
            plots += usize::from(target.ends_with(".svg"));
        }
    }
    assert!(
        plots >= 11,
        "{plots} plots of two runs, and that of the README"
    );
}

#[test]
fn every_line_of_every_document_is_one_sentence() {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    let mut complaints = Vec::new();
    let mut seen = BTreeSet::new();
    for file in pages() {
        let name = file.strip_prefix(root).expect("below the root");
        let name = name.to_string_lossy().replace('\\', "/");
        let found = findings(&read(&file));
        seen.insert(name.clone());
        complaints.extend(found.iter().map(|finding| {
            let what = match finding.fault {
                Fault::TwoSentences => "a second sentence begins in this line",
                Fault::NoEnd => "no sentence ends with this line",
            };
            format!("{name}:{}: {what}: {}", finding.line, finding.excerpt)
        }));
    }
    for expected in ["README.md", "docs/DESIGN.md", "loom-tests/README.md"] {
        assert!(
            seen.contains(expected),
            "{expected} was not looked at: {seen:?}"
        );
    }
    assert!(complaints.is_empty(), "\n{}\n", complaints.join("\n"));
}
