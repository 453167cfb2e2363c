//! The tables of negative controls in the documents name those that the models have, and no
//! others.

use std::{collections::BTreeSet, fs, path::Path};

fn read(path: impl AsRef<Path>) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The faults and events of which a model says that it fails with them.
fn controls() -> BTreeSet<String> {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("loom-tests/tests");
    let files = fs::read_dir(tests).expect("the models");
    let text: String = files
        .map(|file| read(file.expect("a file").path()))
        .collect();
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
