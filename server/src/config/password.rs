//! The password of clients.

use std::fmt;
use subtle::ConstantTimeEq;

/// A password. It is never printed.
#[derive(Clone)]
pub struct Password {
    padded: [u8; Self::LONGEST],
    length: usize,
}

impl Password {
    const LONGEST: usize = 256;

    fn new(bytes: &[u8]) -> Option<Self> {
        let mut padded = [0; Self::LONGEST];
        padded.get_mut(..bytes.len())?.copy_from_slice(bytes);
        Some(Self {
            padded,
            length: bytes.len(),
        })
    }

    /// The bytes of the password, to authenticate to another server.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.padded[..self.length]
    }

    /// Compares in constant time, wherever the two differ.
    #[must_use]
    pub fn is(&self, guess: &[u8]) -> bool {
        let Some(guess) = Self::new(guess) else {
            return false;
        };
        let same = self.padded.ct_eq(&guess.padded) & self.length.ct_eq(&guess.length);
        same.into()
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Password(…)")
    }
}

pub(crate) fn password(text: &str) -> Result<Password, String> {
    if text.is_empty() {
        return Err("a password cannot be empty".into());
    }
    Password::new(text.as_bytes()).ok_or_else(|| "a password has at most 256 bytes".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_password_itself_is_right() {
        let password = Password::new(b"secret").unwrap();
        assert!(password.is(b"secret"));
        for guess in [&b""[..], b"secre", b"secret\0", b"secreT", &[b's'; 300]] {
            assert!(!password.is(guess));
        }
        assert!(!format!("{password:?}").contains("secret"));
    }
}
