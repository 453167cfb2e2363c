//! Clients that send and never read, that never authenticate, or that all connect at once.

use crate::common::{PATIENCE, Protocol, Raw, Server, ask, info, long, memory, request, until};
use redis::Connection;
use socket2::{Domain, Socket, Type};
use std::{
    io::{BufReader, Read, Write},
    net::{Ipv4Addr, SocketAddr, TcpStream},
    sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
    thread,
};

const MB: usize = 1 << 20;

const NOAUTH: &str = "-NOAUTH Authentication required.";

/// A connection with small socket buffers, which never reads.
fn deaf(server: &Server) -> TcpStream {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    socket.set_recv_buffer_size(4096).unwrap();
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, server.port));
    socket.connect(&address.into()).unwrap();
    socket.set_write_timeout(Some(PATIENCE)).unwrap();
    socket.into()
}

fn with_password(arguments: &[&str]) -> Server {
    Server::start(&[&["--requirepass", "secret"], arguments].concat())
}

/// A client that has authenticated.
fn authenticated(server: &Server) -> Connection {
    let url = format!("redis://:secret@127.0.0.1:{}/", server.port);
    let client = redis::Client::open(url).unwrap();
    let connection = client.get_connection().unwrap();
    connection.set_read_timeout(Some(PATIENCE)).unwrap();
    connection
}

/// Waits until the server closes the connection, and returns whether it did.
fn is_closed(mut client: Raw) -> bool {
    matches!(client.0.read_to_end(&mut Vec::new()), Ok(0))
}

/// The class of CVE-2025-21605: each command costs 6 bytes, and its reply 33.
#[test]
fn clients_without_a_password_cannot_make_the_server_keep_replies() {
    const CLIENTS: usize = 100;
    let all = if long() { 1024 * MB } else { 96 * MB };
    // If this were the only limit, it would allow 100 MB.
    let server = with_password(&["--max-output", "1mb"]);
    let mut honest = authenticated(&server);
    ask::<()>(&mut honest, "CF.RESERVE k 100000");
    let before = server.resident_bytes();
    let (sent, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let done = AtomicBool::new(false);
    let commands = b"PING\r\n".repeat(2_000);
    thread::scope(|scope| {
        let watch = scope.spawn(|| {
            while !done.load(Relaxed) {
                most.fetch_max(server.resident_bytes(), Relaxed);
                thread::yield_now();
            }
        });
        let hostile: Vec<_> = (0..CLIENTS)
            .map(|_| {
                scope.spawn(|| {
                    let mut stream = deaf(&server);
                    let mut disconnected = false;
                    // The system may buffer what the server has not read, so each client sends
                    // until it has been disconnected once.
                    while sent.fetch_add(commands.len(), Relaxed) < all || !disconnected {
                        if stream.write_all(&commands).is_err() {
                            disconnected = true;
                            stream = deaf(&server);
                        }
                    }
                })
            })
            .collect();
        // Honest clients are served as usual.
        let mut item = 0;
        while !hostile.iter().all(thread::ScopedJoinHandle::is_finished) {
            assert!(ask::<bool>(&mut honest, &format!("CF.ADD k {item}")));
            item += 1;
        }
        done.store(true, Relaxed);
        watch.join().unwrap();
        eprintln!("{item} inserts of another client");
    });
    let grown = most.into_inner().saturating_sub(before);
    eprintln!("{} bytes sent, resident + {grown}", sent.into_inner());
    assert!(grown <= 16 * MB, "{grown} bytes more are resident");
    let disconnected = info(&mut honest, "stats", "unauthenticated_disconnections:");
    assert!(
        disconnected > 0,
        "clients that do not read are disconnected"
    );
}

#[test]
fn parked_requests_without_a_password_leave_room_for_others() {
    const PARKED: usize = 200;
    let server = with_password(&["--max-requests-memory", "1mb"]);
    let mut watch = authenticated(&server);
    let large = [
        &b"*10\r\n"[..],
        &request(&["x".repeat(16_000)])[4..].repeat(3),
        b"$16000\r\n",
        &[b'x'; 14_000],
    ]
    .concat();
    let small = [
        &b"*3\r\n"[..],
        &request(&["x".repeat(1_000)])[4..].repeat(2),
    ]
    .concat();
    let parked: Vec<Raw> = (0..PARKED)
        .map(|number| {
            let mut one = server.raw();
            let bytes = if number % 2 == 0 { &large } else { &small };
            // The client may be disconnected before it has sent everything.
            let _ = one.0.get_mut().write_all(bytes);
            one
        })
        .collect();
    // The small requests are kept. Their memory is bounded, and counts towards another pool.
    until("some are parked", || {
        memory(&mut watch, "used_memory_unauthenticated:") > PARKED / 2 * 2_000
    });
    assert!(memory(&mut watch, "used_memory_unauthenticated:") < PARKED * 8 * 1024);
    assert_eq!(memory(&mut watch, "used_memory_requests:"), 0);
    let mut honest = server.raw();
    assert_eq!(honest.ask("AUTH secret\r\n"), "+OK");
    let add = request(&["CF.ADD", "k", &"x".repeat(100_000)]);
    let (half, rest) = add.split_at(60_000);
    honest.send(half);
    until("a half has come", || {
        memory(&mut watch, "used_memory_requests:") >= half.len()
    });
    assert_eq!(honest.ask(rest), ":1");
    drop(parked);
    until("what they held is given back", || {
        memory(&mut watch, "used_memory_unauthenticated:") == 0
    });
}

#[test]
fn requests_without_a_password_are_small() {
    let server = with_password(&[]);
    for (bytes, expected) in [
        (&b"*11\r\n"[..], "invalid multibulk length"),
        (b"*1\r\n$1025\r\n", "invalid bulk length"),
        (&[b'x'; 4096], "too big inline request"),
    ] {
        let mut client = server.raw();
        client.send(bytes);
        let rest = String::from_utf8(client.rest()).unwrap();
        assert_eq!(rest, format!("-ERR Protocol error: {expected}\r\n"));
    }
    // A client that has authenticated is trusted with more, even within the same bytes.
    let mut client = server.raw();
    let long = "x".repeat(100_000);
    client.send([request(&["AUTH", "secret"]), request(&["ECHO", &long])].concat());
    assert_eq!(client.line(), "+OK");
    assert_eq!(client.line(), "$100000");
    assert_eq!(client.line(), long);
}

#[test]
fn commands_cannot_be_enumerated_without_a_password() {
    let server = with_password(&["--disable-command", "FLUSHALL"]);
    let mut client = server.raw();
    for words in [
        "PING",
        "PING a b c",
        "FLUSHALL",
        "NOSUCH",
        "NOSUCH a b",
        "CF.ADD",
        "CF.NONE k i",
        "CONFIG GET *",
    ] {
        assert_eq!(client.ask(format!("{words}\r\n")), NOAUTH, "{words}");
    }
    assert_eq!(client.ask("AUTH secret\r\n"), "+OK");
    assert_eq!(client.ask("PING\r\n"), "+PONG");
    assert!(client.ask("NOSUCH\r\n").starts_with("-ERR unknown command"));
}

#[test]
fn a_client_that_does_not_authenticate_is_disconnected() {
    let server = with_password(&["--authentication-timeout", "1"]);
    let mut honest = server.raw();
    assert_eq!(honest.ask("AUTH secret\r\n"), "+OK");
    let mut reset = server.raw();
    assert_eq!(reset.ask("AUTH secret\r\n"), "+OK");
    assert_eq!(reset.ask("RESET\r\n"), "+RESET");
    let mut busy = server.raw();
    assert_eq!(busy.ask("PING\r\n"), NOAUTH);
    assert!(is_closed(server.raw()));
    assert!(is_closed(reset));
    assert!(is_closed(busy));
    // The timeout of this client has also passed, but it has authenticated.
    assert_eq!(honest.ask("PING\r\n"), "+PONG");
    assert_eq!(
        Server::start(&["--authentication-timeout", "1"])
            .raw()
            .ask("PING\r\n"),
        "+PONG"
    );
}

#[test]
fn silent_clients_leave_places_to_others() {
    let server = with_password(&["--maxclients", "4", "--authentication-timeout", "0"]);
    let mut first = authenticated(&server);
    let mut silent: Vec<Raw> = (0..20).map(|_| server.raw()).collect();
    let mut honest = server.raw();
    assert_eq!(honest.ask("AUTH secret\r\n"), "+OK");
    assert_eq!(honest.ask("PING\r\n"), "+PONG");
    assert!(info(&mut first, "clients", "unauthenticated_clients:") <= 2);
    assert!(info(&mut first, "clients", "connected_clients:") <= 4);
    // The oldest clients were disconnected, and the newest may still authenticate.
    let mut newest = silent.pop().unwrap();
    assert_eq!(newest.ask("AUTH secret\r\n"), "+OK");
    for oldest in silent.drain(..18) {
        assert!(is_closed(oldest));
    }
    assert!(info(&mut first, "stats", "unauthenticated_disconnections:") >= 18);
    // Clients that have authenticated are not disconnected to make room.
    let mut last = server.raw();
    assert_eq!(last.ask("AUTH secret\r\n"), "+OK");
    until("four are there", || {
        info(&mut first, "clients", "unauthenticated_clients:") == 0
    });
    assert_eq!(
        server.raw().rest(),
        b"-ERR max number of clients reached\r\n"
    );
    assert_eq!(last.ask("PING\r\n"), "+PONG");
}

/// The server itself records the peaks, so none depends on when the test looks.
#[test]
fn unread_replies_have_a_limit_together() {
    const REPLY: usize = 100_000;
    let (clients, replies) = if long() { (1000, 40) } else { (100, 40) };
    // The long run uses the default.
    let limit = if long() { 256 } else { 64 };
    rlimit::increase_nofile_limit(2 * clients).unwrap();
    let server = Server::start(&["--max-replies-memory", &format!("{limit}mb")]);
    let mut honest = server.client(Protocol::Resp2);
    let echoes = request(&["ECHO", &"x".repeat(REPLY)]).repeat(replies);
    let mut deaf: Vec<TcpStream> = (0..clients).map(|_| deaf(&server)).collect();
    for client in &mut deaf {
        // The client may have been disconnected.
        let _ = client.write_all(&echoes);
    }
    let peak = memory(&mut honest, "used_memory_peak:");
    let unread = memory(&mut honest, "used_memory_replies_peak:");
    let resident = server.peak_resident_bytes();
    eprintln!("at most {peak} bytes used, {unread} for replies, and {resident} resident");
    assert!(
        resident <= peak * 13 / 10 + 64 * MB,
        "{resident} for {peak}"
    );
    assert!(unread <= limit * MB, "{unread}");
    let ended = info(&mut honest, "stats", "client_output_limit_disconnections:");
    assert!(ended > 0, "they are too much together");
    drop(deaf);
    until("their memory is given back", || {
        memory(&mut honest, "used_memory_replies:") == 0
    });
    assert_eq!(memory(&mut honest, "used_memory_replies_peak:"), unread);
}

/// A client is ended as soon as the limit is lowered, and its memory is free when the reply arrives.
#[test]
fn a_lowered_limit_frees_memory_at_once() {
    const REPLY: usize = 8 * MB;
    let server = Server::start(&[]);
    let mut honest = server.client(Protocol::Resp2);
    let mut deaf = deaf(&server);
    deaf.write_all(&request(&["ECHO", &"x".repeat(REPLY)]))
        .unwrap();
    // Once a byte of the reply arrives, the server keeps the rest.
    deaf.read_exact(&mut [0]).unwrap();
    assert!(memory(&mut honest, "used_memory_replies:") >= REPLY);
    ask::<()>(&mut honest, "CONFIG SET max-replies-memory 1mb");
    assert_eq!(memory(&mut honest, "used_memory_replies:"), 0);
    assert_eq!(
        info(&mut honest, "stats", "client_output_limit_disconnections:"),
        1
    );
}

/// After one large request and reply, small ones follow: the large buffers are freed.
#[test]
fn buffers_shrink_after_use() {
    const LARGE: usize = 8 * MB;
    let server = Server::start(&[]);
    let mut watch = server.client(Protocol::Resp2);
    let mut client = server.raw();
    client.send(request(&["ECHO", &"x".repeat(LARGE)]));
    client.send("*1\r\n$4\r\nPI");
    let mut reply = vec![0; LARGE + "$8388608\r\n\r\n".len()];
    client.0.read_exact(&mut reply).unwrap();
    until("nothing is kept", || {
        memory(&mut watch, "used_memory_requests:") == 0
            && memory(&mut watch, "used_memory_replies:") == 0
    });
    assert_eq!(client.ask("NG\r\n"), "+PONG");
    assert_eq!(memory(&mut watch, "used_memory:"), 0);
}

/// The server is paused during this, so all clients wait to be accepted.
#[test]
fn clients_that_come_at_once_wait_in_the_backlog() {
    let allowed = std::fs::read_to_string("/proc/sys/net/core/somaxconn").unwrap();
    let clients = 1_000.min(allowed.trim().parse().unwrap());
    rlimit::increase_nofile_limit(2 * clients as u64).unwrap();
    let server = Server::start(&[]);
    server.signal("STOP");
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, server.port));
    let connect = |_| TcpStream::connect_timeout(&address, PATIENCE / 4);
    let waiting: Result<Vec<TcpStream>, _> = (0..clients).map(connect).collect();
    server.signal("CONT");
    let waiting = waiting.expect("the backlog has room");
    for stream in waiting {
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut client = Raw(BufReader::new(stream));
        assert_eq!(client.ask("PING\r\n"), "+PONG");
    }
}
