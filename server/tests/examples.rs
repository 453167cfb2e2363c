//! What the examples show.

use crate::common::{Protocol, Server, ask, refusal};

#[path = "../examples/move_filter.rs"]
#[allow(dead_code)]
mod move_filter;

#[path = "../examples/man.rs"]
#[allow(dead_code)]
mod man;

#[test]
fn the_manual_page_has_every_section_and_the_values_of_options() {
    let page = String::from_utf8(man::page().unwrap()).unwrap();
    let sections: Vec<_> = page
        .lines()
        .filter_map(|line| line.strip_prefix(".SH "))
        .map(|title| title.trim_matches('"'))
        .collect();
    for title in [
        "SYNOPSIS",
        "OPTIONS",
        "ENVIRONMENT",
        "SIGNALS",
        "FILES",
        "EXIT STATUS",
    ] {
        assert!(sections.contains(&title), "{title} is not in {sections:?}");
    }
    let synopsis = page.split("SYNOPSIS").nth(1).unwrap();
    let synopsis = synopsis.split(".SH").next().unwrap().replace("\\-", "-");
    for option in ["[--dir DIRECTORY]", "[--save-every TIME]", "[--bind HOST]"] {
        assert!(synopsis.contains(option), "{synopsis}");
    }
    assert!(page.contains("SIGHUP") && page.contains("guira.save"));
}

/// What is done to it in either place is there in the other one.
#[test]
fn a_filter_goes_from_the_server_into_a_program_and_back() {
    let server = Server::start(&[]);
    let mut client = server.client(Protocol::Resp2);
    // More than one piece, and one that grows.
    for reserve in [
        "CF.RESERVE k 2000000 EXPANSION 0",
        "CF.RESERVE k 100 EXPANSION 2",
    ] {
        ask::<()>(&mut client, reserve);
        for item in 0..500 {
            assert!(ask::<bool>(&mut client, &format!("CF.ADD k {item}")));
        }
        let (header, filter) = move_filter::fetch(&mut client, "k").unwrap();
        assert_eq!(filter.len(), 500);
        assert!(filter.contains(b"123"));
        filter.insert(b"new").unwrap();
        let copies = filter.count(b"123");
        assert!(filter.remove(b"123"));
        move_filter::store(&mut client, "copy", &header, &filter).unwrap();
        assert!(ask::<bool>(&mut client, "CF.EXISTS copy new"));
        assert!(ask::<bool>(&mut client, "CF.EXISTS copy 124"));
        // Others may have its fingerprint.
        assert_eq!(ask::<usize>(&mut client, "CF.COUNT copy 123"), copies - 1);
        let expansion = |key: &str, client: &mut redis::Connection| {
            let info =
                ask::<std::collections::HashMap<String, i64>>(client, &format!("CF.INFO {key}"));
            info["Expansion rate"]
        };
        assert_eq!(expansion("copy", &mut client), expansion("k", &mut client));
        let exists = move_filter::store(&mut client, "copy", &header, &filter);
        assert!(exists.is_err());
        ask::<()>(&mut client, "FLUSHALL");
        refusal(&mut client, "CF.INFO copy");
    }
}

/// A text is hashed with an end, and the server hashes bytes.
#[test]
fn a_text_is_another_item_than_its_bytes() {
    let server = Server::start(&[]);
    let mut client = server.client(Protocol::Resp2);
    ask::<()>(&mut client, "CF.RESERVE k 1000 EXPANSION 0 ERROR 0.000001");
    ask::<()>(&mut client, "CF.ADD k hello");
    let (_, filter) = move_filter::fetch(&mut client, "k").unwrap();
    assert!(filter.contains(b"hello"));
    assert!(filter.contains("hello".as_bytes()));
    assert!(filter.contains(&b"hello".to_vec()));
    assert!(!filter.contains("hello"));
}
