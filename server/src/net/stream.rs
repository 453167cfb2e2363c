//! A client's socket, of whichever kind.

use super::tls::TlsStream;
use bytes::BytesMut;
use socket2::{SockRef, TcpKeepalive};
use std::{future::pending, io, time::Duration};
use tokio::{
    io::{AsyncReadExt, Interest, Ready},
    net::{TcpStream, UnixStream},
};

/// How long a connection is silent before the system asks the other side whether it is
/// still there.
const KEEPALIVE: Duration = Duration::from_secs(300);

/// A client's socket. What it does is called as in tokio.
#[derive(Debug)]
pub(super) enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
    Tls(Box<TlsStream>),
}

impl Stream {
    /// Sets the options that a socket of its kind should have.
    pub(super) fn prepare(&self) -> io::Result<()> {
        let stream = match self {
            Self::Tcp(stream) => stream,
            Self::Tls(stream) => stream.socket(),
            Self::Unix(_) => return Ok(()),
        };
        // Replies are written in one go, so waiting for more gains nothing.
        stream.set_nodelay(true)?;
        // A client whose machine has gone is disconnected in the end.
        let alive = TcpKeepalive::new().with_time(KEEPALIVE);
        SockRef::from(stream).set_tcp_keepalive(&alive)
    }

    /// The server's address that the client has chosen, written as Redis does.
    pub(super) fn local_address(&self) -> Option<String> {
        let stream = match self {
            Self::Tcp(stream) => stream,
            Self::Tls(stream) => stream.socket(),
            Self::Unix(stream) => {
                let address = stream.local_addr().ok()?;
                return Some(format!("{}:0", address.as_pathname()?.display()));
            }
        };
        Some(stream.local_addr().ok()?.to_string())
    }

    pub(super) async fn ready(&mut self, interest: Interest) -> io::Result<Ready> {
        match self {
            Self::Tcp(stream) => stream.ready(interest).await,
            Self::Unix(stream) => stream.ready(interest).await,
            Self::Tls(stream) => stream.ready(interest).await,
        }
    }

    /// Not `try_read_buf`: only this takes note of it when there is no more, which saves the
    /// system call that would say so.
    pub(super) async fn read_buf(&mut self, buffer: &mut BytesMut) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.read_buf(buffer).await,
            Self::Unix(stream) => stream.read_buf(buffer).await,
            Self::Tls(stream) => match stream.try_read_buf(buffer) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => pending().await,
                read => read,
            },
        }
    }

    pub(super) fn try_write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.try_write(bytes),
            Self::Unix(stream) => stream.try_write(bytes),
            Self::Tls(stream) => stream.try_write(bytes),
        }
    }

    /// True if it took bytes that it has still to write, which writing nothing does.
    pub(super) fn has_unwritten(&self) -> bool {
        matches!(self, Self::Tls(stream) if stream.has_unwritten())
    }

    /// Lets the stream itself keep more than it does before the client has authenticated.
    pub(super) fn allow_large_writes(&mut self) {
        if let Self::Tls(stream) = self {
            stream.allow_large_writes();
        }
    }

    /// Says that nothing more comes, if that is to be said.
    pub(super) fn finish(&mut self) {
        if let Self::Tls(stream) = self {
            stream.finish();
        }
    }
}
