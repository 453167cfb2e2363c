//! `cargo xtask controls`: prints which steps and orderings the models need, file by file.
//!
//! The list comes from the tests: each call of `must_fail` names what it weakens, and the head of a
//! file says what holds without that. A copy is committed, so a control cannot disappear unnoticed.

use crate::run::{Failed, root};
use std::{
    fmt::Write,
    fs,
    path::{Path, PathBuf},
};

const LIST: &str = "loom-tests/controls.txt";

const HEAD: &str = "\
# The negative controls. If one of these steps is done wrong, or one of these orderings is Relaxed,
# the tests of the file must fail. Written by `cargo xtask controls --bless`.
";

/// The folders of tests with negative controls.
const FOLDERS: [&str; 2] = ["loom-tests/tests", "shuttle-tests/tests"];

/// The negative controls of one file of tests.
#[derive(Debug)]
pub(crate) struct File {
    /// The path below the root.
    path: String,
    /// What the tests of the file show: the first paragraph.
    shows: String,
    steps: Vec<String>,
    orderings: Vec<String>,
}

/// `cargo xtask controls`: prints the list, and compares it with the committed one, or overwrites
/// that if `bless`.
pub(crate) fn run(bless: bool) -> Result<(), Failed> {
    let found = list()?;
    print!("{found}");
    let path = root().join(LIST);
    if bless {
        return Ok(fs::write(path, found)?);
    }
    if fs::read_to_string(path)? == found {
        return Ok(());
    }
    Err(Failed(format!(
        "{LIST} has other controls: if that is intended, run cargo xtask controls --bless"
    )))
}

fn list() -> Result<String, Failed> {
    let mut list = HEAD.to_owned();
    for folder in FOLDERS {
        for file in files(folder)? {
            let _ = writeln!(list, "\n{}\n  {}", file.path, file.shows);
            for (kind, names) in [("steps", &file.steps), ("orderings", &file.orderings)] {
                if !names.is_empty() {
                    let _ = writeln!(list, "  {kind}: {}", names.join(", "));
                }
            }
        }
    }
    Ok(list)
}

/// The files of loom models.
pub(crate) fn of_models() -> Result<Vec<File>, Failed> {
    files(FOLDERS[0])
}

fn files(folder: &str) -> Result<Vec<File>, Failed> {
    let entries = fs::read_dir(root().join(folder))?;
    let mut paths = entries
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<Vec<PathBuf>, Failed>>()?;
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "rs"));
    paths.sort();
    let read = |path: PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        Ok(File::new(
            format!("{folder}/{name}"),
            &fs::read_to_string(&path)?,
        ))
    };
    paths.into_iter().map(read).collect()
}

impl File {
    fn new(path: String, text: &str) -> Self {
        let head = text.lines().map_while(|line| line.strip_prefix("//! "));
        let calls = text.split("must_fail(").skip(1).filter_map(argument);
        let (mut steps, mut orderings) = (Vec::new(), Vec::new());
        for (kind, name) in calls.chain(rows(text).map(|name| ("Fault", name))) {
            let names = if kind == "Step" {
                &mut orderings
            } else {
                &mut steps
            };
            names.push(name.to_owned());
        }
        for names in [&mut steps, &mut orderings] {
            names.sort();
            names.dedup();
        }
        Self {
            path,
            shows: head.collect::<Vec<_>>().join(" "),
            steps,
            orderings,
        }
    }

    /// The name of the file without its extension.
    pub(crate) fn stem(&self) -> String {
        let stem = Path::new(&self.path).file_stem().unwrap_or_default();
        stem.to_string_lossy().into_owned()
    }

    pub(crate) fn has(&self, control: &str) -> bool {
        let mut names = self.steps.iter().chain(&self.orderings);
        names.any(|name| name == control)
    }
}

/// The type and the name in `Fault::Name, …` or `Step::Name, …`.
fn argument(call: &str) -> Option<(&str, &str)> {
    let (kind, name) = call.split_once("::")?;
    let end = name.find(|c: char| !c.is_alphanumeric())?;
    Some((kind.trim(), &name[..end]))
}

/// The faults in the rows `test: law, Fault;` of the macro `controls!`.
fn rows(text: &str) -> impl Iterator<Item = &str> {
    let blocks = text.split("controls! {").skip(1);
    let rows = blocks.flat_map(|block| block.lines().take_while(|line| *line != "}"));
    rows.filter_map(|row| {
        let (_, fault) = row.trim().strip_suffix(';')?.split_once(", ")?;
        Some(fault)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "//! An item is found\n//! always.\n//!\n//! More.\n\nuse a;\n\
        law().must_fail(Fault::NoAdvance, LAW);\nlaw().must_fail(\n    Step::ReadP, LAW);\n\
        controls! {\n    LAWS;\n    the_copy_comes_first: law, EraseFirst;\n}\n";

    #[test]
    fn a_file_has_its_invariant_and_its_controls() {
        let file = File::new("loom-tests/tests/find.rs".into(), TEXT);
        assert_eq!(file.stem(), "find");
        assert_eq!(file.shows, "An item is found always.");
        assert_eq!(file.steps, ["EraseFirst", "NoAdvance"]);
        assert_eq!(file.orderings, ["ReadP"]);
        assert!(file.has("ReadP") && file.has("EraseFirst") && !file.has("Erase"));
    }

    #[test]
    fn the_committed_list_is_that_of_the_tests() {
        let committed = fs::read_to_string(root().join(LIST)).unwrap();
        assert!(
            committed == list().unwrap(),
            "run cargo xtask controls --bless"
        );
    }
}
