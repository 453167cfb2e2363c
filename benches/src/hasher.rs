//! One hasher for all, so that no filter is faster by its hash function.

use guira::{SeededHasher, SeededState};
use std::hash::{BuildHasher, Hasher};

/// The seed of every filter in a run.
pub const SEED: u64 = 0x0067_7569_7261;

const STATE: SeededState = SeededState::new(SEED);

/// guira's hasher with a fixed seed.
#[must_use]
pub fn state() -> SeededState {
    STATE
}

/// The same hasher, for peers that make theirs by `Default`.
#[derive(Clone, Debug)]
pub struct SharedHasher(SeededHasher);

impl Default for SharedHasher {
    #[inline(always)]
    fn default() -> Self {
        Self(STATE.build_hasher())
    }
}

impl Hasher for SharedHasher {
    #[inline(always)]
    fn write(&mut self, bytes: &[u8]) {
        self.0.write(bytes);
    }

    #[inline(always)]
    fn write_u64(&mut self, value: u64) {
        self.0.write_u64(value);
    }

    #[inline(always)]
    fn finish(&self) -> u64 {
        self.0.finish()
    }
}
