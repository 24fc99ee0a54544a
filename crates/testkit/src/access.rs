//! How to reach a control plane as its administrator: the files beside its kubeconfig.
//!
//! The kubeconfig names them by their full paths, so it works from anywhere on this machine while the folder is there.
//! It is written as JSON, which is also YAML, and read back by other processes that are told its path.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::{Value, json};

/// What a client needs.
#[derive(Debug)]
pub(crate) struct Access {
    pub(crate) kubeconfig: PathBuf,
    pub(crate) url: String,
    pub(crate) ca: String,
    pub(crate) certificate: String,
    pub(crate) key: String,
    pub(crate) token: String,
}

impl Access {
    /// Makes the administrator's token; kube-apiserver reads it from `tokens.csv`.
    pub(crate) fn write_token(folder: &Path) -> Result<()> {
        let mut random = [0_u8; 16];
        File::open("/dev/urandom")
            .and_then(|mut file| file.read_exact(&mut random))
            .context("cannot read /dev/urandom")?;
        let token: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
        write(&folder.join("token"), &token)?;
        write(&folder.join("tokens.csv"), &format!("{token},admin,admin,\"system:masters\"\n"))
    }

    /// Writes the kubeconfig of a server whose certificates and token are in the folder already.
    pub(crate) fn write(folder: &Path, url: &str) -> Result<Self> {
        Self::write_as(folder, "kubeconfig", url)
    }

    /// Writes a kubeconfig of another name, for those to whom the server has another address.
    pub(crate) fn write_as(folder: &Path, name: &str, url: &str) -> Result<Self> {
        let kubeconfig = folder.join(name);
        let config = json!({
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{
                "name": "test",
                "cluster": { "server": url, "certificate-authority": folder.join("ca.crt") },
            }],
            "users": [{ "name": "admin", "user": { "token": read(&folder.join("token"))? } }],
            "contexts": [{ "name": "test", "context": { "cluster": "test", "user": "admin" } }],
            "current-context": "test",
        });
        write(&kubeconfig, &format!("{config:#}\n"))?;
        Self::read(&kubeconfig)
    }

    /// Reads what [`Access::write`] wrote, perhaps in another process.
    pub(crate) fn read(kubeconfig: &Path) -> Result<Self> {
        let foreign = || {
            let path = kubeconfig.display();
            format!("{path} is not a kubeconfig that `cargo xtask kubernetes up` prints")
        };
        let config: Value = serde_json::from_str(&read(kubeconfig)?).with_context(foreign)?;
        let url = config.pointer("/clusters/0/cluster/server").and_then(Value::as_str);
        let folder = kubeconfig.parent().with_context(foreign)?;
        Ok(Self {
            kubeconfig: kubeconfig.to_owned(),
            url: url.with_context(foreign)?.to_owned(),
            ca: read(&folder.join("ca.crt")).with_context(foreign)?,
            certificate: read(&folder.join("admin.crt")).with_context(foreign)?,
            key: read(&folder.join("admin.key")).with_context(foreign)?,
            token: read(&folder.join("token")).with_context(foreign)?,
        })
    }
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}

fn write(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::{Access, write};
    use crate::certificates;

    #[test]
    fn another_process_finds_everything_by_the_path_of_the_kubeconfig() {
        let folder = TempDir::new().unwrap();
        certificates::write(folder.path()).unwrap();
        Access::write_token(folder.path()).unwrap();
        let written = Access::write(folder.path(), "https://127.0.0.1:1").unwrap();
        let read = Access::read(&written.kubeconfig).unwrap();
        assert_eq!((&read.url, &read.token), (&written.url, &written.token));
        assert_eq!(read.url, "https://127.0.0.1:1");
        assert_eq!(read.token.len(), 32);
        assert!(read.key.starts_with("-----BEGIN PRIVATE KEY-----"));
    }

    #[test]
    fn a_kubeconfig_from_elsewhere_is_refused_in_words() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("config");
        write(&path, "apiVersion: v1\nkind: Config\n").unwrap();
        assert!(Access::read(&path).unwrap_err().to_string().contains("`cargo xtask kubernetes up`"));
    }
}
