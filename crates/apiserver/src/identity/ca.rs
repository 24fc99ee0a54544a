//! The CA of this machine, and the certificate that the server shows.
//!
//! Keys are made once and stay; certificates are derived from them and are made anew when they are due. So every write
//! replaces one file, and a crash between two of them leaves a key without a certificate, which the next start mends.
//! The CA's key never leaves its file. Whoever has the CA's certificate, as every kubeconfig has, knows the server by
//! it, also after that certificate has been renewed: key and subject are the same.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use jiff::{SignedDuration, Timestamp};
use rcgen::{Issuer, KeyPair, PublicKeyData};
use rustls::{
    RootCertStore, ServerConfig,
    client::{WebPkiServerVerifier, danger::ServerCertVerifier},
    crypto::CryptoProvider,
    sign::CertifiedKey,
};
use rustls_pki_types::{
    CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName, UnixTime, pem::PemObject,
};
use tracing::info;

use super::{
    IdentityError,
    certificate::{self, Content},
    files,
    names::Names,
    serving::Serving,
};

mod params;

/// A serving certificate is valid for a year, so one that was just issued never outlives the CA.
const CA_RENEWED: SignedDuration = SignedDuration::from_hours(366 * 24);

/// So early that a machine may be switched off for a season.
const SERVING_RENEWED: SignedDuration = SignedDuration::from_hours(90 * 24);

/// What a file's error tells the operator to do.
mod remedy {
    pub(super) const CA_KEY: &str = "remove it together with ca.crt, and a new CA is made at the next start";
    pub(super) const CA: &str = "remove it, and a new one is made for the same key at the next start";
    pub(super) const SERVING: &str = "remove it, and a new one is made at the next start";
}

/// The CA, and the certificate that the server shows.
pub(crate) struct Authority {
    maker: Maker,
    serving: Arc<Serving>,
}

/// All that a serving certificate is made of, and checked against.
struct Maker {
    folder: PathBuf,
    names: Names,
    provider: Arc<CryptoProvider>,
    ca: Ca,
    /// Of the server.
    key: KeyPair,
}

struct Ca {
    pem: String,
    der: CertificateDer<'static>,
    issuer: Issuer<'static, KeyPair>,
}

/// Why a new serving certificate had to be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Due {
    /// There is none.
    Missing,
    /// It is for another key.
    Key,
    /// The names under which the server is reached have changed.
    Names,
    /// It ends soon, or has ended.
    Age,
    /// A client that trusts the CA would not accept it.
    Untrusted,
}

// === impl Authority ===

impl Authority {
    /// Opens what is in the folder, and makes what is not there or is due.
    pub(crate) fn open(folder: &Path, names: Names, now: Timestamp) -> Result<Self, IdentityError> {
        files::folder(folder)?;
        let ca = Ca::open(folder, now)?;
        let key = key_pair(&folder.join("server.key"), remedy::SERVING)?;
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let maker = Maker { folder: folder.into(), names, provider, ca, key };
        let found = maker.found()?;
        let certificate = match (maker.due(found.as_ref(), now), found) {
            (None, Some(found)) => found,
            (due, _) => maker.make(due.unwrap_or(Due::Missing), now)?,
        };
        let serving = Arc::new(Serving::new(maker.certified(certificate)?));
        Ok(Self { maker, serving })
    }

    /// The certificate of the CA, by which clients know the server.
    pub(crate) fn ca_pem(&self) -> &str {
        &self.maker.ca.pem
    }

    /// TLS for the server. A certificate that is renewed later is shown to all connections from then on.
    pub(crate) fn server_config(&self) -> ServerConfig {
        let mut config = ServerConfig::builder_with_provider(Arc::clone(&self.maker.provider))
            .with_safe_default_protocol_versions()
            .expect("the provider has cipher suites for TLS 1.2 and 1.3")
            .with_no_client_auth()
            .with_cert_resolver(Arc::clone(&self.serving) as _);
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        config
    }

    /// Makes a new serving certificate if one is due, and says why. To be called about once a day, and when the
    /// clock has been set.
    pub(crate) fn renew(&self, now: Timestamp) -> Result<Option<Due>, IdentityError> {
        let due = self.maker.due(self.serving.current().cert.first(), now);
        if let Some(due) = due {
            let certificate = self.maker.make(due, now)?;
            self.serving.replace(self.maker.certified(certificate)?);
        }
        Ok(due)
    }
}

// === impl Maker ===

impl Maker {
    fn path(&self) -> PathBuf {
        self.folder.join("server.crt")
    }

    fn found(&self) -> Result<Option<CertificateDer<'static>>, IdentityError> {
        let path = self.path();
        files::read(&path)?.map(|pem| parsed(&path, &pem, remedy::SERVING)).transpose()
    }

    /// Why the certificate cannot be shown any longer, if so.
    fn due(&self, certificate: Option<&CertificateDer<'_>>, now: Timestamp) -> Option<Due> {
        let Some(certificate) = certificate else { return Some(Due::Missing) };
        let Some(content) = certificate::read(certificate) else { return Some(Due::Untrusted) };
        if content.public_key != self.key.subject_public_key_info() {
            Some(Due::Key)
        } else if content.names != self.names {
            Some(Due::Names)
        } else if content.not_after.duration_since(now) < SERVING_RENEWED {
            Some(Due::Age)
        } else if !self.is_trusted(certificate, now) {
            Some(Due::Untrusted)
        } else {
            None
        }
    }

    /// Asks as a client would: the CA may have been replaced since the certificate was made.
    fn is_trusted(&self, certificate: &CertificateDer<'_>, now: Timestamp) -> bool {
        let mut roots = RootCertStore::empty();
        if roots.add(self.ca.der.clone()).is_err() {
            return false;
        }
        let seconds = u64::try_from(now.as_second()).unwrap_or_default();
        let now = UnixTime::since_unix_epoch(Duration::from_secs(seconds));
        let localhost = ServerName::try_from("localhost").expect("it is a DNS name");
        WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&self.provider))
            .build()
            .is_ok_and(|verifier| verifier.verify_server_cert(certificate, &[], &localhost, &[], now).is_ok())
    }

    fn make(&self, due: Due, now: Timestamp) -> Result<CertificateDer<'static>, IdentityError> {
        info!(?due, "making a serving certificate");
        let params = params::serving(&self.names, now)?;
        let signed = params.signed_by(&self.key, &self.ca.issuer);
        let certificate = signed.map_err(|source| IdentityError::Sign { source })?;
        files::write(&self.path(), &certificate.pem(), files::PUBLIC)?;
        Ok(certificate.into())
    }

    fn certified(&self, certificate: CertificateDer<'static>) -> Result<CertifiedKey, IdentityError> {
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(self.key.serialize_der()));
        CertifiedKey::from_der(vec![certificate], key, &self.provider)
            .map_err(|source| IdentityError::Tls { path: self.folder.join("server.key"), source })
    }
}

// === impl Ca ===

impl Ca {
    fn open(folder: &Path, now: Timestamp) -> Result<Self, IdentityError> {
        let (key_path, path) = (folder.join("ca.key"), folder.join("ca.crt"));
        let found = files::read(&path)?;
        // A new key would not fit the certificate, and would lock out everybody who has it.
        if found.is_some() && files::read(&key_path)?.is_none() {
            return Err(IdentityError::KeyMissing { certificate: path, key: key_path });
        }
        let key = key_pair(&key_path, remedy::CA_KEY)?;
        if let Some(pem) = found {
            let der = parsed(&path, &pem, remedy::CA)?;
            let content = content(&path, &der, remedy::CA)?;
            if content.public_key != key.subject_public_key_info() {
                return Err(IdentityError::Mismatch { certificate: path, key: key_path });
            }
            if content.not_after.duration_since(now) >= CA_RENEWED {
                let issuer =
                    Issuer::from_ca_cert_der(&der, key).map_err(|_| not_a_certificate(&path, remedy::CA))?;
                return Ok(Self { pem, der, issuer });
            }
            info!(until = %content.not_after, "renewing the certificate of the CA");
        }
        let params = params::ca(now)?;
        let certificate = params.self_signed(&key).map_err(|source| IdentityError::Sign { source })?;
        let pem = certificate.pem();
        files::write(&path, &pem, files::PUBLIC)?;
        Ok(Self { pem, der: certificate.into(), issuer: Issuer::new(params, key) })
    }
}

/// The key in the file, or a new one if there is no such file.
fn key_pair(path: &Path, remedy: &'static str) -> Result<KeyPair, IdentityError> {
    if let Some(pem) = files::read(path)? {
        let unreadable =
            |_| IdentityError::Unreadable { path: path.into(), expected: "a private key", remedy };
        return KeyPair::from_pem(&pem).map_err(unreadable);
    }
    // ECDSA on P-256, which every TLS client speaks.
    let key = KeyPair::generate().map_err(|_| IdentityError::Random)?;
    files::write(path, &key.serialize_pem(), files::SECRET)?;
    Ok(key)
}

fn parsed(path: &Path, pem: &str, remedy: &'static str) -> Result<CertificateDer<'static>, IdentityError> {
    let der = CertificateDer::from_pem_slice(pem.as_bytes()).map_err(|_| not_a_certificate(path, remedy))?;
    content(path, &der, remedy)?;
    Ok(der)
}

fn content<'a>(path: &Path, der: &'a [u8], remedy: &'static str) -> Result<Content<'a>, IdentityError> {
    certificate::read(der).ok_or_else(|| not_a_certificate(path, remedy))
}

fn not_a_certificate(path: &Path, remedy: &'static str) -> IdentityError {
    IdentityError::Unreadable { path: path.into(), expected: "a certificate", remedy }
}

#[cfg(test)]
mod tests;
