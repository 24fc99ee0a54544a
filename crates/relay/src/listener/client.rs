//! The one client that may come in, and how it is known.
//!
//! Its certificate is one that the authority has signed for clients, that has not ended, and whose subject is the expected
//! one. That it has not *begun* is no reason to refuse it: a device that wakes up without a clock lives in 1970, and its
//! kubelet has to come in all the same. So the certificate is looked at as of the day on which it began, if that is later.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use rustls::client::danger::HandshakeSignatureValid;
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{CertificateError, DigitallySignedStruct, DistinguishedName, Error, SignatureScheme};
use x509_parser::certificate::X509Certificate;
use x509_parser::prelude::FromDer;

use super::refusals::{Refusal, Refusals};
use crate::source::{FileError, Source};
use crate::tls;

/// Who may come in: for a kubelet `system:node:<node>` in the group `system:nodes`.
#[derive(Clone, Debug)]
pub struct Client {
    /// Who signs its certificate.
    pub authority: Source,
    /// The common name of the certificate's subject.
    pub name: String,
    /// One of the organizations of the certificate's subject.
    pub group: String,
}

/// Lets the client in, and nobody else.
pub(super) struct Verifier {
    inner: Arc<dyn ClientCertVerifier>,
    name: String,
    group: String,
    refusals: Arc<Refusals>,
}

/// What a certificate says about its owner.
struct Subject {
    names: Vec<String>,
    groups: Vec<String>,
}

// === impl Verifier ===

impl Verifier {
    pub(super) fn new(client: &Client, refusals: Arc<Refusals>) -> Result<Self, FileError> {
        let roots = Arc::new(tls::authorities(&client.authority)?);
        let inner = WebPkiClientVerifier::builder_with_provider(roots, tls::provider())
            .build()
            .map_err(|error| client.authority.bad(error.to_string()))?;
        Ok(Self { inner, name: client.name.clone(), group: client.group.clone(), refusals })
    }

    fn refuse(&self, error: &Error, subject: &Subject) {
        let refusal = match error {
            Error::InvalidCertificate(
                CertificateError::Expired | CertificateError::ExpiredContext { .. },
            ) => Refusal::Expired,
            _ => Refusal::Foreign,
        };
        self.refusals.say(refusal, format_args!("{subject}: {error}"));
    }
}

impl ClientCertVerifier for Verifier {
    /// None: the kubelet has one certificate, and shows it to whoever asks.
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        let Ok((_, parsed)) = X509Certificate::from_der(certificate) else {
            self.refusals.say(Refusal::Foreign, "what it shows is no certificate");
            return Err(CertificateError::BadEncoding.into());
        };
        let subject = Subject::of(&parsed);
        let begin = parsed.validity().not_before.timestamp();
        let begin = UnixTime::since_unix_epoch(Duration::from_secs(u64::try_from(begin).unwrap_or(0)));
        let verified = self.inner.verify_client_cert(certificate, intermediates, now.max(begin));
        let verified = verified.inspect_err(|error| self.refuse(error, &subject))?;
        if !subject.is(&self.name, &self.group) {
            let (name, group) = (&self.name, &self.group);
            self.refusals.say(Refusal::Other, format_args!("{subject}; expected {name} of {group}"));
            return Err(CertificateError::ApplicationVerificationFailure.into());
        }
        Ok(verified)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.inner.verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.inner.verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.inner.supported_verify_schemes()
    }
}

impl fmt::Debug for Verifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Verifier").field("name", &self.name).finish_non_exhaustive()
    }
}

// === impl Subject ===

impl Subject {
    fn of(certificate: &X509Certificate<'_>) -> Self {
        let subject = certificate.subject();
        let text = |attribute: &x509_parser::x509::AttributeTypeAndValue<'_>| {
            // What is no text is nobody's name.
            attribute.as_str().unwrap_or("?").to_owned()
        };
        Self {
            names: subject.iter_common_name().map(text).collect(),
            groups: subject.iter_organization().map(text).collect(),
        }
    }

    /// Whoever has two names is nobody: API servers take the last one, others the first.
    fn is(&self, name: &str, group: &str) -> bool {
        self.names == [name] && self.groups.iter().any(|one| one == group)
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.names.join("+"), self.groups.join("+"))
    }
}
