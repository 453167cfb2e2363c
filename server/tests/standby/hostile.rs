//! A primary that sends what no correct primary sends.

use super::{Proxy, copy, fail, keys, standby_of};
use crate::common::{Protocol, Server, ask};
use std::{
    io::{BufRead, BufReader, Write},
    net::{TcpListener, TcpStream},
    thread,
};

/// The most memory that a standby may need in addition, whatever it receives: its buffers, a
/// partial filter, and what the allocator keeps.
const BESIDE: usize = 48 << 20;

/// A bound for replies that would never end.
const ENDLESS: usize = 64 << 20;

type Reply = fn(&mut TcpStream) -> std::io::Result<()>;

fn piece(stream: &mut TcpStream, bytes: &[u8]) -> std::io::Result<()> {
    write!(stream, "${}\r\n", bytes.len())?;
    stream.write_all(bytes)?;
    stream.write_all(b"\r\n")
}

/// The beginning of a save: one key, whose snapshot begins with these bytes.
fn begun(snapshot: &[u8]) -> Vec<u8> {
    let start = [&b"guiradb\x1a"[..], &3_u32.to_le_bytes(), &[1]].concat();
    let options = guira_commands::Options::default().to_bytes();
    let key = [&1_u64.to_le_bytes()[..], b"k", &options, &[0; 16]].concat();
    [&start[..], &key, snapshot].concat()
}

/// The reply to `SNAPSHOT BEGIN`, and then the reply to each `SNAPSHOT READ`.
const HOSTILE: [(&str, Reply, Reply); 13] = [
    (
        "closes",
        |_| Err(std::io::ErrorKind::Other.into()),
        |_| Ok(()),
    ),
    ("garbage", |it| it.write_all(&[0xa5; 4096]), |_| Ok(())),
    (
        "an endless line",
        |it| it.write_all(&vec![b'x'; ENDLESS]),
        |_| Ok(()),
    ),
    (
        "an error",
        |it| it.write_all(b"-ERR \x1b[2J no\r\n"),
        |_| Ok(()),
    ),
    (
        "a negative length",
        |it| it.write_all(b"*2\r\n:-5\r\n:0\r\n"),
        |_| Ok(()),
    ),
    (
        "a huge length",
        |it| it.write_all(b"*2\r\n:18446744073709551615\r\n:0\r\n"),
        |_| Ok(()),
    ),
    (
        "a huge age",
        |it| it.write_all(b"*2\r\n:100\r\n:18446744073709551615\r\n"),
        |it| piece(it, &[0; 100]),
    ),
    ("a huge piece", begin, |it| it.write_all(b"$9999999999\r\n")),
    ("an empty piece", begin, |it| it.write_all(b"$0\r\n\r\n")),
    ("zeros", begin, |it| piece(it, &[0; 65_536])),
    ("a piece without an end", begin, |it| {
        it.write_all(&[&b"$4\r\nabcd"[..], &[b'x'; 4096]].concat())
    }),
    (
        "a cut off save",
        |it| it.write_all(b"*2\r\n:40\r\n:0\r\n"),
        |it| piece(it, &begun(&[])[..40]),
    ),
    ("a snapshot of zeros", begin, |it| {
        piece(it, &begun(&[0; 10_000]))
    }),
];

/// The length is the most that the limit of the standby allows.
fn begin(stream: &mut TcpStream) -> std::io::Result<()> {
    stream.write_all(b"*2\r\n:16000000\r\n:0\r\n")
}

fn serve(stream: TcpStream, (_, begin, read): (&str, Reply, Reply)) -> std::io::Result<()> {
    let mut requests = BufReader::new(stream.try_clone()?);
    let mut stream = stream;
    let mut line = String::new();
    while requests.read_line(&mut line)? > 0 {
        match line.trim_end() {
            "BEGIN" => begin(&mut stream)?,
            "READ" => read(&mut stream)?,
            _ => {}
        }
        line.clear();
    }
    Ok(())
}

#[test]
fn a_hostile_primary_changes_nothing() {
    let primary = Server::start(&[]);
    ask::<()>(&mut primary.client(Protocol::Resp2), "CF.ADD k a");
    let proxy = Proxy::to(primary.port);
    let (standby, mut client) = standby_of(proxy.port, &["--maxmemory", "8mb"]);
    copy(&mut client);
    let before = standby.resident_bytes();
    for hostile in HOSTILE {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        proxy.retarget(listener.local_addr().unwrap().port());
        thread::spawn(move || {
            for stream in listener.incoming() {
                // The standby disconnects.
                let _ = serve(stream.unwrap(), hostile);
            }
        });
        // The first copy may have begun before.
        for _ in 0..2 {
            fail(&mut client);
        }
        let after = standby.resident_bytes();
        println!(
            "{}: {} KiB more",
            hostile.0,
            after.saturating_sub(before) / 1024
        );
        assert_eq!(keys(&mut client), ["k"], "{}", hostile.0);
        assert_eq!(ask::<i64>(&mut client, "CF.EXISTS k a"), 1);
        assert!(after < before + BESIDE, "{}: {before} {after}", hostile.0);
    }
    // The proxy connects to the real primary again.
    proxy.retarget(primary.port);
    copy(&mut client);
    ask::<()>(&mut client, "REPLICAOF NO ONE");
    ask::<()>(&mut client, "CF.ADD k b");
}
