//! Lookups of absent keys, for counting instructions:
//! `valgrind --tool=callgrind version-check 1000000`.
//!
//! Counted twice with different numbers of lookups, the difference is the
//! lookups' alone. A second argument, `insert`, `hit`, or `half` for hits and misses
//! at random, counts those instead; a third sets the number of items.

use guira_benches::{
    keys::{Asked, Walk},
    measure::{mops, thread_time},
    peer::Peer,
    peers::Guira,
};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let steps = arguments
        .next()
        .map_or(Ok(1_000_000), |steps| steps.parse());
    let steps: u64 = steps.expect("the first argument is a number of operations");
    let what = arguments.next().unwrap_or_else(|| "miss".into());
    let items = arguments.next().map_or(Ok(60_000), |items| items.parse());
    let items: u64 = items.expect("the third argument is a number of items");
    let guira = Guira::new(items as usize, 15);
    let peer: &dyn Peer<u64> = &guira;
    let before = thread_time();
    let fill = |count| peer.insert_all(0..count);
    let (done, since) = match what.as_str() {
        "insert" => (fill(steps.min(items)), before),
        "hit" | "miss" | "half" => {
            fill(items);
            let asked = match what.as_str() {
                "hit" => Asked::Hits,
                "half" => Asked::HALF,
                _ => Asked::Misses,
            };
            let filled = thread_time();
            (peer.lookup(Walk::new(asked, items, 0), steps), filled)
        }
        other => panic!("{other} is not one of miss, hit, half, insert"),
    };
    let rate = mops(steps, thread_time() - since);
    println!("{what}: {done} of {steps}, {rate:.1} M/s");
}
