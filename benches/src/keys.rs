//! Keys: made from their number as they are needed, so that no list of keys
//! competes with the tables for the cache.

/// The finalizer of splitmix64 (Steele, Lea, Flood, *Fast splittable
/// pseudorandom number generators*, OOPSLA 2014): one-to-one, and random
/// enough for keys and for choices. The key with a number is the number, mixed.
#[inline(always)]
#[must_use]
pub const fn mix(number: u64) -> u64 {
    let number = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ number >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ number >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ number >> 31
}

/// Numbers from here on belong to keys that are never inserted.
pub const ABSENT: u64 = 1 << 60;

/// Which keys a loop of lookups asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// Keys that are in.
    Hits,
    /// Keys that are not.
    Misses,
    /// Either, as a coin falls: no branch predictor foresees the answers.
    Half,
}

impl Asked {
    /// What tables of lookups have, in this order.
    pub const ALL: [Self; 3] = [Self::Hits, Self::Misses, Self::Half];

    /// What tables call it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Hits => "hit",
            Self::Misses => "miss",
            Self::Half => "half",
        }
    }
}

/// An endless walk over keys, in an order unlike that of insertion.
#[derive(Clone, Copy, Debug)]
pub struct Walk {
    asked: Asked,
    /// The least number.
    first: u64,
    items: u64,
    stride: u64,
    at: u64,
    step: u64,
    coin: u64,
}

impl Walk {
    /// A walk over keys `0..items`, or over the same number of absent ones; `start` lets each round
    /// begin elsewhere.
    ///
    /// # Panics
    ///
    /// If there are no items.
    #[must_use]
    pub fn new(asked: Asked, items: u64, start: u64) -> Self {
        assert!(items > 0, "a walk needs items");
        // About the golden section, so that neighbours are far apart.
        let mut stride = (items as f64 * 0.618) as u64 | 1;
        while gcd(stride, items) != 1 {
            stride += 1;
        }
        Self {
            asked,
            first: 0,
            items,
            stride,
            at: mix(start) % items,
            step: start << 32,
            coin: mix(start),
        }
    }

    /// The same over keys from `first` on.
    #[must_use]
    pub fn above(self, first: u64) -> Self {
        Self { first, ..self }
    }

    /// The number of the next key.
    #[inline(always)]
    fn next_number(&mut self) -> u64 {
        self.at += self.stride;
        if self.at >= self.items {
            self.at -= self.items;
        }
        match self.asked {
            Asked::Hits => self.first + self.at,
            // Never the same absent key twice: a false positive would stay one.
            Asked::Misses => {
                self.step += 1;
                ABSENT + self.step
            }
            // A branch here would be guessed wrong as often as one in the contestant, so this is
            // arithmetic. A coin of 0 makes the key absent, and one of 1 leaves it.
            Asked::Half => {
                self.coin = toss(self.coin);
                let difference = (self.coin >> 63).wrapping_sub(1);
                self.first + self.at + (difference & ABSENT)
            }
        }
    }
}

impl Iterator for Walk {
    type Item = u64;

    #[inline(always)]
    fn next(&mut self) -> Option<u64> {
        Some(mix(self.next_number()))
    }
}

/// The linear congruential generator of Knuth's MMIX: cheap beside a lookup, and the
/// highest bits are random enough for a branch predictor.
#[inline(always)]
const fn toss(coin: u64) -> u64 {
    coin.wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1_442_695_040_888_963_407)
}

const fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn a_walk_of_hits_meets_every_item_once() {
        let mut walk = Walk::new(Asked::Hits, 1_000, 7);
        let met: HashSet<u64> = (0..1_000).map(|_| walk.next_number()).collect();
        assert_eq!(met, (0..1_000).collect());
    }

    #[test]
    fn half_of_a_mixed_walk_hits() {
        let mut walk = Walk::new(Asked::Half, 1_000, 7);
        let present = (0..10_000).filter(|_| walk.next_number() < ABSENT).count();
        assert!(present.abs_diff(5_000) < 200, "{present}");
    }
}
