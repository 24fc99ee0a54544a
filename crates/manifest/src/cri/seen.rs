//! What a runtime says, in our words.

use std::collections::BTreeMap;

use super::messages;

/// The kubelet's label for the namespace of a pod.
pub(super) const NAMESPACE: &str = "io.kubernetes.pod.namespace";

/// Which runtime it is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Version {
    /// Such as `containerd`.
    pub runtime: String,
    /// Its own version.
    pub version: String,
    /// That of the interface.
    pub api: String,
}

/// What the containers of a pod share.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sandbox {
    /// The runtime's name for it.
    pub id: String,
    /// The pod's namespace.
    pub namespace: String,
    /// The pod's name; for a static pod with the node's appended.
    pub pod: String,
    /// The pod's uid.
    pub uid: String,
    /// How many there were before it for this pod.
    pub attempt: u32,
    /// Whether it runs.
    pub ready: bool,
    /// When it was made, in nanoseconds since 1970.
    pub created: i64,
    /// Those of the pod.
    pub annotations: BTreeMap<String, String>,
}

/// A container.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Container {
    /// The runtime's name for it.
    pub id: String,
    /// Its name in the pod.
    pub name: String,
    /// How often it was restarted before.
    pub attempt: u32,
    /// How it is.
    pub state: ContainerState,
    /// The image that it runs.
    pub image: String,
}

/// How a container is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ContainerState {
    /// Not started yet.
    Created,
    /// It runs.
    Running,
    /// It has ended.
    Exited,
    /// The runtime does not know.
    Unknown,
}

/// More of a container.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ContainerDetail {
    /// How it is.
    pub state: ContainerState,
    /// With what it has ended.
    pub exit_code: i32,
    /// Why, in a word.
    pub reason: String,
    /// Why, in more.
    pub message: String,
}

/// An image that is on the node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Image {
    /// The digest of its configuration, usually.
    pub id: String,
    /// Under which names, by tag.
    pub tags: Vec<String>,
    /// Under which names, by digest.
    pub digests: Vec<String>,
}

// === impl Image ===

impl Image {
    /// What tells it from any other: where it can be pulled from by digest, else its id.
    pub fn digest(&self) -> &str {
        self.digests.first().unwrap_or(&self.id)
    }
}

impl From<messages::VersionResponse> for Version {
    fn from(it: messages::VersionResponse) -> Self {
        Self { runtime: it.runtime_name, version: it.runtime_version, api: it.runtime_api_version }
    }
}

impl From<messages::PodSandbox> for Sandbox {
    fn from(it: messages::PodSandbox) -> Self {
        let known = it.metadata.unwrap_or_default();
        Self {
            id: it.id,
            namespace: known.namespace,
            pod: known.name,
            uid: known.uid,
            attempt: known.attempt,
            ready: it.state == 0,
            created: it.created_at,
            annotations: it.annotations,
        }
    }
}

impl From<messages::PodSandboxStatus> for Sandbox {
    fn from(it: messages::PodSandboxStatus) -> Self {
        let messages::PodSandboxStatus { id, metadata, state, created_at, annotations } = it;
        messages::PodSandbox { id, metadata, state, created_at, annotations }.into()
    }
}

impl From<messages::Container> for Container {
    fn from(it: messages::Container) -> Self {
        let known = it.metadata.unwrap_or_default();
        let state = it.state.into();
        Self { id: it.id, name: known.name, attempt: known.attempt, state, image: it.image_ref }
    }
}

impl From<messages::ContainerStatus> for ContainerDetail {
    fn from(it: messages::ContainerStatus) -> Self {
        Self { state: it.state.into(), exit_code: it.exit_code, reason: it.reason, message: it.message }
    }
}

impl From<messages::Image> for Image {
    fn from(it: messages::Image) -> Self {
        Self { id: it.id, tags: it.repo_tags, digests: it.repo_digests }
    }
}

impl From<i32> for ContainerState {
    fn from(state: i32) -> Self {
        match state {
            0 => Self::Created,
            1 => Self::Running,
            2 => Self::Exited,
            _ => Self::Unknown,
        }
    }
}
