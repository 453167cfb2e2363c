//! Most tests of the library, as modules of one binary, because each further binary takes seconds
//! to link.
//!
//! `cargo test -p guira-tests --test all growth::` runs one file. A test is in another binary if
//! the process must do nothing else, or if it sets a fault for all threads.

mod common;

mod batches;
mod capacity;
mod clear;
mod combined;
mod concurrent_contract;
mod counting;
mod dedup;
mod determinism;
mod digest;
mod errors;
mod estimate;
mod expiring;
mod expiring_counting;
mod expiring_growth;
mod expiring_late;
mod expiring_passing;
mod expiring_room;
mod expiring_snapshot;
mod expiring_stress;
mod expiring_sweeps;
mod expiring_ticks;
mod extremes;
mod files;
mod growth;
mod hand_over;
mod hash_of;
mod hashes;
mod header;
mod history;
mod hostile_keys;
mod intersection;
mod linearizability;
mod merge;
mod multiset_oracle;
mod panicking_hash;
mod rate;
mod rate_limit;
mod references;
mod regressions;
mod replay;
mod scan_stress;
#[cfg(not(guira_faults))]
mod scans;
mod send_sync;
mod sizing;
mod snapshot;
mod space;
mod stress;
mod union;
mod union_nodes;
mod user_hashers;
mod weak_hashes;

/// A file that is missing from the list above would not be compiled.
#[test]
fn all_files_are_modules_of_this_binary_or_binaries() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/tests");
    let manifest = include_str!("../Cargo.toml");
    let mut files = 0;
    for entry in std::fs::read_dir(root).expect("the directory of the tests") {
        let path = entry.expect("an entry").path();
        let name = path.file_stem().and_then(|name| name.to_str());
        let name = name.expect("a name in UTF-8");
        if path.is_file() {
            let is_module = include_str!("all.rs").contains(&format!("\nmod {name};\n"));
            let is_binary = manifest.contains(&format!("[[test]]\nname = \"{name}\"\n"));
            assert!(
                is_module != is_binary,
                "{name}.rs must be either a module or a binary"
            );
            files += 1;
        }
    }
    assert!(files > 0);
}
