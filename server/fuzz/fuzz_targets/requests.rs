//! Bytes from a client give requests within the limits or an error, and how they
//! are cut into pieces makes no difference.
//!
//! ```text
//! RUSTC_BOOTSTRAP=1 cargo fuzz run requests -- -max_total_time=600
//! ```
#![no_main]

use guira_server::resp::{Decoder, Limits};
use libfuzzer_sys::fuzz_target;

const LIMITS: Limits = Limits {
    arguments: 100,
    argument_bytes: 4096,
    request_bytes: 16 * 1024,
};

/// The requests, and whether an error followed.
fn decode(bytes: &[u8], mut pieces: impl Iterator<Item = usize>) -> (Vec<Vec<Vec<u8>>>, bool) {
    let mut decoder = Decoder::default();
    let mut requests = Vec::new();
    let mut rest = bytes;
    while !rest.is_empty() {
        let (piece, after) =
            rest.split_at(pieces.next().unwrap_or(rest.len()).clamp(1, rest.len()));
        rest = after;
        decoder.buffer().extend_from_slice(piece);
        loop {
            match decoder.next(&LIMITS) {
                Ok(Some(request)) => requests.push(request.words().map(<[u8]>::to_vec).collect()),
                Ok(None) => break,
                Err(_) => return (requests, true),
            }
        }
    }
    (requests, false)
}

fuzz_target!(|input: (Vec<u8>, Vec<u8>)| {
    let (bytes, pieces) = input;
    let whole = decode(&bytes, std::iter::empty());
    for words in &whole.0 {
        assert!(!words.is_empty());
        // Inline commands have a limit of their own.
        let most = LIMITS.arguments.max(bytes.len());
        assert!(words.len() <= most);
    }
    // Lengths with this many zeros in front are only read if they come in one piece.
    if bytes.windows(20).any(|window| window == [b'0'; 20]) {
        return;
    }
    let in_pieces = decode(&bytes, pieces.into_iter().map(usize::from));
    assert_eq!(whole, in_pieces, "{}", bytes.escape_ascii());
});
