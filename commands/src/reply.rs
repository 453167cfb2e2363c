//! What a command answers, without a protocol's notation.

use std::borrow::Cow;

/// A reply. How it looks on the wire is the affair of the host.
#[derive(Clone, Debug, PartialEq)]
pub enum Reply {
    /// `OK` and its like.
    Status(&'static str),
    /// A number.
    Integer(i64),
    /// Yes or no: 1 or 0 in RESP2.
    Bool(bool),
    /// Bytes.
    Bulk(Vec<u8>),
    /// Text for people: a verbatim string in RESP3.
    Text(String),
    /// Nothing there.
    Null,
    /// Nothing where there might be an array.
    NullArray,
    /// No reply at all.
    Silence,
    /// Replies in order.
    Array(Vec<Reply>),
    /// An array of [`Reply::Bool`].
    Bools(Vec<bool>),
    /// For each item whether it was inserted: 1 or -1 in RESP2, booleans in RESP3.
    Insertions(Vec<bool>),
    /// An array of numbers.
    Integers(Vec<i64>),
    /// Keys and values in order: a flat array in RESP2.
    Map(Vec<(Reply, Reply)>),
    /// An error, with its code if it has one.
    Error(Cow<'static, str>),
}

impl Reply {
    /// The usual answer of a command that has done its work.
    pub const OK: Self = Self::Status("OK");

    /// An error whose text is known beforehand.
    #[must_use]
    pub const fn error(text: &'static str) -> Self {
        Self::Error(Cow::Borrowed(text))
    }

    /// Bytes.
    #[must_use]
    pub fn bulk(bytes: impl AsRef<[u8]>) -> Self {
        Self::Bulk(bytes.as_ref().to_vec())
    }

    /// As [`bulk`](Self::bulk), or an error if there is no memory for the copy.
    #[must_use]
    pub fn try_bulk(bytes: &[u8]) -> Self {
        match try_with_capacity(bytes.len()) {
            Ok(mut copy) => {
                copy.extend_from_slice(bytes);
                Self::Bulk(copy)
            }
            Err(refusal) => refusal,
        }
    }

    /// A number; saturated, should it not fit.
    #[must_use]
    pub fn count(number: usize) -> Self {
        Self::Integer(i64::try_from(number).unwrap_or(i64::MAX))
    }

    /// The answer of a command for whose reply there is no memory.
    pub const NO_MEMORY: Self = Self::error("OOM there is no memory for the reply");

    /// The arity error of the command with this name.
    #[must_use]
    pub fn wrong_arity(name: &[u8]) -> Self {
        let name = String::from_utf8_lossy(name).to_ascii_lowercase();
        Self::Error(format!("ERR wrong number of arguments for '{name}' command").into())
    }

    /// How many bytes it has on the wire, at most.
    #[must_use]
    pub fn bytes(&self) -> usize {
        /// A tag, a number or a length, and the ends of two lines.
        const SHORT: usize = 1 + "-9223372036854775808".len() + 2 + 2;
        /// An element of an array, which is -1, 0, 1 or a boolean.
        const SHORTEST: usize = ":-1\r\n".len();
        SHORT
            + match self {
                Self::Bulk(bytes) => bytes.len(),
                Self::Text(text) => "txt:".len() + text.len(),
                Self::Error(text) => text.len(),
                Self::Array(items) => items.iter().map(Self::bytes).sum(),
                Self::Bools(values) | Self::Insertions(values) => SHORTEST * values.len(),
                Self::Integers(values) => SHORT * values.len(),
                Self::Map(pairs) => pairs
                    .iter()
                    .map(|(key, value)| key.bytes() + value.bytes())
                    .sum(),
                Self::Status(text) => text.len(),
                Self::Integer(_) | Self::Bool(_) | Self::Null | Self::NullArray | Self::Silence => {
                    0
                }
            }
    }

    /// True for errors.
    #[must_use]
    pub const fn is_error(&self) -> bool {
        matches!(self, Self::Error(_))
    }
}

/// A vector with room for the parts of a reply.
///
/// # Errors
///
/// [`Reply::NO_MEMORY`]
pub fn try_with_capacity<T>(parts: usize) -> Result<Vec<T>, Reply> {
    let mut vector = Vec::new();
    match vector.try_reserve_exact(parts) {
        Ok(()) => Ok(vector),
        Err(_) => Err(Reply::NO_MEMORY),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_without_memory_is_an_error() {
        let refusal = try_with_capacity::<u64>(usize::MAX / 16).unwrap_err();
        assert!(refusal.is_error(), "{refusal:?}");
        assert_eq!(try_with_capacity::<u64>(5).map(|it| it.capacity()), Ok(5));
        assert_eq!(Reply::try_bulk(b"a"), Reply::bulk("a"));
    }
}
