//! The other way to grow: a chain of fixed filters.

use crate::hasher;
use guira::CuckooFilter;

/// The links of a chain that has grown 63 times as large as its first.
pub(super) const LINKS: u32 = 6;

/// Fixed filters of guira, each twice as large as the one before. Items go into
/// the newest until it is full; a lookup asks them all, the newest first.
#[derive(Debug)]
pub(super) struct Chain {
    links: Vec<CuckooFilter>,
    first: u64,
    /// What each link may contribute to the rate of all.
    rate: f64,
    /// Items for which there is room in the newest.
    room: u64,
}

impl Chain {
    /// A chain whose last link is full with `items` items: no memory is idle,
    /// and no lookup asks an empty filter. All links together keep `rate`.
    pub(super) fn new(items: u64, rate: f64) -> Self {
        Self {
            links: Vec::new(),
            first: items.div_ceil((1 << LINKS) - 1),
            rate: rate / f64::from(LINKS),
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
        self.room = self.first << self.links.len();
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
        let mut chain = Chain::new(10_000, 0.03);
        (0..10_000).for_each(|item| chain.insert(&item));
        assert_eq!(chain.links.len(), LINKS as usize);
        assert!((0..10_000).all(|item| chain.contains(&item)));
        let found = (10_000..110_000)
            .filter(|item| chain.contains(item))
            .count();
        assert!(found < 3_500, "{found} of 100 000");
    }
}
