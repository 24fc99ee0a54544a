//! The keys and certificates of one control plane: made for it, valid for it alone, and gone with its folder.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose, PKCS_RSA_SHA256,
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

/// Writes `ca`, `server`, `admin` (each `.crt` and `.key`) and `service-account.key` into a folder.
pub(crate) fn write(folder: &Path) -> Result<()> {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages =
        vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign, KeyUsagePurpose::DigitalSignature];
    params.distinguished_name.push(DnType::CommonName, "kubernetes-ca");
    let ca = CertifiedIssuer::self_signed(params, KeyPair::generate()?)?;
    save(folder, "ca", &ca.pem(), ca.key())?;

    let mut server = CertificateParams::new(SERVER_NAMES.map(str::to_owned))?;
    server.distinguished_name.push(DnType::CommonName, "kube-apiserver");
    issue(folder, "server", server, ExtendedKeyUsagePurpose::ServerAuth, &ca)?;

    let mut admin = CertificateParams::default();
    admin.distinguished_name.push(DnType::CommonName, "admin");
    admin.distinguished_name.push(DnType::OrganizationName, "system:masters");
    issue(folder, "admin", admin, ExtendedKeyUsagePurpose::ClientAuth, &ca)?;

    // Clusters sign the tokens of service accounts with RSA; what reads the tokens should meet the usual.
    let key = KeyPair::generate_for(&PKCS_RSA_SHA256)?;
    store(folder, "service-account.key", &key.serialize_pem())
}

fn issue(
    folder: &Path,
    name: &str,
    mut params: CertificateParams,
    purpose: ExtendedKeyUsagePurpose,
    ca: &CertifiedIssuer<'_, KeyPair>,
) -> Result<()> {
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![purpose];
    params.use_authority_key_identifier_extension = true;
    let key = KeyPair::generate()?;
    save(folder, name, &params.signed_by(&key, ca)?.pem(), &key)
}

fn save(folder: &Path, name: &str, certificate: &str, key: &KeyPair) -> Result<()> {
    store(folder, &format!("{name}.crt"), certificate)?;
    store(folder, &format!("{name}.key"), &key.serialize_pem())
}

/// The folder is its owner's alone, so the files need no permissions of their own.
fn store(folder: &Path, name: &str, text: &str) -> Result<()> {
    let path = folder.join(name);
    fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
}
