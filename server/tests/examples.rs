//! The examples work.

use crate::common::{Protocol, Server, ask, refusal};
use std::{
    io::{self, BufRead, BufReader, Write},
    net::TcpListener,
    thread,
};

#[path = "../examples/move_filter.rs"]
#[allow(dead_code)]
mod move_filter;

#[path = "../examples/come_over.rs"]
#[allow(dead_code)]
mod come_over;

#[path = "../examples/parallel_build.rs"]
#[allow(dead_code)]
mod parallel_build;

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

/// A filter can be changed on either side, and the other side sees the change.
#[test]
fn a_filter_goes_from_the_server_into_a_program_and_back() {
    let server = Server::start(&[]);
    let mut client = server.client(Protocol::Resp2);
    // One filter has more than one piece, and one can grow.
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
        // Another item may share its fingerprint.
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

/// A `str` is hashed with a terminator, and the server hashes only the bytes.
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

/// Listens for one client, and replies to each command on several items as if it had one item.
fn one_answer_per_command() -> (redis::Client, thread::JoinHandle<io::Result<()>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("redis://{}", listener.local_addr().unwrap());
    let serve = move || -> io::Result<()> {
        let (mut stream, _) = listener.accept()?;
        let mut lines = BufReader::new(stream.try_clone()?).lines();
        // The number of words comes first, then the length of each word and the word.
        while let Some(head) = lines.next().transpose()? {
            let words: usize = head[1..].parse().map_err(io::Error::other)?;
            let texts: Vec<String> = lines.by_ref().take(2 * words).collect::<Result<_, _>>()?;
            let reply = match texts[1].starts_with("CF.") {
                true => "*1\r\n:1\r\n",
                false => "+OK\r\n",
            };
            stream.write_all(reply.as_bytes())?;
        }
        Ok(())
    };
    (redis::Client::open(url).unwrap(), thread::spawn(serve))
}

#[test]
fn a_short_reply_of_another_server_is_an_error() {
    use come_over::{Insert, compare, insert};
    let items = || ["a", "b"].map(|item| Ok(item.into())).into_iter();
    let (short, serving) = one_answer_per_command();
    let mut short = short.get_connection().unwrap();
    let server = Server::start(&[]);
    let mut whole = server.client(Protocol::Resp2);
    ask::<()>(&mut whole, "CF.RESERVE k 100");
    let error = insert(&mut short, "k", Insert::Copy, items()).unwrap_err();
    let expected = "CF.INSERT of 2 items got 1 replies";
    assert_eq!(error.to_string(), expected);
    let expected = "CF.MEXISTS of 2 items got 1 replies";
    let error = compare([&mut short, &mut whole], "k", items()).unwrap_err();
    assert_eq!(error.to_string(), expected);
    let error = compare([&mut whole, &mut short], "k", items()).unwrap_err();
    assert_eq!(error.to_string(), expected);
    drop(short);
    serving.join().unwrap().unwrap();
}

/// An application writes to both servers while the items of the source of truth are inserted.
#[test]
fn a_key_comes_over_from_another_server() {
    use come_over::{Insert, compare, insert};
    let (old_server, new_server) = (Server::start(&[]), Server::start(&[]));
    let mut old = old_server.client(Protocol::Resp2);
    let mut new = new_server.client(Protocol::Resp2);
    let items = |range: std::ops::Range<u32>| range.map(|item| Ok(item.to_string().into_bytes()));
    let missing_key = insert(&mut new, "k", Insert::Copy, items(0..1));
    assert!(
        missing_key.is_err(),
        "it is not created without its options"
    );
    ask::<()>(&mut old, "CF.RESERVE k 5000");
    let rate = "CF.RESERVE k 50000 ERROR 0.000001 EXPANSION 0";
    ask::<()>(&mut new, rate);
    insert(&mut old, "k", Insert::Copy, items(0..2_500)).unwrap();
    let before = compare([&mut old, &mut new], "k", items(0..2_500)).unwrap();
    assert_eq!((before.both, before.only_old), (0, 2_500));
    assert_eq!(before.missing.len(), 10);
    for server in [&mut old, &mut new] {
        ask::<()>(server, "CF.ADD k 2500");
        ask::<()>(server, "CF.ADD k 0");
    }
    let inserted = insert(&mut new, "k", Insert::Absent, items(0..2_500)).unwrap();
    assert_eq!((inserted.added, inserted.present), (2_499, 1));
    let after = compare([&mut old, &mut new], "k", items(0..2_501)).unwrap();
    assert_eq!((after.both, after.missing), (2_501, Vec::new()));
    // This inserts one more copy of each item.
    let inserted = insert(&mut new, "k", Insert::Copy, items(0..2_000)).unwrap();
    assert_eq!((inserted.added, inserted.refused), (2_000, 0));
    assert_eq!(ask::<u32>(&mut new, "CF.COUNT k 1"), 2);
    ask::<()>(&mut new, "CF.DEL k 2400");
    let differs = compare([&mut old, &mut new], "k", items(0..2_501)).unwrap();
    assert_eq!((differs.both, differs.only_old), (2_500, 1));
    assert_eq!(differs.missing, [b"2400".to_vec()]);
}

/// The result is that of one worker.
#[test]
fn eight_workers_build_one_key() {
    use parallel_build::build;
    let server = Server::start(&[]);
    let url = format!("redis://127.0.0.1:{}", server.port);
    let client = redis::Client::open(url).unwrap();
    let server = &mut server.client(Protocol::Resp2);
    // At this rate and with this seed no item is mistaken for another one.
    ask::<()>(server, "CF.RESERVE one 100000 ERROR 0.0000001 SEED 1");
    ask::<()>(server, "CF.RESERVE eight LIKE one");
    // Some items are in the shares of two workers.
    let items: Vec<_> = (0..50_000_u32)
        .chain(0..100)
        .map(|item| item.to_string().into_bytes())
        .collect();
    build(&client, "one", 1, &items).unwrap();
    build(&client, "eight", 8, &items).unwrap();
    let digest = |server: &mut redis::Connection| {
        ["one", "eight"].map(|key| ask::<String>(server, &format!("CF.DIGEST {key}")))
    };
    let [one, eight] = digest(server);
    assert_eq!(one, eight);
    assert_eq!(ask::<usize>(server, "DBSIZE"), 2);
    // A repeated build changes nothing.
    build(&client, "eight", 8, &items).unwrap();
    build(&client, "eight", 8, &[]).unwrap();
    assert_eq!(digest(server), [one, eight]);
    let missing = build(&client, "none", 8, &items);
    let error = missing.unwrap_err().to_string();
    assert!(error.contains("the key 'none' does not exist"), "{error}");
}
