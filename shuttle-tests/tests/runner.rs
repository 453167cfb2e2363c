//! Controls of the runner itself. It reports a broken law, and a law whose event never happens. A
//! schedule from a file breaks the law again, also in another process.
#![cfg(guira_shuttle)]

use guira::model::{Fault, Model};
use guira_shuttle_tests::{
    Law,
    items::{Items, Part, at_once, chance},
};
use shuttle::sync::atomic::{AtomicUsize, Ordering};
use std::{env, fs, path::Path, process::Command, sync::Arc};

const MISSED: &str = "the item is not found";

/// Three inserts. Two of them prefer the same bucket.
fn law() -> Law {
    Law::new("runner", |seen| {
        let mut items = Items::new(2);
        let filter = Arc::new(Model::<2>::new(&[&[], &[]]));
        let own = [(); 3].map(|()| items.of(0, 1));
        let parts = own.map(|item| -> Part<()> {
            let filter = filter.clone();
            Box::new(move || {
                assert!(filter.insert(item), "there is room");
                assert!(filter.contains(item), "{MISSED}");
            })
        });
        at_once(parts.into());
        assert_eq!(filter.at_rest().len(), 3);
        seen.note("a random number", chance(2));
    })
}

/// The file of the schedule that `must_fail` has recorded.
fn file() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/shuttle-schedules/runner-ClaimUnchecked")
}

/// Runs the test below in a process that replays `file`. Returns the output if the law was broken.
fn replayed(file: &Path) -> Option<String> {
    let output = Command::new(env::current_exe().expect("this test"))
        .args([
            "a_schedule_is_replayed_from_its_file",
            "--exact",
            "--nocapture",
        ])
        .env("GUIRA_SHUTTLE_REPLAY", file)
        .output()
        .expect("it starts");
    let printed = String::from_utf8_lossy(&output.stderr).into_owned();
    (!output.status.success()).then_some(printed)
}

#[test]
fn the_law_holds() {
    law().holds();
}

#[test]
#[should_panic(expected = "replay it with GUIRA_SHUTTLE_REPLAY=")]
fn a_broken_law_is_noticed() {
    let law = Law::new("the first is the last", |_| {
        let count = Arc::new(AtomicUsize::new(0));
        let parts = [0, 1].map(|nth| -> Part<bool> {
            let count = count.clone();
            Box::new(move || count.fetch_add(1, Ordering::SeqCst) == nth)
        });
        assert_eq!(at_once(parts.into()), [true; 2]);
    });
    law.holds();
}

#[test]
#[should_panic(expected = "'the impossible' was seen 0 times")]
fn a_law_about_nothing_is_noticed() {
    Law::new("nothing", |seen| {
        let filter = Arc::new(Model::<2>::new(&[&[], &[]]));
        let item = Items::new(2).of(0, 1);
        let parts = [(); 2].map(|()| -> Part<bool> {
            let filter = filter.clone();
            Box::new(move || filter.contains(item))
        });
        seen.note("the impossible", at_once(parts.into()) == [true; 2]);
    })
    .holds();
}

#[test]
#[should_panic(expected = "holds in spite of NoAdvance")]
fn a_control_that_holds_is_noticed() {
    law().must_fail(Fault::NoAdvance, &[MISSED]);
}

#[test]
fn a_schedule_is_replayed_from_its_file() {
    // In the process that replays, this panics.
    law().must_fail(Fault::ClaimUnchecked, &[MISSED]);
    if env::var_os("GUIRA_SHUTTLE_REPLAY").is_some() {
        return;
    }
    let printed = replayed(&file()).expect("the replay breaks the law");
    assert!(printed.contains(MISSED), "{printed}");
    assert!(printed.contains("Replay | 1 schedules"), "{printed}");

    // The control: if one step of the file is changed to another thread, the execution differs.
    let text = fs::read_to_string(file()).expect("the file");
    let other = file().with_extension("changed");
    let last = text.trim_end().rfind(' ').expect("steps");
    fs::write(&other, format!("{} 0\n", &text[..last])).expect("a file");
    let printed = replayed(&other).expect("a schedule that cannot be");
    assert!(!printed.contains(MISSED), "{printed}");
}
