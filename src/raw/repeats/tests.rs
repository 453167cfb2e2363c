//! The number of slots in use, while a thread is preempted within the sums.

use super::*;
use crate::table::{Levels, layout::GrowingCounting};

fn filter() -> RawFilter<GrowingCounting<4>> {
    let raw = RawFilter::<GrowingCounting<4>>::new(64, Levels { first: 21, more: 9 })
        .expect("a few bytes");
    raw.len.add(1000);
    raw.repeats.get().expect("counters").add(900);
    raw
}

/// Others remove or add copies within one of the differences.
#[test]
fn one_wrong_difference_does_not_decide() {
    for preempted in 0..LOOKS {
        let raw = filter();
        let repeats = raw.repeats.get().expect("counters");
        let mut look = 0;
        let removed = raw.is_in_use_beside(101, || {
            if look == preempted {
                raw.len.subtract(500);
                repeats.subtract(500);
            }
            look += 1;
        });
        assert!(!removed, "100 slots are in use");
        let raw = filter();
        let repeats = raw.repeats.get().expect("counters");
        look = 0;
        let added = raw.is_in_use_beside(100, || {
            if look == preempted {
                raw.len.add(500);
                repeats.add(500);
            }
            look += 1;
        });
        assert!(added, "100 slots are in use");
        assert_eq!(look, LOOKS);
    }
}
