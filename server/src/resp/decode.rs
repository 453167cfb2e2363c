//! Decodes bytes to requests.

use super::{
    error::ProtocolError,
    inline,
    limits::Limits,
    request::{Request, Word},
    scan::Scan,
};
use bytes::{Buf, Bytes, BytesMut};
use std::mem;

/// The bytes of a partial request of at most this size are copied into a buffer that fits them.
const SMALL: usize = 1024;

/// Reserves room for `additional` more bytes in `buffer`.
fn try_reserve(buffer: &mut BytesMut, additional: usize) -> Result<(), ProtocolError> {
    // This never allocates: it only reclaims memory that the buffer already has.
    if buffer.try_reclaim(additional) {
        return Ok(());
    }
    let mut larger = Vec::new();
    let capacity = (buffer.len() + additional).max(2 * buffer.len());
    larger
        .try_reserve_exact(capacity)
        .map_err(|_| ProtocolError::Memory)?;
    larger.extend_from_slice(buffer);
    // Neither conversion copies, because nothing else refers to these bytes.
    *buffer = Bytes::from(larger).into();
    Ok(())
}

/// Copies `bytes` into a buffer that fits them.
fn copy(bytes: &[u8]) -> Result<BytesMut, ProtocolError> {
    let mut copy = BytesMut::new();
    try_reserve(&mut copy, bytes.len())?;
    copy.extend_from_slice(bytes);
    Ok(copy)
}

/// Turns the bytes of one connection into requests.
#[derive(Debug, Default)]
pub struct Decoder {
    /// The bytes of a request that is not complete yet.
    partial: BytesMut,
    /// How far the request at the front has been scanned.
    scan: Scan,
    /// Bytes that may hold more requests.
    ready: Bytes,
}

impl Decoder {
    /// The buffer to append bytes to. Call [`next`](Self::next) afterwards until it returns `None`.
    pub fn buffer(&mut self) -> &mut BytesMut {
        &mut self.partial
    }

    /// Like [`buffer`](Self::buffer), with room for `additional` bytes.
    ///
    /// # Errors
    ///
    /// [`ProtocolError::Memory`]
    pub fn buffer_with_room(&mut self, additional: usize) -> Result<&mut BytesMut, ProtocolError> {
        try_reserve(&mut self.partial, additional)?;
        Ok(&mut self.partial)
    }

    /// Returns the next complete request. The time is proportional to the appended bytes, however
    /// they were divided.
    ///
    /// # Errors
    ///
    /// [`ProtocolError`]; the bytes after it cannot be interpreted.
    #[inline]
    pub fn next(&mut self, limits: &Limits) -> Result<Option<Request>, ProtocolError> {
        loop {
            if self.ready.is_empty() {
                if !self.scan.is_whole(&self.partial, limits)? {
                    return Ok(None);
                }
                self.ready = self.partial.split().freeze();
            } else if !self.scan.is_whole(&self.ready, limits)? {
                // The rest becomes the partial request again, without a copy if possible.
                let rest = mem::take(&mut self.ready);
                self.partial = match rest.try_into_mut() {
                    Ok(rest) => rest,
                    Err(rest) => copy(&rest)?,
                };
                return Ok(None);
            }
            let (bytes, words) = match mem::take(&mut self.scan) {
                Scan::New => return Ok(None),
                Scan::Array(array) => (self.ready.split_to(array.seen), array.words),
                Scan::Line(line) => {
                    let text = self.ready.split_to(line.searched);
                    self.ready.advance(1);
                    let (bytes, words) = inline::words(&text)?;
                    let fits = |word: &Word| word.len() <= limits.argument_bytes;
                    if words.len() > limits.arguments || !words.iter().all(fits) {
                        return Err(ProtocolError::Line);
                    }
                    (bytes.into(), words)
                }
            };
            if !words.is_empty() {
                return Ok(Some(Request::new(bytes, words)));
            }
        }
    }

    /// Frees memory that the partial request does not need, except for at most `spare` bytes.
    pub fn shrink(&mut self, spare: usize) {
        let (length, capacity) = (self.partial.len(), self.partial.capacity());
        if length == 0 {
            self.partial = BytesMut::new();
        } else if (length <= SMALL && capacity > 2 * SMALL) || capacity > 4 * length + 2 * spare {
            // Without memory for a copy the buffer stays as it is.
            if let Ok(copy) = copy(&self.partial) {
                self.partial = copy;
            }
        }
    }

    /// The memory of the partial request, in bytes.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.partial.capacity() + self.ready.len() + self.scan.memory()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_grows_and_keeps_its_bytes() {
        let mut buffer = BytesMut::new();
        let mut expected = Vec::new();
        for round in 0..200_u8 {
            try_reserve(&mut buffer, 1000).unwrap();
            assert!(buffer.capacity() - buffer.len() >= 1000);
            // Some bytes arrive after others were decoded.
            buffer.extend_from_slice(&[round; 777]);
            expected.extend([round; 777]);
            if round % 3 == 0 {
                buffer.advance(500);
                expected.drain(..500);
            }
        }
        assert_eq!(buffer, expected);
        assert!(buffer.capacity() <= 4 * expected.len());
    }

    #[test]
    fn a_buffer_for_which_there_is_no_memory_stays_as_it_is() {
        let mut decoder = Decoder::default();
        decoder.buffer().extend_from_slice(b"PING");
        let refused = decoder.buffer_with_room(isize::MAX as usize).map(|_| ());
        assert_eq!(refused, Err(ProtocolError::Memory));
        decoder.buffer().extend_from_slice(b"\r\n");
        let request = decoder.next(&Limits::UNAUTHENTICATED).unwrap().unwrap();
        assert_eq!(request.words().collect::<Vec<_>>(), [b"PING"]);
    }
}
