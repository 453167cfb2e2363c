//! The program predicts each workload on each processor, and no operation of a simulated thread fails.
//!
//! ```text
//! RUSTFLAGS="--cfg guira_faults" cargo test --target-dir target/faults -p guira-coherence
//! ```
#![cfg(guira_faults)]

use guira_coherence::{processor, workload};
use std::process::Command;

#[test]
fn each_workload_is_predicted() {
    let done = Command::new(env!("CARGO_BIN_EXE_guira-coherence"))
        .args(["--log-slots=18", "--threads=1,2,16", "--operations=300"])
        .output()
        .expect("the program starts");
    assert!(
        done.status.success(),
        "{}",
        String::from_utf8_lossy(&done.stderr)
    );
    let report = String::from_utf8(done.stdout).expect("text");
    let tables: Vec<&str> = report.split("\n## ").skip(1).collect();
    let workloads = workload::all(18);
    assert_eq!(tables.len(), workloads.len() * processor::ALL.len());
    for (number, table) in tables.into_iter().enumerate() {
        let name = workloads[number / processor::ALL.len()].name;
        assert!(table.starts_with(name), "{name}: {table}");
        for threads in [1, 2, 16] {
            assert!(table.contains(&format!("\n| {threads} | ")), "{table}");
        }
    }
}
