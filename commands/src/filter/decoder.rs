//! A filter that is built of the bytes of its snapshot, as they come.

use super::{
    Filter,
    header::{Header, Kind},
};
use crate::{Clock, Windowed};
use guira::{ExpiringSnapshotDecoder, SnapshotDecoder, SnapshotError};

/// Builds a [`Filter`] from a snapshot that [`write_to`](Filter::write_to) wrote, piece by piece.
///
/// Its memory and its time are bounded by the bytes that come, as those of the library's
/// [`SnapshotDecoder`].
#[derive(Debug)]
pub struct FilterDecoder {
    like: Header,
    clock: Clock,
    decoder: Decoder,
}

#[derive(Debug)]
enum Decoder {
    Plain(Box<SnapshotDecoder>),
    Windowed(Box<ExpiringSnapshotDecoder>),
}

/// Runs `$body` with `$decoder` bound to the decoder, of either kind.
macro_rules! in_either {
    ($decoder:expr, $bound:ident => $body:expr) => {
        match $decoder {
            Decoder::Plain($bound) => $body,
            Decoder::Windowed($bound) => $body,
        }
    };
}

impl FilterDecoder {
    /// Of a filter that is `like` the one that wrote the snapshot, and whose buckets take up at most
    /// `max_bytes`. If it has a window, it goes by `clock`.
    #[must_use]
    pub fn new(like: Header, clock: Clock, max_bytes: usize) -> Self {
        let decoder = match like.kind {
            Kind::Plain => Decoder::Plain(SnapshotDecoder::new(max_bytes).into()),
            Kind::Windowed => Decoder::Windowed(ExpiringSnapshotDecoder::new(max_bytes).into()),
        };
        Self {
            like,
            clock,
            decoder,
        }
    }

    /// Takes the next bytes and returns how many of them belong to the snapshot: all of them, unless
    /// it ends before.
    ///
    /// # Errors
    ///
    /// What is wrong with the bytes. After the first error the decoder takes nothing.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<usize, SnapshotError> {
        in_either!(&mut self.decoder, decoder => decoder.feed(bytes))
    }

    /// True if the whole snapshot has come.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        in_either!(&self.decoder, decoder => decoder.is_complete())
    }

    /// Bytes on the heap.
    #[must_use]
    pub fn memory_usage(&self) -> usize {
        in_either!(&self.decoder, decoder => decoder.memory_usage())
    }

    /// The filter. If it has a window, its epoch is as old as it was when the snapshot was written.
    ///
    /// # Errors
    ///
    /// [`SnapshotError::Truncated`] unless the snapshot is [complete](Self::is_complete), and what
    /// else is wrong with it.
    pub fn finish(self) -> Result<Filter, SnapshotError> {
        let Self {
            like,
            clock,
            decoder,
        } = self;
        Ok(match decoder {
            Decoder::Plain(decoder) => Filter::new(decoder.finish()?, like.options, like.deleted),
            Decoder::Windowed(decoder) => {
                let windowed = Windowed::new(decoder.finish()?, clock);
                Filter::windowed(windowed, like.options, like.deleted)
            }
        })
    }
}
