//! Finds out how much of a request has arrived.
//!
//! A scan continues where it stopped, so its time is proportional to the bytes of the request,
//! however few arrive at a time. It refuses a request that exceeds the limits before its bytes
//! arrive.

use super::{
    error::ProtocolError,
    limits::Limits,
    request::{Word, Words, push, spilled},
};

/// The longest inline command.
const LONGEST_LINE: usize = 64 * 1024;

/// The longest line that can hold a length, with its tag.
const LONGEST_HEADER: usize = 32;

/// Where the scan of the request at the front of a buffer has stopped.
#[derive(Debug, Default)]
pub(super) enum Scan {
    /// Before the first byte.
    #[default]
    New,
    /// In an array of bulk strings.
    Array(Array),
    /// In an inline command.
    Line(Line),
}

impl Scan {
    /// Continues the scan of the request at the beginning of `bytes`. Returns true if the request
    /// is complete.
    #[inline]
    pub(super) fn is_whole(
        &mut self,
        bytes: &[u8],
        limits: &Limits,
    ) -> Result<bool, ProtocolError> {
        if let Self::New = self {
            *self = match bytes.first() {
                None => return Ok(false),
                Some(b'*') => Self::Array(Array::default()),
                Some(_) => Self::Line(Line::default()),
            };
        }
        match self {
            Self::New => Ok(false),
            Self::Array(array) => array.is_whole(bytes, limits),
            Self::Line(line) => line.is_whole(bytes, limits),
        }
    }

    /// The memory of the scan, in bytes.
    pub(super) fn memory(&self) -> usize {
        match self {
            Self::Array(array) => spilled(&array.words),
            Self::New | Self::Line(_) => 0,
        }
    }
}

/// The scan of an array.
#[derive(Debug, Default)]
pub(super) struct Array {
    /// The bytes up to the end of the last complete argument.
    pub(super) seen: usize,
    /// The number of arguments still expected; `None` before it is known.
    missing: Option<usize>,
    pub(super) words: Words,
}

impl Array {
    #[inline]
    fn is_whole(&mut self, bytes: &[u8], limits: &Limits) -> Result<bool, ProtocolError> {
        let mut missing = match self.missing {
            Some(missing) => missing,
            None => {
                let Some((count, after)) = header(bytes, 0, b'*')? else {
                    return Ok(false);
                };
                // A negative count means an empty request.
                let count = count.unwrap_or(0);
                if count > limits.arguments {
                    return Err(ProtocolError::Arguments);
                }
                self.seen = after;
                count
            }
        };
        while missing > 0 {
            let Some((length, start)) = header(bytes, self.seen, b'$')? else {
                break;
            };
            let length = length.ok_or(ProtocolError::BulkLength)?;
            if length > limits.argument_bytes {
                return Err(ProtocolError::BulkLength);
            }
            let end = start + length;
            if end + 2 > limits.request_bytes {
                return Err(ProtocolError::TooLarge);
            }
            match bytes.get(end..end + 2) {
                Some(b"\r\n") => {}
                Some(_) => return Err(ProtocolError::Terminator),
                // The first byte after the argument is enough to see that its end is missing.
                None if bytes.get(end).is_some_and(|&byte| byte != b'\r') => {
                    return Err(ProtocolError::Terminator);
                }
                None => break,
            }
            let word = Word::new(start, end).ok_or(ProtocolError::TooLarge)?;
            push(&mut self.words, word)?;
            self.seen = end + 2;
            missing -= 1;
        }
        self.missing = Some(missing);
        Ok(missing == 0)
    }
}

/// The scan of an inline command.
#[derive(Debug, Default)]
pub(super) struct Line {
    /// The bytes that are known to contain no end of the line.
    pub(super) searched: usize,
}

impl Line {
    fn is_whole(&mut self, bytes: &[u8], limits: &Limits) -> Result<bool, ProtocolError> {
        let longest = LONGEST_LINE.min(limits.request_bytes);
        let until = bytes.len().min(longest);
        let rest = bytes.get(self.searched..until).unwrap_or_default();
        let end = rest.iter().position(|&byte| byte == b'\n');
        work::count(end.unwrap_or(rest.len()));
        match end {
            Some(end) => {
                self.searched += end;
                Ok(true)
            }
            None if until < longest => {
                self.searched = until;
                Ok(false)
            }
            None => Err(ProtocolError::Line),
        }
    }
}

/// Parses the line that begins at `start` with `tag`. Returns its number (`None` for -1) and where
/// the line ends, or `None` if the line is incomplete.
#[inline]
fn header(
    bytes: &[u8],
    start: usize,
    tag: u8,
) -> Result<Option<(Option<usize>, usize)>, ProtocolError> {
    let Some((&first, rest)) = bytes.get(start..).and_then(<[u8]>::split_first) else {
        return Ok(None);
    };
    if first != tag {
        return Err(ProtocolError::Expected { tag, found: first });
    }
    let wrong = || match tag {
        b'*' => ProtocolError::Arguments,
        _ => ProtocolError::BulkLength,
    };
    let mut number = 0_usize;
    for (at, &byte) in rest.iter().take(LONGEST_HEADER - 1).enumerate() {
        work::count(1);
        match byte {
            b'0'..=b'9' => {
                let next = number.checked_mul(10);
                let next = next.and_then(|number| number.checked_add(usize::from(byte - b'0')));
                number = next.ok_or_else(wrong)?;
            }
            b'\r' if at > 0 => {
                return match rest.get(at + 1) {
                    Some(b'\n') => Ok(Some((Some(number), start + at + 3))),
                    Some(_) => Err(wrong()),
                    None => Ok(None),
                };
            }
            b'-' if at == 0 => return minus_one(rest, start).ok_or_else(wrong),
            _ => return Err(wrong()),
        }
    }
    match rest.len() < LONGEST_HEADER - 1 {
        true => Ok(None),
        false => Err(wrong()),
    }
}

/// Like [`header`], for -1, the only valid negative number. Returns `None` for any other.
#[cold]
fn minus_one(rest: &[u8], start: usize) -> Option<Option<(Option<usize>, usize)>> {
    const MINUS_ONE: &[u8] = b"-1\r\n";
    if rest.starts_with(MINUS_ONE) {
        return Some(Some((None, start + 1 + MINUS_ONE.len())));
    }
    MINUS_ONE.starts_with(rest).then_some(None)
}

/// Counts how many bytes a scan looks at individually, for tests.
mod work {
    #[cfg(test)]
    thread_local! {
        pub(super) static BYTES: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
    }

    #[inline]
    pub(super) fn count(bytes: usize) {
        #[cfg(test)]
        BYTES.with(|all| all.set(all.get() + bytes));
        #[cfg(not(test))]
        let _ = bytes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resp::Decoder;

    const LIMITS: Limits = Limits {
        arguments: 1 << 20,
        argument_bytes: 1 << 20,
        request_bytes: 1 << 24,
    };

    /// Feeds `bytes` to a decoder one at a time. Returns the bytes that it looked at, and its
    /// memory before the last byte.
    fn byte_by_byte(bytes: &[u8]) -> (usize, usize) {
        work::BYTES.set(0);
        let mut decoder = Decoder::default();
        let (last, others) = bytes.split_last().unwrap();
        for &byte in others {
            decoder.buffer().extend_from_slice(&[byte]);
            assert_eq!(decoder.next(&LIMITS), Ok(None));
        }
        let memory = decoder.memory();
        decoder.buffer().extend_from_slice(&[*last]);
        assert!(decoder.next(&LIMITS).unwrap().is_some());
        (work::BYTES.get(), memory)
    }

    #[test]
    fn a_line_is_searched_once() {
        let line = [&[b'x'; LONGEST_LINE - 1][..], b"\n"].concat();
        let (work, memory) = byte_by_byte(&line);
        assert!(work <= line.len(), "{work}");
        assert!(memory <= 2 * line.len(), "{memory}");
    }

    #[test]
    fn a_line_that_is_too_long_is_searched_once() {
        work::BYTES.set(0);
        let mut decoder = Decoder::default();
        for _ in 1..LONGEST_LINE {
            decoder.buffer().extend_from_slice(b"x");
            assert_eq!(decoder.next(&LIMITS), Ok(None));
        }
        decoder.buffer().extend_from_slice(b"x");
        assert_eq!(decoder.next(&LIMITS), Err(ProtocolError::Line));
        assert!(work::BYTES.get() <= LONGEST_LINE);
    }

    #[test]
    fn lengths_are_read_a_few_times_at_most() {
        const ARGUMENTS: usize = 100_000;
        let empty = [
            format!("*{ARGUMENTS}\r\n").into_bytes(),
            b"$0\r\n\r\n".repeat(ARGUMENTS),
        ]
        .concat();
        let (work, memory) = byte_by_byte(&empty);
        assert!(work <= 3 * empty.len(), "{work} for {}", empty.len());
        assert!(memory <= 6 * empty.len(), "{memory} for {}", empty.len());
        let long = [
            &b"*2\r\n$1\r\na\r\n$100000\r\n"[..],
            &[b'x'; 100_000],
            b"\r\n",
        ]
        .concat();
        let (work, memory) = byte_by_byte(&long);
        assert!(work <= 10 * long.len(), "{work} for {}", long.len());
        assert!(memory <= 2 * long.len() + 1024, "{memory}");
    }

    #[test]
    fn headers_have_one_form() {
        for (bytes, expected) in [
            (&b"*12\r\n"[..], Ok(Some((Some(12), 5)))),
            (b"*-1\r\n", Ok(Some((None, 5)))),
            (b"*-1", Ok(None)),
            (b"*", Ok(None)),
            (b"*1\r", Ok(None)),
            (b"*1\rx", Err(ProtocolError::Arguments)),
            (b"*1\n", Err(ProtocolError::Arguments)),
            (b"*\r\n", Err(ProtocolError::Arguments)),
            (b"*-2\r\n", Err(ProtocolError::Arguments)),
            (b"*+1\r\n", Err(ProtocolError::Arguments)),
            (b"*99999999999999999999\r\n", Err(ProtocolError::Arguments)),
            (
                b"*00000000000000000000000000000000",
                Err(ProtocolError::Arguments),
            ),
            (
                b"$1\r\n",
                Err(ProtocolError::Expected {
                    tag: b'*',
                    found: b'$',
                }),
            ),
        ] {
            let header = header(bytes, 0, b'*');
            assert_eq!(header, expected, "{}", bytes.escape_ascii());
        }
    }
}
