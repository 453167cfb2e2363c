//! Encodes replies in either version of the protocol.
//!
//! This is our own code because a reply is written straight into the output buffer of its client.
//! The crates for RESP need an intermediate frame.

use guira_commands::Reply;
use std::collections::TryReserveError;

/// The version of the protocol that a client speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Protocol {
    /// The version of a client that has not sent `HELLO 3`.
    #[default]
    Resp2,
    /// The version that exists since Redis 6.
    Resp3,
}

impl Protocol {
    /// The number that `HELLO` uses.
    #[must_use]
    pub const fn number(self) -> i64 {
        match self {
            Self::Resp2 => 2,
            Self::Resp3 => 3,
        }
    }
}

/// Appends `reply` to `out`, or [`Reply::NO_MEMORY`] if there is no memory for it.
///
/// # Errors
///
/// There is no memory for either of them. `out` is then unchanged.
pub fn encode(reply: &Reply, protocol: Protocol, out: &mut Vec<u8>) -> Result<(), TryReserveError> {
    if out.try_reserve(reply.bytes()).is_ok() {
        append(reply, protocol, out);
        return Ok(());
    }
    out.try_reserve(Reply::NO_MEMORY.bytes())?;
    append(&Reply::NO_MEMORY, protocol, out);
    Ok(())
}

/// Appends `reply`. The caller has reserved room for [`Reply::bytes`].
pub(crate) fn append(reply: &Reply, protocol: Protocol, out: &mut Vec<u8>) {
    match reply {
        Reply::Status(text) => line(out, b'+', text.as_bytes()),
        Reply::Integer(number) => integer(out, b':', *number),
        Reply::Bool(value) => boolean(out, protocol, *value),
        Reply::Bulk(bytes) => bulk(out, bytes),
        Reply::Text(text) => verbatim(out, protocol, text),
        Reply::Null => out.extend_from_slice(match protocol {
            Protocol::Resp2 => b"$-1\r\n",
            Protocol::Resp3 => b"_\r\n",
        }),
        Reply::NullArray => out.extend_from_slice(match protocol {
            Protocol::Resp2 => b"*-1\r\n",
            Protocol::Resp3 => b"_\r\n",
        }),
        Reply::Silence => {}
        Reply::Array(items) => {
            length(out, b'*', items.len());
            for item in items {
                append(item, protocol, out);
            }
        }
        Reply::Bools(values) => {
            length(out, b'*', values.len());
            for &value in values {
                boolean(out, protocol, value);
            }
        }
        Reply::Insertions(values) => {
            length(out, b'*', values.len());
            for &value in values {
                match protocol {
                    Protocol::Resp2 => integer(out, b':', if value { 1 } else { -1 }),
                    Protocol::Resp3 => boolean(out, protocol, value),
                }
            }
        }
        Reply::Integers(values) => {
            length(out, b'*', values.len());
            for &value in values {
                integer(out, b':', value);
            }
        }
        Reply::Map(pairs) => {
            match protocol {
                Protocol::Resp2 => length(out, b'*', 2 * pairs.len()),
                Protocol::Resp3 => length(out, b'%', pairs.len()),
            }
            for (key, value) in pairs {
                append(key, protocol, out);
                append(value, protocol, out);
            }
        }
        Reply::Error(text) => line(out, b'-', text.as_bytes()),
    }
}

/// A line must not contain the bytes that end it, and `text` may repeat what a client sent.
fn line(out: &mut Vec<u8>, tag: u8, text: &[u8]) {
    out.push(tag);
    out.extend(text.iter().map(|&byte| match byte {
        b'\r' | b'\n' => b' ',
        byte => byte,
    }));
    out.extend_from_slice(b"\r\n");
}

fn integer(out: &mut Vec<u8>, tag: u8, number: i64) {
    out.push(tag);
    out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
    out.extend_from_slice(b"\r\n");
}

fn length(out: &mut Vec<u8>, tag: u8, length: usize) {
    out.push(tag);
    out.extend_from_slice(itoa::Buffer::new().format(length).as_bytes());
    out.extend_from_slice(b"\r\n");
}

fn boolean(out: &mut Vec<u8>, protocol: Protocol, value: bool) {
    out.extend_from_slice(match (protocol, value) {
        (Protocol::Resp2, false) => b":0\r\n",
        (Protocol::Resp2, true) => b":1\r\n",
        (Protocol::Resp3, false) => b"#f\r\n",
        (Protocol::Resp3, true) => b"#t\r\n",
    });
}

fn bulk(out: &mut Vec<u8>, bytes: &[u8]) {
    length(out, b'$', bytes.len());
    out.extend_from_slice(bytes);
    out.extend_from_slice(b"\r\n");
}

fn verbatim(out: &mut Vec<u8>, protocol: Protocol, text: &str) {
    match protocol {
        Protocol::Resp2 => bulk(out, text.as_bytes()),
        Protocol::Resp3 => {
            length(out, b'=', text.len() + 4);
            out.extend_from_slice(b"txt:");
            out.extend_from_slice(text.as_bytes());
            out.extend_from_slice(b"\r\n");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use proptest::prelude::*;
    use resp_rs::{resp2, resp3};

    fn replies() -> impl Strategy<Value = Reply> {
        let leaf = prop_oneof![
            Just(Reply::OK),
            any::<i64>().prop_map(Reply::Integer),
            any::<bool>().prop_map(Reply::Bool),
            any::<Vec<u8>>().prop_map(Reply::Bulk),
            ".*".prop_map(Reply::Text),
            Just(Reply::Null),
            Just(Reply::NullArray),
            any::<Vec<bool>>().prop_map(Reply::Bools),
            any::<Vec<bool>>().prop_map(Reply::Insertions),
            any::<Vec<i64>>().prop_map(Reply::Integers),
            "(?s).*".prop_map(|text| Reply::Error(text.into())),
        ];
        leaf.prop_recursive(3, 32, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Reply::Array),
                prop::collection::vec((inner.clone(), inner), 0..4).prop_map(Reply::Map),
            ]
        })
    }

    proptest! {
        #[test]
        fn every_reply_is_one_frame(reply in replies()) {
            let mut out = Vec::new();
            encode(&reply, Protocol::Resp2, &mut out).unwrap();
            prop_assert!(out.len() <= reply.bytes());
            let (_, rest) = resp2::parse_frame(Bytes::from(out)).unwrap();
            prop_assert!(rest.is_empty());
            let mut out = Vec::new();
            encode(&reply, Protocol::Resp3, &mut out).unwrap();
            prop_assert!(out.len() <= reply.bytes());
            let (_, rest) = resp3::parse_frame(Bytes::from(out)).unwrap();
            prop_assert!(rest.is_empty());
        }
    }
}
