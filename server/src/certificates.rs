//! The files that TLS needs.

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

/// The certificates in a PEM file: at least one.
pub(crate) fn read(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let read = CertificateDer::pem_file_iter(path).and_then(Iterator::collect);
    let certificates: Vec<_> = read.map_err(fault(path))?;
    match certificates.is_empty() {
        true => Err(fault(path)("there is no certificate in it")),
        false => Ok(certificates),
    }
}

/// The private key in a PEM file.
pub(crate) fn read_key(path: &Path) -> Result<PrivateKeyDer<'static>, TlsError> {
    PrivateKeyDer::from_pem_file(path).map_err(fault(path))
}

/// The certificate authorities in a PEM file.
pub(crate) fn read_authorities(path: &Path) -> Result<RootCertStore, TlsError> {
    let mut roots = RootCertStore::empty();
    for certificate in read(path)? {
        roots.add(certificate).map_err(fault(path))?;
    }
    Ok(roots)
}

/// What is wrong with the file.
pub(crate) fn fault<E: ToString>(path: &Path) -> impl FnOnce(E) -> TlsError {
    |error| TlsError {
        path: path.to_path_buf(),
        fault: error.to_string(),
    }
}
