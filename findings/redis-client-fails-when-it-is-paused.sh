#!/usr/bin/env bash
# With a read timeout, a Rust client whose process is paused and continued fails a command that was executed.
#
# Run on 2026-11-28 with Rust 1.95.0 and redis 1.8.1, on Linux.
# Guess: a pause is only time. Whoever stops a process (a debugger, `kill -STOP`) sees its calls continue, and
# system calls that were interrupted are repeated by the library.
# Seen: without a read timeout the command returns its reply. With one of a minute, and a pause of 0.2 seconds,
# it is an error at once: "Interrupted system call". The server has executed the command. The connection stays
# open, skips the late reply, and the next command gets its own.
# Linux does not restart a read from a socket with a timeout, whatever the signal, and neither the standard
# library's `read` nor the client repeats it.
#
# For users of filters: to repeat an insert after this error adds a second copy, and one remove leaves the other.
. "$(dirname "$0")/lib/rust.sh"
rust_with 'redis = "=1.8.1"' <<'PROGRAM'
use redis::{Client, ConnectionLike, ErrorKind, RedisResult};
use std::{
    io::{Read, Write},
    net::TcpListener,
    process::{self, Command},
    thread,
    time::Duration,
};

/// Answers OK, and INCR after two seconds with the number of such commands.
fn serve(listener: TcpListener) {
    for stream in listener.incoming() {
        let mut stream = stream.expect("a client");
        let (mut bytes, mut number) = ([0; 4096], 0);
        loop {
            let length = stream.read(&mut bytes).expect("a request");
            if length == 0 {
                break;
            }
            let request = String::from_utf8_lossy(&bytes[..length]).into_owned();
            if request.contains("INCR") {
                number += 1;
                thread::sleep(Duration::from_secs(2));
                stream.write_all(format!(":{number}\r\n").as_bytes()).expect("a client");
            } else {
                stream.write_all("+OK\r\n".repeat(request.matches('*').count()).as_bytes()).expect("a client");
            }
        }
    }
}

/// The reply to INCR of a process that is paused while it waits, and the reply to the next one.
fn paused(port: u16, timeout: Option<Duration>) -> [RedisResult<u64>; 2] {
    let client = Client::open(format!("redis://127.0.0.1:{port}/")).expect("an address");
    let mut connection = client.get_connection().expect("a connection");
    connection.set_read_timeout(timeout).expect("a socket");
    let pause = format!("sleep 1; kill -STOP {0}; sleep 0.2; kill -CONT {0}", process::id());
    let mut shell = Command::new("sh").args(["-c", &pause]).spawn().expect("a shell");
    let replies = [(); 2].map(|()| redis::cmd("INCR").arg("key").query(&mut connection));
    assert!(connection.is_open());
    shell.wait().expect("it ends");
    replies
}

fn main() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("a socket").port();
    thread::spawn(|| serve(listener));
    let patient = paused(port, None);
    println!("without a timeout: {patient:?}");
    assert_eq!(patient, [Ok(1), Ok(2)]);
    let [first, second] = paused(port, Some(Duration::from_secs(60)));
    println!("with a timeout of 60 s: {first:?}, then {second:?}");
    let error = first.expect_err("it is interrupted");
    assert_eq!((error.kind(), second), (ErrorKind::Io, Ok(2)));
}
PROGRAM
