//! A hash that is the key itself.

use std::hash::{BuildHasherDefault, Hasher};

/// Its hash is the number that was hashed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Identity(u64);

/// Makes [`Identity`] hashers.
pub type Weak = BuildHasherDefault<Identity>;

impl Hasher for Identity {
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut number = [0; 8];
            number[..chunk.len()].copy_from_slice(chunk);
            self.write_u64(u64::from_le_bytes(number));
        }
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = self.0.wrapping_mul(31).wrapping_add(number);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
