//! The prose of pages and comments avoids the constructions that are listed in `common/prose.rs`.
//!
//! `data/prose.txt` has the count of each file that still has some of them, and the number of long
//! sentences in all files. The numbers may only decrease. This command writes lower ones:
//! `GUIRA_BLESS=1 cargo test -p guira-docs-tests --test prose`

mod common {
    pub(crate) mod files;
    pub(crate) mod prose;
    pub(crate) mod sentences;
}

use common::{files, prose};
use std::{collections::BTreeMap, env, fmt::Write, fs};

const ALLOWED: &str = "docs-tests/tests/data/prose.txt";

const HEAD: &str = "\
# Phrases to avoid that a file still has, and sentences of more than 30 words in all files.
# These numbers may only fall. GUIRA_BLESS=1 cargo test -p guira-docs-tests --test prose
";

/// The number of findings, or the allowed number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Counts {
    long: usize,
    /// Only files that have phrases to avoid.
    avoided: BTreeMap<String, usize>,
}

impl Counts {
    fn parse(text: &str) -> Self {
        let mut counts = Self::default();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let (number, name) = line.split_once(' ').expect("a number and a name");
            let number = number.parse().expect("a number");
            match name {
                "long sentences" => counts.long = number,
                file => {
                    let before = counts.avoided.insert(file.to_owned(), number);
                    assert_eq!(before, None, "{file} is listed twice");
                }
            }
        }
        counts
    }

    fn print(&self) -> String {
        let mut text = format!("{HEAD}{} long sentences\n", self.long);
        for (file, number) in &self.avoided {
            writeln!(text, "{number} {file}").expect("memory");
        }
        text
    }

    fn allowed(&self, file: &str) -> usize {
        self.avoided.get(file).copied().unwrap_or(0)
    }

    /// The files that have more phrases to avoid than allowed.
    fn above<'a>(&'a self, allowed: &'a Self) -> impl Iterator<Item = &'a str> {
        let files = self.avoided.iter();
        files
            .filter(|&(file, &number)| number > allowed.allowed(file))
            .map(|(file, _)| file.as_str())
    }

    /// True if `found` may replace `self` because no number increases. A file that was moved keeps
    /// its findings, so new files may have the findings of files that no longer exist.
    fn may_become(&self, found: &Self, exists: impl Fn(&str) -> bool) -> bool {
        let listed = |file: &str| self.avoided.contains_key(file);
        let rises = found.above(self).any(listed);
        let new: usize = found
            .avoided
            .iter()
            .filter(|(file, _)| !listed(file))
            .map(|(_, number)| number)
            .sum();
        let gone: usize = self
            .avoided
            .iter()
            .filter(|(file, _)| !exists(file))
            .map(|(_, number)| number)
            .sum();
        !rises && new <= gone && found.long <= self.long
    }
}

#[test]
fn phrases_to_avoid_and_long_sentences_become_fewer() {
    let mut found = Counts::default();
    let mut avoided = BTreeMap::new();
    let mut long = Vec::new();
    for (extension, look) in [
        ("md", prose::in_markdown as fn(&str) -> _),
        ("rs", prose::in_rust),
    ] {
        for file in files::with_extension(extension) {
            let findings = look(&files::read(&file));
            let name = files::name(&file);
            found.long += findings.long.len();
            long.extend(findings.long.iter().map(|line| format!("{name}:{line}")));
            if !findings.avoided.is_empty() {
                found.avoided.insert(name.clone(), findings.avoided.len());
                avoided.insert(name, findings.avoided);
            }
        }
    }
    let allowed = Counts::parse(&files::read(ALLOWED));
    if env::var_os("GUIRA_BLESS").is_some() {
        let exists = |file: &str| files::root().join(file).exists();
        let refused = "not written: a number would rise, see the test without GUIRA_BLESS";
        assert!(allowed.may_become(&found, exists), "{refused}");
        fs::write(files::root().join(ALLOWED), found.print()).expect("the counts are written");
        return;
    }
    let mut complaints = String::new();
    for file in found.above(&allowed) {
        let (number, may) = (found.allowed(file), allowed.allowed(file));
        writeln!(
            complaints,
            "{file}: {number} phrases to avoid, at most {may}"
        )
        .expect("memory");
        for finding in &avoided[file] {
            let prose::Finding {
                line,
                phrase,
                advice,
            } = finding;
            writeln!(complaints, "  {file}:{line}: \"{phrase}\": {advice}").expect("memory");
        }
    }
    let (number, may) = (found.long, allowed.long);
    if number > may {
        let list = long.join(" ");
        writeln!(
            complaints,
            "{number} sentences over 30 words, at most {may}: {list}"
        )
        .expect("memory");
    }
    assert!(complaints.is_empty(), "\n{complaints}");
}

#[test]
fn counts_are_read_as_they_are_written() {
    let counts = Counts::parse("# head\n7 long sentences\n2 a.md\n1 b c.rs\n");
    assert_eq!((counts.long, counts.allowed("a.md")), (7, 2));
    assert_eq!(counts.allowed("b c.rs"), 1);
    assert_eq!(Counts::parse(&counts.print()), counts);
}

#[test]
fn no_number_may_rise() {
    let counts = |text| Counts::parse(text);
    let before = counts("7 long sentences\n2 a.md\n1 b.md");
    let all = |_: &str| true;
    for (found, may) in [
        ("7 long sentences\n2 a.md\n1 b.md", true),
        ("6 long sentences\n1 a.md", true),
        ("8 long sentences\n2 a.md\n1 b.md", false),
        ("7 long sentences\n3 a.md", false),
        ("7 long sentences\n1 c.md", false),
    ] {
        assert_eq!(before.may_become(&counts(found), all), may, "{found}");
    }
    let without_a = |file: &str| file != "a.md";
    let moved = counts("7 long sentences\n1 b.md\n2 c.md");
    assert!(before.may_become(&moved, without_a));
    let more = counts("7 long sentences\n1 b.md\n3 c.md");
    assert!(!before.may_become(&more, without_a));
    let above: Vec<_> = more.above(&before).collect();
    assert_eq!(above, ["c.md"]);
}
