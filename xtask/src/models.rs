//! Runs the loom models that a change can affect.
//!
//! The inputs of a file of models are the code that it explores, its own code, the harness, and
//! loom, all without comments. A file that has passed with the same inputs, at this bound or a
//! higher one, does not run again.

use crate::run::{Failed, bash, root};
use std::{
    collections::BTreeMap,
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
    let hashes = known.iter().map(|file| Ok((file.clone(), inputs(file)?)));
    let hashes: BTreeMap<String, u64> = hashes.collect::<Result<_, Failed>>()?;
    if files.is_empty() {
        let passed = Passed::read();
        files = known;
        files.retain(|file| all || !passed.has(file, hashes[file], bound));
    }
    if files.is_empty() {
        println!("no model has changed since it passed");
        return Ok(());
    }
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
            passed.add(&file, hashes[&file], bound);
        }
    }
    passed.write()?;
    result
}

/// The names of the files with models.
pub(crate) fn files() -> Result<Vec<String>, Failed> {
    let mut files = Vec::new();
    for entry in fs::read_dir(root().join("loom-tests/tests"))? {
        let path = entry?.path();
        if let (true, Some(stem)) = (path.is_file(), path.file_stem()) {
            files.push(stem.to_string_lossy().into_owned());
        }
    }
    files.sort();
    Ok(files)
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

/// The files that have passed, with the hash of their inputs and the highest bound.
#[derive(Debug, Default)]
struct Passed(BTreeMap<String, (u64, u32)>);

impl Passed {
    fn path() -> PathBuf {
        root().join("target/loom-passed")
    }

    fn read() -> Self {
        let text = fs::read_to_string(Self::path()).unwrap_or_default();
        let entry = |line: &str| {
            let mut words = line.split(' ');
            let file = words.next()?.to_owned();
            Some((
                file,
                (words.next()?.parse().ok()?, words.next()?.parse().ok()?),
            ))
        };
        Self(text.lines().filter_map(entry).collect())
    }

    fn write(&self) -> Result<(), Failed> {
        let lines = self
            .0
            .iter()
            .map(|(file, (hash, bound))| format!("{file} {hash} {bound}\n"));
        Ok(fs::write(Self::path(), lines.collect::<String>())?)
    }

    fn has(&self, file: &str, hash: u64, bound: u32) -> bool {
        self.0
            .get(file)
            .is_some_and(|&(of, at)| of == hash && at >= bound)
    }

    fn add(&mut self, file: &str, hash: u64, bound: u32) {
        if !self.has(file, hash, bound) {
            self.0.insert(file.to_owned(), (hash, bound));
        }
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
    fn a_file_that_has_passed_is_run_again_for_other_inputs_or_a_deeper_bound() {
        let mut passed = Passed::default();
        passed.add("lookup", 1, 2);
        assert!(passed.has("lookup", 1, 2) && passed.has("lookup", 1, 1));
        assert!(
            !passed.has("lookup", 2, 2)
                && !passed.has("lookup", 1, 3)
                && !passed.has("remove", 1, 2)
        );
        passed.add("lookup", 1, 1);
        assert!(passed.has("lookup", 1, 2));
        passed.add("lookup", 2, 1);
        assert!(!passed.has("lookup", 1, 1) && passed.has("lookup", 2, 1));
    }

    #[test]
    fn every_input_exists() {
        for path in PROTOCOL.iter().chain(&HARNESS) {
            assert!(root().join(path).exists(), "{path}");
        }
        let files = files().unwrap();
        assert!(files.contains(&"lookup".to_owned()));
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

    /// Rooms that do not affect a model: statistics, numbers of threads, code for the coherence
    /// simulator only, and the sizes at which a filter grows early, which no model does.
    const OTHERS: [&str; 4] = ["coherence", "geometry", "stats", "threads"];
}
