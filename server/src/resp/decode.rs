//! Bytes to requests. The parser is the crate `resp-rs`; around it stand inline
//! commands, which it does not know, and limits.

use super::{error::ProtocolError, gauge::Gauge, inline, limits::Limits};
use bytes::{Buf, Bytes, BytesMut};
use resp_rs::{
    ParseError,
    resp2::{Frame, parse_frame},
};

/// The longest inline command.
const LONGEST_LINE: usize = 64 * 1024;

/// A command's name and its arguments.
#[derive(Debug, PartialEq)]
pub struct Request(Words);

#[derive(Debug, PartialEq)]
enum Words {
    /// As the parser leaves them: all are bulk strings.
    Frames(Vec<Frame>),
    /// Of an inline command.
    Line(Vec<Vec<u8>>),
}

impl Request {
    /// The name, and after it the arguments.
    pub fn words(&self) -> impl Iterator<Item = &[u8]> {
        let (frames, line) = match &self.0 {
            Words::Frames(frames) => (&frames[..], &[][..]),
            Words::Line(line) => (&[][..], &line[..]),
        };
        let frames = frames
            .iter()
            .map(|frame| frame.as_bytes().map_or(&[][..], |bytes| bytes));
        frames.chain(line.iter().map(Vec::as_slice))
    }
}

/// Turns the bytes of one connection into requests.
#[derive(Debug, Default)]
pub struct Decoder {
    /// Bytes that belong to a request which is not there as a whole.
    partial: BytesMut,
    gauge: Gauge,
    /// Bytes that may hold requests.
    ready: Bytes,
}

impl Decoder {
    /// Where to append what was read. Call [`next`](Self::next) afterwards until
    /// it has no more.
    pub fn buffer(&mut self) -> &mut BytesMut {
        &mut self.partial
    }

    /// The next request that is there as a whole.
    ///
    /// # Errors
    ///
    /// [`ProtocolError`]: what follows cannot be made sense of.
    pub fn next(&mut self, limits: &Limits) -> Result<Option<Request>, ProtocolError> {
        loop {
            if self.ready.is_empty() && !self.refill(limits)? {
                return Ok(None);
            }
            let words = if self.ready[0] == b'*' {
                self.array(limits)?.map(Words::Frames)
            } else {
                self.line(limits)?.map(Words::Line)
            };
            let Some(words) = words else {
                // The rest becomes the partial request again, in place.
                let rest = std::mem::take(&mut self.ready);
                self.partial = rest.try_into_mut().unwrap_or_else(|rest| rest[..].into());
                return Ok(None);
            };
            let empty = match &words {
                Words::Frames(frames) => frames.is_empty(),
                Words::Line(line) => line.is_empty(),
            };
            if !empty {
                return Ok(Some(Request(words)));
            }
        }
    }

    /// Makes the partial request ready if it may be there as a whole.
    fn refill(&mut self, limits: &Limits) -> Result<bool, ProtocolError> {
        let whole = match self.partial.first() {
            None => false,
            Some(b'*') if self.gauge.begun() => self.gauge.whole(&self.partial, limits)?,
            Some(_) => true,
        };
        if whole {
            self.gauge = Gauge::default();
            self.ready = self.partial.split().freeze();
        }
        Ok(whole)
    }

    /// The request at the front, if it is there as a whole.
    fn array(&mut self, limits: &Limits) -> Result<Option<Vec<Frame>>, ProtocolError> {
        match parse_frame(self.ready.clone()) {
            Ok((Frame::Array(frames), rest)) => {
                let frames = frames.unwrap_or_default();
                self.check(&frames, self.ready.len() - rest.len(), limits)?;
                self.ready = rest;
                Ok(Some(frames))
            }
            // Does not happen: the first byte is that of an array.
            Ok(_) => Err(ProtocolError::Arguments),
            Err(ParseError::Incomplete) => {
                self.gauge = Gauge::default();
                if self.gauge.whole(&self.ready, limits)? {
                    // The lengths are all there, so the parser waits for
                    // something that is no argument.
                    return Err(ProtocolError::Parse(ParseError::InvalidFormat));
                }
                Ok(None)
            }
            // The gauge knows the texts that clients know.
            Err(error) => {
                Gauge::default().whole(&self.ready, limits)?;
                Err(ProtocolError::Parse(error))
            }
        }
    }

    /// Refuses a request of `bytes` whose arguments are no strings, or that is too large.
    fn check(&self, frames: &[Frame], bytes: usize, limits: &Limits) -> Result<(), ProtocolError> {
        let fits = |frame: &Frame| match frame {
            Frame::BulkString(Some(bytes)) => bytes.len() <= limits.argument_bytes,
            _ => false,
        };
        let is_short = frames.len() <= limits.arguments && bytes <= limits.request_bytes;
        if is_short && frames.iter().all(fits) {
            return Ok(());
        }
        Gauge::default().whole(&self.ready, limits)?;
        Err(ProtocolError::BulkLength)
    }

    /// The inline command at the front, if its line has an end.
    fn line(&mut self, limits: &Limits) -> Result<Option<Vec<Vec<u8>>>, ProtocolError> {
        let longest = LONGEST_LINE.min(limits.request_bytes);
        let searched = &self.ready[..self.ready.len().min(longest)];
        let Some(end) = searched.iter().position(|&byte| byte == b'\n') else {
            return if searched.len() < longest {
                Ok(None)
            } else {
                Err(ProtocolError::Line)
            };
        };
        let words = inline::words(&self.ready[..end])?;
        let fits = |word: &Vec<u8>| word.len() <= limits.argument_bytes;
        if words.len() > limits.arguments || !words.iter().all(fits) {
            return Err(ProtocolError::Line);
        }
        self.ready.advance(end + 1);
        Ok(Some(words))
    }
}
