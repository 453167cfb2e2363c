//! The tables of negative controls in the documents name those that the models have, and no
//! others; what the documents link to is there; and each of their lines is one sentence.

mod common {
    pub(crate) mod files;
    pub(crate) mod sentences;
}

use common::{
    files,
    sentences::{Fault, findings},
};
use std::{collections::BTreeSet, fs};

/// The faults and steps of which a model says that it fails with them.
fn controls() -> BTreeSet<String> {
    let tests = files::root().join("loom-tests/tests");
    let files = fs::read_dir(tests).expect("the models");
    let paths = files.map(|file| file.expect("an entry").path());
    let text: String = paths
        .filter(|path| path.is_file())
        .map(files::read)
        .collect();
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
    let text = files::read(document);
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

#[test]
fn every_file_that_a_page_links_to_is_there() {
    let mut plots = 0;
    for page in files::with_extension("md") {
        let text = files::read(&page);
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
    let mut complaints = Vec::new();
    let mut seen = BTreeSet::new();
    for file in files::with_extension("md") {
        let name = files::name(&file);
        let found = findings(&files::read(&file));
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
