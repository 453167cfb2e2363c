//! The sockets that clients connect to.

use super::{stream::Stream, tls::Tls};
use crate::config::Config;
use socket2::{Domain, SockAddr, SockRef, Socket, Type};
use std::{
    fmt,
    fs::{self, Permissions},
    io,
    net::{IpAddr, SocketAddr},
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
use tokio::net::{TcpListener, TcpSocket, UnixListener, lookup_host};

/// How many clients may wait to be accepted; the system may allow fewer (`net.core.somaxconn`).
const BACKLOG: u32 = 4096;

/// Permissions of a Unix socket: only the user of the server can connect.
const PRIVATE: u32 = 0o600;

/// A socket that clients connect to.
#[derive(Debug)]
pub enum Listener {
    /// A TCP port.
    Tcp(TcpListener),
    /// A TCP port for TLS.
    Tls(TcpListener, Arc<Tls>),
    /// A Unix socket.
    Unix(UnixListener, SocketFile),
}

/// Removes the file of a Unix socket when dropped.
#[derive(Debug)]
pub struct SocketFile(PathBuf);

impl fmt::Display for SocketFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.display().fmt(f)
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        // No server listens on it any more. If the removal fails, the next server removes the file.
        let _ = fs::remove_file(&self.0);
    }
}

/// The server cannot listen.
#[derive(Debug, Error)]
pub enum ListenError {
    /// The system refuses to listen on the address.
    #[error("cannot listen on {place}: {error}")]
    Refused {
        /// An address, a host name with a port, or the path of a Unix socket.
        place: String,
        /// The error of the system.
        error: io::Error,
    },
    /// Other machines could connect without a password.
    #[error(
        "--bind {0}: other machines could connect, and neither a password nor a certificate is \
         asked for: give a --requirepass-file, or allow it by --protected-mode no"
    )]
    Unprotected(IpAddr),
}

impl fmt::Display for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(listener) | Self::Tls(listener, _) => {
                match listener.local_addr() {
                    Ok(address) => address.fmt(f)?,
                    Err(error) => error.fmt(f)?,
                }
                match self {
                    Self::Tls(..) => f.write_str(" (TLS)"),
                    _ => Ok(()),
                }
            }
            Self::Unix(_, file) => file.fmt(f),
        }
    }
}

impl Listener {
    /// Opens all sockets that `config` names. `tls` has its settings for TLS.
    ///
    /// # Errors
    ///
    /// [`ListenError`]
    pub async fn all(config: &Config, tls: Option<Arc<Tls>>) -> Result<Vec<Self>, ListenError> {
        let mut listeners = Vec::new();
        let addresses = match config.tcp || tls.is_some() {
            true => resolve(&config.bind).await?,
            false => Vec::new(),
        };
        let open = addresses.iter().find(|address| !address.is_loopback());
        if let Some(address) = open.filter(|_| config.is_protected()) {
            return Err(ListenError::Unprotected(*address));
        }
        if config.tcp {
            let bound = bind_all(&addresses, config.port)?;
            listeners.extend(bound.into_iter().map(Self::Tcp));
        }
        if let (Some(port), Some(tls)) = (config.tls_port, tls) {
            let bound = bind_all(&addresses, port)?.into_iter();
            listeners.extend(bound.map(|listener| Self::Tls(listener, tls.clone())));
        }
        if let Some(path) = &config.unixsocket {
            let listener = bind_unix(path, config.unixsocketperm.unwrap_or(PRIVATE));
            listeners.push(listener.map_err(failure(path.display()))?);
        }
        Ok(listeners)
    }

    /// The port of a TCP listener without TLS.
    #[must_use]
    pub fn port(&self) -> Option<u16> {
        match self {
            Self::Tcp(listener) => Some(listener.local_addr().ok()?.port()),
            Self::Tls(..) | Self::Unix(..) => None,
        }
    }

    /// Accepts the next client.
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
                // Redis writes the address of a Unix socket like this.
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

/// A client that has connected and has not sent anything.
#[derive(Debug)]
pub(super) struct Incoming {
    stream: Stream,
    pub(super) address: String,
    tls: Option<Arc<Tls>>,
}

impl Incoming {
    /// True if the connection begins with a TLS handshake.
    pub(super) fn is_tls(&self) -> bool {
        self.tls.is_some()
    }

    /// Performs the TLS handshake, if any, and returns the stream.
    pub(super) async fn open(self) -> io::Result<Stream> {
        match (self.stream, self.tls) {
            (Stream::Tcp(stream), Some(tls)) => {
                Ok(Stream::Tls(Box::new(tls.accept(stream).await?)))
            }
            (stream, _) => Ok(stream),
        }
    }

    /// Sends `line`, which always fits into the send buffer of a new socket. Sends nothing if the
    /// connection begins with a handshake.
    pub(super) fn refuse(mut self, line: &[u8]) -> io::Result<()> {
        match self.tls {
            None => self.stream.try_write(line).map(drop),
            Some(_) => Ok(()),
        }
    }
}

fn failure(place: impl ToString) -> impl FnOnce(io::Error) -> ListenError {
    let place = place.to_string();
    |error| ListenError::Refused { place, error }
}

/// Resolves the hosts to addresses without duplicates.
async fn resolve(hosts: &[String]) -> Result<Vec<IpAddr>, ListenError> {
    let mut addresses = Vec::new();
    for host in hosts {
        let found = lookup_host((host.as_str(), 0)).await;
        for address in found.map_err(failure(host))? {
            if !addresses.contains(&address.ip()) {
                addresses.push(address.ip());
            }
        }
    }
    Ok(addresses)
}

/// Listens on `port` of all addresses. If `port` is 0, the system chooses one for the first
/// address, and the others use the same.
fn bind_all(addresses: &[IpAddr], mut port: u16) -> Result<Vec<TcpListener>, ListenError> {
    // Otherwise `::` would also take the clients of IPv4.
    let both_versions = addresses.iter().any(IpAddr::is_ipv4);
    let mut listeners = Vec::with_capacity(addresses.len());
    for &address in addresses {
        let place = SocketAddr::new(address, port);
        let listener = bind_tcp(place, both_versions).map_err(failure(place))?;
        port = listener.local_addr().map_err(failure(place))?.port();
        listeners.push(listener);
    }
    Ok(listeners)
}

fn bind_tcp(address: SocketAddr, only_v6: bool) -> io::Result<TcpListener> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4()?,
        SocketAddr::V6(_) => {
            let socket = TcpSocket::new_v6()?;
            if only_v6 {
                SockRef::from(&socket).set_only_v6(true)?;
            }
            socket
        }
    };
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

fn bind_unix(path: &Path, permissions: u32) -> io::Result<Listener> {
    remove_unused(path)?;
    let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
    socket.bind(&SockAddr::unix(path)?)?;
    let file = SocketFile(path.to_path_buf());
    // The permissions are set before any client can connect.
    fs::set_permissions(path, Permissions::from_mode(permissions))?;
    socket.listen(BACKLOG.cast_signed())?;
    socket.set_nonblocking(true)?;
    let listener = UnixListener::from_std(OwnedFd::from(socket).into())?;
    Ok(Listener::Unix(listener, file))
}

/// Removes the file of a socket without a listening server, which a killed server leaves behind.
fn remove_unused(path: &Path) -> io::Result<()> {
    let file = match fs::symlink_metadata(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    if !file.file_type().is_socket() {
        return Err(io::Error::other(
            "a file of that name exists and is not a socket",
        ));
    }
    match net::UnixStream::connect(path) {
        Ok(_) => Err(io::Error::other("another server is listening on it")),
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => fs::remove_file(path),
        Err(error) => Err(error),
    }
}
