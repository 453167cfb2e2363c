//! How often a password can be guessed.

use crate::common::{Raw, Server, request, until};
use socket2::{Domain, Socket, Type};
use std::{
    io::BufReader,
    net::{Ipv4Addr, SocketAddr},
    time::Instant,
};

/// A client with another address of this machine.
fn from_elsewhere(server: &Server) -> Raw {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    socket
        .bind(&SocketAddr::from((Ipv4Addr::new(127, 0, 0, 2), 0)).into())
        .unwrap();
    socket
        .connect(&SocketAddr::from((Ipv4Addr::LOCALHOST, server.port)).into())
        .unwrap();
    socket
        .set_read_timeout(Some(crate::common::PATIENCE))
        .unwrap();
    Raw(BufReader::new(socket.into()))
}

#[test]
fn an_address_can_guess_a_few_times_in_a_second() {
    const GUESSES: usize = 2_000;
    let server = Server::start(&["--requirepass", "secret", "--log", "error"]);
    let right = request(&["AUTH", "secret"]);
    let mut friend = server.raw();
    for _ in 0..200 {
        assert_eq!(friend.ask(&right), "+OK");
    }

    let since = Instant::now();
    let mut compared = 0;
    for (connection, guess) in [
        request(&["AUTH", "guess"]),
        request(&["HELLO", "3", "AUTH", "default", "guess"]),
    ]
    .into_iter()
    .cycle()
    .take(4)
    .enumerate()
    {
        let mut hostile = server.raw();
        hostile.send(guess.repeat(GUESSES / 4));
        for _ in 0..GUESSES / 4 {
            let line = hostile.line();
            if line.starts_with("-WRONGPASS ") {
                compared += 1;
            } else {
                let expected = "-ERR too many wrong passwords from this address: try again in 1 s";
                assert_eq!(line, expected, "{connection}");
            }
        }
    }
    // 50 guesses at once, and 5 in each second of this test.
    let most = 51 + since.elapsed().as_millis() / 200;
    assert!(
        (50..=most).contains(&compared),
        "{compared}, {most} at most"
    );

    // A connected client stays authenticated, and a client from another address can authenticate.
    assert_eq!(friend.ask("PING\r\n"), "+PONG");
    assert_eq!(from_elsewhere(&server).ask(&right), "+OK");
    let mut late = server.raw();
    until("the address is forgiven", || late.ask(&right) == "+OK");
    let stats = friend.ask("PING\r\n");
    assert_eq!(stats, "+PONG");
    friend.send("INFO stats\r\n");
    let refused = std::iter::from_fn(|| Some(friend.line()))
        .find(|line| line.starts_with("acl_access_denied_auth:"));
    let refused: usize = refused.unwrap()["acl_access_denied_auth:".len()..]
        .parse()
        .unwrap();
    assert!(refused >= GUESSES, "{refused}");
}
