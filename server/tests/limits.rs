//! Limits, and clients that exceed them.

use crate::common::{Protocol, Raw, Server, ask, memory, refusal, request, text, try_ask, until};
use redis::Value;
use std::{
    io::{Read, Write},
    net::TcpStream,
};

/// The number of idle connections: 10 000 in the long run, if the limit for open files permits.
fn idle() -> usize {
    const OTHER_FILES: usize = 200;
    let wanted = if crate::common::long() { 10_000 } else { 300 };
    let files = rlimit::increase_nofile_limit((wanted + OTHER_FILES) as u64).unwrap();
    wanted.min(usize::try_from(files).unwrap().saturating_sub(OTHER_FILES))
}

#[test]
fn one_client_too_many_is_told_so() {
    let server = Server::start(&["--maxclients", "2"]);
    let mut first = server.raw();
    let mut second = server.raw();
    assert_eq!(first.ask("PING\r\n"), "+PONG");
    assert_eq!(second.ask("PING\r\n"), "+PONG");
    assert_eq!(
        server.raw().rest(),
        b"-ERR max number of clients reached\r\n"
    );
    assert_eq!(first.ask("PING\r\n"), "+PONG");
    drop(second);
    until("the place of a client that went is free", || {
        let mut third = server.raw();
        third.send("PING\r\n");
        let mut reply = [0];
        third.0.read_exact(&mut reply).is_ok() && reply == *b"+"
    });
}

#[test]
fn arguments_have_limits() {
    let limits = [
        "--max-arguments",
        "5",
        "--max-argument-size",
        "1kb",
        "--max-request-size",
        "2kb",
    ];
    let server = Server::start(&limits);
    let long = "x".repeat(1024);
    let mut client = server.raw();
    assert_eq!(client.ask(request(&["CF.ADD", "k", &long])), ":1");
    assert_eq!(
        client.ask(request(&["CF.MEXISTS", "k", "a", "b", "c"])),
        "*3"
    );
    drop(client);
    let refused = [
        (
            request(&["CF.MEXISTS", "k", "a", "b", "c", "d"]),
            "invalid multibulk length",
        ),
        (
            request(&["CF.ADD", "k", &format!("{long}x")]),
            "invalid bulk length",
        ),
        // The error is sent before these bytes arrive.
        (b"*6\r\n".to_vec(), "invalid multibulk length"),
        (b"*1\r\n$1025\r\n".to_vec(), "invalid bulk length"),
    ];
    for (bytes, expected) in refused {
        let mut client = server.raw();
        client.send(bytes);
        let rest = String::from_utf8(client.rest()).unwrap();
        assert_eq!(rest, format!("-ERR Protocol error: {expected}\r\n"));
    }
    // The arguments are too large together, and arrive in two parts.
    let mut client = server.raw();
    client.send(format!("*4\r\n$10\r\nCF.MEXISTS\r\n$1024\r\n{long}\r\n"));
    client.send("$1024\r\n");
    assert_eq!(client.rest(), b"-ERR Protocol error: too big request\r\n");
    // The same arguments in one part.
    let mut client = server.raw();
    client.send(request(&["CF.MEXISTS", "k", &long, &long]));
    assert_eq!(client.rest(), b"-ERR Protocol error: too big request\r\n");
    // The same as an inline command.
    let mut client = server.raw();
    assert_eq!(client.ask("CF.MEXISTS k a b c\r\n"), "*3");
    for line in [
        "CF.MEXISTS k a b c d\r\n",
        &format!("CF.ADD k {long}x\r\n"),
        &" ".repeat(2048),
    ] {
        let mut client = server.raw();
        client.send(line);
        assert_eq!(
            client.rest(),
            b"-ERR Protocol error: too big inline request\r\n"
        );
    }
}

/// Each request is allowed, but together they are too large.
#[test]
fn unfinished_requests_have_a_limit_together() {
    let server = Server::start(&["--max-requests-memory", "20mb"]);
    let mut client = server.client(Protocol::Resp2);
    let before = server.resident_bytes();
    let half = [&b"*2\r\n$4\r\nECHO\r\n$6000000\r\n"[..], &[b'x'; 5_000_000]].concat();
    let mut waiting: Vec<Raw> = (0..8)
        .map(|_| {
            let mut one = server.raw();
            // The client may be disconnected while it writes.
            let _ = one.0.get_mut().write_all(&half);
            one
        })
        .collect();
    until("some were told so, and the others wait", || {
        let held = memory(&mut client, "used_memory_requests:");
        let info: String = ask(&mut client, "INFO clients");
        (5_000_000..20 << 20).contains(&held) && !info.contains("connected_clients:9\r\n")
    });
    assert!(server.resident_bytes().saturating_sub(before) < 64 << 20);
    // Waiting clients are served once they send the rest.
    let finished = waiting.iter_mut().filter_map(|one| {
        let sent = one
            .0
            .get_mut()
            .write_all(&[&[b'x'; 1_000_000][..], b"\r\n"].concat());
        let mut reply = [0];
        let read = sent.and_then(|()| one.0.read_exact(&mut reply));
        read.ok().filter(|()| reply == *b"$")
    });
    assert!((1..8).contains(&finished.count()));
    drop(waiting);
    until("what they held is given back", || {
        memory(&mut client, "used_memory_requests:") == 0
    });
}

/// Each command would be described as often as it is named.
#[test]
fn descriptions_have_a_limit() {
    let server = Server::start(&[]);
    let mut client = server.client(Protocol::Resp2);
    for command in ["COMMAND DOCS", "COMMAND INFO"] {
        let commands: i64 = ask(&mut client, "COMMAND COUNT");
        let names = |count: i64| format!("{command}{}", " TIME".repeat(count as usize));
        ask::<Value>(&mut client, &names(commands));
        assert_eq!(
            refusal(&mut client, &names(commands + 1)),
            format!(
                "ERR {} names, and there are {commands} commands",
                commands + 1
            )
        );
    }
}

#[test]
fn memory_has_a_limit() {
    let server = Server::start(&["--maxmemory", "1mb"]);
    let mut client = server.client(Protocol::Resp3);
    let refused = refusal(&mut client, "CF.RESERVE k 10000000");
    assert!(refused.starts_with("OOM the filter needs"), "{refused}");
    let refused = refusal(&mut client, "CF.RESERVE k 1099511627776");
    assert_eq!(
        refused,
        "Capacity must be in the range [2 * BUCKETSIZE, 25769803776]"
    );
    ask::<()>(&mut client, "CF.RESERVE k 100");
    // The filters grow, and exceed the limit together.
    let refused = (0..).find_map(|key| {
        let items: Vec<u32> = (0..20_000).collect();
        let mut command = redis::cmd("CF.INSERT");
        command
            .arg(key)
            .arg("ITEMS")
            .arg(items)
            .query::<Value>(&mut client)
            .err()
    });
    let refused = crate::common::text(&refused.unwrap());
    assert!(refused.starts_with("OOM "), "{refused}");
    assert!(used(&mut client) < 2 << 20);
    // Reads and deletes are still allowed, and make room.
    assert_eq!(ask::<i64>(&mut client, "CF.COUNT k a"), 0);
    ask::<()>(&mut client, "FLUSHALL");
    assert_eq!(used(&mut client), 0);
    assert!(ask::<bool>(&mut client, "CF.ADD k a"));
}

/// The bytes that a command needs which was refused with this error.
fn needed(refused: &str) -> u64 {
    let needed = refused.strip_prefix("OOM the filter needs ");
    let needed = needed.and_then(|rest| rest.split(' ').next()?.parse().ok());
    needed.unwrap_or_else(|| panic!("{refused}"))
}

/// A refused command names the bytes that the key takes where it is allowed.
#[test]
fn the_missing_memory_is_what_the_key_takes() {
    let large = Server::start(&[]);
    let mut large = large.client(Protocol::Resp2);
    let small = Server::start(&["--maxmemory", "65536"]);
    let mut small = small.client(Protocol::Resp2);
    for line in [
        "CF.RESERVE k 1000000 EXPANSION 0",
        "CF.RESERVE k 10000000 EXPANSION 0 ERROR 0.0001",
        "CF.RESERVE k 1000000 EXPANSION 0 WINDOW 60",
        "CF.INSERT k CAPACITY 3000000 EXPANSION 0 ITEMS a",
    ] {
        ask::<()>(&mut large, line);
        let needed = memory(&mut large, "used_memory_dataset:");
        let refused = refusal(&mut small, line);
        let expected = format!("OOM the filter needs {needed} bytes, and of maxmemory, 65536,");
        assert!(refused.starts_with(&expected), "{line}: {refused}");
        ask::<()>(&mut large, "FLUSHALL");
    }
    // A key that an insert creates, where nearly everything is taken.
    for key in 0.. {
        let inserted = try_ask::<bool>(&mut small, &format!("CF.ADDNX {key} x"));
        let Err(error) = inserted else { continue };
        let refused = text(&error);
        let needed = needed(&refused);
        let free = 65_536 - memory(&mut small, "used_memory_dataset:") as u64;
        assert!(needed > free && needed > 1000, "{refused}");
        break;
    }
}

/// The limit is what memory and the library allow.
#[test]
fn large_capacities_are_a_question_of_memory() {
    let server = Server::start(&["--maxmemory", "1mb"]);
    let mut client = server.client(Protocol::Resp2);
    for line in [
        "CF.RESERVE k 5000000000 EXPANSION 0",
        "CF.INSERT k CAPACITY 5000000000 EXPANSION 0 ITEMS a",
    ] {
        let refused = refusal(&mut client, line);
        assert!(needed(&refused) > 5_000_000_000, "{refused}");
    }
}

/// Dumps are in files, and the oldest makes room.
#[test]
fn dumps_have_a_limit() {
    let server = Server::start(&["--maxmemory", "8mb"]);
    let mut client = server.client(Protocol::Resp2);
    ask::<()>(&mut client, "CF.RESERVE k 1000000 EXPANSION 0");
    let filter = used(&mut client);
    for dumps in 1..=40 {
        // These dumps are never read to their end.
        let _: (u64, Vec<u8>) = ask(&mut client, "CF.SCANDUMP k 1");
        let in_progress = memory(&mut client, "dumps_in_progress:");
        assert_eq!(in_progress, dumps.min(16));
        assert!(memory(&mut client, "dumps_bytes_on_disk:") > in_progress << 20);
        assert_eq!(used(&mut client), filter);
    }
    ask::<()>(&mut client, "DEL k");
    assert_eq!(memory(&mut client, "dumps_bytes_on_disk:"), 0);
    assert!(server.resident_bytes() < 100 << 20);
}

/// The bytes that the server has charged.
fn used(client: &mut redis::Connection) -> usize {
    memory(client, "used_memory:")
}

#[test]
fn a_key_that_goes_takes_its_dumps_and_loads_along() {
    let server = Server::start(&[]);
    let mut client = server.client(Protocol::Resp2);
    for end in ["DEL k copy", "FLUSHALL"] {
        ask::<()>(&mut client, "CF.RESERVE k 100000");
        let (_, header): (u64, Vec<u8>) = ask(&mut client, "CF.SCANDUMP k 0");
        let (next, piece): (u64, Vec<u8>) = ask(&mut client, "CF.SCANDUMP k 1");
        let load = |position: u64, data: &[u8], client: &mut redis::Connection| {
            let mut command = redis::cmd("CF.LOADCHUNK");
            let command = command.arg("copy").arg(position).arg(data);
            command.query::<()>(client)
        };
        load(1, &header, &mut client).unwrap();
        let half = &piece[..piece.len() / 2];
        load(half.len() as u64, half, &mut client).unwrap();
        ask::<()>(&mut client, end);
        assert_eq!(used(&mut client), 0, "{end}");
        let again = load(piece.len() as u64, &piece[half.len()..], &mut client);
        assert_eq!(crate::common::text(&again.unwrap_err()), "ERR not found");
        assert_eq!(
            refusal(&mut client, &format!("CF.SCANDUMP k {next}")),
            "ERR not found"
        );
    }
}

#[test]
fn keys_and_patterns_have_limits() {
    let server = Server::start(&[]);
    let mut client = server.client(Protocol::Resp2);
    let longest = "k".repeat(4096);
    assert!(ask::<bool>(&mut client, &format!("CF.ADD {longest} a")));
    assert_eq!(
        ask::<Vec<String>>(&mut client, &format!("KEYS {longest}")),
        [&*longest]
    );
    for command in ["CF.ADD {} a", "CF.RESERVE {} 100", "CF.LOADCHUNK {} 1 x"] {
        assert_eq!(
            refusal(&mut client, &command.replace("{}", &format!("{longest}k"))),
            "ERR the key has 4097 bytes, and 4096 are allowed"
        );
    }
    for command in ["KEYS {}", "SCAN 0 MATCH {}"] {
        assert_eq!(
            refusal(&mut client, &command.replace("{}", &format!("{longest}*"))),
            "ERR the pattern has 4097 bytes, and 4096 are allowed"
        );
    }
    assert_eq!(ask::<i64>(&mut client, "DBSIZE"), 1);
}

/// A fleet of hostile clients. The server still serves others, and its memory stays bounded.
#[test]
fn hostile_clients_harm_nobody_else() {
    let limit = 4 << 20;
    let server = Server::start(&["--max-output", "4mb", "--maxclients", "10200"]);
    let mut honest = server.client(Protocol::Resp3);
    ask::<()>(&mut honest, "CF.RESERVE k 1000");
    let before = server.resident_bytes();

    // Many clients that send nothing.
    let idle: Vec<TcpStream> = (0..idle())
        .map(|_| TcpStream::connect(("127.0.0.1", server.port)).unwrap())
        .collect();
    until("they are all there", || {
        let info: String = ask(&mut honest, "INFO clients");
        info.contains(&format!("connected_clients:{}\r\n", idle.len() + 1))
    });
    let kept = server.resident_bytes().saturating_sub(before) / idle.len();
    eprintln!("{} idle clients, {kept} bytes each", idle.len());
    // Clients that send half a request which announces a large one.
    let mut half: Vec<Raw> = (0..20).map(|_| server.raw()).collect();
    for (index, client) in half.iter_mut().enumerate() {
        client.send("*1000000\r\n$16777216\r\n");
        client.send(vec![b'x'; 1 << (index % 10)]);
    }
    // Garbage from a small generator.
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    for _ in 0..50 {
        let mut garbage = Vec::new();
        for _ in 0..4_096 {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            garbage.push(state as u8);
        }
        let mut stream = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
        // The server may close the connection during this.
        let _ = stream
            .write_all(b"*1\r\n$1\r\n")
            .and_then(|()| stream.write_all(&garbage));
    }
    // A client that sends and never reads.
    let mut deaf = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
    let echo = request(&["ECHO", &"x".repeat(60_000)]);
    let disconnected = (0..10_000).any(|_| deaf.write_all(&echo).is_err());
    assert!(
        disconnected,
        "a client cannot make the server keep replies without end"
    );

    for item in 0..1_000 {
        assert!(ask::<bool>(&mut honest, &format!("CF.ADD k {item}")));
    }
    let info: String = ask(&mut honest, "INFO");
    assert!(
        info.contains("client_output_limit_disconnections:1\r\n"),
        "{info}"
    );
    let grown = server.resident_bytes().saturating_sub(before);
    let most = limit + idle.len() * (32 << 10) + (32 << 20);
    assert!(grown < most, "{grown} bytes more, of {most} at most");
}

/// The client always has replies to read, but never too many. The server keeps little more than
/// these.
#[test]
fn a_client_that_never_catches_up_is_served_in_bounded_memory() {
    const REPLY: usize = 1 << 20;
    // More replies than the sockets hold.
    const BEHIND: usize = 24;
    let server = Server::start(&[]);
    let mut client = server.raw();
    let before = server.resident_bytes();
    let echo = request(&["ECHO", &"x".repeat(REPLY)]);
    let mut reply = vec![0; format!("${REPLY}\r\n").len() + REPLY + 2];
    for sent in 0..500 {
        client.send(&echo);
        if sent >= BEHIND {
            client.0.read_exact(&mut reply).unwrap();
            assert!(reply.starts_with(b"$1048576\r\nx") && reply.ends_with(b"x\r\n"));
        }
    }
    let grown = server.resident_bytes().saturating_sub(before);
    assert!(grown < 6 * BEHIND * REPLY, "{grown} bytes more");
}

#[test]
fn idle_clients_are_disconnected_if_so_configured() {
    let server = Server::start(&["--timeout", "1"]);
    assert_eq!(server.raw().0.read(&mut [0]).unwrap(), 0);
}

/// A web page can make a browser post to this port. The server does not run what it posts.
#[test]
fn a_browser_is_disconnected() {
    let server = Server::start(&[]);
    let mut honest = server.client(Protocol::Resp2);
    ask::<()>(&mut honest, "CF.ADD k a");
    for head in ["POST / HTTP/1.1", "host: 127.0.0.1:6379"] {
        let mut browser = server.raw();
        browser.send(format!("{head}\r\n\r\nDEL k\r\n"));
        assert_eq!(browser.rest(), b"");
    }
    assert!(ask::<i64>(&mut honest, "CF.EXISTS k a") == 1);
}
