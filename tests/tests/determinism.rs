//! The same seed and the same calls in one thread give the same filter, down to its bytes.

use crate::common::filters::{BITS, GROWABLE_BITS};
use guira::CuckooFilter;
use std::{env, process::Command, thread};

/// Fills a filter by many kinds of calls. Returns its bytes, including the seed, and the number of
/// failed calls.
fn made(bits: u32) -> (Vec<u8>, u64) {
    let builder = CuckooFilter::builder().fingerprint_bits(bits).seed(42);
    let builder = match GROWABLE_BITS.contains(&bits) {
        true => builder.capacity(2_000).max_capacity(7_000),
        false => builder.capacity(7_000),
    };
    let filter = builder.build().expect("a filter");
    for item in 0..9_000_u64 {
        let inserted = match item % 3 {
            0 => filter.insert_unique(&item).is_ok(),
            1 => filter.insert(&item).is_ok(),
            _ => filter.insert_batch(&[item]).is_ok(),
        };
        if inserted && item % 5 == 0 {
            filter.remove(&item);
        }
    }
    let mut items: u64 = 9_000;
    while filter.insert(&items).is_ok() {
        items += 1;
    }
    (filter.to_bytes(), filter.stats().failed_inserts)
}

/// The number of a thread selects its random sequence, but must not affect the place of an item.
#[test]
fn a_fixed_filter_is_the_same_in_each_thread() {
    for bits in BITS {
        let first = made(bits);
        assert!(first.1 > 0, "{bits} bits: the filter was full");
        for _ in 0..4 {
            let other = thread::spawn(move || made(bits)).join().expect("a filter");
            assert!(first == other, "{bits} bits");
        }
    }
}

#[test]
fn a_growing_filter_is_the_same_in_one_thread() {
    for bits in GROWABLE_BITS {
        assert!(made(bits) == made(bits), "{bits} bits");
    }
}

const CHILD: &str = "determinism::says_what_growing_filters_it_makes";

/// The output of another process of this program, which uses filters in one thread only.
fn said_by_child() -> String {
    let program = env::current_exe().expect("this program");
    let mut child = Command::new(program);
    let output = child.args(["--exact", CHILD, "--ignored", "--nocapture"]);
    let output = output.output().expect("it runs");
    let text = String::from_utf8(output.stdout).expect("text");
    let lines = text.lines().filter(|line| line.contains("checksum"));
    lines.map(|line| format!("{line}\n")).collect()
}

#[test]
fn a_growing_filter_is_the_same_in_the_only_thread_of_each_process() {
    let said = said_by_child();
    assert_eq!(said.lines().count(), GROWABLE_BITS.len(), "{said}");
    assert_eq!(said, said_by_child());
}

#[test]
#[ignore = "runs in the processes of the test above"]
fn says_what_growing_filters_it_makes() {
    for bits in GROWABLE_BITS {
        let (bytes, _) = made(bits);
        let checksum = bytes.last_chunk::<4>().expect("a checksum");
        println!("\n{bits} bits: checksum {checksum:?}");
    }
}
