//! The weakest of all hashers.

use std::hash::{BuildHasherDefault, Hasher};

/// Returns a number as its own hash.
#[derive(Default)]
pub(crate) struct IdentityHasher(u64);

pub(crate) type Identity = BuildHasherDefault<IdentityHasher>;

impl Hasher for IdentityHasher {
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = self.0 << 8 | u64::from(byte);
        }
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = value;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
