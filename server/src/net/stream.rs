//! The socket of a client: TCP, TLS or Unix.

use super::tls::TlsStream;
use bytes::BytesMut;
use socket2::{SockRef, TcpKeepalive};
use std::{future::pending, io, os::fd::AsRawFd, time::Duration};
use tokio::{
    io::{AsyncReadExt, Interest, Ready},
    net::{TcpStream, UnixStream},
};

/// How long a connection may be silent before the system probes whether the peer is alive.
const KEEPALIVE: Duration = Duration::from_secs(300);

/// The socket of a client. Its methods have the names that tokio uses.
#[derive(Debug)]
pub(super) enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
    Tls(Box<TlsStream>),
}

impl Stream {
    /// Sets the options for this kind of socket.
    pub(super) fn prepare(&self) -> io::Result<()> {
        let stream = match self {
            Self::Tcp(stream) => stream,
            Self::Tls(stream) => stream.socket(),
            Self::Unix(_) => return Ok(()),
        };
        // Each batch of replies is written in one call, so Nagle's algorithm would only delay it.
        stream.set_nodelay(true)?;
        // A client whose machine is gone is eventually disconnected.
        let alive = TcpKeepalive::new().with_time(KEEPALIVE);
        SockRef::from(stream).set_tcp_keepalive(&alive)
    }

    /// The number of the socket in this process.
    pub(super) fn number(&self) -> i32 {
        match self {
            Self::Tcp(stream) => stream.as_raw_fd(),
            Self::Tls(stream) => stream.socket().as_raw_fd(),
            Self::Unix(stream) => stream.as_raw_fd(),
        }
    }

    /// The local address that the client connected to, formatted as Redis does.
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

    /// Unlike `try_read_buf`, this clears the readiness when the socket is drained, and so saves
    /// the system call that would report it.
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

    /// True if the stream has accepted bytes that are not yet in the socket. Writing nothing
    /// flushes them.
    pub(super) fn has_unwritten(&self) -> bool {
        matches!(self, Self::Tls(stream) if stream.has_unwritten())
    }

    /// Raises the limit of the stream's own buffer once the client has authenticated.
    pub(super) fn allow_large_writes(&mut self) {
        if let Self::Tls(stream) = self {
            stream.allow_large_writes();
        }
    }

    /// Announces the end of the stream, if the protocol has a message for it.
    pub(super) fn finish(&mut self) {
        if let Self::Tls(stream) = self {
            stream.finish();
        }
    }
}
