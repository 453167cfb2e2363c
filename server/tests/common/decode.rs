//! Decodes bytes that arrive in pieces; the fuzzer uses it, too.

use guira_server::resp::{Decoder, Limits, ProtocolError};

/// The arguments of a request.
pub(crate) type Words = Vec<Vec<u8>>;

/// The requests in `bytes`, which arrive in pieces of these sizes, and the error that ends them.
pub(crate) fn decode(
    limits: &Limits,
    bytes: &[u8],
    mut pieces: impl Iterator<Item = usize>,
) -> (Vec<Words>, Option<ProtocolError>) {
    let mut decoder = Decoder::default();
    let mut requests = Vec::new();
    let mut rest = bytes;
    while !rest.is_empty() {
        let (piece, after) =
            rest.split_at(pieces.next().unwrap_or(rest.len()).clamp(1, rest.len()));
        rest = after;
        decoder.buffer().extend_from_slice(piece);
        loop {
            match decoder.next(limits) {
                Ok(Some(request)) => requests.push(request.words().map(<[u8]>::to_vec).collect()),
                Ok(None) => break,
                Err(error) => return (requests, Some(error)),
            }
        }
    }
    (requests, None)
}
