//! Lookups of absent keys, for counting instructions:
//! `valgrind --tool=callgrind version-check 1000000`.
//!
//! Counted twice with different numbers of lookups, the difference is the
//! lookups' alone. `insert` and `hit` as a second argument count those.

use guira_benches::{
    keys::{Asked, Walk},
    peer::Peer,
    peers::Guira,
};

const ITEMS: u64 = 60_000;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let steps = arguments.next().map_or(Ok(1_000_000), |steps| steps.parse());
    let steps: u64 = steps.expect("the first argument is a number of operations");
    let what = arguments.next().unwrap_or_else(|| "miss".into());
    let guira = Guira::new(ITEMS as usize, 15);
    let peer: &dyn Peer<u64> = &guira;
    let done = match what.as_str() {
        "insert" => peer.insert_all(0..steps.min(ITEMS)),
        "hit" | "miss" => {
            peer.insert_all(0..ITEMS);
            let asked = if what == "hit" { Asked::Hits } else { Asked::Misses };
            peer.lookup(Walk::new(asked, ITEMS, 0), steps)
        }
        other => panic!("{other} is not one of miss, hit, insert"),
    };
    println!("{what}: {done} of {steps}");
}
