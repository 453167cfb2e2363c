//! Asks guira and other filters the same questions, and prints a page with their answers.
//!
//! `cargo run --release --manifest-path benches/oracle/Cargo.toml > docs/bench/peers.md`; two minutes.

mod ask;
mod filter;
mod peers;
mod weak;

use std::{path::Path, process::Command};

const LOCK: &str = include_str!("../Cargo.lock");

/// The page above its table.
const HEAD: &str = include_str!("../page.md.in");

/// The columns of the table, in the order of [`row`].
const COLUMNS: [&str; 12] = [
    "package",
    "load at the first refusal",
    "lost without a refusal",
    "lost at refusals",
    "copies",
    "deletes at 88 %",
    "racing inserts: winners",
    "two threads lose",
    "weak hash, `i`",
    "weak hash, `i << 32`",
    "bits of the capacity",
    "saved: found",
];

/// The version of a package in the lock file.
fn version(package: &str) -> &'static str {
    let entry = format!("name = \"{package}\"\nversion = \"");
    let (_, rest) = LOCK
        .split_once(&entry)
        .expect("the lock file has each package");
    rest.split('"').next().expect("a version ends")
}

fn row(peer: &peers::Peer) -> [String; 12] {
    let [load, lost, lost_at_refusals] = ask::full(peer);
    [
        format!("{} {}", peer.package, version(peer.package)),
        load,
        lost,
        lost_at_refusals,
        ask::copies(peer),
        ask::deletes(peer),
        ask::winners(peer),
        ask::together(peer),
        ask::weak(peer, 0),
        ask::weak(peer, 32),
        peer.argument_bits.to_string(),
        ask::saved(peer),
    ]
}

fn output(program: &str, options: &[&str]) -> String {
    let output = Command::new(program)
        .args(options)
        .output()
        .expect("a program of the system");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let peers = peers::all();
    if let [package, path] = &arguments[..] {
        let peer = peers
            .iter()
            .find(|peer| peer.package == package)
            .expect("the name of a package");
        return println!("{}", ask::found_in(peer, Path::new(path)));
    }
    // A package that panics is named in the table.
    std::panic::set_hook(Box::new(|_| ()));
    let line = |cells: &[String]| format!("| {} |", cells.join(" | "));
    print!(
        "{}",
        HEAD.replace("{date}", &output("date", &["-u", "+%F"]))
            .replace("{rustc}", &output("rustc", &["--version"]))
    );
    println!(
        "{}\n|{}",
        line(&COLUMNS.map(String::from)),
        "---|".repeat(COLUMNS.len())
    );
    for peer in &peers {
        println!("{}", line(&row(peer)));
    }
}
