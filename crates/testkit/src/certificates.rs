//! The keys and certificates of one control plane: made for it, valid for it alone, and gone with its folder.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer,
    KeyPair, KeyUsagePurpose, PKCS_RSA_SHA256,
};

/// Names by which something on this machine, or in a pod, may call the server.
const SERVER_NAMES: [&str; 6] = [
    "localhost",
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "127.0.0.1",
    // The first address of the service range, which the service `kubernetes` gets.
    "10.0.0.1",
];

/// Whom a certificate is for.
pub(crate) enum Subject<'a> {
    /// A server, with the names and addresses by which it is called.
    Server { name: &'a str, called: &'a [&'a str] },
    /// A client: Kubernetes takes the name for the user and the organisation for its group.
    Client { name: &'a str, organisation: Option<&'a str> },
}

/// Writes `ca`, `server`, `admin` (each `.crt` and `.key`) and `service-account.key` into a folder.
pub(crate) fn write(folder: &Path) -> Result<()> {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages =
        vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign, KeyUsagePurpose::DigitalSignature];
    params.distinguished_name.push(DnType::CommonName, "kubernetes-ca");
    let ca = CertifiedIssuer::self_signed(params, KeyPair::generate()?)?;
    store(folder, "ca.crt", &ca.pem())?;
    store(folder, "ca.key", &ca.key().serialize_pem())?;

    save(folder, "server", &Subject::Server { name: "kube-apiserver", called: &SERVER_NAMES })?;
    save(folder, "admin", &Subject::Client { name: "admin", organisation: Some("system:masters") })?;

    // Clusters sign the tokens of service accounts with RSA; what reads the tokens should meet the usual.
    let key = KeyPair::generate_for(&PKCS_RSA_SHA256)?;
    store(folder, "service-account.key", &key.serialize_pem())
}

/// Writes a certificate, signed by the folder's `ca`, and its key beside it.
pub(crate) fn save(folder: &Path, name: &str, subject: &Subject<'_>) -> Result<()> {
    let (certificate, key) = issue(folder, subject)?;
    store(folder, &format!("{name}.crt"), &certificate)?;
    store(folder, &format!("{name}.key"), &key)
}

/// Makes a certificate, signed by the folder's `ca`, and its key.
pub(crate) fn issue(folder: &Path, subject: &Subject<'_>) -> Result<(String, String)> {
    let read = |name| fs::read_to_string(folder.join(name)).with_context(|| format!("cannot read {name}"));
    let ca = Issuer::from_ca_cert_pem(&read("ca.crt")?, KeyPair::from_pem(&read("ca.key")?)?)?;
    let (mut params, name, purpose) = match subject {
        Subject::Server { name, called } => {
            let called: Vec<_> = called.iter().map(|name| (*name).to_owned()).collect();
            (CertificateParams::new(called)?, name, ExtendedKeyUsagePurpose::ServerAuth)
        }
        Subject::Client { name, organisation } => {
            let mut params = CertificateParams::default();
            if let Some(organisation) = organisation {
                params.distinguished_name.push(DnType::OrganizationName, *organisation);
            }
            (params, name, ExtendedKeyUsagePurpose::ClientAuth)
        }
    };
    params.distinguished_name.push(DnType::CommonName, *name);
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![purpose];
    params.use_authority_key_identifier_extension = true;
    let key = KeyPair::generate()?;
    Ok((params.signed_by(&key, &ca)?.pem(), key.serialize_pem()))
}

/// The folder is its owner's alone, so the files need no permissions of their own.
fn store(folder: &Path, name: &str, text: &str) -> Result<()> {
    let path = folder.join(name);
    fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
}
