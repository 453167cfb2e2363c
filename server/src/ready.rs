//! `--check-ready`: asks a running server whether it is ready, for images without other programs.

use std::{
    io::{self, Read, Write},
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream},
    time::Duration,
};
use thiserror::Error;

/// How long the server has to respond.
const PATIENCE: Duration = Duration::from_secs(3);

/// How many bytes of the response are read. Its first line is shorter.
const ANSWER: u64 = 256;

/// No server has reported that it is ready.
#[derive(Debug, Error)]
pub enum NotReady {
    /// The settings do not name an address to ask.
    #[error("--check-ready asks the server at --metrics: set that, too")]
    NoAddress,
    /// There was no response.
    #[error("{0} does not respond: {1}")]
    NoAnswer(SocketAddr, io::Error),
    /// The response was another one.
    #[error("{0} answers '{1}'")]
    Answer(SocketAddr, String),
}

/// Asks the server that serves its metrics at `address`.
///
/// # Errors
///
/// [`NotReady`]
pub fn check(address: Option<SocketAddr>) -> Result<(), NotReady> {
    let address = reachable(address.ok_or(NotReady::NoAddress)?);
    let answer = ask(address).map_err(|error| NotReady::NoAnswer(address, error))?;
    let line = answer.lines().next().unwrap_or_default();
    match line.split(' ').nth(1) {
        Some("200") => Ok(()),
        _ => Err(NotReady::Answer(address, line.to_owned())),
    }
}

/// The address at which a server that listens on all addresses can be reached from its own machine.
fn reachable(mut address: SocketAddr) -> SocketAddr {
    match address.ip() {
        IpAddr::V4(Ipv4Addr::UNSPECIFIED) => address.set_ip(Ipv4Addr::LOCALHOST.into()),
        IpAddr::V6(Ipv6Addr::UNSPECIFIED) => address.set_ip(Ipv6Addr::LOCALHOST.into()),
        _ => {}
    }
    address
}

fn ask(address: SocketAddr) -> io::Result<String> {
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.write_all(b"GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
    let mut answer = Vec::new();
    stream.take(ANSWER).read_to_end(&mut answer)?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}
