//! Unix sockets, with and without TCP.

use crate::common::{Server, ask, command, until};
use redis::Connection;
use std::{
    fs,
    os::unix::{
        fs::{FileTypeExt, MetadataExt},
        net::UnixListener,
    },
    path::{Path, PathBuf},
    process::{Output, Stdio},
};
use tempfile::TempDir;

fn place() -> (TempDir, PathBuf) {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("guira.sock");
    (directory, path)
}

fn client(path: &Path) -> Connection {
    let url = format!("redis+unix://{}", path.display());
    redis::Client::open(url).unwrap().get_connection().unwrap()
}

/// Starts a server that must fail, and returns its output.
fn failed(arguments: &[&str]) -> String {
    let Output { status, stderr, .. } = command(arguments).stderr(Stdio::piped()).output().unwrap();
    assert_eq!(status.code(), Some(1));
    String::from_utf8(stderr).unwrap()
}

#[test]
fn a_unix_socket_is_served_beside_tcp() {
    let (_directory, path) = place();
    let server = Server::start(&["--unixsocket", path.to_str().unwrap()]);
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
    let mut local = client(&path);
    assert!(ask::<bool>(&mut local, "CF.ADD k a"));
    let mut remote = server.client(crate::common::Protocol::Resp3);
    assert!(ask::<bool>(&mut remote, "CF.EXISTS k a"));
    let info: String = ask(&mut local, "CLIENT INFO");
    assert!(
        info.contains(&format!(" addr={}:0 ", path.display())),
        "{info}"
    );
    // More than a socket accepts at a time.
    let long = "x".repeat(8 << 20);
    assert_eq!(ask::<String>(&mut local, &format!("ECHO {long}")), long);
    assert!(server.terminate().success());
    assert!(!path.exists());
}

#[test]
fn the_permissions_of_a_unix_socket_can_be_chosen() {
    let (_directory, path) = place();
    let text = path.to_str().unwrap();
    let _server = Server::start(&["--unixsocket", text, "--unixsocketperm", "660"]);
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o660);
    ask::<()>(&mut client(&path), "PING");
}

#[test]
fn tcp_can_be_left_out() {
    let (_directory, path) = place();
    let text = path.to_str().unwrap();
    let mut start = command(&["--tcp", "false", "--unixsocket", text]);
    let (server, line) = Server::spawn_anywhere(&mut start);
    assert!(line.contains(&format!(" is ready at {text}.\n")), "{line}");
    let mut client = client(&path);
    ask::<()>(&mut client, "PING");
    let listening = fs::read_to_string(format!("/proc/{}/net/tcp", server.process.id())).unwrap();
    let sockets: Vec<String> = fs::read_dir(format!("/proc/{}/fd", server.process.id()))
        .unwrap()
        .filter_map(|file| fs::read_link(file.unwrap().path()).ok())
        .filter_map(|to| {
            Some(
                to.to_str()?
                    .strip_prefix("socket:[")?
                    .trim_end_matches(']')
                    .to_owned(),
            )
        })
        .collect();
    assert!(!sockets.is_empty());
    for line in listening.lines().skip(1) {
        let inode = line.split_whitespace().nth(9).unwrap();
        assert!(!sockets.iter().any(|socket| socket == inode), "{line}");
    }
    ask::<()>(&mut client, "CF.ADD k a");
}

#[test]
fn the_file_of_a_server_that_was_killed_is_no_obstacle() {
    let (_directory, path) = place();
    let text = path.to_str().unwrap();
    let server = Server::start(&["--unixsocket", text]);
    drop(server);
    assert!(
        fs::metadata(&path).unwrap().file_type().is_socket(),
        "SIGKILL leaves it"
    );
    let _server = Server::start(&["--unixsocket", text]);
    ask::<()>(&mut client(&path), "PING");
}

#[test]
fn what_others_use_is_left_alone() {
    let (_directory, path) = place();
    let text = path.to_str().unwrap();
    fs::write(&path, "precious").unwrap();
    let error = failed(&["--unixsocket", text]);
    let expected =
        format!("cannot listen on {text}: a file of that name exists and is not a socket");
    assert!(error.contains(&expected), "{error}");
    assert_eq!(fs::read_to_string(&path).unwrap(), "precious");

    fs::remove_file(&path).unwrap();
    let _other = UnixListener::bind(&path).unwrap();
    let error = failed(&["--unixsocket", text]);
    assert!(
        error.contains("another server is listening on it"),
        "{error}"
    );
    assert!(path.exists());
}

#[test]
fn clients_of_both_are_counted_together() {
    let (_directory, path) = place();
    let server = Server::start(&["--unixsocket", path.to_str().unwrap(), "--maxclients", "2"]);
    let mut local = client(&path);
    let mut remote = server.raw();
    assert_eq!(remote.ask("PING\r\n"), "+PONG");
    assert_eq!(
        server.raw().rest(),
        b"-ERR max number of clients reached\r\n"
    );
    drop(remote);
    until("its place is free", || {
        ask::<String>(&mut local, "INFO clients").contains("connected_clients:1\r\n")
    });
}
