//! The figures in `docs/design/headroom.md` are measured. Tests that fill filters notice
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
10 0: [10, 18, 288, 2445]
10 1: [0, 29, 556, 5401]
27 0: [4, 1, 12, 705]
27 1: [0, 0, 7, 1185]
27 2: [0, 0, 13, 2357]
27 3: [0, 0, 26, 4690]
27 4: [0, 1, 50, 9331]
27 5: [0, 2, 98, 18568]
27 6: [0, 4, 190, 36954]
27 7: [0, 9, 370, 73552]
27 8: [1, 17, 719, 146414]
27 9: [15, 211, 40055, 599129]
27 10: [29, 409, 79291, 1194374]
27 11: [57, 792, 156995, 2381161]
27 12: [110, 1534, 310911, 4747490]
27 13: [212, 2976, 615845, 9465969]
27 14: [985, 13053, 2305709, 27225302]
27 15: [1909, 25410, 4577906, 54315020]
27 16: [3701, 49503, 9090442, 108364121]
27 17: [12458, 590755, 25663869, 280486564]
27 18: [33991, 2746099, 65405598, 681424089]
";

/// Fingerprint bits and buckets of what the builder chooses; the capacity at each level.
const CAPACITIES: &str = "\
14 596: [1596, 3908, 7790, 15532, 40286, 100000]
15 714: [1922, 3282, 9439, 18824, 37544, 100000]
18 908: [2458, 4251, 8476, 16901, 33703, 100000]
15 60720: [167539, 316133, 883348, 1766153, 3531249, 9022857, 20000000]
22 114320: [193040, 353459, 706661, 1412826, 4773746, 9545081, 20000000]
27 19130: [32169, 57919, 115735, 231270, 462153, 1000000]
";

#[test]
fn planes_have_the_room_that_was_measured() {
    let mut table = String::new();
    let growable = |(fingerprint_bits, levels)| Series {
        fingerprint_bits,
        prefixes: 0,
        levels,
        tag_bits: 0,
        counter_bits: 0,
    };
    let growable = [(10, 1), (27, 18)].map(growable);
    for series in all_fixed().into_iter().chain(growable) {
        for level in 0..=series.levels {
            let bits = series.fingerprint_bits;
            let rooms = BUCKETS.map(|buckets| series.room(buckets, level));
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
        let geometry = growable(capacity, max_capacity, rate, None);
        let geometry = geometry.expect("a modest rate");
        let (bits, buckets) = (geometry.series.fingerprint_bits, geometry.buckets);
        let levels = 0..=geometry.series.levels;
        let capacities: Vec<usize> = levels.map(|level| geometry.capacity_at(level)).collect();
        table += &format!("{bits} {buckets}: {capacities:?}\n");
    }
    assert_eq!(table, CAPACITIES, "\n{table}");
}
