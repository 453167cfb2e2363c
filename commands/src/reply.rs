//! Replies of commands, independent of a wire protocol.

use std::borrow::Cow;

/// A reply. The host encodes it.
#[derive(Clone, Debug, PartialEq)]
pub enum Reply {
    /// A simple string, such as `OK`.
    Status(&'static str),
    /// A number.
    Integer(i64),
    /// A boolean: 1 or 0 in RESP2.
    Bool(bool),
    /// Bytes.
    Bulk(Vec<u8>),
    /// Text for humans: a verbatim string in RESP3.
    Text(String),
    /// A null value.
    Null,
    /// A null in place of an array.
    NullArray,
    /// No reply at all.
    Silence,
    /// Replies in order.
    Array(Vec<Reply>),
    /// An array of [`Reply::Bool`].
    Bools(Vec<bool>),
    /// Whether each item was inserted: 1 or -1 in RESP2, booleans in RESP3.
    Insertions(Vec<bool>),
    /// An array of numbers.
    Integers(Vec<i64>),
    /// Keys and values in order: a flat array in RESP2.
    Map(Vec<(Reply, Reply)>),
    /// An error, with its code if it has one.
    Error(Cow<'static, str>),
}

impl Reply {
    /// The usual reply of a command that has succeeded.
    pub const OK: Self = Self::Status("OK");

    /// An error with a constant text.
    #[must_use]
    pub const fn error(text: &'static str) -> Self {
        Self::Error(Cow::Borrowed(text))
    }

    /// Bytes.
    #[must_use]
    pub fn bulk(bytes: impl AsRef<[u8]>) -> Self {
        Self::Bulk(bytes.as_ref().to_vec())
    }

    /// Like [`bulk`](Self::bulk), but an error if there is no memory for the copy.
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

    /// A number, saturated to the range of `i64`.
    #[must_use]
    pub fn count(number: usize) -> Self {
        Self::Integer(i64::try_from(number).unwrap_or(i64::MAX))
    }

    /// The reply of a command if there is no memory for its actual reply.
    pub const NO_MEMORY: Self = Self::error("OOM there is no memory for the reply");

    /// The reply to a command that may take no more memory.
    pub const OUT_OF_MEMORY: Self =
        Self::error("OOM command not allowed when used memory > 'maxmemory'.");

    /// The arity error of the command with this name.
    #[must_use]
    pub fn wrong_arity(name: &[u8]) -> Self {
        let name = String::from_utf8_lossy(name).to_ascii_lowercase();
        Self::Error(format!("ERR wrong number of arguments for '{name}' command").into())
    }

    /// An upper bound of its length on the wire, in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        match self {
            Self::Status(text) => line(text.len()),
            Self::Error(text) => line(text.len()),
            Self::Integer(number) => integer(*number),
            Self::Bool(_) => line(1),
            Self::Null | Self::NullArray => line(2),
            Self::Silence => 0,
            Self::Bulk(bytes) => bulk(bytes.len()),
            Self::Text(text) => bulk("txt:".len() + text.len()),
            Self::Array(items) => {
                length(items.len()) + items.iter().map(Self::bytes).sum::<usize>()
            }
            Self::Bools(values) => length(values.len()) + line(1) * values.len(),
            Self::Insertions(values) => length(values.len()) + line("-1".len()) * values.len(),
            Self::Integers(values) => {
                length(values.len()) + values.iter().map(|&it| integer(it)).sum::<usize>()
            }
            Self::Map(pairs) => {
                let bytes = pairs.iter().map(|(key, value)| key.bytes() + value.bytes());
                length(2 * pairs.len()) + bytes.sum::<usize>()
            }
        }
    }

    /// True if it is an error.
    #[must_use]
    pub const fn is_error(&self) -> bool {
        matches!(self, Self::Error(_))
    }
}

/// The length of a line with a tag and `text` bytes.
const fn line(text: usize) -> usize {
    1 + text + "\r\n".len()
}

const fn integer(number: i64) -> usize {
    let digits = match number.unsigned_abs().checked_ilog10() {
        Some(log) => 1 + log as usize,
        None => 1,
    };
    line("-".len() + digits)
}

/// The length of the line that announces `length` bytes or elements.
const fn length(length: usize) -> usize {
    integer(length as i64)
}

const fn bulk(bytes: usize) -> usize {
    length(bytes) + bytes + "\r\n".len()
}

/// Returns an empty vector with room for `parts` elements.
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
