//! Authorities and what they sign.

use std::fs;
use std::path::{Path, PathBuf};

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose, date_time_ymd,
};
use safepoint_relay::Source;

/// The node of all tests.
pub(crate) const NODE: &str = "system:node:edge-1";
pub(crate) const NODES: &str = "system:nodes";

pub(crate) struct Authority(CertifiedIssuer<'static, KeyPair>);

/// A certificate and its key, PEM.
#[derive(Clone)]
pub(crate) struct Pair {
    pub(crate) certificate: String,
    pub(crate) key: String,
}

impl Authority {
    pub(crate) fn new() -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        params.distinguished_name.push(DnType::CommonName, "a cluster");
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    pub(crate) fn pem(&self) -> String {
        self.0.pem()
    }

    pub(crate) fn source(&self) -> Source {
        Source::Bytes(self.pem().into_bytes())
    }

    /// For a server on loopback.
    pub(crate) fn server(&self) -> Pair {
        self.server_from(2020)
    }

    pub(crate) fn server_from(&self, year: i32) -> Pair {
        let mut params = CertificateParams::new(["localhost".to_owned(), "127.0.0.1".to_owned()]).unwrap();
        params.not_before = date_time_ymd(year, 1, 1);
        self.sign(params, ExtendedKeyUsagePurpose::ServerAuth)
    }

    /// For this node.
    pub(crate) fn node(&self) -> Pair {
        self.client(NODE, &[NODES])
    }

    pub(crate) fn client(&self, name: &str, groups: &[&str]) -> Pair {
        self.client_between(name, groups, 2020, 2099)
    }

    /// Valid from the first day of one year to the first of another.
    pub(crate) fn client_between(&self, name: &str, groups: &[&str], from: i32, to: i32) -> Pair {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        for group in groups {
            params.distinguished_name.push(DnType::OrganizationName, *group);
        }
        params.not_before = date_time_ymd(from, 1, 1);
        params.not_after = date_time_ymd(to, 1, 1);
        self.sign(params, ExtendedKeyUsagePurpose::ClientAuth)
    }

    fn sign(&self, mut params: CertificateParams, purpose: ExtendedKeyUsagePurpose) -> Pair {
        params.extended_key_usages = vec![purpose];
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.0).unwrap().pem();
        Pair { certificate, key: key.serialize_pem() }
    }
}

impl Pair {
    pub(crate) fn sources(&self) -> (Source, Source) {
        (Source::Bytes(self.certificate.clone().into_bytes()), Source::Bytes(self.key.clone().into_bytes()))
    }

    /// Both in one file, as a kubelet keeps them, put there in one step.
    pub(crate) fn write(&self, path: &Path) {
        replace(path, &format!("{}{}", self.certificate, self.key));
    }

    pub(crate) fn certificate_der(&self) -> rustls::pki_types::CertificateDer<'static> {
        use rustls::pki_types::pem::PemObject;
        rustls::pki_types::CertificateDer::from_pem_slice(self.certificate.as_bytes()).unwrap()
    }

    pub(crate) fn key_der(&self) -> rustls::pki_types::PrivateKeyDer<'static> {
        use rustls::pki_types::pem::PemObject;
        rustls::pki_types::PrivateKeyDer::from_pem_slice(self.key.as_bytes()).unwrap()
    }
}

/// Replaces a file in one step.
pub(crate) fn replace(path: &Path, text: &str) {
    let mut aside: PathBuf = path.to_owned();
    aside.set_extension("new");
    fs::write(&aside, text).unwrap();
    fs::rename(&aside, path).unwrap();
}
