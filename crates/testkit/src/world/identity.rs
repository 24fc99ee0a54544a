//! Who the node is: its client certificate, kept as a kubelet keeps its own, and certificates of others.
//!
//! A kubelet that renews its certificate writes a file with certificate and key, named after the date, and points a link
//! with a constant name at it. Whoever reads the link finds one or the other, never a half.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::json;

use super::network::NODE_ADDRESS;
use crate::certificates::{self, Subject};
use crate::shared::fresh_name;

const CURRENT: &str = "kubelet-client-current.pem";

/// Where the files of the node's identity are.
#[derive(Clone, Debug)]
pub struct NodeCertificate {
    /// A link to a file with the certificate and its key.
    pub current: PathBuf,
    /// What signs the server's certificate, and this one.
    pub ca: PathBuf,
}

/// A client certificate.
#[derive(Clone, Debug)]
pub struct ClientCertificate {
    /// The certificate.
    pub certificate: PathBuf,
    /// Its key.
    pub key: PathBuf,
    /// Both in one file.
    pub both: PathBuf,
}

/// Makes what the kubelet and the API server show each other, and the node's first certificate.
pub(crate) fn create(folder: &Path, node: &str) -> Result<()> {
    let called = [node, NODE_ADDRESS, "127.0.0.1", "localhost"];
    certificates::save(folder, "kubelet", &Subject::Server { name: node, called: &called })?;
    let apiserver =
        Subject::Client { name: "kube-apiserver-kubelet-client", organisation: Some("system:masters") };
    certificates::save(folder, "apiserver-kubelet", &apiserver)?;
    let pki = folder.join("pki");
    fs::create_dir_all(&pki).with_context(|| format!("cannot make {}", pki.display()))?;
    rotate(folder, node)
}

pub(crate) fn node(folder: &Path) -> NodeCertificate {
    NodeCertificate { current: folder.join("pki").join(CURRENT), ca: folder.join("ca.crt") }
}

/// Gives the node another certificate. The old one stays where it was, and stays valid.
pub(crate) fn rotate(folder: &Path, node: &str) -> Result<()> {
    let pki = folder.join("pki");
    let subject =
        Subject::Client { name: &format!("system:node:{node}"), organisation: Some("system:nodes") };
    let (certificate, key) = certificates::issue(folder, &subject)?;
    // Named after seconds that pass from one to the next, since two may well be made within one.
    let number = fs::read_dir(&pki).with_context(|| format!("cannot list {}", pki.display()))?.count();
    let name = format!(
        "kubelet-client-2026-01-01-{:02}-{:02}-{:02}.pem",
        number / 3600,
        number / 60 % 60,
        number % 60
    );
    fs::write(pki.join(&name), certificate + &key).with_context(|| format!("cannot write {name}"))?;
    let next = pki.join("next");
    symlink(&name, &next).with_context(|| format!("cannot link {name}"))?;
    fs::rename(&next, pki.join(CURRENT)).with_context(|| format!("cannot point {CURRENT} at {name}"))
}

/// Makes a certificate for somebody else.
pub(crate) fn issue(folder: &Path, user: &str, group: Option<&str>) -> Result<ClientCertificate> {
    let home = folder.join("issued").join(fresh_name("client"));
    fs::create_dir_all(&home).with_context(|| format!("cannot make {}", home.display()))?;
    let issued = ClientCertificate {
        certificate: home.join("client.crt"),
        key: home.join("client.key"),
        both: home.join("client.pem"),
    };
    let (certificate, key) =
        certificates::issue(folder, &Subject::Client { name: user, organisation: group })?;
    let both = format!("{certificate}{key}");
    for (path, text) in [(&issued.certificate, &certificate), (&issued.key, &key), (&issued.both, &both)] {
        fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(issued)
}

/// Writes a kubeconfig with which the kubelet speaks to the server itself, as the node.
pub(crate) fn kubeconfig(folder: &Path, url: &str) -> Result<PathBuf> {
    let NodeCertificate { current, ca } = node(folder);
    let config = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{ "name": "world", "cluster": { "server": url, "certificate-authority": ca } }],
        "users": [{ "name": "node", "user": { "client-certificate": current, "client-key": current } }],
        "contexts": [{ "name": "world", "context": { "cluster": "world", "user": "node" } }],
        "current-context": "world",
    });
    let path = folder.join("kubelet.kubeconfig");
    fs::write(&path, format!("{config:#}\n")).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tempfile::TempDir;

    use super::{create, node, rotate};
    use crate::certificates;

    #[test]
    fn a_rotation_leads_the_link_to_another_file_and_keeps_the_first() {
        let folder = TempDir::new().unwrap();
        certificates::write(folder.path()).unwrap();
        create(folder.path(), "node").unwrap();
        let current = node(folder.path()).current;
        let (first, text) = (fs::read_link(&current).unwrap(), fs::read_to_string(&current).unwrap());
        rotate(folder.path(), "node").unwrap();
        rotate(folder.path(), "node").unwrap();
        let second = fs::read_link(&current).unwrap();
        assert_ne!(first, second);
        assert_ne!(fs::read_to_string(&current).unwrap(), text);
        assert_eq!(fs::read_to_string(current.with_file_name(first)).unwrap(), text);
        assert!(text.contains("BEGIN CERTIFICATE") && text.contains("BEGIN PRIVATE KEY"), "{text}");
    }
}
