//! Bytes from a client give requests within the limits or an error. The sizes of the pieces in
//! which they arrive make no difference.
//!
//! ```text
//! RUSTC_BOOTSTRAP=1 cargo fuzz run requests -- -max_total_time=600
//! ```
#![no_main]

#[path = "../../tests/common/decode.rs"]
mod decode;

use decode::decode;
use guira_server::resp::Limits;
use libfuzzer_sys::fuzz_target;

const LIMITS: Limits = Limits {
    arguments: 100,
    argument_bytes: 4096,
    request_bytes: 16 * 1024,
};

fuzz_target!(|input: (Vec<u8>, Vec<u8>)| {
    let (bytes, pieces) = input;
    let (whole, error) = decode(&LIMITS, &bytes, std::iter::empty());
    for words in &whole {
        assert!((1..=LIMITS.arguments).contains(&words.len()));
        assert!(words.iter().all(|word| word.len() <= LIMITS.argument_bytes));
    }
    // A length with this many leading zeros is accepted only if it arrives in one piece.
    if bytes.windows(20).any(|window| window == [b'0'; 20]) {
        return;
    }
    let (in_pieces, error_in_pieces) = decode(&LIMITS, &bytes, pieces.into_iter().map(usize::from));
    assert_eq!(whole, in_pieces, "{}", bytes.escape_ascii());
    assert_eq!(error.is_some(), error_in_pieces.is_some(), "{}", bytes.escape_ascii());
});
