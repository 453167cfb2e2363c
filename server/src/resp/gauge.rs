//! How far a request has come that is not there as a whole yet.
//!
//! The parser needs all of a request, and starts again at its first byte. The
//! gauge goes over the lengths only, goes on where it stopped, and refuses what
//! is beyond the limits before its bytes are waited for. So a request of many
//! megabytes costs time in proportion to its bytes, and no more memory than
//! the limits allow.

use super::{error::ProtocolError, limits::Limits};
use resp_rs::ParseError;

/// The longest line that can hold a length.
const LONGEST_HEADER: usize = 32;

/// Where it stopped.
#[derive(Debug, Default)]
pub(super) struct Gauge {
    /// Bytes that are known to belong to the request.
    seen: usize,
    /// Arguments that are still to come; `None` before the header is read.
    arguments: Option<usize>,
}

impl Gauge {
    /// True if the parser has found the request incomplete already.
    pub(super) fn begun(&self) -> bool {
        self.arguments.is_some()
    }

    /// Goes over `request`, the bytes of the request so far: true if it is
    /// there as a whole.
    pub(super) fn whole(&mut self, request: &[u8], limits: &Limits) -> Result<bool, ProtocolError> {
        let mut arguments = match self.arguments {
            Some(arguments) => arguments,
            None => {
                let Some((count, after)) = header(request, 0, b'*')? else {
                    return Ok(false);
                };
                // A negative count is a request of nothing.
                let count = usize::try_from(count.max(0)).unwrap_or(usize::MAX);
                if count > limits.arguments {
                    return Err(ProtocolError::Arguments);
                }
                self.seen = after;
                count
            }
        };
        while arguments > 0 {
            let Some((length, after)) = header(request, self.seen, b'$')? else {
                break;
            };
            let length = usize::try_from(length).map_err(|_| ProtocolError::BulkLength)?;
            if length > limits.argument_bytes {
                return Err(ProtocolError::BulkLength);
            }
            let end = after + length + 2;
            if end > limits.request_bytes {
                return Err(ProtocolError::TooLarge);
            }
            let Some(terminator) = request.get(end - 2..end) else {
                break;
            };
            if terminator != b"\r\n" {
                return Err(ProtocolError::Parse(ParseError::InvalidFormat));
            }
            self.seen = end;
            arguments -= 1;
        }
        self.arguments = Some(arguments);
        Ok(arguments == 0)
    }
}

/// The number in the line that begins at `start` with `tag`, and where the line
/// ends; `None` if it is not there yet.
fn header(bytes: &[u8], start: usize, tag: u8) -> Result<Option<(i64, usize)>, ProtocolError> {
    let line = bytes.get(start..).unwrap_or_default();
    let Some(&first) = line.first() else {
        return Ok(None);
    };
    if first != tag {
        return Err(ProtocolError::Expected { tag, found: first });
    }
    let error = match tag {
        b'*' => ProtocolError::Arguments,
        _ => ProtocolError::BulkLength,
    };
    let Some(end) = line
        .iter()
        .take(LONGEST_HEADER)
        .position(|&byte| byte == b'\n')
    else {
        return if line.len() < LONGEST_HEADER {
            Ok(None)
        } else {
            Err(error)
        };
    };
    // As the parser reads them: no sign, but for the one number that means none.
    let number = match line[1..end].strip_suffix(b"\r") {
        Some(b"-1") => Some(-1),
        Some(digits) if digits.iter().all(u8::is_ascii_digit) => str::from_utf8(digits)
            .ok()
            .and_then(|digits| digits.parse().ok()),
        _ => None,
    };
    match number {
        Some(number) => Ok(Some((number, start + end + 1))),
        None => Err(error),
    }
}
