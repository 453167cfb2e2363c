//! The tables of negative controls in the documents name those that the models have, and no
//! others; and what the documents link to is there.

use std::{
    collections::BTreeSet,
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
};

fn read(path: impl AsRef<Path>) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The faults and events of which a model says that it fails with them.
fn controls() -> BTreeSet<String> {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("loom-tests/tests");
    let files = fs::read_dir(tests).expect("the models");
    let paths = files.map(|file| file.expect("an entry").path());
    let text: String = paths.filter(|path| path.is_file()).map(read).collect();
    let control = |call: &str| {
        let name = call.trim_start();
        let name = name
            .strip_prefix("Fault::")
            .or_else(|| name.strip_prefix("Event::"));
        let name = name.unwrap_or_else(|| panic!("what fails? {:.40}", call));
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

/// The Markdown files in the directory, and in those below it that are kept in the repository.
fn pages(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).expect("a directory");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let pages = paths.flat_map(|path| match path.file_name().and_then(OsStr::to_str) {
        Some(name) if name.starts_with('.') || name == "target" => Vec::new(),
        Some(_) if path.is_dir() => pages(&path),
        Some(name) if name.ends_with(".md") => vec![path],
        _ => Vec::new(),
    });
    pages.collect()
}

#[test]
fn every_file_that_a_page_links_to_is_there() {
    let mut plots = 0;
    for page in pages(Path::new(env!("CARGO_MANIFEST_DIR"))) {
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
