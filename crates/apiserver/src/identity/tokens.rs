//! The tokens of the admin and of the nodes.
//!
//! A token is 256 random bits. The list on disk holds digests only; the secrets are in the kubeconfigs, each in one
//! file, and nowhere else. Whoever shows a token is found by its digest, so that how long the search takes says nothing
//! about the secret.
//!
//! The list is written before the kubeconfig: one that is there works. After a crash in between the kubeconfig is
//! missing, or has a token that is no longer listed, and the next call makes a new one.

use std::{
    collections::HashMap,
    fmt::Write,
    path::{Path, PathBuf},
    sync::{PoisonError, RwLock, RwLockWriteGuard},
};

use aws_lc_rs::digest::{SHA256, digest};
use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use serde::{Deserialize, Serialize};

use super::{
    IdentityError, User, files,
    kubeconfig::{Found, Kubeconfig},
};

/// Who has a token, and where the kubeconfigs with the secrets are.
pub(crate) struct Tokens {
    data: PathBuf,
    list: PathBuf,
    ca_pem: String,
    /// By digest.
    entries: RwLock<HashMap<String, Entry>>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    /// Unique: whoever gets a new token loses the old one.
    name: String,
    user: String,
    groups: Vec<String>,
    /// Of the token, in hexadecimal.
    sha256: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    tokens: Vec<Entry>,
}

// === impl Tokens ===

impl Tokens {
    /// Opens the list of tokens in the folder `pki`, for kubeconfigs that trust this CA.
    pub(crate) fn open(data: &Path, pki: &Path, ca_pem: &str) -> Result<Self, IdentityError> {
        let list = pki.join("tokens.json");
        let found = match files::read(&list)? {
            Some(text) => {
                let remedy = "remove it, and new tokens and kubeconfigs are made at the next start";
                let unreadable = |_| IdentityError::Unreadable {
                    path: list.clone(),
                    expected: "a list of tokens",
                    remedy,
                };
                serde_json::from_str::<List>(&text).map_err(unreadable)?.tokens
            }
            None => Vec::new(),
        };
        let entries = found.into_iter().map(|entry| (entry.sha256.clone(), entry)).collect();
        Ok(Self { data: data.into(), list, ca_pem: ca_pem.into(), entries: RwLock::new(entries) })
    }

    /// Who shows this token.
    pub(crate) fn user(&self, token: &str) -> Option<User> {
        let entries = self.entries.read().unwrap_or_else(PoisonError::into_inner);
        let entry = entries.get(&sha256(token))?;
        Some(User { name: entry.user.clone(), groups: entry.groups.clone(), ..User::default() })
    }

    /// The admin's kubeconfig, written if there is none or if it does not fit any longer.
    pub(crate) fn admin(&self, server: &str) -> Result<PathBuf, IdentityError> {
        let path = self.data.join("kubeconfig");
        self.kubeconfig("admin", &User::admin(), &path, server)?;
        Ok(path)
    }

    /// The kubeconfig of a node, written if there is none or if it does not fit any longer.
    pub(crate) fn node(&self, node: &str, server: &str) -> Result<PathBuf, IdentityError> {
        let path = self.node_path(node)?;
        files::folder(&self.data.join("nodes"))?;
        self.kubeconfig(&node_entry(node), &User::of_node(node), &path, server)?;
        Ok(path)
    }

    /// Takes a node's token away, and removes its kubeconfig. Says whether it had one.
    pub(crate) fn revoke(&self, node: &str) -> Result<bool, IdentityError> {
        let path = self.node_path(node)?;
        let mut entries = self.lock();
        let mut left = entries.clone();
        left.retain(|_, entry| entry.name != node_entry(node));
        let had = left.len() < entries.len();
        if had {
            self.write(&left)?;
            *entries = left;
        }
        files::remove(&path)?;
        Ok(had)
    }

    fn node_path(&self, node: &str) -> Result<PathBuf, IdentityError> {
        if !is_dns_subdomain(node) {
            return Err(IdentityError::NodeName { name: node.into() });
        }
        Ok(self.data.join("nodes").join(format!("{node}.kubeconfig")))
    }

    fn kubeconfig(&self, name: &str, user: &User, path: &Path, server: &str) -> Result<(), IdentityError> {
        let mut entries = self.lock();
        let found = files::read(path)?.and_then(|text| Found::parse(&text));
        let listed = |token: &&str| {
            let entry = entries.get(&sha256(token));
            entry.is_some_and(|entry| entry.user == user.name && entry.groups == user.groups)
        };
        let kept = found.as_ref().and_then(|found| found.token(&user.name)).filter(listed);
        let token = match kept {
            Some(token) => token.to_owned(),
            None => self.replace(&mut entries, name, user)?,
        };
        let wanted = Kubeconfig { server, ca_pem: &self.ca_pem, user: &user.name, token: &token };
        if found.is_some_and(|found| found.fits(&wanted)) {
            return Ok(());
        }
        files::write(path, &wanted.render(), files::SECRET)
    }

    /// Lists a new token under the name, in place of the old one.
    fn replace(
        &self,
        entries: &mut HashMap<String, Entry>,
        name: &str,
        user: &User,
    ) -> Result<String, IdentityError> {
        let mut secret = [0; 32];
        aws_lc_rs::rand::fill(&mut secret).map_err(|_| IdentityError::Random)?;
        let token = BASE64_URL_SAFE_NO_PAD.encode(secret);
        let sha256 = sha256(&token);
        let mut changed = entries.clone();
        changed.retain(|_, entry| entry.name != name);
        let (user, groups) = (user.name.clone(), user.groups.clone());
        changed.insert(sha256.clone(), Entry { name: name.into(), user, groups, sha256 });
        self.write(&changed)?;
        *entries = changed;
        Ok(token)
    }

    /// What is in memory changes only after this has succeeded.
    fn write(&self, entries: &HashMap<String, Entry>) -> Result<(), IdentityError> {
        let mut tokens: Vec<_> = entries.values().cloned().collect();
        tokens.sort_by(|a, b| a.name.cmp(&b.name));
        let text = serde_json::to_string_pretty(&List { tokens }).expect("strings are always JSON");
        files::write(&self.list, &format!("{text}\n"), files::SECRET)
    }

    fn lock(&self) -> RwLockWriteGuard<'_, HashMap<String, Entry>> {
        // The map is replaced as a whole, so a poisoned one is still consistent.
        self.entries.write().unwrap_or_else(PoisonError::into_inner)
    }
}

fn node_entry(node: &str) -> String {
    format!("node/{node}")
}

fn sha256(token: &str) -> String {
    let mut hex = String::with_capacity(64);
    for byte in digest(&SHA256, token.as_bytes()).as_ref() {
        write!(hex, "{byte:02x}").expect("a string takes whatever is written");
    }
    hex
}

/// What the name of a Node has to be.
fn is_dns_subdomain(name: &str) -> bool {
    let label = |label: &str| {
        let bytes = label.as_bytes();
        let alphanumeric = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        bytes.first().is_some_and(alphanumeric)
            && bytes.last().is_some_and(alphanumeric)
            && bytes.iter().all(|byte| alphanumeric(byte) || *byte == b'-')
    };
    name.len() <= 253 && name.split('.').all(label)
}

#[cfg(test)]
mod tests;
