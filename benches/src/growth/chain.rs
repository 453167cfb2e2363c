//! The other way to grow: a chain of fixed filters.

use super::TIMES;
use crate::hasher;
use guira::CuckooFilter;

/// The links of a chain that has grown 63 times as large as its first.
const DOUBLINGS: u32 = 6;

/// Fixed filters of guira. Items go into the newest until it is full; a lookup
/// asks them all, the newest first.
#[derive(Debug)]
pub(super) struct Chain {
    links: Vec<CuckooFilter>,
    /// The items for which each link is made, those to come as well.
    sizes: Vec<u64>,
    /// What each link may contribute to the rate of all.
    rate: f64,
    /// Items for which there is room in the newest.
    room: u64,
}

impl Chain {
    /// A chain of links each twice as large as the one before.
    pub(super) fn doubling(items: u64, rate: f64) -> Self {
        let first = items.div_ceil((1 << DOUBLINGS) - 1);
        Self::of((0..DOUBLINGS).map(|link| first << link), rate)
    }

    /// A chain of links all as large as the first: what RedisBloom's `CF.RESERVE` makes by default
    /// (`EXPANSION 1`).
    pub(super) fn equal(items: u64, rate: f64) -> Self {
        Self::of((0..TIMES).map(|_| items.div_ceil(TIMES)), rate)
    }

    /// A chain whose last link is full in the end: no memory is idle, and no lookup
    /// asks an empty filter. All links together keep `rate`.
    fn of(sizes: impl Iterator<Item = u64>, rate: f64) -> Self {
        let sizes: Vec<u64> = sizes.collect();
        Self {
            links: Vec::new(),
            rate: rate / sizes.len() as f64,
            sizes,
            room: 0,
        }
    }

    #[inline(always)]
    pub(super) fn insert(&mut self, key: &u64) {
        if self.room == 0 {
            self.append();
        }
        self.room -= 1;
        let newest = &self.links[self.links.len() - 1];
        newest.insert(key).expect("there is room in the newest");
    }

    #[cold]
    fn append(&mut self) {
        self.room = self.sizes[self.links.len()];
        let builder = CuckooFilter::builder()
            .capacity(self.room as usize)
            .false_positive_rate(self.rate)
            .hasher(hasher::state());
        self.links.push(builder.build().expect("a rate on offer"));
    }

    #[inline(always)]
    pub(super) fn contains(&self, key: &u64) -> bool {
        self.links.iter().rev().any(|link| link.contains(key))
    }

    pub(super) fn bytes(&self) -> usize {
        self.links.iter().map(CuckooFilter::memory_usage).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_holds_its_items_in_its_links() {
        let chains = [
            (Chain::doubling(10_000, 0.03), 6),
            (Chain::equal(10_000, 0.03), 64),
        ];
        for (mut chain, links) in chains {
            (0..10_000).for_each(|item| chain.insert(&item));
            assert_eq!(chain.links.len(), links);
            assert!((0..10_000).all(|item| chain.contains(&item)));
            let found = (10_000..110_000)
                .filter(|item| chain.contains(item))
                .count();
            assert!(found < 3_500, "{found} of 100 000");
        }
    }
}
