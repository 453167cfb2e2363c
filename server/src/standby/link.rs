//! The connection of a standby to its primary, whose replies may be hostile.

use crate::{
    config::{Address, Password},
    snapshots::PIECE,
};
use socket2::{SockRef, TcpKeepalive};
use std::{
    io::{self, BufRead, BufReader, Read, Write},
    net::{TcpStream, ToSocketAddrs},
    time::Duration,
};
use thiserror::Error;

/// The timeout of a connection attempt, for each address of the host.
const CONNECT: Duration = Duration::from_secs(5);

/// How long the primary may be silent. It writes the snapshot to disk before it replies.
const SILENT: Duration = Duration::from_secs(600);

/// How long the connection may be silent before the system probes the primary's machine, and the
/// interval of further probes.
const KEEPALIVE: Duration = Duration::from_secs(15);

/// The most bytes of a line.
const LINE: usize = 1024;

/// A connection, with or without TLS.
pub(super) trait Stream: Read + Write + Send {}

impl<S: Read + Write + Send> Stream for S {}

/// The connection to the primary.
pub(super) struct Link(BufReader<Box<dyn Stream>>);

/// The primary's description of a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Begun {
    pub(super) length: u64,
    pub(super) age: Duration,
}

/// The primary does not respond as it should.
#[derive(Debug, Error)]
pub(super) enum LinkError {
    /// The network failed.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The primary refuses.
    #[error("it replied: {0}")]
    Refused(String),
    /// A guira-server would not send this reply.
    #[error("it is not a guira-server of this release: {0}")]
    Reply(&'static str),
}

/// Connects to the primary.
pub(super) fn connect(address: &Address) -> io::Result<TcpStream> {
    let mut last = None;
    for found in (&*address.host, address.port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&found, CONNECT) {
            Ok(stream) => {
                stream.set_nodelay(true)?;
                stream.set_read_timeout(Some(SILENT))?;
                stream.set_write_timeout(Some(SILENT))?;
                let alive = TcpKeepalive::new()
                    .with_time(KEEPALIVE)
                    .with_interval(KEEPALIVE);
                SockRef::from(&stream).set_tcp_keepalive(&alive)?;
                return Ok(stream);
            }
            Err(error) => last = Some(error),
        }
    }
    Err(last.unwrap_or_else(|| io::Error::other("the host has no address")))
}

impl Link {
    pub(super) fn new(stream: Box<dyn Stream>) -> Self {
        Self(BufReader::new(stream))
    }

    /// Authenticates to the primary.
    pub(super) fn authenticate(
        &mut self,
        user: Option<&str>,
        password: &Password,
    ) -> Result<(), LinkError> {
        match user {
            Some(user) => self.send(&[b"AUTH", user.as_bytes(), password.bytes()])?,
            None => self.send(&[b"AUTH", password.bytes()])?,
        }
        match &*self.line()? {
            "+OK" => Ok(()),
            _ => Err(LinkError::Reply("AUTH is not answered with OK")),
        }
    }

    /// Makes the primary begin a snapshot.
    pub(super) fn begin(&mut self) -> Result<Begun, LinkError> {
        self.send(&[b"SNAPSHOT", b"BEGIN"])?;
        if self.line()? != "*2" {
            return Err(LinkError::Reply(
                "SNAPSHOT BEGIN is not answered with 2 numbers",
            ));
        }
        let length = self.number(":")?;
        let age = Duration::from_millis(self.number(":")?);
        Ok(Begun { length, age })
    }

    /// Reads a snapshot of `length` bytes.
    pub(super) fn pieces(&mut self, length: u64) -> Pieces<'_> {
        Pieces {
            link: self,
            at: 0,
            length,
            left: 0,
        }
    }

    fn send(&mut self, words: &[&[u8]]) -> io::Result<()> {
        let mut request = format!("*{}\r\n", words.len()).into_bytes();
        for word in words {
            request.extend(format!("${}\r\n", word.len()).bytes());
            request.extend_from_slice(word);
            request.extend(b"\r\n");
        }
        let stream = self.0.get_mut();
        stream.write_all(&request)?;
        stream.flush()
    }

    /// Reads a line, without its end.
    ///
    /// # Errors
    ///
    /// [`LinkError::Refused`] with the text, if the line is an error.
    fn line(&mut self) -> Result<String, LinkError> {
        let mut line = Vec::new();
        let most = LINE as u64;
        (&mut self.0).take(most).read_until(b'\n', &mut line)?;
        let Some(line) = line.strip_suffix(b"\r\n") else {
            return Err(match line.len() < LINE {
                true => io::Error::from(io::ErrorKind::UnexpectedEof).into(),
                false => LinkError::Reply("a line has no end"),
            });
        };
        let line = line.escape_ascii().to_string();
        match line.strip_prefix('-') {
            Some(error) => Err(LinkError::Refused(error.to_owned())),
            None => Ok(line),
        }
    }

    fn number(&mut self, kind: &str) -> Result<u64, LinkError> {
        let line = self.line()?;
        let digits = line.strip_prefix(kind).filter(|it| !it.starts_with('+'));
        let number = digits.and_then(|digits| digits.parse().ok());
        number.ok_or(LinkError::Reply("a number is expected"))
    }
}

/// The bytes of a snapshot, which are requested piece by piece.
pub(super) struct Pieces<'a> {
    link: &'a mut Link,
    /// The bytes that were read or belong to the current piece.
    at: u64,
    length: u64,
    /// The bytes of the current piece that were not read.
    left: usize,
}

impl Pieces<'_> {
    /// Requests the next piece.
    fn next(&mut self) -> Result<(), LinkError> {
        let offset = self.at.to_string();
        self.link.send(&[b"SNAPSHOT", b"READ", offset.as_bytes()])?;
        let bytes = self.link.number("$")?;
        if bytes == 0 || bytes > PIECE.min(self.length - self.at) {
            return Err(LinkError::Reply("a piece is empty or too long"));
        }
        self.at += bytes;
        self.left = bytes as usize;
        Ok(())
    }

    fn end_piece(&mut self) -> Result<(), LinkError> {
        let mut end = [0; 2];
        self.link.0.read_exact(&mut end)?;
        match &end {
            b"\r\n" => Ok(()),
            _ => Err(LinkError::Reply("a piece does not end where it should")),
        }
    }
}

impl Read for Pieces<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 {
            if self.at == self.length || bytes.is_empty() {
                return Ok(0);
            }
            self.next().map_err(io_error)?;
        }
        let most = bytes.len().min(self.left);
        let read = self.link.0.read(&mut bytes[..most])?;
        if read == 0 && most > 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.left -= read;
        if self.left == 0 {
            self.end_piece().map_err(io_error)?;
        }
        Ok(read)
    }
}

fn io_error(error: LinkError) -> io::Error {
    match error {
        LinkError::Io(error) => error,
        other => io::Error::other(other),
    }
}
