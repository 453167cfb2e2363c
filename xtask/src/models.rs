//! Runs the loom models that a change can affect.
//!
//! The inputs of a file of models are the code that it explores, its own code, the harness, and
//! loom, all without comments. A file that has passed with the same inputs at the same bound does
//! not run again.

use crate::{
    controls::{File, of_models},
    run::{Failed, bash, root},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    hash::{DefaultHasher, Hasher},
    path::{Path, PathBuf},
};

/// The code that the models explore. The public filters, snapshots and geometry are not part of it.
const PROTOCOL: [&str; 13] = [
    "src/error.rs",
    "src/fault.rs",
    "src/memory.rs",
    "src/model",
    "src/model.rs",
    "src/raw",
    "src/raw.rs",
    "src/step.rs",
    "src/sync",
    "src/sync.rs",
    "src/table",
    "src/table.rs",
    "src/trace.rs",
];

const HARNESS: [&str; 3] = [
    "loom-tests/models.rs",
    "loom-tests/src",
    "loom-tests/tests/common",
];

/// The preemption bound that `ci/loom.sh` uses if none is given.
const FULL: u32 = 3;

/// The bound before a change is pushed, and a file for each promise of a filter, which
/// `cargo xtask pr` explores whatever has changed. All files would take longer than its other steps.
const EARLY: u32 = 2;
const PROMISES: [&str; 6] = [
    "expire_insert",
    "growth_insert",
    "insert",
    "lookup",
    "remove",
    "unique",
];

/// `cargo xtask loom`.
pub(crate) fn run(arguments: &[&str]) -> Result<(), Failed> {
    let (mut bound, mut all, mut files) = (FULL, false, Vec::new());
    let mut rest = arguments.iter();
    while let Some(&argument) = rest.next() {
        match argument {
            "--all" => all = true,
            "--bound" => {
                let number = rest.next().and_then(|number| number.parse().ok());
                bound = number.ok_or(Failed("--bound needs a number".into()))?;
            }
            file => files.push(file.to_owned()),
        }
    }
    let known = self::files()?;
    if let Some(unknown) = files.iter().find(|file| !known.contains(file)) {
        return Err(Failed(format!(
            "there is no file {unknown} in loom-tests/tests: {}",
            known.join(", ")
        )));
    }
    if files.is_empty() {
        files = known;
        if !all {
            files = not_passed(files, bound)?;
        }
    }
    explore(files, bound)
}

/// The files for `cargo xtask pr`: the changed ones, the ones on the cards of changed files of the
/// protocol, and one for each promise.
pub(crate) fn concerned(changed: &[String]) -> Result<(), Failed> {
    let by_change = changed.iter().flat_map(|path| concerned_by(path));
    let mut concerned: BTreeSet<String> = by_change.collect();
    concerned.extend(PROMISES.map(str::to_owned));
    let mut files = files()?;
    files.retain(|file| concerned.contains(file));
    explore(not_passed(files, EARLY)?, EARLY)
}

/// The files of models that a change of the file at `path`, below the root, concerns most.
fn concerned_by(path: &str) -> Vec<String> {
    if let Some(file) = path.strip_prefix("loom-tests/tests/") {
        return vec![file.trim_end_matches(".rs").to_owned()];
    }
    // A file without a card is a part of the module above it.
    let parts = Path::new(path)
        .ancestors()
        .map(|part| part.with_extension("rs"));
    let texts = parts.filter_map(|part| fs::read_to_string(root().join(part)).ok());
    let cards = texts.filter_map(|text| {
        let (_, card) = text.split_once("\n//! | checked by | ")?;
        let (files, _) = card.split_once(" |\n")?;
        Some(files.split(", ").map(str::to_owned).collect())
    });
    cards.into_iter().next().unwrap_or_default()
}

/// The files that have not passed at this bound with the inputs that they have now.
fn not_passed(mut files: Vec<String>, bound: u32) -> Result<Vec<String>, Failed> {
    let passed = Passed::read();
    let hashes = hashes(&files)?;
    files.retain(|file| !passed.has(file, bound, hashes[file]));
    Ok(files)
}

fn hashes(files: &[String]) -> Result<BTreeMap<String, u64>, Failed> {
    let hashes = files.iter().map(|file| Ok((file.clone(), inputs(file)?)));
    hashes.collect()
}

/// Explores the models of these files, and records which of them pass.
fn explore(files: Vec<String>, bound: u32) -> Result<(), Failed> {
    if files.is_empty() {
        println!("no model has changed since it passed at bound {bound}");
        return Ok(());
    }
    let hashes = hashes(&files)?;
    let result = bash(
        "ci/loom.sh",
        &[
            ("GUIRA_LOOM_FILES", &files.join(" ")),
            ("GUIRA_LOOM_BOUND", &bound.to_string()),
        ],
    );
    let mut passed = Passed::read();
    for file in files {
        let log = fs::read_to_string(root().join(format!("target/loom-logs/{file}.log")));
        if log.is_ok_and(|log| log.lines().any(|line| line.starts_with("status 0,"))) {
            passed.add(&file, bound, hashes[&file]);
        }
    }
    passed.write()?;
    result
}

/// The names of the files with models.
pub(crate) fn files() -> Result<Vec<String>, Failed> {
    Ok(of_models()?.iter().map(File::stem).collect())
}

/// A hash of all inputs of the models in `file`.
fn inputs(file: &str) -> Result<u64, Failed> {
    let own = format!("loom-tests/tests/{file}.rs");
    let mut paths = Vec::new();
    for path in PROTOCOL.iter().chain(&HARNESS).copied().chain([&own[..]]) {
        collect(&root().join(path), &mut paths)?;
    }
    paths.sort();
    let mut hasher = DefaultHasher::new();
    for path in paths {
        hasher.write(path.to_string_lossy().as_bytes());
        hasher.write(code(&fs::read_to_string(&path)?).as_bytes());
    }
    hasher.write(loom(&fs::read_to_string(root().join("Cargo.lock"))?).as_bytes());
    Ok(hasher.finish())
}

fn collect(path: &Path, files: &mut Vec<PathBuf>) -> Result<(), Failed> {
    if path.is_dir() {
        for entry in fs::read_dir(path)? {
            collect(&entry?.path(), files)?;
        }
    } else if !is_unit_test(path) {
        files.push(path.to_path_buf());
    }
    Ok(())
}

fn is_unit_test(path: &Path) -> bool {
    let inside = path.components().any(|part| part.as_os_str() == "tests");
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    inside && !path.starts_with(root().join("loom-tests"))
        || stem == "tests"
        || stem.ends_with("_tests")
}

/// The text without lines that contain only a comment.
fn code(text: &str) -> String {
    let lines = text
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"));
    lines.flat_map(|line| [line.trim(), "\n"]).collect()
}

/// The entries of loom in the lock file.
fn loom(lock: &str) -> String {
    let packages = lock.split("[[package]]");
    packages
        .filter(|package| package.contains("name = \"loom\""))
        .collect()
}

/// The files that have passed at a bound, with the hash of their inputs. Scenarios can fail at a bound
/// that is too low for them, so another bound says nothing.
#[derive(Debug, Default)]
struct Passed(BTreeMap<(String, u32), u64>);

impl Passed {
    fn path() -> PathBuf {
        root().join("target/loom-passed")
    }

    fn read() -> Self {
        let text = fs::read_to_string(Self::path()).unwrap_or_default();
        let entry = |line: &str| {
            let mut words = line.split(' ');
            let file = words.next()?.to_owned();
            let bound = words.next()?.parse().ok()?;
            Some(((file, bound), words.next()?.parse().ok()?))
        };
        Self(text.lines().filter_map(entry).collect())
    }

    fn write(&self) -> Result<(), Failed> {
        let lines = self
            .0
            .iter()
            .map(|((file, bound), hash)| format!("{file} {bound} {hash}\n"));
        Ok(fs::write(Self::path(), lines.collect::<String>())?)
    }

    fn has(&self, file: &str, bound: u32, hash: u64) -> bool {
        self.0.get(&(file.to_owned(), bound)) == Some(&hash)
    }

    fn add(&mut self, file: &str, bound: u32, hash: u64) {
        self.0.insert((file.to_owned(), bound), hash);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comment_is_no_input_and_code_is() {
        assert_eq!(
            code("a();\n  // why\n    b();\n"),
            code("a();\n// other\nb();\n")
        );
        assert_ne!(code("a();"), code("b();"));
    }

    #[test]
    fn a_file_that_has_passed_is_run_again_for_other_inputs_and_at_another_bound() {
        let mut passed = Passed::default();
        passed.add("lookup", 3, 1);
        assert!(passed.has("lookup", 3, 1));
        for bound in [1, 2, 4] {
            assert!(!passed.has("lookup", bound, 1), "{bound}");
        }
        assert!(!passed.has("lookup", 3, 2) && !passed.has("remove", 3, 1));
        passed.add("lookup", 2, 2);
        assert!(passed.has("lookup", 2, 2) && passed.has("lookup", 3, 1));
        passed.add("lookup", 3, 2);
        assert!(!passed.has("lookup", 3, 1));
    }

    #[test]
    fn a_change_concerns_the_models_on_the_card_of_its_file_or_of_the_module_above() {
        let of_insert = [
            "insert",
            "visible",
            "growth_insert",
            "expire_insert",
            "expire_counting",
        ];
        assert_eq!(concerned_by("src/raw/insert.rs"), of_insert);
        assert_eq!(concerned_by("src/raw/insert/wrong.rs"), of_insert);
        assert_eq!(concerned_by("src/raw/remove/oldest.rs"), ["expire_remove"]);
        assert_eq!(concerned_by("loom-tests/tests/help.rs"), ["help"]);
        for path in [
            "src/sync.rs",
            "docs/DESIGN.md",
            "Cargo.lock",
            "src/raw/gone.rs",
        ] {
            assert!(concerned_by(path).is_empty(), "{path}");
        }
    }

    #[test]
    fn every_input_exists() {
        for path in PROTOCOL.iter().chain(&HARNESS) {
            assert!(root().join(path).exists(), "{path}");
        }
        let files = files().unwrap();
        for file in PROMISES {
            assert!(files.contains(&file.to_owned()), "{file}");
        }
        assert_ne!(inputs("lookup").unwrap(), inputs("remove").unwrap());
    }

    #[test]
    fn the_protocol_imports_nothing_else() {
        let known = PROTOCOL.map(|path| path.trim_start_matches("src/").trim_end_matches(".rs"));
        let imports = crate::rooms::imports("guira").unwrap();
        let of_protocol = imports
            .iter()
            .filter(|(from, _)| known.contains(&&from[..]));
        let mut count = 0;
        for (from, to) in of_protocol {
            let allowed = known.contains(&&to[..]) || OTHERS.contains(&&to[..]);
            assert!(allowed, "{from} imports {to}");
            count += 1;
        }
        assert!(count > 0);
    }

    /// Rooms that do not affect a model: statistics, code for the coherence simulator only, and the
    /// sizes at which a filter grows early, which no model does.
    const OTHERS: [&str; 3] = ["coherence", "geometry", "stats"];
}
