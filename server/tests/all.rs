//! The tests of the server, as modules of one binary, because each further binary takes seconds to
//! build.
//!
//! `cargo test -p guira-server --test all limits::` runs one file. `panics.rs` is a separate
//! binary, because it needs the feature `faults`.

mod common;

mod arguments;
mod backup;
mod clients;
mod combined;
mod commands;
mod connections;
mod container;
mod disabled;
mod dumps;
mod examples;
mod expiry;
mod files;
mod hostile_clients;
mod large_dumps;
mod limits;
mod listeners;
mod logs;
mod memory;
mod metrics;
mod mixed;
mod monitoring;
mod no_memory;
mod oracle;
mod outlives;
mod parser;
mod passwords;
mod protocol;
mod saves;
mod scan;
mod settings;
mod slow_turns;
mod sockets;
mod standby;
mod systemd;
mod tls;
mod tools;
mod transactions;
mod tuning;
mod window;

/// A file that is not a module here would never run.
#[test]
fn every_file_is_a_module() {
    let entries = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests")).unwrap();
    let mut files = 0;
    for path in entries.map(|entry| entry.unwrap().path()) {
        let name = path.file_stem().unwrap().to_str().unwrap();
        if path.is_file() && !["all", "panics"].contains(&name) {
            assert!(
                include_str!("all.rs").contains(&format!("\nmod {name};\n")),
                "tests/all.rs lacks `mod {name};`"
            );
            files += 1;
        }
    }
    assert!(files > 0);
}
