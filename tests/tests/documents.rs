//! The table of negative controls in VERIFICATION names those that the models have, and no others.
//! Links, paths and section numbers lead somewhere. Each line is one sentence.

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
fn every_control_of_a_model_is_in_the_table() {
    let controls = controls();
    assert!(controls.len() > 60, "{controls:?}");
    let named = named("docs/VERIFICATION.md", "\n## What checks which promise");
    let difference: Vec<_> = controls.symmetric_difference(&named).collect();
    assert!(difference.is_empty(), "{difference:?}");
}

/// The code spans of a page that begin with a directory of the repository and name a file in it.
fn paths(text: &str) -> impl Iterator<Item = &str> {
    const DIRECTORIES: [&str; 14] = [
        ".ci/",
        "benches/",
        "ci/",
        "commands/",
        "docs/",
        "examples/",
        "fuzz/",
        "loom-tests/",
        "module/",
        "server/",
        "shuttle-tests/",
        "src/",
        "tests/",
        "watch/",
    ];
    const EXTENSIONS: [&str; 5] = [".rs", ".md", ".sh", ".js", ".toml"];
    let spans = text
        .lines()
        .flat_map(|line| line.split('`').skip(1).step_by(2));
    spans.filter(|span| {
        DIRECTORIES
            .iter()
            .any(|directory| span.starts_with(directory))
            && EXTENSIONS.iter().any(|extension| span.ends_with(extension))
            && !span.contains([' ', '*', '<'])
    })
}

#[test]
fn every_path_that_a_page_names_is_there() {
    let mut checked = 0;
    let mut missing = Vec::new();
    for page in files::with_extension("md") {
        let text = files::read(&page);
        for path in paths(&text) {
            checked += 1;
            if !(files::root().join(path).exists() || page.with_file_name(path).exists()) {
                missing.push(format!("{}: {path}", files::name(&page)));
            }
        }
    }
    assert!(checked > 50, "{checked}");
    assert!(missing.is_empty(), "{missing:#?}");
}

/// The numbers after each mention of a section of `document`.
fn sections<'a>(text: &'a str, document: &str) -> Vec<&'a str> {
    let reference = format!("{document}, section ");
    let after = text.split(reference.as_str()).skip(1);
    after
        .map(|after| {
            after
                .split(|c: char| !c.is_ascii_digit())
                .next()
                .expect("a part")
        })
        .collect()
}

#[test]
fn every_section_that_is_referred_to_is_there() {
    let mut checked = 0;
    let mut missing = Vec::new();
    for document in ["DESIGN", "PROOF"] {
        let headings = files::read(format!("docs/{document}.md"));
        for extension in ["md", "rs"] {
            for file in files::with_extension(extension) {
                // A reference may be broken over two lines of a comment.
                let text = files::read(&file);
                if !text.contains(document) {
                    continue;
                }
                let text = text.replace("\n//", " ").replace(['/', '`'], "");
                let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
                let text = text.replace(&format!("docs{document}.md"), document);
                for number in sections(&text, document) {
                    checked += 1;
                    if !headings.contains(&format!("\n## {number}. ")) {
                        let name = files::name(&file);
                        missing.push(format!("{name}: {document}, section {number}"));
                    }
                }
            }
        }
    }
    assert!(checked > 8, "{checked}");
    assert!(missing.is_empty(), "{missing:#?}");
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
