//! What comes before the snapshot of a filter: the rest of it.

use crate::{Filter, Options};
use thiserror::Error;

const MAGIC: &[u8; 8] = b"guiracf\x01";

/// Of a filter with a window, whose snapshot is another one.
const MAGIC_OF_WINDOW: &[u8; 8] = b"guiracw\x01";

/// A header of RedisBloom is a packed struct of so many bytes.
const REDISBLOOM_BYTES: usize = 38;

/// What a filter is beside its snapshot.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Header {
    /// What its client asked for.
    pub options: Options,
    /// Items deleted so far.
    pub deleted: u64,
}

/// Which filters a snapshot can be of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Plain,
    Windowed,
}

/// The header of `filter`, of whichever kind it is: the one that `CF.SCANDUMP` gives.
#[must_use]
pub fn header_of(filter: &Filter) -> [u8; Header::BYTES] {
    let header = Header::of(filter);
    match filter.window() {
        None => header.encode(MAGIC),
        Some(_) => header.encode(MAGIC_OF_WINDOW),
    }
}

/// This is no header.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum HeaderError {
    /// It is damaged, or something else.
    #[error("Invalid header")]
    Invalid,
    /// It looks like one of RedisBloom.
    #[error(
        "Invalid header: this is a dump of RedisBloom, which only fits RedisBloom's own table; \
         insert the items anew"
    )]
    RedisBloom,
}

impl Header {
    /// Bytes of it.
    pub const BYTES: usize = 8 + Options::BYTES + 8 + 4;

    /// That of `filter`.
    #[must_use]
    pub fn of(filter: &Filter) -> Self {
        Self {
            options: *filter.options(),
            deleted: filter.deleted(),
        }
    }

    /// With a checksum, of a filter without a window.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; Self::BYTES] {
        self.encode(MAGIC)
    }

    fn encode(&self, magic: &[u8; 8]) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        let (body, sum) = bytes.split_at_mut(Self::BYTES - 4);
        body[..8].copy_from_slice(magic);
        body[8..][..Options::BYTES].copy_from_slice(&self.options.to_bytes());
        body[8 + Options::BYTES..].copy_from_slice(&self.deleted.to_le_bytes());
        sum.copy_from_slice(&crc32fast::hash(body).to_le_bytes());
        bytes
    }

    /// What [`to_bytes`](Self::to_bytes) made.
    ///
    /// # Errors
    ///
    /// [`HeaderError`] if it cannot have.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, HeaderError> {
        match Self::decode(bytes)? {
            (header, Kind::Plain) => Ok(header),
            (_, Kind::Windowed) => Err(HeaderError::Invalid),
        }
    }

    /// What [`header_of`] made.
    pub(crate) fn decode(bytes: &[u8]) -> Result<(Self, Kind), HeaderError> {
        Self::parse(bytes).ok_or(match bytes.len() {
            REDISBLOOM_BYTES => HeaderError::RedisBloom,
            _ => HeaderError::Invalid,
        })
    }

    fn parse(bytes: &[u8]) -> Option<(Self, Kind)> {
        let bytes: &[u8; Self::BYTES] = bytes.try_into().ok()?;
        let (body, sum) = bytes.split_last_chunk::<4>()?;
        if crc32fast::hash(body) != u32::from_le_bytes(*sum) {
            return None;
        }
        let (magic, body) = body.split_first_chunk::<8>()?;
        let kind = match magic {
            MAGIC => Kind::Plain,
            MAGIC_OF_WINDOW => Kind::Windowed,
            _ => return None,
        };
        let (options, deleted) = body.split_last_chunk::<8>()?;
        let header = Self {
            options: Options::from_bytes(options.try_into().ok()?)?,
            deleted: u64::from_le_bytes(*deleted),
        };
        Some((header, kind))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Growth, Window};
    use std::time::Duration;

    #[test]
    fn a_header_says_whether_there_is_a_window() {
        let (options, window) = (
            Options::default(),
            Window {
                length: Duration::from_secs(60),
                steps: None,
            },
        );
        let growth = Growth::furthest(&options, usize::MAX).unwrap();
        let plain = header_of(&Filter::build(options, growth).unwrap());
        let windowed = header_of(&Filter::build_window(options, window).unwrap());
        let kinds = [&plain, &windowed].map(|bytes| Header::decode(bytes).unwrap().1);
        assert_eq!(kinds, [Kind::Plain, Kind::Windowed]);
        assert!(Header::from_bytes(&plain).is_ok());
        assert_eq!(Header::from_bytes(&windowed), Err(HeaderError::Invalid));
    }

    #[test]
    fn a_header_is_read_again_and_a_changed_bit_is_seen() {
        let header = Header {
            options: Options {
                capacity: 5000,
                rate: 0.001,
                bucket_size: 4,
                max_iterations: 9,
                expansion: 0,
            },
            deleted: 7,
        };
        let bytes = header.to_bytes();
        assert_eq!(Header::from_bytes(&bytes), Ok(header));
        for bit in 0..8 * Header::BYTES {
            let mut changed = bytes;
            changed[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Header::from_bytes(&changed), Err(HeaderError::Invalid));
        }
        for length in 0..Header::BYTES {
            let refused = Header::from_bytes(&bytes[..length]).unwrap_err();
            assert_eq!(
                refused == HeaderError::RedisBloom,
                length == REDISBLOOM_BYTES
            );
        }
    }
}
