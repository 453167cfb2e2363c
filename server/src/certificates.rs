//! The certificate and key files for TLS.

use std::path::{Path, PathBuf};
use thiserror::Error;
use tokio_rustls::rustls::{
    RootCertStore,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
};

/// TLS cannot be used with these files.
#[derive(Debug, Error)]
#[error("{}: {fault}", path.display())]
pub struct TlsError {
    path: PathBuf,
    fault: String,
}

/// Reads the certificates in a PEM file, at least one.
pub(crate) fn read(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let read = CertificateDer::pem_file_iter(path).and_then(Iterator::collect);
    let certificates: Vec<_> = read.map_err(fault(path))?;
    match certificates.is_empty() {
        true => Err(fault(path)("there is no certificate in it")),
        false => Ok(certificates),
    }
}

/// Reads the private key in a PEM file.
pub(crate) fn read_key(path: &Path) -> Result<PrivateKeyDer<'static>, TlsError> {
    PrivateKeyDer::from_pem_file(path).map_err(fault(path))
}

/// Reads the certificate authorities in a PEM file.
pub(crate) fn read_authorities(path: &Path) -> Result<RootCertStore, TlsError> {
    let mut roots = RootCertStore::empty();
    for certificate in read(path)? {
        roots.add(certificate).map_err(fault(path))?;
    }
    Ok(roots)
}

/// Returns the error for a file that cannot be used.
pub(crate) fn fault<E: ToString>(path: &Path) -> impl FnOnce(E) -> TlsError {
    |error| TlsError {
        path: path.to_path_buf(),
        fault: error.to_string(),
    }
}
