//! The addresses that the server listens on, and the ones that it refuses to expose.

use crate::common::{Raw, Server, command};
use std::{
    io::BufReader,
    net::TcpStream,
    process::{Output, Stdio},
};

fn ping(host: &str, port: u16) -> String {
    let stream = TcpStream::connect((host, port)).unwrap();
    stream
        .set_read_timeout(Some(crate::common::PATIENCE))
        .unwrap();
    Raw(BufReader::new(stream)).ask("PING\r\n")
}

#[test]
fn a_server_that_others_could_use_is_not_started() {
    for bind in ["0.0.0.0", "127.0.0.1,0.0.0.0", "::"] {
        let start = command(&["--bind", bind]).stderr(Stdio::piped()).output();
        let Output { status, stderr, .. } = start.unwrap();
        assert_eq!(status.code(), Some(1), "{bind}");
        let text = String::from_utf8(stderr).unwrap();
        let open = bind.split(',').next_back().unwrap();
        assert!(
            text.contains(&format!("--bind {open}: other machines could connect"))
                && text.contains("--protected-mode no"),
            "{text}"
        );
    }
    let server = Server::start(&["--bind", "0.0.0.0", "--protected-mode", "no"]);
    assert_eq!(server.raw().ask("PING\r\n"), "+PONG");
    let server = Server::start(&["--bind", "0.0.0.0", "--requirepass", "secret"]);
    assert_eq!(server.raw().ask("AUTH secret\r\n"), "+OK");
}

#[test]
fn a_server_listens_on_several_addresses_and_names() {
    let server = Server::start(&["--bind", "127.0.0.1,127.0.0.2", "--bind", "127.0.0.3"]);
    for host in ["127.0.0.1", "127.0.0.2", "127.0.0.3"] {
        assert_eq!(ping(host, server.port), "+PONG");
    }
    let server = Server::start(&["--bind", "localhost"]);
    assert_eq!(ping("localhost", server.port), "+PONG");
    let start = command(&["--bind", "no.such.host.invalid"])
        .stderr(Stdio::piped())
        .output();
    let text = String::from_utf8(start.unwrap().stderr).unwrap();
    assert!(
        text.contains("cannot listen on no.such.host.invalid: "),
        "{text}"
    );
}
