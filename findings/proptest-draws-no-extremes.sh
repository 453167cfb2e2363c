#!/usr/bin/env bash
# proptest does not draw 0, 1 or the largest value of a wide integer, nor two equal ones; quickcheck does.
#
# Run on 2026-11-28 with proptest 1.12.0 and quickcheck 1.1.0.
# Guess: `any::<u64>()` prefers extremes and small numbers, as QuickCheck does, and Hypothesis.
# Seen: it is uniform. Of 100 000 values none is below 2^32, and none is 0 or `u64::MAX`. In 1000 lists of 100 values
# there is no repeat. quickcheck draws hundreds of each. The zero that a failing test reports comes from shrinking.
# Floats do have zeros, 14 %, and no NaN or infinity.
#
# For users of filters: the keys 0 and MAX, short keys and repeats are what filters and their hashers
# get wrong. `any::<u64>()` tests none of them: mix in `0..4`, the extremes, and keys from a small set.
. "$(dirname "$0")/lib/rust.sh"
rust_with 'proptest = { version = "=1.12.0", default-features = false, features = ["std"] }' \
    'quickcheck = { version = "=1.1.0", default-features = false }' <<'PROGRAM'
use proptest::{prelude::*, strategy::ValueTree, test_runner::TestRunner};
use quickcheck::{Arbitrary, Gen};
use std::collections::HashSet;

const DRAWN: usize = 100_000;

/// How many values are small, zero and the largest, and how many lists of 100 have a repeat.
fn counts(mut draw: impl FnMut() -> u64) -> [usize; 4] {
    let values: Vec<u64> = (0..DRAWN).map(|_| draw()).collect();
    let count = |is: fn(u64) -> bool| values.iter().filter(|&&value| is(value)).count();
    let repeats = values.chunks(100).filter(|list| list.iter().collect::<HashSet<_>>().len() < 100);
    [count(|it| it < 1 << 32), count(|it| it == 0), count(|it| it == u64::MAX), repeats.count()]
}

fn main() {
    let (mut runner, mut source) = (TestRunner::deterministic(), Gen::new(100));
    let by_proptest = counts(|| any::<u64>().new_tree(&mut runner).unwrap().current());
    let by_quickcheck = counts(|| u64::arbitrary(&mut source));
    println!("below 2^32, 0, MAX, lists with a repeat: proptest {by_proptest:?}, quickcheck {by_quickcheck:?}");
    assert_eq!(by_proptest, [0; 4]);
    assert!(by_quickcheck.iter().all(|&count| count > 100));

    let floats: Vec<f64> = (0..DRAWN).map(|_| any::<f64>().new_tree(&mut runner).unwrap().current()).collect();
    let zeros = floats.iter().filter(|&&it| it == 0.0).count();
    println!("zeros among floats: {zeros} of {DRAWN}");
    assert!(zeros > DRAWN / 20 && floats.iter().all(|it| it.is_finite()));
}
PROGRAM
