//! Numbers in the words of clients and settings.

/// The whole number that `word` is. As in Redis, a number is written in one way only: without `+`,
/// leading zeros, spaces, or a sign before 0.
#[must_use]
pub fn number<N: TryFrom<i128>>(word: &[u8]) -> Option<N> {
    let is_canonical = match word.strip_prefix(b"-").unwrap_or(word) {
        b"0" => word == b"0",
        digits => matches!(digits, [b'1'..=b'9', ..]),
    };
    let number: i128 = str::from_utf8(word)
        .ok()
        .filter(|_| is_canonical)?
        .parse()
        .ok()?;
    number.try_into().ok()
}

/// The number that `word` is, which need not be whole.
pub(crate) fn fraction(word: &[u8]) -> Option<f64> {
    str::from_utf8(word).ok()?.parse().ok()
}

/// A rate as people write it: `0.01`, but `3e-8` for small ones.
#[must_use]
pub fn shown_rate(rate: f64) -> String {
    // Unlike `{}`, this uses an exponent below 0.0001, and shortens nothing either.
    format!("{rate:?}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_number_is_written_in_one_way() {
        for (word, expected) in [
            ("0", Some(0)),
            ("7", Some(7)),
            ("-7", Some(-7)),
            ("9223372036854775807", Some(i64::MAX)),
            ("-9223372036854775808", Some(i64::MIN)),
            ("9223372036854775808", None),
            ("", None),
            ("-", None),
            ("-0", None),
            ("--5", None),
            ("-+5", None),
            ("+5", None),
            ("+0", None),
            ("00", None),
            ("007", None),
            ("-05", None),
            (" 5", None),
            ("5 ", None),
            ("5_0", None),
            ("0x5", None),
            ("5.0", None),
            ("\u{0665}", None),
            ("1000000000000000000000000000000000000000000", None),
        ] {
            assert_eq!(number::<i64>(word.as_bytes()), expected, "{word:?}");
        }
        assert_eq!(number::<u64>(b"18446744073709551615"), Some(u64::MAX));
        assert_eq!(number::<u64>(b"-1"), None);
        assert_eq!(number::<u8>(b"256"), None);
    }

    #[test]
    fn rates_are_shown_as_people_write_them() {
        for text in ["0.01", "0.001", "0.5", "3e-8", "2e-9", "1.5e-7"] {
            assert_eq!(shown_rate(text.parse().unwrap()), text);
        }
    }
}
