//! What it costs to prefer space: semi-sorted words beside packed ones, in as much memory.

use crate::{
    effort::Effort,
    peers::guira_with,
    sheet::{Contestant, LOOKUPS, What, shares},
    table::Table,
};
use guira::{Builder, CuckooFilter, Prefer};

/// A rate that chooses the semi-sorted words and lets them be full, the bits of the packed words
/// that come nearest, and a name for both. The name says how many bits their fingerprints are
/// worth.
const LAYOUTS: [(f64, u32, &str); 5] = [
    (0.0212, 10, "9.3 bits × 7 against 10 bits × 6"),
    (0.006, 10, "11.0 bits × 6 against 10 bits × 6"),
    (0.0011, 12, "13.1 bits × 5 against 12 bits × 5"),
    (0.00013, 15, "15.9 bits × 4 against 15 bits × 4"),
    (3.3e-6, 20, "20.8 bits × 3 against 20 bits × 3"),
];

/// Semi-sorted words' share of the speed of packed ones, in tables of three sizes.
pub(crate) fn measure(effort: Effort) -> Vec<Table> {
    // As many bytes as tables of twice the slots have.
    let sizes = effort.sizes().into_iter().zip([2, 1, 2]);
    let pairs = sizes.flat_map(|(size, log)| {
        let bytes = 1 << (size.log_slots + log);
        LAYOUTS.map(|(rate, bits, name)| {
            let contestant = |name, (count, builder): (u64, Builder)| {
                Contestant::new(name, count, move || guira_with(builder.clone()))
            };
            let [space, packed] = sides(bytes, rate, bits);
            let pair = [contestant("space", space), contestant("packed", packed)];
            (format!("{} KiB, {name}", bytes >> 10), size, pair)
        })
    });
    let title = "Semi-sorted words' share of the speed of packed ones";
    let whats = [What::Insert(0, 80), LOOKUPS[0], LOOKUPS[1], What::Remove];
    vec![shares(("space-speed/shares", title), &whats, effort, pairs)]
}

/// A filter with the number of items that a table of `bytes` bytes takes, and that number.
fn side(bytes: usize, builder: Builder) -> (u64, Builder) {
    let guess = bytes / 8 * 3;
    let made = guira_with(builder.clone().capacity(guess)).buckets();
    let count = guess as f64 * (bytes / 8) as f64 / made as f64;
    (count as u64, builder.capacity(count as usize))
}

/// Semi-sorted words, and packed ones.
fn sides(bytes: usize, rate: f64, bits: u32) -> [(u64, Builder); 2] {
    let builder = CuckooFilter::builder();
    let space = builder.clone().false_positive_rate(rate);
    [
        side(bytes, space.prefer(Prefer::Space)),
        side(bytes, builder.fingerprint_bits(bits)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each rate chooses semi-sorted words, which are full, and as many as there are packed ones.
    #[test]
    fn both_sides_have_as_much_memory() {
        let bytes = 1 << 18;
        for ((rate, bits, name), slots) in LAYOUTS.into_iter().zip([7, 6, 5, 4, 3]) {
            let filters = sides(bytes, rate, bits).map(|(count, it)| (count, guira_with(it)));
            assert_eq!(filters[0].1.bucket_slots(), slots, "{name}");
            for (count, filter) in filters {
                let of_words = filter.buckets() as f64 * 8.0 / bytes as f64;
                assert!((of_words - 1.0).abs() < 0.01, "{name}: {of_words}");
                let load = count as f64 / (filter.buckets() * filter.bucket_slots()) as f64;
                assert!(load > 0.9, "{name}: {load}");
            }
        }
    }
}
