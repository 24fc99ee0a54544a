//! What a manifest says, as far as a swap needs it: which pod, of which revision, from which images.
//!
//! The text stays as it is; nothing is ever written that was not read. Two manifests are the same if their bytes are: the
//! kubelet would keep the pod of two that differ in a comment, but nobody has to argue about that.

use std::collections::BTreeMap;
use std::fmt;

use aws_lc_rs::digest::{SHA256, digest};
use safepoint_api::names::openyurt::STATIC_POD_HASH;
use safepoint_api::names::safepoint::static_pod::INSTALLED;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::names::{BadName, PodKey};

#[cfg(test)]
mod tests;

/// Nobody waits longer than a week for a pod to end, whatever its manifest says: a number may be any.
const LONGEST_GRACE: u64 = 7 * 24 * 60 * 60;

/// A manifest of a pod.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Manifest {
    text: String,
    digest: Digest,
    key: PodKey,
    revision: Option<String>,
    is_installed: bool,
    uid: Option<String>,
    grace: u64,
    containers: Vec<ContainerWanted>,
}

/// The SHA-256 of some bytes, as `sha256:` and hexadecimal digits.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Digest(String);

/// A container of a manifest.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ContainerWanted {
    /// Its name in the pod.
    pub name: String,
    /// What it is made from.
    pub image: String,
    /// When that is pulled.
    pub pull: PullPolicy,
    /// When it runs.
    pub role: Role,
}

/// When an image is pulled.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum PullPolicy {
    /// Each time.
    Always,
    /// When it is not there.
    IfNotPresent,
    /// Not at all.
    Never,
}

/// When a container runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Role {
    /// Before the others, to its end.
    Init,
    /// From before the others on: an init container that is always restarted.
    Sidecar,
    /// For as long as the pod.
    Main,
}

/// A text that is not the manifest of a pod.
#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    /// Not what a manifest is written in.
    #[error("it is neither YAML nor JSON: {0}")]
    Unreadable(String),
    /// Some other object.
    #[error("it is a {kind}, not a v1 Pod")]
    NotAPod {
        /// What it says that it is.
        kind: String,
    },
    /// Nothing would run.
    #[error("the pod has no containers")]
    Empty,
    /// Kubernetes would not allow it.
    #[error(transparent)]
    Name(#[from] BadName),
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[derive(Default)]
struct Object {
    api_version: String,
    kind: String,
    metadata: Metadata,
    spec: Spec,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Metadata {
    name: String,
    namespace: Option<String>,
    uid: Option<String>,
    // What others write into theirs may be of any type; ours is read only if it is a text.
    annotations: Option<BTreeMap<String, Value>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Spec {
    containers: Vec<Container>,
    init_containers: Option<Vec<Container>>,
    termination_grace_period_seconds: Option<u64>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Container {
    name: String,
    image: String,
    image_pull_policy: Option<String>,
    restart_policy: Option<String>,
}

// === impl Manifest ===

impl Manifest {
    /// Reads a manifest.
    ///
    /// # Errors
    /// When it is not that of a pod that a kubelet could run.
    pub fn parse(text: impl Into<String>) -> Result<Self, ManifestError> {
        let text = text.into();
        let object: Object =
            serde_saphyr::from_str(&text).map_err(|error| ManifestError::Unreadable(error.to_string()))?;
        if object.kind != "Pod" || object.api_version != "v1" {
            let kind = format!("{} {}", object.api_version, object.kind).trim().to_owned();
            return Err(ManifestError::NotAPod {
                kind: if kind.is_empty() { "text without a kind".into() } else { kind },
            });
        }
        let Metadata { name, namespace, uid, annotations } = object.metadata;
        let namespace = namespace.filter(|it| !it.is_empty()).unwrap_or_else(|| "default".into());
        let key = PodKey::new(&namespace, &name)?;
        if object.spec.containers.is_empty() {
            return Err(ManifestError::Empty);
        }
        let is_installed = annotations.as_ref().is_some_and(|all| all.contains_key(INSTALLED));
        let revision = annotations
            .and_then(|mut all| all.remove(STATIC_POD_HASH))
            .and_then(|value| Some(value.as_str()?.to_owned()))
            .filter(|value| !value.is_empty());
        let first = object.spec.init_containers.unwrap_or_default().into_iter().map(|it| {
            let role =
                if it.restart_policy.as_deref() == Some("Always") { Role::Sidecar } else { Role::Init };
            it.wanted(role)
        });
        let then = object.spec.containers.into_iter().map(|it| it.wanted(Role::Main));
        let containers = first.chain(then).collect();
        let grace = object.spec.termination_grace_period_seconds.unwrap_or(30).min(LONGEST_GRACE);
        let uid = uid.filter(|it| !it.is_empty());
        let digest = Digest::of(text.as_bytes());
        Ok(Self { text, digest, key, revision, is_installed, uid, grace, containers })
    }

    /// The text, unchanged.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The digest of the text.
    pub const fn digest(&self) -> &Digest {
        &self.digest
    }

    /// Which pod it is.
    pub const fn key(&self) -> &PodKey {
        &self.key
    }

    /// The digest of the template that it was made from, as the hub has written it into the annotation.
    pub fn revision(&self) -> Option<&str> {
        self.revision.as_deref()
    }

    /// Whether the hub has brought it to a node that had none.
    pub const fn is_installed(&self) -> bool {
        self.is_installed
    }

    /// The uid, if the manifest names one. The kubelet makes one of host, path and contents otherwise.
    pub fn uid(&self) -> Option<&str> {
        self.uid.as_deref()
    }

    /// How long the pod may take to end, a week at most.
    pub const fn grace(&self) -> std::time::Duration {
        std::time::Duration::from_secs(self.grace)
    }

    /// All its containers, those that run first before the others.
    pub fn containers(&self) -> &[ContainerWanted] {
        &self.containers
    }
}

// === impl Container ===

impl Container {
    fn wanted(self, role: Role) -> ContainerWanted {
        let pull = match self.image_pull_policy.as_deref() {
            Some("Always") => PullPolicy::Always,
            Some("Never") => PullPolicy::Never,
            Some("IfNotPresent") => PullPolicy::IfNotPresent,
            _ => default_policy(&self.image),
        };
        ContainerWanted { name: self.name, image: self.image, pull, role }
    }
}

/// What Kubernetes assumes: an image that may be another one tomorrow is pulled each time.
fn default_policy(image: &str) -> PullPolicy {
    if image.contains('@') {
        return PullPolicy::IfNotPresent;
    }
    let last = image.rsplit('/').next().unwrap_or(image);
    match last.split_once(':') {
        None | Some((_, "latest")) => PullPolicy::Always,
        Some(_) => PullPolicy::IfNotPresent,
    }
}

// === impl Digest ===

impl Digest {
    /// The digest of some bytes.
    pub fn of(bytes: &[u8]) -> Self {
        let mut text = String::from("sha256:");
        for byte in digest(&SHA256, bytes).as_ref() {
            text.push_str(&format!("{byte:02x}"));
        }
        Self(text)
    }

    /// The digest as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
