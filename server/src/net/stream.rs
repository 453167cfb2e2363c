//! A client's socket, of whichever kind.

use bytes::BytesMut;
use socket2::{SockRef, TcpKeepalive};
use std::{io, time::Duration};
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
}

impl Stream {
    /// Sets the options that a socket of its kind should have.
    pub(super) fn prepare(&self) -> io::Result<()> {
        let Self::Tcp(stream) = self else {
            return Ok(());
        };
        // Replies are written in one go, so waiting for more gains nothing.
        stream.set_nodelay(true)?;
        // A client whose machine has gone is disconnected in the end.
        let alive = TcpKeepalive::new().with_time(KEEPALIVE);
        SockRef::from(stream).set_tcp_keepalive(&alive)
    }

    pub(super) async fn ready(&self, interest: Interest) -> io::Result<Ready> {
        match self {
            Self::Tcp(stream) => stream.ready(interest).await,
            Self::Unix(stream) => stream.ready(interest).await,
        }
    }

    /// Not `try_read_buf`: only this takes note of it when there is no more, which saves the
    /// system call that would say so.
    pub(super) async fn read_buf(&mut self, buffer: &mut BytesMut) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.read_buf(buffer).await,
            Self::Unix(stream) => stream.read_buf(buffer).await,
        }
    }

    pub(super) fn try_write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.try_write(bytes),
            Self::Unix(stream) => stream.try_write(bytes),
        }
    }
}
