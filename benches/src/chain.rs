//! The other way to grow: a chain of fixed filters.

use crate::peers::{guira_with, peer};
use guira::CuckooFilter;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// The links of a chain that has grown 63 times as large as its first.
const DOUBLINGS: u32 = 6;

/// Fixed filters of guira, for one writer. Items go into the newest until it is full; a lookup asks
/// them all, the newest first.
#[derive(Debug)]
pub(crate) struct Chain {
    /// Each with the items of the chain when it is full.
    links: Vec<(u64, CuckooFilter)>,
    newest: AtomicUsize,
    items: AtomicU64,
}

impl Chain {
    /// A chain of links each twice as large as the one before.
    pub(crate) fn doubling(items: u64, rate: f64) -> Self {
        let first = items.div_ceil((1 << DOUBLINGS) - 1);
        Self::of((0..DOUBLINGS).map(|link| first << link).collect(), rate)
    }

    /// A chain of links all as large as the first: what RedisBloom's `CF.RESERVE` makes by default
    /// (`EXPANSION 1`).
    pub(crate) fn equal(items: u64, links: u64, rate: f64) -> Self {
        Self::of((0..links).map(|_| items.div_ceil(links)).collect(), rate)
    }

    /// A chain whose last link is full in the end: no memory is idle, and no lookup asks an empty
    /// filter. All links together keep `rate`.
    fn of(sizes: Vec<u64>, rate: f64) -> Self {
        let rate = rate / sizes.len() as f64;
        let mut end = 0;
        let link = |size: u64| {
            end += size;
            let builder = CuckooFilter::builder().capacity(size as usize);
            (end, guira_with(builder.false_positive_rate(rate)))
        };
        Self {
            links: sizes.into_iter().map(link).collect(),
            newest: AtomicUsize::new(0),
            items: AtomicU64::new(0),
        }
    }

    /// The link for one more item.
    #[inline(always)]
    fn newest(&self) -> &CuckooFilter {
        let items = self.items.load(Ordering::Relaxed);
        self.items.store(items + 1, Ordering::Relaxed);
        let mut newest = self.newest.load(Ordering::Relaxed);
        if items == self.links[newest].0 {
            newest += 1;
            self.newest.store(newest, Ordering::Relaxed);
        }
        &self.links[newest].1
    }

    #[inline(always)]
    fn used(&self) -> impl Iterator<Item = &CuckooFilter> {
        let used = &self.links[..=self.newest.load(Ordering::Relaxed)];
        used.iter().rev().map(|(_, link)| link)
    }
}

peer!(Chain, |it, key|
    insert it.newest().insert(key).is_ok(),
    contains it.used().any(|link| link.contains(key)),
    bytes it.used().map(CuckooFilter::memory_usage).sum());

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peer::Peer;

    #[test]
    fn a_chain_holds_its_items_in_its_links() {
        let chains = [
            (Chain::doubling(10_000, 0.03), 6),
            (Chain::equal(10_000, 64, 0.03), 64),
        ];
        for (chain, links) in chains {
            assert_eq!(chain.insert_all(0..10_000), 10_000);
            assert_eq!(chain.used().count(), links);
            assert_eq!(chain.missing(0..10_000), 0);
            let found = 90_000 - chain.missing(10_000..100_000);
            assert!(found < 3_150, "{found} of 90 000");
        }
    }
}
