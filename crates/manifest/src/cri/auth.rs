//! Credentials for registries, as Docker and the kubelet keep them in `config.json`.
//!
//! Programs that fetch credentials (`credHelpers`) are not run. What fits best comes first: a path before a host, a host before
//! a pattern.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;

use super::messages::AuthConfig;

#[cfg(test)]
mod tests;

/// Credentials by registry.
#[derive(Clone, Debug, Default)]
pub struct Auths(Vec<(String, AuthConfig)>);

/// A file of credentials that is none.
#[derive(Debug, thiserror::Error)]
#[error("cannot use the credentials in {}: {why}", path.display())]
pub struct AuthsError {
    path: PathBuf,
    why: String,
}

#[derive(Deserialize)]
struct File {
    #[serde(default)]
    auths: BTreeMap<String, Entry>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Entry {
    auth: String,
    username: String,
    password: String,
    identitytoken: String,
    registrytoken: String,
}

// === impl Auths ===

impl Auths {
    /// No credentials.
    pub fn none() -> Self {
        Self::default()
    }

    /// Reads a `config.json`. One that is not there has none.
    ///
    /// # Errors
    /// When it cannot be read or understood. The message has nothing of its contents.
    pub fn read(path: &Path) -> Result<Self, AuthsError> {
        let bad = |why: String| AuthsError { path: path.to_owned(), why };
        let text = match std::fs::read_to_string(path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Self::none()),
            other => other.map_err(|error| bad(error.to_string()))?,
        };
        Self::parse(&text).ok_or_else(|| bad("it is not the JSON that Docker writes".into()))
    }

    fn parse(text: &str) -> Option<Self> {
        let file: File = serde_json::from_str(text).ok()?;
        let mut auths: Vec<_> = file
            .auths
            .into_iter()
            .filter_map(|(place, entry)| Some((registry(&place), entry.config()?)))
            .collect();
        auths.sort_by_key(|(place, _)| (place.contains('*'), std::cmp::Reverse(place.len())));
        Some(Self(auths))
    }

    /// Those that fit an image, the best first.
    pub(super) fn of(&self, image: &str) -> Vec<AuthConfig> {
        let image = full_name(image);
        self.0.iter().filter(|(place, _)| fits(place, &image)).map(|(_, auth)| auth.clone()).collect()
    }
}

// === impl Entry ===

impl Entry {
    fn config(self) -> Option<AuthConfig> {
        let (mut username, mut password) = (self.username, self.password);
        if !self.auth.is_empty() {
            let plain = String::from_utf8(STANDARD.decode(self.auth.trim()).ok()?).ok()?;
            let (user, secret) = plain.split_once(':')?;
            (username, password) = (user.to_owned(), secret.trim_end_matches('\0').to_owned());
        }
        let auth = AuthConfig {
            username,
            password,
            identity_token: self.identitytoken,
            registry_token: self.registrytoken,
        };
        (auth != AuthConfig::default()).then_some(auth)
    }
}

/// `https://host/v1/` is the same as `host`.
fn registry(place: &str) -> String {
    let place = place.trim_start_matches("https://").trim_start_matches("http://").trim_end_matches('/');
    let place = place.strip_suffix("/v1").or_else(|| place.strip_suffix("/v2")).unwrap_or(place);
    if place == "index.docker.io" { "docker.io".into() } else { place.to_owned() }
}

/// Host and path of an image, without tag and digest.
fn full_name(image: &str) -> String {
    let name = image.split('@').next().unwrap_or(image);
    let (path, last) = name.rsplit_once('/').map_or(("", name), |(path, last)| (path, last));
    let last = last.split(':').next().unwrap_or(last);
    let name = if path.is_empty() { last.to_owned() } else { format!("{path}/{last}") };
    let first = name.split('/').next().unwrap_or_default();
    let has_host = name.contains('/') && (first.contains(['.', ':']) || first == "localhost");
    match (has_host, path.is_empty()) {
        (true, _) => name,
        (false, true) => format!("docker.io/library/{name}"),
        (false, false) => format!("docker.io/{name}"),
    }
}

/// Whether credentials for a place are for an image. A `*` stands for a part of a host's name.
fn fits(place: &str, image: &str) -> bool {
    let (host, path) = place.split_once('/').unwrap_or((place, ""));
    let (image_host, image_path) = image.split_once('/').unwrap_or((image, ""));
    let parts = |host: &str| host.split('.').map(str::to_owned).collect::<Vec<_>>();
    let (wanted, given) = (parts(host), parts(image_host));
    let host_fits = wanted.len() == given.len()
        && wanted.iter().zip(&given).all(|(wanted, given)| match wanted.split_once('*') {
            None => wanted == given,
            Some((before, after)) => {
                given.len() >= before.len() + after.len()
                    && given.starts_with(before)
                    && given.ends_with(after)
            }
        });
    let path_fits = path.is_empty()
        || image_path.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    host_fits && path_fits
}
