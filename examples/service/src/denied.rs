//! The accounts that are refused. A new list replaces the old one while requests use it.

use arc_swap::ArcSwap;
use guira::{BuildError, CuckooFilter};
use std::sync::{Arc, LazyLock};

/// A list that is empty until the first one arrives.
pub(crate) static DENIED: LazyLock<ArcSwap<CuckooFilter>> =
    LazyLock::new(|| ArcSwap::from_pointee(CuckooFilter::with_capacity(1)));

/// True if the account is denied, and for one of 10 million others.
pub(crate) fn is_denied(account: &str) -> bool {
    DENIED.load().contains(account)
}

/// Replaces the list by one with these accounts, and returns how many they are.
///
/// A request sees the old list or the new one, and none in between.
pub(crate) fn replace(accounts: &str) -> Result<usize, BuildError> {
    let mut accounts: Vec<&str> = accounts.lines().collect();
    accounts.sort_unstable();
    accounts.dedup();
    let capacity = accounts.len().max(1);
    let builder = CuckooFilter::builder().capacity(capacity);
    let list = builder.false_positive_rate(1e-7).build()?;
    // Each account is there once, and there is room for all of them.
    list.insert_batch(&accounts)
        .expect("a filter has room for its capacity");
    DENIED.store(Arc::new(list));
    Ok(accounts.len())
}
