//! Operations of guira, for counting instructions: `valgrind --tool=callgrind version-check miss 1000000`.
//!
//! Counted twice with different numbers of operations, the difference is the operations' alone. The first
//! argument is `hit`, `miss`, `half` for hits and misses at random, or `insert`; the third, the number of
//! items, may be left out.

use guira_benches::{
    keys::{Asked, Walk},
    peer::Peer,
    peers::with_bits,
};

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let number = |place: usize| arguments.get(place).map(|it| it.parse().expect("a number"));
    let (steps, items) = (number(2).unwrap_or(1_000_000), number(3).unwrap_or(60_000));
    let (what, guira) = (&arguments[1], with_bits(items, 15));
    let done = if what == "insert" {
        guira.insert_all(0..steps.min(items))
    } else {
        guira.insert_all(0..items);
        let asked = Asked::ALL.into_iter().find(|asked| asked.name() == what);
        let asked = asked.expect("one of hit, miss, half, insert");
        guira.lookup(Walk::new(asked, items, 0), steps)
    };
    println!("{what}: {done} of {steps}");
}
