//! Certificates and keys as rustls wants them, from PEM as administrators and kubelets write it.

use std::sync::Arc;

use rustls::RootCertStore;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;

use crate::source::{FileError, Source};

pub(crate) const H2: &[u8] = b"h2";
pub(crate) const HTTP1: &[u8] = b"http/1.1";

pub(crate) fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::aws_lc_rs::default_provider())
}

/// Both versions of HTTP, the better one first.
pub(crate) fn protocols() -> Vec<Vec<u8>> {
    vec![H2.to_vec(), HTTP1.to_vec()]
}

/// Those who may vouch for the other side. There is at least one.
pub(crate) fn authorities(source: &Source) -> Result<RootCertStore, FileError> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(&source.read()?) {
        let certificate = certificate.map_err(|error| source.bad(format!("no certificate: {error}")))?;
        roots.add(certificate).map_err(|error| source.bad(format!("unusable certificate: {error}")))?;
    }
    match roots.is_empty() {
        true => Err(source
            .bad("there is no certificate authority: nobody could tell the right other side from another")),
        false => Ok(roots),
    }
}

/// A certificate, those that lead from it to an authority, and its key. All may be in one file.
pub(crate) fn certified(chain: &Source, key: &Source) -> Result<CertifiedKey, FileError> {
    let certificates: Vec<_> = CertificateDer::pem_slice_iter(&chain.read()?)
        .collect::<Result<_, _>>()
        .map_err(|error| chain.bad(format!("no certificate: {error}")))?;
    if certificates.is_empty() {
        return Err(chain.bad("there is no certificate in it"));
    }
    let private = PrivateKeyDer::from_pem_slice(&key.read()?)
        .map_err(|error| key.bad(format!("no private key: {error}")))?;
    let signing = rustls::crypto::aws_lc_rs::sign::any_supported_type(&private)
        .map_err(|error| key.bad(format!("unusable private key: {error}")))?;
    let certified = CertifiedKey::new(certificates, signing);
    certified.keys_match().map_err(|_| key.bad("the key does not belong to the certificate"))?;
    Ok(certified)
}
