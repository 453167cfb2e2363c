//! TLS from a standby to its primary. The files are read for each copy, so renewed ones are used.

use super::{
    CopyError,
    link::{LinkError, Stream},
};
use crate::{
    certificates::{self, fault, read_authorities, read_key},
    config::Config,
};
use std::{io, net::TcpStream, path::PathBuf, sync::Arc};
use tokio_rustls::rustls::{
    ClientConfig, ClientConnection, StreamOwned, crypto::ring, pki_types::ServerName,
};

/// The files of the authorities, and of the certificate that the primary may require.
#[derive(Debug)]
pub(super) struct Files {
    authorities: PathBuf,
    certificate_and_key: Option<(PathBuf, PathBuf)>,
}

impl Files {
    pub(super) fn of(config: &Config) -> Self {
        let certificate = config.tls_cert_file.clone();
        Self {
            // The settings were checked, so there is a file.
            authorities: config.tls_ca_cert_file.clone().unwrap_or_default(),
            certificate_and_key: certificate.zip(config.tls_key_file.clone()),
        }
    }

    /// Performs the handshake with the primary, whose certificate must be for `host`.
    pub(super) fn connect(
        &self,
        host: &str,
        socket: TcpStream,
    ) -> Result<Box<dyn Stream>, CopyError> {
        let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(fault(&self.authorities))?
            .with_root_certificates(read_authorities(&self.authorities)?);
        let config = match &self.certificate_and_key {
            None => builder.with_no_client_auth(),
            Some((certificate, key)) => builder
                .with_client_auth_cert(certificates::read(certificate)?, read_key(key)?)
                .map_err(fault(certificate))?,
        };
        let other = |error| LinkError::Io(io::Error::other(error));
        let name = ServerName::try_from(host.to_owned())
            .map_err(|_| LinkError::Reply("its host cannot be the name of a certificate"))?;
        let session = ClientConnection::new(Arc::new(config), name).map_err(other)?;
        Ok(Box::new(StreamOwned::new(session, socket)))
    }
}
