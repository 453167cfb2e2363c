//! Inline commands: lines of words, as typed into a terminal.

use super::{
    error::ProtocolError,
    request::{Word, Words, push},
};

/// Splits a line into words, and returns their text with the position of each word. Words in double
/// quotes may contain the escapes `\n`, `\r`, `\t`, `\b`, `\a` and `\xHH`; words in single quotes
/// only `\'`.
pub(super) fn words(line: &[u8]) -> Result<(Vec<u8>, Words), ProtocolError> {
    let (mut text, mut words) = (Vec::new(), Words::new());
    // The words take no more room than the line.
    text.try_reserve_exact(line.len())
        .map_err(|_| ProtocolError::Memory)?;
    let mut rest = line;
    loop {
        rest = rest.trim_ascii_start();
        if rest.is_empty() {
            return Ok((text, words));
        }
        let start = text.len();
        rest = word(rest, &mut text)?;
        let word = Word::new(start, text.len()).ok_or(ProtocolError::Line)?;
        push(&mut words, word)?;
    }
}

/// Appends the first word to `word`, and returns the rest of the line.
fn word<'a>(line: &'a [u8], word: &mut Vec<u8>) -> Result<&'a [u8], ProtocolError> {
    let mut at = 0;
    while let Some(&byte) = line.get(at) {
        match byte {
            b'"' | b'\'' => {
                let rest = quoted(&line[at + 1..], byte, word)?;
                // A closing quote ends the word, so a space or the end of the line must follow.
                return match rest.first() {
                    Some(next) if !next.is_ascii_whitespace() => {
                        Err(ProtocolError::UnbalancedQuotes)
                    }
                    _ => Ok(rest),
                };
            }
            byte if byte.is_ascii_whitespace() => break,
            byte => word.push(byte),
        }
        at += 1;
    }
    Ok(&line[at..])
}

/// Appends the text before the closing quote to `word`, and returns the rest of the line.
fn quoted<'a>(
    mut rest: &'a [u8],
    quote: u8,
    word: &mut Vec<u8>,
) -> Result<&'a [u8], ProtocolError> {
    loop {
        rest = match rest {
            [] => return Err(ProtocolError::UnbalancedQuotes),
            [byte, after @ ..] if *byte == quote => return Ok(after),
            [b'\\', b'\'', after @ ..] if quote == b'\'' => {
                word.push(b'\'');
                after
            }
            [b'\\', b'x', high, low, after @ ..] if quote == b'"' && hex(*high, *low).is_some() => {
                word.extend(hex(*high, *low));
                after
            }
            [b'\\', escaped, after @ ..] if quote == b'"' => {
                word.push(match escaped {
                    b'n' => b'\n',
                    b'r' => b'\r',
                    b't' => b'\t',
                    b'b' => 8,
                    b'a' => 7,
                    other => *other,
                });
                after
            }
            [byte, after @ ..] => {
                word.push(*byte);
                after
            }
        };
    }
}

fn hex(high: u8, low: u8) -> Option<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    u8::try_from(digit(high)? * 16 + digit(low)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resp::Request;

    #[test]
    fn words_are_split_and_unquoted() {
        let cases: [(&[u8], &[&[u8]]); 7] = [
            (b"", &[]),
            (b"  \t ", &[]),
            (b" cf.add  k i ", &[b"cf.add", b"k", b"i"]),
            (br#"a "b c" 'd e'"#, &[b"a", b"b c", b"d e"]),
            (br#""\x41\n\"" '\'\n'"#, &[b"A\n\"", br"'\n"]),
            (br#""" x"#, &[b"", b"x"]),
            (br#""\xZZ""#, &[b"xZZ"]),
        ];
        for (line, expected) in cases {
            let (text, words) = words(line).unwrap();
            let request = Request::new(text.into(), words);
            assert_eq!(request.words().collect::<Vec<_>>(), expected);
        }
    }

    #[test]
    fn unbalanced_quotes_are_refused() {
        for line in [&br#""a"#[..], b"'a", br#""a"b"#, b"'a'b", br#""\"#] {
            assert!(matches!(words(line), Err(ProtocolError::UnbalancedQuotes)));
        }
    }
}
