//! Commands from two clients, without sockets; the fuzzer uses it, too.

use bytes::Bytes;
use clap::Parser;
use guira_server::{
    commands::{self, Reply},
    config::Config,
    persist::Saver,
    resp::{Decoder, Limits, Protocol, encode},
    server::Server,
    session::Session,
};
use std::{sync::Arc, time::Duration};

const LIMITS: Limits = Limits {
    arguments: 20,
    argument_bytes: 256,
    request_bytes: 1024,
};

/// Runs the commands in `bytes`, as far as they are valid. Every reply is one frame in either
/// protocol, and all memory is freed with the keys and the clients. A command without a name
/// switches to the other client.
pub(crate) fn work(bytes: &[u8]) {
    let config = Config::parse_from(["", "--maxmemory", "1mb", "--slowlog-log-slower-than", "0"]);
    let saver = Saver::open(None).expect("nothing is opened");
    let server = Arc::new(Server::new(config, saver));
    let mut clients = [1, 2].map(|id| Session::new(id, format!("client {id}"), true));
    let mut decoder = Decoder::default();
    decoder.buffer().extend_from_slice(bytes);
    let mut turn = 0;
    while let Ok(Some(request)) = decoder.next(&LIMITS) {
        let words: Vec<&[u8]> = request.words().collect();
        if words[0].is_empty() {
            turn = 1 - turn;
            continue;
        }
        let session = &mut clients[turn];
        let reply = match server.commands.find(words[0]) {
            Some(command) => commands::call(&server, session, command, &words),
            None => commands::unknown(session, &words),
        };
        check(&reply);
    }
    drop(clients);
    let keyspace = &server.store.keyspace;
    keyspace.clear();
    server.store.expire(Duration::ZERO);
    assert_eq!(keyspace.used(), 0, "{}", bytes.escape_ascii());
    assert_eq!(keyspace.expiring(), 0, "{}", bytes.escape_ascii());
    assert_eq!(keyspace.windows(), 0, "{}", bytes.escape_ascii());
}

fn check(reply: &Reply) {
    if *reply == Reply::Silence {
        return;
    }
    let mut out = Vec::new();
    encode(reply, Protocol::Resp2, &mut out).expect("there is memory");
    let (_, rest) = resp_rs::resp2::parse_frame(Bytes::from(out)).expect("a frame");
    assert!(rest.is_empty());
    let mut out = Vec::new();
    encode(reply, Protocol::Resp3, &mut out).expect("there is memory");
    let (_, rest) = resp_rs::resp3::parse_frame(Bytes::from(out)).expect("a frame");
    assert!(rest.is_empty());
}
