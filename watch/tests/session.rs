//! The filter of the page gives the same results as the public one.
#![cfg(guira_faults)]

use guira::{CuckooFilter, InsertError};
use guira_watch::session::Session;

/// The value of a field in a reply.
fn field<'a>(reply: &'a str, name: &str) -> &'a str {
    let start = reply.find(&format!("\"{name}\":")).expect("the field") + name.len() + 3;
    reply[start..].split([',', '}']).next().unwrap_or_default()
}

#[test]
fn it_answers_like_the_public_filter() {
    let filter = CuckooFilter::builder()
        .capacity(100)
        .fingerprint_bits(15)
        .seed(7)
        .build()
        .expect("a filter");
    let mut session = Session::default();
    session.answer(&format!("new\t15x4\t{}\t0\t7", filter.buckets()));
    let (mut state, mut refused) = (1_u64, 0);
    for _ in 0..2000 {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let word = format!("word {}", (state >> 40) % 150);
        let (command, expected) = match state >> 33 & 7 {
            0..4 => {
                let inserted = filter.insert(&word);
                if let Err(error) = inserted {
                    let expected = [InsertError::Full, InsertError::TooManyCopies];
                    assert!(expected.contains(&error), "{error:?}");
                    refused += 1;
                }
                ("insert", inserted.is_ok().to_string())
            }
            4 => ("remove", filter.remove(&word).to_string()),
            5 => ("count", filter.count(&word).to_string()),
            _ => ("contains", filter.contains(&word).to_string()),
        };
        let reply = session.answer(&format!("{command}\t{word}"));
        assert_eq!(field(&reply, "answer"), expected, "{command} {word}");
        assert_eq!(
            field(&reply[reply.rfind("\"len\"").expect("len")..], "len"),
            filter.len().to_string()
        );
    }
    assert!(
        refused > 0 && filter.load_factor() > 0.5,
        "{refused} refused"
    );
}

#[test]
fn what_is_not_a_command_is_refused() {
    let mut session = Session::default();
    for command in [
        "",
        "no",
        "insert",
        "new\t9x9\t8\t0\t1",
        "new\t8x2\t7\t0\t1",
        "new\t8x2\t8\t9\t1",
        "step\t0",
        "duet\tlookup\tNoFault",
    ] {
        assert!(session.answer(command).contains("error"), "{command:?}");
    }
}
