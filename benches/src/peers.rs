//! The contestants, one file each.

mod atomic_cuckoo_filter;
mod cuckoo_clock;
mod cuckoofilter;
mod fastbloom;
mod guira;
mod papaya;
mod qfilter;
mod scalable_cuckoo_filter;

pub use guira::Guira;

use crate::{entry::Entry, keys::Key, lanes::Contestant};

/// The rate that peers are asked for where they take one: that of guira's
/// 15-bit fingerprints, to which the fixed sizes of the others come nearest.
const RATE: f64 = 0.00023;

/// The closest peer with the hasher that it has by default.
#[must_use]
pub fn closest_with_own_hasher<K: Key>() -> Entry<K> {
    atomic_cuckoo_filter::with_own_hasher()
}

/// [`all`], and after the closest peer the same with its own hasher: where the
/// cost of hashing shows.
#[must_use]
pub fn all_with_own_hasher<K: Key>() -> Vec<Entry<K>> {
    let mut entries = all();
    entries.insert(2, closest_with_own_hasher());
    entries
}

/// All contestants; guira is the first, the closest peer the second. All hash
/// with guira's hasher.
#[must_use]
pub fn all<K: Key>() -> Vec<Entry<K>> {
    vec![
        guira::entry(),
        atomic_cuckoo_filter::entry(),
        cuckoo_clock::entry(),
        cuckoofilter::behind_lock(),
        cuckoofilter::sharded(),
        qfilter::entry(),
        scalable_cuckoo_filter::entry(),
        fastbloom::entry(),
        papaya::entry(),
    ]
}

/// A peer for this number of items and this rate.
pub type AskedFor<K> = fn(usize, f64) -> Box<dyn Contestant<K>>;

/// The peers that do not grow and take a rate, with their names in [`all`].
#[must_use]
pub fn asked_for<K: Key>() -> [(&'static str, AskedFor<K>); 2] {
    [
        ("RwLock<qfilter>", qfilter::make),
        ("fastbloom (atomic)", fastbloom::make),
    ]
}
