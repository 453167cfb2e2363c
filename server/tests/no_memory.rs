//! If the system refuses memory for a request or a reply, that request fails, and the server keeps
//! serving.
#![cfg(target_os = "linux")]

use crate::common::{Protocol, Server, ask, memory, refusal, request, try_ask, until};
use redis::Connection;
use std::io::Write;
use tempfile::TempDir;

const MB: usize = 1 << 20;

/// The memory of the server in addition to its filters.
const ROOM: usize = MB / 2;

/// Creates filters of 8 MB and smaller until there is no room for half a megabyte.
fn fill(client: &mut Connection) {
    let mut filters = 0;
    for bytes in [8 * MB, 4 * MB, 2 * MB, MB, MB / 2] {
        // At the default rate an item takes 13 bits.
        let capacity = bytes * 8 / 13;
        loop {
            let command = format!("CF.RESERVE fill:{filters} {capacity} EXPANSION 0");
            match try_ask::<()>(client, &command) {
                Ok(()) => filters += 1,
                Err(error) => {
                    let text = crate::common::text(&error);
                    assert!(text.contains("no memory"), "{text}");
                    break;
                }
            }
            assert!(filters < 1000, "the limit does not hold");
        }
    }
}

/// A server with `keys` keys of 4 KB and a filter of 2 MB, and with half a megabyte left.
fn full(keys: usize) -> (TempDir, Server) {
    let directory = TempDir::new().unwrap();
    let dir = directory.path().to_str().unwrap();
    let server = Server::start(&["--maxmemory", "0", "--threads", "2", "--dir", dir]);
    let mut client = server.client(Protocol::Resp2);
    ask::<()>(&mut client, "CF.RESERVE k 1000000 EXPANSION 0");
    let long = "x".repeat(4000);
    for number in 0..keys {
        ask::<()>(
            &mut client,
            &format!("CF.RESERVE key:{number}:{long} 4 EXPANSION 0"),
        );
    }
    // All threads have started and allocated their initial memory.
    ask::<()>(&mut client, "SAVE");
    ask::<redis::Value>(&mut client, "CF.SCANDUMP k 1");
    ask::<redis::Value>(&mut client, "CF.SCANDUMP k 0");
    ask::<redis::Value>(&mut client, "KEYS x");
    server.limit_address_space(32 * MB);
    fill(&mut client);
    server.limit_address_space(ROOM);
    (directory, server)
}

/// Asserts that the server still replies to others.
fn is_well(server: &Server) {
    let mut client = server.client(Protocol::Resp2);
    ask::<()>(&mut client, "CF.ADD k a");
    assert!(ask::<bool>(&mut client, "CF.EXISTS k a"));
}

#[test]
fn a_large_request_is_refused() {
    let (_directory, mut server) = full(0);
    let mut client = server.raw();
    let words = request(&["ECHO", &"x".repeat(15 * MB)]);
    // The server may close the connection during this.
    let _ = client.0.get_mut().write_all(&words);
    assert_eq!(
        String::from_utf8(client.rest()).unwrap(),
        "-ERR Protocol error: there is no memory for the request\r\n"
    );
    assert!(server.process.try_wait().unwrap().is_none());
    is_well(&server);
    let mut client = server.client(Protocol::Resp2);
    until("what it held is given back", || {
        memory(&mut client, "used_memory_requests:") == 0
    });
}

/// At first there is memory for neither the piece nor the reply, then for the piece, and at last
/// for both.
#[test]
fn a_piece_of_a_dump_is_refused() {
    let (_directory, mut server) = full(0);
    let mut client = server.client(Protocol::Resp2);
    let mut refusals = Vec::new();
    for room in (ROOM..16 * MB).step_by(MB / 8) {
        server.limit_address_space(room);
        match try_ask::<(u64, Vec<u8>)>(&mut client, "CF.SCANDUMP k 1") {
            Ok(_) => break,
            Err(error) => refusals.push(crate::common::text(&error)),
        }
    }
    assert!(server.process.try_wait().unwrap().is_none());
    let read = "ERR the dump cannot be read: out of memory";
    let sent = "OOM there is no memory for the reply";
    assert_eq!(refusals.first().map(String::as_str), Some(read));
    assert_eq!(
        refusals.last().map(String::as_str),
        Some(sent),
        "{refusals:?}"
    );
    is_well(&server);
}

#[test]
fn a_reply_of_twenty_megabytes_is_refused() {
    let (_directory, mut server) = full(5000);
    let mut client = server.client(Protocol::Resp2);
    let refused = refusal(&mut client, "KEYS *");
    assert_eq!(refused, "OOM there is no memory for the reply");
    assert!(server.process.try_wait().unwrap().is_none());
    is_well(&server);
    // This command needs little memory.
    ask::<()>(&mut client, "FLUSHALL");
    assert_eq!(ask::<Vec<String>>(&mut client, "KEYS *"), [""; 0]);
}
