//! A server with few file descriptors.

use crate::common::{Server, command};
use std::{
    net::TcpStream,
    process::{Command, Stdio},
};
use tempfile::TempDir;

/// The command that starts a server which may open `files` files.
fn limited(files: u32, arguments: &[&str]) -> Command {
    let server = command(arguments);
    let mut shell = Command::new("sh");
    shell
        .args(["-c", &format!("ulimit -n {files} && exec \"$0\" \"$@\"")])
        .arg(server.get_program())
        .args(server.get_args())
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
    for (name, _) in server.get_envs() {
        shell.env_remove(name);
    }
    shell
}

#[test]
fn a_server_with_few_files_serves_fewer_clients_and_saves() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("saves");
    let socket = directory.path().join("guira.sock");
    let arguments = [
        "--dir",
        path.to_str().unwrap(),
        "--unixsocket",
        socket.to_str().unwrap(),
        "--metrics",
        "127.0.0.1:0",
        "--threads",
        "8",
    ];
    let server = Server::spawn(&mut limited(32, &arguments));
    let mut first = server.raw();
    assert_eq!(first.ask("CF.ADD k a\r\n"), ":1");
    // These are more clients than fit. The surplus ones get an error, and hold no file.
    let mut others: Vec<_> = (0..60).map(|_| server.raw()).collect();
    let served = others.iter_mut().filter_map(|other| {
        other.send("PING\r\n");
        (other.line() == "+PONG").then_some(())
    });
    assert_eq!(served.count(), 7);
    for _ in 0..3 {
        assert_eq!(first.ask("SAVE\r\n"), "+OK");
        assert_eq!(first.ask("CF.ADD k a\r\n"), ":1");
    }
    assert!(server.terminate().success());
    let server = Server::spawn(&mut limited(32, &arguments[..2]));
    assert_eq!(server.raw().ask("CF.COUNT k a\r\n"), ":4");
}

#[test]
fn a_server_with_too_few_files_is_not_started() {
    let output = limited(31, &["--log", "error"])
        .stderr(Stdio::piped())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stderr).unwrap();
    let expected = "the limit for open files is 31, and 32 is the least: see ulimit -n";
    assert!(text.contains(expected), "{text}");
}

/// These connections to the port of the metrics send nothing.
#[test]
fn scrapes_do_not_take_the_files_of_clients() {
    let arguments = ["--metrics", "127.0.0.1:0", "--log", "info"];
    let (server, address) = Server::spawn_with_metrics(&mut limited(48, &arguments));
    let silent: Vec<_> = (0..40)
        .map(|_| TcpStream::connect(address).unwrap())
        .collect();
    let mut clients: Vec<_> = (0..24).map(|_| server.raw()).collect();
    for client in &mut clients {
        assert_eq!(client.ask("PING\r\n"), "+PONG");
    }
    assert_eq!(silent.len(), 40);
}
