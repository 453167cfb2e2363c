//! What comes before the snapshot of a filter: the rest of it.

use super::Filter;
use crate::Options;
use thiserror::Error;

/// A header of RedisBloom is a packed struct of this size.
const REDISBLOOM_BYTES: usize = 38;

/// What a filter is beside its snapshot.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Header {
    /// Which snapshot follows.
    pub kind: Kind,
    /// What its client asked for.
    pub options: Options,
    /// Items deleted so far.
    pub deleted: u64,
}

/// Which filters a snapshot can be of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// One that remembers everything.
    Plain,
    /// One with a [window](crate::Window).
    Windowed,
}

impl Kind {
    const ALL: [Self; 2] = [Self::Plain, Self::Windowed];

    const fn magic(self) -> &'static [u8; 8] {
        match self {
            Self::Plain => b"guiracf\x01",
            Self::Windowed => b"guiracw\x01",
        }
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
            kind: match filter.window() {
                None => Kind::Plain,
                Some(_) => Kind::Windowed,
            },
            options: filter.options(),
            deleted: filter.deleted(),
        }
    }

    /// With a checksum.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        let (body, sum) = bytes.split_at_mut(Self::BYTES - 4);
        body[..8].copy_from_slice(self.kind.magic());
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
        Self::parse(bytes).ok_or(match bytes.len() {
            REDISBLOOM_BYTES => HeaderError::RedisBloom,
            _ => HeaderError::Invalid,
        })
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; Self::BYTES] = bytes.try_into().ok()?;
        let (body, sum) = bytes.split_last_chunk::<4>()?;
        if crc32fast::hash(body) != u32::from_le_bytes(*sum) {
            return None;
        }
        let (magic, body) = body.split_first_chunk::<8>()?;
        let kind = Kind::ALL.into_iter().find(|kind| kind.magic() == magic)?;
        let (options, deleted) = body.split_last_chunk::<8>()?;
        Some(Self {
            kind,
            options: Options::from_bytes(options.try_into().ok()?)?,
            deleted: u64::from_le_bytes(*deleted),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Clock, Growth, Window};
    use std::time::Duration;

    #[test]
    fn a_header_says_whether_there_is_a_window() {
        let (options, window) = (
            Options::default(),
            Window {
                length: Duration::from_secs(60),
                epochs: None,
            },
        );
        let growth = Growth::furthest(&options, usize::MAX).unwrap();
        let plain = Filter::build(options, growth).unwrap();
        let windowed = Filter::build_window(options, growth, window, Clock::Process).unwrap();
        let headers = [plain, windowed].map(|filter| Header::of(&filter));
        assert_eq!(headers.map(|header| header.kind), Kind::ALL);
        for header in headers {
            assert_eq!(Header::from_bytes(&header.to_bytes()), Ok(header));
        }
    }

    #[test]
    fn a_header_is_read_again_and_a_changed_bit_is_seen() {
        let header = Header {
            kind: Kind::Windowed,
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
