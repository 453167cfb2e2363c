//! Checks statements of the documents that a test can verify.
//!
//! * The list of negative controls has the controls that the models have, and no others.
//! * Each file of models checks a promise.
//! * The cards of the files that implement operations refer to sections, models and controls that
//!   exist.
//! * The pages list every command and every statistic.
//! * Links, paths and section numbers lead somewhere.
//! * Each page says who reads it, and each of its lines is one sentence.

mod common {
    pub(crate) mod cards;
    pub(crate) mod files;
    pub(crate) mod sentences;
}

use common::{
    cards::{Facts, card},
    files,
    sentences::{Fault, findings},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
};

/// For each file of models, the faults and steps that it names in its negative controls.
fn controls() -> BTreeMap<String, BTreeSet<String>> {
    let tests = files::root().join("loom-tests/tests");
    let entries = fs::read_dir(tests).expect("the models");
    let paths = entries.map(|entry| entry.expect("a directory entry").path());
    let control = |call: &str| {
        // The argument is `Fault::Name` or `Step::Name`.
        let (_, name) = call
            .split_once("::")
            .filter(|(kind, _)| kind.trim().chars().all(char::is_alphanumeric))
            .unwrap_or_else(|| panic!("no control: {call:.40}"));
        let end = name.find(|c: char| !c.is_alphanumeric());
        name[..end.expect("an argument follows")].to_owned()
    };
    let models = paths.filter(|path| path.is_file());
    models
        .map(|path| {
            let name = path.file_stem().expect("a file name").to_string_lossy();
            let text = files::read(&path);
            let calls = text.split("must_fail(").skip(1);
            (name.into_owned(), calls.map(control).collect())
        })
        .collect()
}

/// The cells of each row of the first table in `section` of a document.
fn table(document: &str, section: &str) -> Vec<Vec<String>> {
    let text = files::read(document);
    let (_, text) = text.split_once(section).expect("the section");
    let rows = text
        .lines()
        .skip_while(|line| !line.starts_with('|'))
        .take_while(|line| line.starts_with('|'));
    let cells = |row: &str| {
        row.split('|')
            .skip(1)
            .map(|cell| cell.trim().to_owned())
            .collect()
    };
    rows.skip(2).map(cells).collect()
}

/// The models of a promise are there, and each file of models checks a promise.
#[test]
fn each_file_of_models_checks_a_promise() {
    let mut named = BTreeSet::new();
    for row in table("docs/VERIFICATION.md", "\n## What checks which promise") {
        let [_, models, ..] = &row[..] else {
            panic!("{row:?}");
        };
        let models = models.split(", ").filter(|model| !model.is_empty());
        named.extend(models.map(str::to_owned));
    }
    let files: BTreeSet<_> = controls().into_keys().collect();
    let difference: Vec<_> = files.symmetric_difference(&named).collect();
    assert!(
        difference.is_empty(),
        "in loom-tests/tests or in the table only: {difference:?}"
    );
}

/// `cargo xtask controls` writes the list. This test reads it, and the models, in another way.
#[test]
fn the_list_of_controls_has_the_controls_of_each_file() {
    let list = files::read("loom-tests/controls.txt");
    let mut listed: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut file = String::new();
    for line in list.lines() {
        let names = ["  steps: ", "  orderings: "].map(|kind| line.strip_prefix(kind));
        if let Some(path) = line.strip_prefix("loom-tests/tests/") {
            file = path.trim_end_matches(".rs").to_owned();
            listed.entry(file.clone()).or_default();
        } else if line.starts_with("shuttle-tests/") {
            break;
        } else if let Some(names) = names.into_iter().flatten().next() {
            let names = names.split(", ").map(str::to_owned);
            listed.entry(file.clone()).or_default().extend(names);
        }
    }
    let controls = controls();
    let all: BTreeSet<_> = controls.values().flatten().collect();
    assert!(all.len() > 60, "{all:?}");
    assert_eq!(listed, controls, "cargo xtask controls --bless");
}

/// The files that implement an operation or a part of one.
const CARDS: [&str; 24] = [
    "src/raw/advance.rs",
    "src/raw/clear.rs",
    "src/raw/crew.rs",
    "src/raw/expire.rs",
    "src/raw/frontier.rs",
    "src/raw/insert.rs",
    "src/raw/lookup.rs",
    "src/raw/lower.rs",
    "src/raw/moves.rs",
    "src/raw/pieces.rs",
    "src/raw/refresh.rs",
    "src/raw/relocate.rs",
    "src/raw/remove.rs",
    "src/raw/remove/oldest.rs",
    "src/raw/search.rs",
    "src/raw/union.rs",
    "src/raw/unique.rs",
    "src/table/level.rs",
    "src/table/parts.rs",
    "src/table/scan.rs",
    "src/table/shared.rs",
    "src/table/split.rs",
    "src/table/time/beginning.rs",
    "src/table/time/in_words.rs",
];

#[test]
fn each_operation_has_a_card_that_is_true() {
    let pages = files::with_extension("md").into_iter();
    let facts = Facts {
        pages: pages
            .map(|page| (files::name(&page), files::read(&page)))
            .collect(),
        controls: controls(),
    };
    let mut complaints = Vec::new();
    let mut with_card = BTreeSet::new();
    for file in files::with_extension("rs") {
        let name = files::name(&file);
        let text = files::read(&file);
        // The example in `common/cards.rs` is not the card of an operation.
        let Some(card) = card(&text).filter(|_| name.starts_with("src/")) else {
            continue;
        };
        let found = facts.complaints(&card);
        complaints.extend(found.iter().map(|what| format!("{name}: {what}")));
        with_card.insert(name);
    }
    assert!(complaints.is_empty(), "{complaints:#?}");
    assert_eq!(with_card, CARDS.map(str::to_owned).into());
}

/// The names in the rows `constructor("NAME", …` of a table in the source.
fn commands_in(source: &str, constructors: &[&str]) -> BTreeSet<String> {
    let text = files::read(source);
    let names = constructors.iter().flat_map(|constructor| {
        let row = format!(" {constructor}(\"");
        let names: Vec<_> = text
            .split(row.as_str())
            .skip(1)
            .filter_map(|after| after.split_once('"'))
            .map(|(name, _)| name.to_owned())
            .collect();
        names
    });
    names.collect()
}

/// The words of all code spans in those tables of a page whose header is one of `headers`.
fn words_in_tables(page: &str, headers: &[&str]) -> BTreeSet<String> {
    let text = files::read(page);
    let tables = headers.iter().map(|header| {
        let (_, table) = text.split_once(header).expect("the table");
        table.split("\n\n").next().expect("a part")
    });
    let spans = tables.flat_map(|table| table.split('`').skip(1).step_by(2));
    spans
        .flat_map(str::split_whitespace)
        .map(str::to_owned)
        .collect()
}

#[test]
fn the_pages_list_every_command() {
    let on_filters = commands_in("commands/src/table.rs", &["command"]);
    let count = files::read("commands/src/table.rs");
    let count = count
        .split_once("COMMAND_COUNT: usize = ")
        .expect("the count")
        .1;
    let count = count.split(';').next().expect("a number").parse();
    assert_eq!(Ok(on_filters.len()), count);
    let others = commands_in("server/src/command/table.rs", &["row"]);
    assert!(others.len() > 40, "{others:?}");
    let of_replication = ["CF.MAKE", "CF.AGE", "CF.CLOCK"].map(str::to_owned);
    let server: BTreeSet<_> = on_filters.union(&others).cloned().collect();
    let module: BTreeSet<_> = on_filters.iter().cloned().chain(of_replication).collect();
    let of_server = ["| command | reply |\n", "| for | commands |\n"];
    let of_module = ["| commands | flags | categories |\n"];
    for (page, tables, commands) in [
        ("docs/server/commands.md", &of_server[..], server),
        ("docs/MODULE.md", &of_module, module),
    ] {
        let words = words_in_tables(page, tables);
        let missing: Vec<_> = commands.difference(&words).collect();
        assert!(missing.is_empty(), "{page} does not list {missing:?}");
        let is_name = |word: &&String| {
            let name = word.strip_prefix("CF.");
            name.is_some_and(|name| name.bytes().all(|byte| byte.is_ascii_uppercase()))
        };
        let unknown: Vec<_> = words
            .iter()
            .filter(is_name)
            .filter(|&word| !commands.contains(word))
            .collect();
        assert!(
            unknown.is_empty(),
            "{page}: there are no commands {unknown:?}"
        );
    }
}

/// The fields of `Stats` appear wherever a list of them is kept.
#[test]
fn lists_of_statistics_are_complete() {
    let source = files::read("src/stats.rs");
    let (_, fields) = source.split_once("pub struct Stats {").expect("the type");
    let fields = fields.lines().filter_map(|line| {
        let (name, _) = line.trim().strip_prefix("pub ")?.split_once(':')?;
        Some(name)
    });
    let fields: Vec<&str> = fields.collect();
    assert!(fields.contains(&"failed_inserts"), "{fields:?}");
    for (file, before, after) in [
        ("docs/GUIDE.md", "`stats().", "`"),
        ("python/src/stats.rs", "stats.", ","),
    ] {
        let text = files::read(file);
        let is_missing = |name: &&&str| !text.contains(&format!("{before}{name}{after}"));
        let missing: Vec<_> = fields.iter().filter(is_missing).collect();
        assert!(missing.is_empty(), "{file} does not list {missing:?}");
    }
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
    assert!(
        missing.is_empty(),
        "give each path from the root of the repository, or from its page: {missing:#?}"
    );
}

/// The numbers in all references to a section of `document`.
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
        let mut headings = files::read(format!("docs/{document}.md"));
        let parts = files::root().join(format!("docs/{}", document.to_lowercase()));
        for page in files::with_extension("md") {
            if page.starts_with(&parts) {
                headings += &files::read(&page);
            }
        }
        for extension in ["md", "rs"] {
            for file in files::with_extension(extension) {
                // A reference may be split over two lines of a comment.
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

/// The anchors of a page's headings, by the rule of the usual Markdown renderers.
fn anchors(text: &str) -> BTreeSet<String> {
    let headings = text.lines().filter(|line| line.starts_with('#'));
    let anchor = |heading: &str| {
        let heading = heading.trim_start_matches('#').trim().to_lowercase();
        let kept = heading
            .chars()
            .filter(|&c| c.is_alphanumeric() || " -_".contains(c));
        kept.map(|c| if c == ' ' { '-' } else { c }).collect()
    };
    headings.map(anchor).collect()
}

#[test]
fn every_link_of_a_page_leads_somewhere() {
    let mut checked = 0;
    let mut missing = Vec::new();
    for page in files::with_extension("md") {
        let text = files::read(&page);
        for target in text.split("](").skip(1) {
            let target = target.split([')', ' ']).next().expect("a target");
            if target.contains("://") {
                continue;
            }
            checked += 1;
            let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
            let path = match file {
                "" => page.clone(),
                file => page.with_file_name(file),
            };
            let is_there = path.exists()
                && (anchor.is_empty() || anchors(&files::read(&path)).contains(anchor));
            if !is_there {
                missing.push(format!("{} links to {target}", files::name(&page)));
            }
        }
    }
    assert!(checked > 100, "{checked}");
    assert!(missing.is_empty(), "{missing:#?}");
}

/// The first line below the title names the readers.
#[test]
fn every_page_says_who_reads_it() {
    let mut missing = Vec::new();
    for page in files::with_extension("md") {
        let text = files::read(&page);
        let Some(text) = text.strip_prefix("# ") else {
            // A template, and no page.
            assert!(
                text.starts_with("<!--"),
                "{} has no title",
                files::name(&page)
            );
            continue;
        };
        let first = text.lines().skip(1).find(|line| !line.is_empty());
        if !first.is_some_and(|line| line.starts_with("For ")) {
            missing.push(files::name(&page));
        }
    }
    assert!(missing.is_empty(), "{missing:#?}");
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
            "{expected} was not checked: {seen:?}"
        );
    }
    assert!(complaints.is_empty(), "\n{}\n", complaints.join("\n"));
}
