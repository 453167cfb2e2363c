//! Items and contents of a filter of two buckets.

use guira::model::{Item, Model};

/// The lower bucket of the only pair in a filter of two buckets.
pub const P: usize = 0;

/// The higher bucket.
pub const Q: usize = 1;

/// Both buckets, as the source of a move.
pub const ENDS: [usize; 2] = [P, Q];

/// An item of the pair (P, Q) with an even fingerprint. If both buckets are equally empty, `insert`
/// chooses P for it. P is also where `insert_unique` claims.
#[must_use]
pub fn even(nth: usize) -> Item {
    items_of(0, nth)
}

/// An item of the pair (P, Q) for which Q has that role.
#[must_use]
pub fn odd(nth: usize) -> Item {
    items_of(1, nth)
}

fn items_of(parity: u64, nth: usize) -> Item {
    let items = (0..32).map(|nth| Model::<2>::item(2, P, Q, nth));
    items
        .filter(|item| item.fingerprint() & 1 == parity)
        .nth(nth)
        .expect("enough fingerprints")
}

/// A filter of two buckets with `items` in `bucket`, and nothing in the other bucket.
#[must_use]
pub fn with<const SLOTS: usize>(bucket: usize, items: &[Item]) -> Model<SLOTS> {
    if bucket == P {
        Model::new(&[items, &[]])
    } else {
        Model::new(&[&[], items])
    }
}

/// The name of the direction of a move.
#[must_use]
pub fn direction(from: usize) -> &'static str {
    if from == P { "P to Q" } else { "Q to P" }
}

/// The other bucket of the pair.
#[must_use]
pub fn other(bucket: usize) -> usize {
    P + Q - bucket
}
