//! TLS: the certificates, the handshake, and the encrypted stream.

use crate::{
    certificates::{self, TlsError, fault, read_authorities, read_key},
    config::{AuthClients, Config},
};
use bytes::BytesMut;
use std::{
    io::{self, BufRead, IoSlice, Read, Write},
    path::PathBuf,
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};
use tokio::{
    io::{Interest, Ready},
    net::TcpStream,
    task::coop::consume_budget,
    time::timeout,
};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{ServerConfig, ServerConnection, crypto::ring, server::WebPkiClientVerifier},
};

/// How long a handshake may take.
const HANDSHAKE: Duration = Duration::from_secs(10);

/// The most bytes that a session buffers when the socket does not accept them, before and after the
/// client has authenticated.
const UNWRITTEN_UNAUTHENTICATED: usize = 4 * 1024;
const UNWRITTEN: usize = 64 * 1024;

/// The certificates that the server presents, and the authorities for the certificates of clients.
#[derive(Debug)]
pub struct Tls {
    files: Files,
    config: RwLock<Arc<ServerConfig>>,
}

#[derive(Debug)]
struct Files {
    certificate: PathBuf,
    key: PathBuf,
    authorities: Option<PathBuf>,
    clients: AuthClients,
}

impl Tls {
    /// Reads the files that `config` names. Returns `None` if TLS is not configured.
    ///
    /// # Errors
    ///
    /// [`TlsError`]
    pub fn open(config: &Config) -> Result<Option<Self>, TlsError> {
        let (Some(_), Some(certificate), Some(key)) =
            (config.tls_port, &config.tls_cert_file, &config.tls_key_file)
        else {
            return Ok(None);
        };
        let files = Files {
            certificate: certificate.clone(),
            key: key.clone(),
            authorities: config.tls_ca_cert_file.clone(),
            clients: config.tls_auth_clients,
        };
        let config = RwLock::new(files.read()?);
        Ok(Some(Self { files, config }))
    }

    /// Reads the files again. Existing connections are not affected.
    ///
    /// # Errors
    ///
    /// [`TlsError`]; the previous certificates then stay in use.
    pub fn reload(&self) -> Result<(), TlsError> {
        let read = self.files.read()?;
        *self.config.write().unwrap_or_else(PoisonError::into_inner) = read;
        Ok(())
    }

    fn present(&self) -> Arc<ServerConfig> {
        let config = self.config.read().unwrap_or_else(PoisonError::into_inner);
        config.clone()
    }

    /// Performs the handshake with a client.
    pub(super) async fn accept(&self, stream: TcpStream) -> io::Result<TlsStream> {
        let acceptor = TlsAcceptor::from(self.present());
        let stream = timeout(HANDSHAKE, acceptor.accept(stream)).await??;
        let (socket, mut session) = stream.into_inner();
        session.set_buffer_limit(Some(UNWRITTEN_UNAUTHENTICATED));
        Ok(TlsStream { socket, session })
    }
}

impl Files {
    fn read(&self) -> Result<Arc<ServerConfig>, TlsError> {
        let provider = Arc::new(ring::default_provider());
        let certificates = certificates::read(&self.certificate)?;
        let key = read_key(&self.key)?;
        let builder = ServerConfig::builder_with_provider(provider.clone());
        let builder = builder
            .with_safe_default_protocol_versions()
            .map_err(fault(&self.certificate))?;
        let builder = match (&self.authorities, self.clients) {
            (Some(path), AuthClients::Yes | AuthClients::Optional) => {
                let roots = read_authorities(path)?;
                let verifier =
                    WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
                let verifier = match self.clients {
                    AuthClients::Optional => verifier.allow_unauthenticated(),
                    _ => verifier,
                };
                builder.with_client_cert_verifier(verifier.build().map_err(fault(path))?)
            }
            _ => builder.with_no_client_auth(),
        };
        let config = builder.with_single_cert(certificates, key);
        Ok(Arc::new(config.map_err(fault(&self.certificate))?))
    }
}

/// An encrypted stream. No method waits except [`ready`](Self::ready).
#[derive(Debug)]
pub(super) struct TlsStream {
    socket: TcpStream,
    session: ServerConnection,
}

impl TlsStream {
    pub(super) fn socket(&self) -> &TcpStream {
        &self.socket
    }

    pub(super) async fn ready(&mut self, interest: Interest) -> io::Result<Ready> {
        // No other method here gives other tasks a turn.
        consume_budget().await;
        // The last packet of the handshake may have carried data.
        if self
            .session
            .reader()
            .fill_buf()
            .is_ok_and(|text| !text.is_empty())
        {
            return Ok(Ready::READABLE);
        }
        self.socket.ready(interest).await
    }

    /// Reads into the free room of `buffer` the bytes that are decrypted, or can be without
    /// waiting. Returns 0 at the end of the stream.
    pub(super) fn try_read_buf(&mut self, buffer: &mut BytesMut) -> io::Result<usize> {
        loop {
            let before = buffer.len();
            let end = loop {
                let mut reader = self.session.reader();
                let room = buffer.capacity() - buffer.len();
                match reader.fill_buf() {
                    Ok([]) => break true,
                    Ok(_) if room == 0 => break false,
                    Ok(text) => {
                        let length = text.len().min(room);
                        buffer.extend_from_slice(&text[..length]);
                        reader.consume(length);
                    }
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => break false,
                    // The client closed the connection without a close_notify, which is common. A
                    // truncated request is discarded.
                    Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => break true,
                    Err(error) => return Err(error),
                }
            };
            if end || buffer.len() > before {
                return Ok(buffer.len() - before);
            }
            self.session.read_tls(&mut Socket(&self.socket))?;
            if let Err(error) = self.session.process_new_packets() {
                // The client gets an alert with the reason if it can be written at once.
                let _ = self.flush();
                return Err(io::Error::new(io::ErrorKind::InvalidData, error));
            }
        }
    }

    /// Accepts some of `bytes`, and writes as much as the socket accepts.
    pub(super) fn try_write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = self.session.writer().write(bytes)?;
        match self.flush() {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock && taken > 0 => Ok(taken),
            flushed => flushed.map(|()| taken),
        }
    }

    pub(super) fn allow_large_writes(&mut self) {
        self.session.set_buffer_limit(Some(UNWRITTEN));
    }

    pub(super) fn has_unwritten(&self) -> bool {
        self.session.wants_write()
    }

    pub(super) fn finish(&mut self) {
        self.session.send_close_notify();
        // If the socket does not accept it, the client still sees the connection end.
        let _ = self.flush();
    }

    fn flush(&mut self) -> io::Result<()> {
        while self.session.wants_write() {
            self.session.write_tls(&mut Socket(&self.socket))?;
        }
        Ok(())
    }
}

/// A socket in non-blocking use.
struct Socket<'a>(&'a TcpStream);

impl Read for Socket<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.0.try_read(bytes)
    }
}

impl Write for Socket<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.try_write(bytes)
    }

    fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        self.0.try_write_vectored(slices)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
