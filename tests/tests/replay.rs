//! Runs the example `replay`, with restarts.

use crate::common::example::example;
use std::{
    env, fs,
    io::Write,
    path::PathBuf,
    process::{Output, Stdio},
};

/// A file that is deleted on drop.
struct State(PathBuf);

impl State {
    fn new(test: &str) -> Self {
        let name = format!("guira-replay-{test}-{}", std::process::id());
        Self(env::temp_dir().join(name))
    }

    /// Runs the example.
    fn run(&self, input: &str) -> Output {
        let mut child = example("replay")
            .arg(&self.0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // The child may end before it has read all of its input.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        child.wait_with_output().unwrap()
    }

    #[track_caller]
    fn verdicts(&self, input: &str) -> Vec<String> {
        let output = self.run(input);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{stderr}");
        let stdout = String::from_utf8(output.stdout).unwrap();
        stdout.lines().map(str::to_owned).collect()
    }
}

impl Drop for State {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

#[test]
fn a_message_passes_once_and_only_in_time() {
    let state = State::new("once");
    let input = "100000 100000 a\n100001 100000 a\n100001 100001 a\n\
                 100002 130002 b\n100002 130003 c\n100002 70002 d\n100002 70001 e\n";
    let expected = [
        "accepted", "replayed", "accepted", "accepted", "stale", "accepted", "stale",
    ];
    assert_eq!(state.verdicts(input), expected);
}

/// Requests from the first to the last moment at which the stamp is valid.
#[test]
fn it_never_passes_again_whatever_the_time() {
    let state = State::new("never");
    let times = (100_000..=161_000).step_by(250);
    let input: String = times.map(|now| format!("{now} 130000 a\n")).collect();
    let verdicts = state.verdicts(&input);
    assert_eq!(verdicts[0], "accepted");
    let (replayed, stale) = verdicts[1..].split_at(240);
    assert!(
        replayed.iter().all(|verdict| verdict == "replayed"),
        "{replayed:?}"
    );
    assert_eq!(stale, ["stale"; 4]);
}

#[test]
fn a_restart_forgets_nothing() {
    let state = State::new("restart");
    assert_eq!(state.verdicts("100000 120000 a\n"), ["accepted"]);
    assert_eq!(
        state.verdicts("100500 120000 a\n101000 100900 b\n"),
        ["replayed", "accepted"]
    );
    // After a restart, the clock of the machine may have jumped.
    assert_eq!(
        state.verdicts("150000 120000 a\n150000 150000 c\n"),
        ["replayed", "accepted"]
    );
    assert_eq!(state.verdicts(""), [""; 0]);
    assert_eq!(state.verdicts("150001 150000 c\n"), ["replayed"]);
}

#[test]
fn what_is_not_a_message_is_named() {
    let state = State::new("line");
    for line in ["", "1 2", "1 2 a b", "x 2 a", "1 -2 a"] {
        let output = state.run(&format!("1000 1000 a\n{line}\n"));
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1));
        assert!(
            stderr.contains("line 2: ") && stderr.contains(line),
            "{stderr}"
        );
    }
}

#[test]
fn a_file_that_is_no_snapshot_is_refused_and_left() {
    let state = State::new("file");
    fs::write(&state.0, "no snapshot").unwrap();
    let output = state.run("1000 1000 a\n");
    assert_eq!(output.status.code(), Some(1));
    assert!(output.stdout.is_empty());
    assert!(String::from_utf8_lossy(&output.stderr).starts_with("replay: cannot load "));
    assert_eq!(fs::read(&state.0).unwrap(), b"no snapshot");
}
