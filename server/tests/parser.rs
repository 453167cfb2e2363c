//! The parser reads arbitrary bytes in arbitrary pieces.

#[path = "common/decode.rs"]
mod decode;

use decode::{Words, decode};
use guira_server::resp::Limits;
use proptest::prelude::*;

const LIMITS: Limits = Limits {
    arguments: 64,
    argument_bytes: 1 << 12,
    request_bytes: 1 << 14,
};

/// Bytes that look like requests more often than random ones.
fn nearly_requests() -> impl Strategy<Value = Vec<u8>> {
    let part = prop_oneof![
        Just(b"\r\n".to_vec()),
        Just(b"*1\r\n".to_vec()),
        Just(b"*2\r\n".to_vec()),
        Just(b"*-1\r\n".to_vec()),
        Just(b"*1000000000000\r\n".to_vec()),
        Just(b"$3\r\nabc\r\n".to_vec()),
        Just(b"$0\r\n\r\n".to_vec()),
        Just(b"$-1\r\n".to_vec()),
        Just(b"$-0\r\n".to_vec()),
        Just(b"$+3\r\nabc\r\n".to_vec()),
        Just(b"$3\r\nabcde".to_vec()),
        Just(b"$18446744073709551615\r\n".to_vec()),
        Just(b"$4096\r\n".to_vec()),
        Just(b":1\r\n".to_vec()),
        Just(b"+OK\r\n".to_vec()),
        Just(b"\"a b\" 'c'\r\n".to_vec()),
        (1..100_usize).prop_map(|words| [&b"a ".repeat(words)[..], b"\r\n"].concat()),
        Just([&[b'a'; 4097][..], b"\r\n"].concat()),
        Just(b"\"".to_vec()),
        prop::collection::vec(any::<u8>(), 0..12),
        (0..200_u32).prop_map(|depth| "*1\r\n".repeat(depth as usize).into_bytes()),
    ];
    prop::collection::vec(part, 0..24).prop_map(|parts| parts.concat())
}

fn requests() -> impl Strategy<Value = Vec<Words>> {
    let word = prop::collection::vec(any::<u8>(), 0..64);
    let words = prop::collection::vec(word, 1..8);
    prop::collection::vec(words, 0..16)
}

/// An argument that is longer than declared is refused as soon as its end is missing.
#[test]
fn an_argument_without_an_end_is_refused_at_once() {
    for pieces in [vec![], vec![1; 20]] {
        let (requests, error) = decode(&LIMITS, b"*5\r\n$1\r\nab\r\n", pieces.into_iter());
        assert_eq!((requests, error.is_some()), (vec![], true));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if std::env::var_os("GUIRA_LONG").is_some() { 200_000 } else { 2_000 }))]

    /// No input causes a panic or exceeds a limit.
    #[test]
    fn arbitrary_bytes_are_requests_or_errors(
        bytes in nearly_requests(),
        pieces in prop::collection::vec(1_usize..40, 0..60),
    ) {
        let (requests, _) = decode(&LIMITS, &bytes, pieces.into_iter());
        for words in requests {
            prop_assert!((1..=LIMITS.arguments).contains(&words.len()));
            prop_assert!(words.iter().all(|word| word.len() <= LIMITS.argument_bytes));
        }
    }

    /// The result does not depend on how the bytes are cut into pieces.
    #[test]
    fn pieces_make_no_difference(
        bytes in nearly_requests(),
        pieces in prop::collection::vec(1_usize..40, 0..60),
    ) {
        let (whole, error) = decode(&LIMITS, &bytes, std::iter::empty());
        let (in_pieces, error_in_pieces) = decode(&LIMITS, &bytes, pieces.into_iter());
        prop_assert_eq!(whole, in_pieces);
        prop_assert_eq!(error.is_some(), error_in_pieces.is_some());
    }

    /// Requests arrive as they were sent.
    #[test]
    fn requests_arrive_as_they_were_sent(
        requests in requests(),
        pieces in prop::collection::vec(1_usize..200, 0..60),
    ) {
        let mut bytes = Vec::new();
        for words in &requests {
            bytes.extend(format!("*{}\r\n", words.len()).bytes());
            for word in words {
                bytes.extend(format!("${}\r\n", word.len()).bytes());
                bytes.extend(word);
                bytes.extend(b"\r\n");
            }
        }
        prop_assert_eq!(decode(&LIMITS, &bytes, pieces.into_iter()), (requests, None));
    }
}
