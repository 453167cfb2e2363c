//! Keys: made from their number as they are needed, so that no list of keys
//! competes with the tables for the cache.

use std::hash::{Hash, Hasher};

/// A key that is made from its number; different numbers give different keys.
pub trait Key: Hash + Eq + Clone + Send + Sync + 'static {
    /// The key with this number.
    fn nth(number: u64) -> Self;
}

impl Key for u64 {
    #[inline(always)]
    fn nth(number: u64) -> Self {
        mix(number)
    }
}

/// A string of 32 printable characters, hashed like a `str`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Text([u8; 32]);

impl Key for Text {
    #[inline(always)]
    fn nth(number: u64) -> Self {
        let word = mix(number);
        let mut bytes = [0; 32];
        // Six bits of each byte, above the blank. The rotations differ modulo 8,
        // so that every bit of the number is in the text.
        for (rotation, lane) in [0, 10, 20, 30].into_iter().zip(bytes.chunks_exact_mut(8)) {
            let six_bits = word.rotate_left(rotation) & 0x3f3f_3f3f_3f3f_3f3f;
            lane.copy_from_slice(&(six_bits + 0x2020_2020_2020_2020).to_le_bytes());
        }
        Self(bytes)
    }
}

impl Hash for Text {
    #[inline(always)]
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write(&self.0);
        state.write_u8(0xff);
    }
}

/// The finalizer of splitmix64 (Steele, Lea, Flood, *Fast splittable
/// pseudorandom number generators*, OOPSLA 2014): one-to-one, and random
/// enough for keys and for choices.
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
    /// Either, at random: of four keys this number is present on average.
    Quarters(u64),
}

impl Asked {
    /// Either, as a coin falls: no branch predictor foresees the answers.
    pub const HALF: Self = Self::Quarters(2);

    /// What tables of lookups have, in this order.
    pub const ALL: [Self; 3] = [Self::Hits, Self::Misses, Self::HALF];
}

/// An endless walk over the numbers of keys, in an order unlike that of insertion.
#[derive(Clone, Copy, Debug)]
pub struct Walk {
    asked: Asked,
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
            items,
            stride,
            at: mix(start) % items,
            step: start << 32,
            coin: mix(start),
        }
    }

    /// The number of the next key.
    #[inline(always)]
    pub fn next_number(&mut self) -> u64 {
        self.at += self.stride;
        if self.at >= self.items {
            self.at -= self.items;
        }
        match self.asked {
            Asked::Hits => self.at,
            // Never the same absent key twice: a false positive would stay one.
            Asked::Misses => {
                self.step += 1;
                ABSENT + self.step
            }
            // A branch here would be guessed wrong as often as one in the contestant, so this is
            // arithmetic. The difference is negative where the key is to be absent, and has the bit
            // `ABSENT`.
            Asked::Quarters(present) => {
                self.coin = toss(self.coin);
                let difference = present.wrapping_sub(1 + (self.coin >> 62));
                self.at + (difference & ABSENT)
            }
        }
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
    fn texts_are_printable_and_distinct() {
        let texts: HashSet<[u8; 32]> = (0..10_000).map(|n| Text::nth(n).0).collect();
        assert_eq!(texts.len(), 10_000);
        assert!(
            texts
                .iter()
                .flatten()
                .all(|byte| (0x20..0x60).contains(byte))
        );
    }

    #[test]
    fn a_walk_of_hits_meets_every_item_once() {
        let mut walk = Walk::new(Asked::Hits, 1_000, 7);
        let met: HashSet<u64> = (0..1_000).map(|_| walk.next_number()).collect();
        assert_eq!(met, (0..1_000).collect());
    }

    #[test]
    fn a_mixed_walk_has_its_share_of_hits() {
        for quarters in 0..=4 {
            let mut walk = Walk::new(Asked::Quarters(quarters), 1_000, 7);
            let present = (0..10_000).filter(|_| walk.next_number() < ABSENT).count();
            assert!(
                present.abs_diff(2_500 * quarters as usize) < 200,
                "{present}"
            );
        }
    }
}
