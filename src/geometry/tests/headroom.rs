//! The figures of "Headroom" in `docs/DESIGN.md` are measured. Tests that fill filters notice
//! only a large change of them; these tables notice any.

use super::*;

/// Buckets of a plane: few enough that the largest room is a number of 32 bits.
const BUCKETS: [usize; 4] = [2, 8, 64, 512];

/// Fingerprint bits and level; the room with 2, 8, 64 and 512 buckets a plane.
const ROOMS: &str = "\
10 0: [12, 32, 359, 2971]
12 0: [10, 18, 288, 2445]
15 0: [8, 6, 215, 1917]
20 0: [6, 4, 128, 1365]
30 0: [4, 1, 12, 705]
9 0: [12, 32, 355, 2941]
9 1: [0, 28, 549, 5343]
9 2: [0, 53, 1070, 10480]
11 0: [10, 18, 288, 2445]
11 1: [0, 13, 439, 4454]
11 2: [0, 24, 859, 8784]
11 3: [1, 46, 1683, 17322]
11 4: [1, 86, 3274, 33964]
14 0: [8, 6, 215, 1917]
14 1: [0, 2, 314, 3451]
14 4: [1, 17, 2443, 27338]
14 5: [2, 31, 4775, 53892]
14 6: [4, 54, 9332, 106229]
14 7: [6, 90, 18102, 208145]
18 0: [6, 4, 128, 1365]
18 1: [0, 1, 171, 2409]
18 8: [8, 109, 20239, 300560]
18 9: [13, 189, 39313, 591871]
18 10: [23, 325, 76343, 1165400]
18 11: [36, 518, 146761, 2279966]
27 0: [4, 1, 12, 705]
27 1: [0, 0, 7, 1185]
27 17: [427, 6504, 295289, 72145195]
27 18: [664, 10178, 478218, 141382816]
27 19: [1005, 15499, 753774, 276997464]
27 20: [1252, 19472, 995347, 537890683]
28 0: [4, 1, 12, 705]
28 1: [0, 0, 7, 1185]
";

/// Fingerprint bits and buckets of what the builder chooses; the capacity at each level.
const CAPACITIES: &str = "\
14 486: [1818, 3142, 6262, 12481, 24878, 49008, 100000]
18 660: [1773, 3013, 6004, 11966, 23850, 47539, 100000]
27 1144: [1773, 2892, 5761, 11480, 22878, 45595, 100000]
18 57412: [158409, 298805, 597378, 1194307, 2387739, 4773778, 9544240, 20000000]
27 93826: [158405, 289696, 579158, 1157867, 2314861, 4628021, 9252726, 20000000]
28 9734: [16290, 28988, 57903, 115666, 231060, 461589, 1000000]
";

/// The first two levels, and those where 10, 9, 8 and 7 bits are left.
fn levels(layout: &LayoutFacts) -> Vec<u32> {
    let left = [10, 9, 8, 7].map(|left| layout.fingerprint_bits.saturating_sub(left));
    let mut levels = [&[0, 1], &left[..]].concat();
    levels.retain(|&level| level <= layout.max_levels());
    levels.sort_unstable();
    levels.dedup();
    levels
}

#[test]
fn planes_have_the_room_that_was_measured() {
    let mut table = String::new();
    for layout in FIXED.iter().chain(&GROWABLE) {
        for level in levels(layout) {
            let bits = layout.fingerprint_bits;
            let rooms = BUCKETS.map(|buckets| layout.room(buckets, level));
            table += &format!("{bits} {level}: {rooms:?}\n");
        }
    }
    assert_eq!(table, ROOMS, "\n{table}");
}

#[test]
fn a_filter_that_grows_has_the_capacities_that_were_measured() {
    let mut table = String::new();
    for (capacity, max_capacity, rate) in [
        (1_000, 100_000, 0.05),
        (1_000, 100_000, 0.01),
        (1_000, 100_000, 0.001),
        (100_000, 20_000_000, 0.02),
        (100_000, 20_000_000, 1e-4),
        (10_000, 1_000_000, 1e-6),
    ] {
        let geometry = Geometry::growable(capacity, max_capacity, rate, None);
        let geometry = geometry.expect("a modest rate");
        let (bits, buckets) = (geometry.layout.fingerprint_bits, geometry.buckets);
        let levels = 0..=geometry.levels;
        let capacities: Vec<usize> = levels.map(|level| geometry.capacity_at(level)).collect();
        table += &format!("{bits} {buckets}: {capacities:?}\n");
    }
    assert_eq!(table, CAPACITIES, "\n{table}");
}
