//! A certificate for a server that only this machine reaches.
//!
//! It comes with an authority of its own, whose key is forgotten at once: nothing else can ever be signed by it, so whoever
//! trusts it trusts this one server. It is valid from 1970 to the end of time as certificates know it, because a device may
//! wake up without a clock, and because nobody renews what nobody but the owner of the files can use.

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose, date_time_ymd,
};

/// A certificate, its key, and the authority by which clients know it; all PEM.
#[derive(Clone)]
pub struct LoopbackCertificate {
    /// What clients trust.
    pub authority: String,
    /// What the server shows.
    pub certificate: String,
    /// What the server keeps to itself.
    pub key: String,
}

/// Why no certificate could be made.
#[derive(Debug, thiserror::Error)]
#[error("cannot make a certificate for {names}: {source}")]
pub struct CertificateError {
    names: String,
    source: rcgen::Error,
}

/// Makes a certificate for these names and addresses.
///
/// # Errors
/// If one of them is neither a host name nor an address.
pub fn loopback_certificate(names: &[&str]) -> Result<LoopbackCertificate, CertificateError> {
    make(names).map_err(|source| CertificateError { names: names.join(", "), source })
}

fn make(names: &[&str]) -> Result<LoopbackCertificate, rcgen::Error> {
    let mut ca = params("safepoint-relay-ca", &[])?;
    ca.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    ca.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
    let ca = CertifiedIssuer::self_signed(ca, KeyPair::generate()?)?;

    let mut server = params("safepoint-relay", names)?;
    server.is_ca = IsCa::ExplicitNoCa;
    server.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    server.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    server.use_authority_key_identifier_extension = true;
    let key = KeyPair::generate()?;
    let certificate = server.signed_by(&key, &ca)?;
    Ok(LoopbackCertificate { authority: ca.pem(), certificate: certificate.pem(), key: key.serialize_pem() })
}

fn params(name: &str, names: &[&str]) -> Result<CertificateParams, rcgen::Error> {
    let names: Vec<_> = names.iter().map(|&name| name.to_owned()).collect();
    let mut params = CertificateParams::new(names)?;
    params.distinguished_name.push(DnType::CommonName, name);
    params.not_before = date_time_ymd(1970, 1, 1);
    params.not_after = date_time_ymd(9999, 12, 31);
    Ok(params)
}

// === impl LoopbackCertificate ===

impl std::fmt::Debug for LoopbackCertificate {
    /// Never the key.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LoopbackCertificate").field("certificate", &self.certificate).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rustls::client::WebPkiServerVerifier;
    use rustls::client::danger::ServerCertVerifier;
    use rustls::pki_types::pem::PemObject;
    use rustls::pki_types::{CertificateDer, ServerName, UnixTime};

    use super::*;
    use crate::source::Source;
    use crate::tls;

    #[test]
    fn it_is_accepted_at_any_time_for_its_names_and_for_no_other() {
        let made = loopback_certificate(&["localhost", "127.0.0.1", "::1"]).unwrap();
        let roots = tls::authorities(&Source::Bytes(made.authority.into_bytes())).unwrap();
        let verifier =
            WebPkiServerVerifier::builder_with_provider(roots.into(), tls::provider()).build().unwrap();
        let certificate = CertificateDer::from_pem_slice(made.certificate.as_bytes()).unwrap();
        let is_accepted = |name: &'static str, second| {
            let name = ServerName::try_from(name).unwrap();
            let now = UnixTime::since_unix_epoch(Duration::from_secs(second));
            verifier.verify_server_cert(&certificate, &[], &name, &[], now).is_ok()
        };
        for name in ["localhost", "127.0.0.1", "::1"] {
            assert!(is_accepted(name, 1), "{name} in 1970");
            assert!(is_accepted(name, 200_000_000_000), "{name} in the year 8307");
        }
        assert!(!is_accepted("192.0.2.1", 1));
        assert!(!is_accepted("example.com", 1));
    }

    #[test]
    fn the_key_is_the_one_of_the_certificate_and_is_never_printed() {
        let made = loopback_certificate(&["localhost"]).unwrap();
        let bytes = |text: &str| Source::Bytes(text.as_bytes().to_vec());
        tls::certified(&bytes(&made.certificate), &bytes(&made.key)).unwrap();
        assert!(!format!("{made:?}").contains("PRIVATE"));
    }
}
