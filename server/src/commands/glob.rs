//! Patterns of `KEYS`, `SCAN` and `CONFIG GET`.

use super::Reply;
use crate::keyspace::LONGEST_KEY;

/// Refuses a pattern that is longer than any key.
pub(super) fn check(pattern: &[u8]) -> Result<(), Reply> {
    match pattern.len() {
        ..=LONGEST_KEY => Ok(()),
        bytes => {
            let error = format!("ERR the pattern has {bytes} bytes, and {LONGEST_KEY} are allowed");
            Err(Reply::Error(error.into()))
        }
    }
}

/// True if `pattern` matches all of `text`. Patterns have `?`, `*`, `[abc]`, `[a-z]`, `[^a]`, and `\`
/// to quote the next byte. O(text × pattern).
pub(super) fn matches(pattern: &[u8], text: &[u8]) -> bool {
    if text.is_empty() {
        // As in Redis, where `*` means all keys, and no other pattern matches an empty key.
        return matches!(pattern, b"" | b"*");
    }
    let (mut pattern, mut text) = (pattern, text);
    // Where to resume after a mismatch: after the last `*`, which then matches one byte more.
    let mut star: Option<(&[u8], &[u8])> = None;
    loop {
        if let [b'*', after @ ..] = pattern {
            star = Some((after, text));
            pattern = after;
            continue;
        }
        let step = match (pattern, text) {
            ([], []) => return true,
            (_, []) | ([], _) => None,
            (_, [byte, rest @ ..]) => one(pattern, *byte).map(|after| (after, rest)),
        };
        (pattern, text) = match (step, star) {
            (Some(step), _) => step,
            (None, Some((after, [_, rest @ ..]))) => {
                star = Some((after, rest));
                (after, rest)
            }
            (None, _) => return false,
        };
    }
}

/// Returns the rest of `pattern` if its first element matches `byte`.
fn one(pattern: &[u8], byte: u8) -> Option<&[u8]> {
    match pattern {
        [b'?', after @ ..] => Some(after),
        [b'[', after @ ..] => class(after, byte),
        [b'\\', escaped, after @ ..] => (*escaped == byte).then_some(after),
        [literal, after @ ..] => (*literal == byte).then_some(after),
        [] => None,
    }
}

/// Like [`one`], for the part of a pattern after `[`.
fn class(class: &[u8], byte: u8) -> Option<&[u8]> {
    let (negated, mut rest) = match class {
        [b'^', rest @ ..] => (true, rest),
        rest => (false, rest),
    };
    let mut found = false;
    loop {
        rest = match rest {
            [] => return None,
            [b']', after @ ..] => return (found != negated).then_some(after),
            [b'\\', escaped, after @ ..] => {
                found |= *escaped == byte;
                after
            }
            [low, b'-', high, after @ ..] if *high != b']' => {
                found |= (*low.min(high)..=*low.max(high)).contains(&byte);
                after
            }
            [literal, after @ ..] => {
                found |= *literal == byte;
                after
            }
        };
    }
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn patterns_fit_what_they_should() {
        let fit = [
            ("*", ""),
            ("*", "any"),
            ("h?llo", "hello"),
            ("h*llo", "hllo"),
            ("h*l*o", "heeelllooo"),
            ("h[ae]llo", "hallo"),
            ("h[^e]llo", "hallo"),
            ("h[a-c]llo", "hbllo"),
            (r"a\*b", "a*b"),
            ("a**b", "ab"),
        ];
        for (pattern, text) in fit {
            assert!(
                matches(pattern.as_bytes(), text.as_bytes()),
                "{pattern} {text}"
            );
        }
        let not = [
            ("", "a"),
            ("**", ""),
            ("*?", ""),
            ("h?llo", "hllo"),
            ("h[ae]llo", "hillo"),
            ("h[^e]llo", "hello"),
            (r"a\*b", "axb"),
            ("a*b", "abc"),
            ("[a", "a"),
        ];
        for (pattern, text) in not {
            assert!(
                !matches(pattern.as_bytes(), text.as_bytes()),
                "{pattern} {text}"
            );
        }
    }

    #[test]
    fn many_stars_take_no_long_time() {
        let text = vec![b'a'; 20_000];
        assert!(!matches(
            "a*".repeat(40).as_bytes().strip_suffix(b"*").unwrap(),
            b"b"
        ));
        assert!(!matches(format!("{}b", "a*".repeat(40)).as_bytes(), &text));
    }
}
