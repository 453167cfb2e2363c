//! The packages that a branch has changed.

use crate::run::{Failed, command, output};
use std::collections::BTreeSet;

/// The packages of the workspace, by the prefix of their paths. The first match counts.
const PACKAGES: [(&str, &str); 21] = [
    ("benches/", "guira-benches"),
    ("capi/", "guira-capi"),
    ("coherence/", "guira-coherence"),
    ("commands/", "guira-commands"),
    ("docs-tests/", "guira-docs-tests"),
    ("examples/absent-keys/", "guira-example-absent-keys"),
    ("examples/service/", "guira-example-service"),
    ("hostile/", "guira-hostile"),
    ("loom-tests/", "guira-loom-tests"),
    ("module/", "guira-module"),
    ("python/", "guira-python"),
    ("server/", "guira-server"),
    ("shm/", "guira-shm"),
    ("shuttle-tests/", "guira-shuttle-tests"),
    ("tests/", "guira-tests"),
    ("watch/", "guira-watch"),
    ("xtask/", "guira-xtask"),
    ("src/", "guira"),
    ("examples/", "guira"),
    ("Cargo.toml", "guira"),
    ("Cargo.lock", "guira"),
];

/// The packages with a file that differs from the merge base of the branch and main.
pub(crate) fn packages() -> Result<BTreeSet<&'static str>, Failed> {
    let files = files()?;
    Ok(files.iter().filter_map(|file| package_of(file)).collect())
}

/// The files that differ from the merge base of the branch and main, by their paths below the root.
pub(crate) fn files() -> Result<Vec<String>, Failed> {
    let mut files = lines(&["diff", "--name-only", &base()?])?;
    files.extend(lines(&["ls-files", "--others", "--exclude-standard"])?);
    Ok(files)
}

fn package_of(file: &str) -> Option<&'static str> {
    let found = PACKAGES.iter().find(|(path, _)| file.starts_with(path));
    found.map(|(_, package)| *package)
}

/// The merge base with the remote's main or the local one. If there is neither, the last commit.
fn base() -> Result<String, Failed> {
    for main in ["origin/main", "main"] {
        if let Ok(base) = lines(&["merge-base", "HEAD", main]) {
            return Ok(base.concat());
        }
    }
    Ok(lines(&["rev-parse", "HEAD"])?.concat())
}

fn lines(arguments: &[&str]) -> Result<Vec<String>, Failed> {
    let output = output(command("git", arguments))?;
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text.lines().map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn every_member_of_the_workspace_is_listed() {
        let manifest = fs::read_to_string(crate::run::root().join("Cargo.toml")).unwrap();
        let members = manifest
            .lines()
            .find(|line| line.starts_with("members"))
            .unwrap();
        let members = members
            .split('"')
            .skip(1)
            .step_by(2)
            .filter(|member| *member != ".");
        for member in members {
            assert!(
                package_of(&format!("{member}/Cargo.toml")).is_some(),
                "{member}"
            );
        }
        assert_eq!(package_of("src/raw/insert.rs"), Some("guira"));
        assert_eq!(package_of("examples/dedup/main.rs"), Some("guira"));
        assert_eq!(
            package_of("examples/absent-keys/src/main.rs"),
            Some("guira-example-absent-keys")
        );
        assert_eq!(package_of("docs/DESIGN.md"), None);
    }
}
