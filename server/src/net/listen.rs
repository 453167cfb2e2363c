//! Where clients come from.

use super::{stream::Stream, tls::Tls};
use crate::config::Config;
use socket2::{Domain, SockAddr, Socket, Type};
use std::{
    fmt,
    fs::{self, Permissions},
    io,
    net::SocketAddr,
    os::{
        fd::OwnedFd,
        unix::{
            fs::{FileTypeExt, PermissionsExt},
            net,
        },
    },
    path::{Path, PathBuf},
    sync::Arc,
};
use thiserror::Error;
use tokio::net::{TcpListener, UnixListener};

/// Clients that wait to be accepted; the system may allow fewer.
const BACKLOG: i32 = 1024;

/// Where clients come from.
#[derive(Debug)]
pub enum Listener {
    /// A TCP port.
    Tcp(TcpListener),
    /// A TCP port for TLS.
    Tls(TcpListener, Arc<Tls>),
    /// A Unix socket.
    Unix(UnixListener, SocketFile),
}

/// Removes the file of a Unix socket when it goes.
#[derive(Debug)]
pub struct SocketFile(PathBuf);

impl fmt::Display for SocketFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.display().fmt(f)
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        // Nobody listens there any more, whether or not it goes; the next server removes it.
        let _ = fs::remove_file(&self.0);
    }
}

/// Clients cannot come this way.
#[derive(Debug, Error)]
#[error("cannot listen on {place}: {error}")]
pub struct ListenError {
    place: String,
    error: io::Error,
}

impl fmt::Display for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(listener) | Self::Tls(listener, _) => match listener.local_addr() {
                Ok(address) => address.fmt(f),
                Err(error) => error.fmt(f),
            },
            Self::Unix(_, file) => file.fmt(f),
        }
    }
}

impl Listener {
    /// All places where `config` says that clients come from. `tls` is what it says of TLS.
    ///
    /// # Errors
    ///
    /// [`ListenError`]
    pub async fn all(config: &Config, tls: Option<Arc<Tls>>) -> Result<Vec<Self>, ListenError> {
        let mut listeners = Vec::new();
        let bind = async |port| {
            let address = SocketAddr::new(config.bind, port);
            let listener = TcpListener::bind(address).await;
            listener.map_err(failure(address))
        };
        if config.tcp {
            listeners.push(Self::Tcp(bind(config.port).await?));
        }
        if let (Some(port), Some(tls)) = (config.tls_port, tls) {
            listeners.push(Self::Tls(bind(port).await?, tls));
        }
        if let Some(path) = &config.unixsocket {
            let listener = bind_unix(path, config.unixsocketperm);
            listeners.push(listener.map_err(failure(path.display()))?);
        }
        Ok(listeners)
    }

    /// The TCP port, if it is one without TLS.
    #[must_use]
    pub fn port(&self) -> Option<u16> {
        match self {
            Self::Tcp(listener) => Some(listener.local_addr().ok()?.port()),
            Self::Tls(..) | Self::Unix(..) => None,
        }
    }

    /// The next client.
    pub(super) async fn accept(&self) -> io::Result<Incoming> {
        let (stream, address, tls) = match self {
            Self::Tcp(listener) => {
                let (stream, address) = listener.accept().await?;
                (Stream::Tcp(stream), address.to_string(), None)
            }
            Self::Tls(listener, tls) => {
                let (stream, address) = listener.accept().await?;
                let tls = Some(tls.clone());
                (Stream::Tcp(stream), address.to_string(), tls)
            }
            Self::Unix(listener, file) => {
                let (stream, _) = listener.accept().await?;
                // As Redis writes it.
                (Stream::Unix(stream), format!("{file}:0"), None)
            }
        };
        Ok(Incoming {
            stream,
            address,
            tls,
        })
    }
}

/// A client that has come, and has not said anything.
#[derive(Debug)]
pub(super) struct Incoming {
    stream: Stream,
    pub(super) address: String,
    tls: Option<Arc<Tls>>,
}

impl Incoming {
    /// The stream of what is said, after the handshake if there is one.
    pub(super) async fn open(self) -> io::Result<Stream> {
        match (self.stream, self.tls) {
            (Stream::Tcp(stream), Some(tls)) => {
                Ok(Stream::Tls(Box::new(tls.accept(stream).await?)))
            }
            (stream, _) => Ok(stream),
        }
    }

    /// Sends `line`, which finds room in the buffer of a new socket; nothing, if there would
    /// have to be a handshake first.
    pub(super) fn refuse(mut self, line: &[u8]) -> io::Result<()> {
        match self.tls {
            None => self.stream.try_write(line).map(drop),
            Some(_) => Ok(()),
        }
    }
}

fn failure(place: impl ToString) -> impl FnOnce(io::Error) -> ListenError {
    let place = place.to_string();
    |error| ListenError { place, error }
}

fn bind_unix(path: &Path, permissions: Option<u32>) -> io::Result<Listener> {
    remove_unused(path)?;
    let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
    socket.bind(&SockAddr::unix(path)?)?;
    let file = SocketFile(path.to_path_buf());
    // Before anybody can connect.
    if let Some(mode) = permissions {
        fs::set_permissions(path, Permissions::from_mode(mode))?;
    }
    socket.listen(BACKLOG)?;
    socket.set_nonblocking(true)?;
    let listener = UnixListener::from_std(OwnedFd::from(socket).into())?;
    Ok(Listener::Unix(listener, file))
}

/// Removes the file of a socket that no server listens on: one that was killed leaves it behind.
fn remove_unused(path: &Path) -> io::Result<()> {
    let file = match fs::symlink_metadata(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    if !file.file_type().is_socket() {
        return Err(io::Error::other("a file that is no socket is there"));
    }
    match net::UnixStream::connect(path) {
        Ok(_) => Err(io::Error::other("another server listens there")),
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => fs::remove_file(path),
        Err(error) => Err(error),
    }
}
