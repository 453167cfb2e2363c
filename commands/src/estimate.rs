//! What a key will take, before it is made.

use crate::{Growth, Reply, options};
use guira::Estimate;

/// What the filter will take at each size that `CF.RESERVE key` makes with these arguments, the capacity
/// first, where `memory` bytes are allowed. The error is that of `CF.RESERVE`.
///
/// # Errors
///
/// Arguments that the command refuses, and filters that the library refuses.
pub fn estimate(arguments: &[&[u8]], memory: usize) -> Result<Estimate, String> {
    let [capacity, pairs @ ..] = arguments else {
        return Err("a capacity is missing".into());
    };
    let (pairs, []) = pairs.as_chunks::<2>() else {
        return Err("an option has no value".into());
    };
    let wanted = options::of_reserve(capacity, pairs).map_err(|reply| match reply {
        Reply::Error(text) => text.into_owned(),
        other => format!("{other:?}"),
    })?;
    let growth = Growth::of(&wanted, memory).map_err(|error| error.to_string())?;
    growth.estimate(&wanted).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Filter;

    #[test]
    fn a_key_takes_what_was_estimated() {
        for (arguments, pairs) in [
            (&["1000"][..], &[][..]),
            (&["1000", "EXPANSION", "0"], &[[&b"EXPANSION"[..], b"0"]]),
            (&["1000", "ERROR", "0.0001"], &[[b"ERROR", b"0.0001"]]),
        ] {
            let words: Vec<&[u8]> = arguments.iter().map(|word| word.as_bytes()).collect();
            let estimate = estimate(&words, usize::MAX).unwrap();
            let wanted = options::of_reserve(b"1000", pairs).unwrap();
            let growth = Growth::of(&wanted, usize::MAX).unwrap();
            let filter = Filter::build(wanted.options, growth).unwrap();
            assert_eq!(estimate.bytes(), filter.memory_usage(), "{arguments:?}");
            let end = estimate.sizes().last().unwrap().items;
            assert_eq!(end, filter.max_capacity(), "{arguments:?}");
        }
    }

    #[test]
    fn refusals_are_those_of_the_command() {
        let refused = |words: &[&[u8]]| estimate(words, 1 << 20).unwrap_err();
        assert_eq!(refused(&[]), "a capacity is missing");
        assert_eq!(refused(&[b"100", b"ERROR"]), "an option has no value");
        assert_eq!(refused(&[b"many"]), "Bad capacity");
        let large = refused(&[b"1000", b"MAXCAPACITY", b"100000000"]);
        assert!(large.starts_with("the filter would grow to "), "{large}");
    }
}
