//! What operations and cooperation read of a pod, and how both write to it.
//!
//! A write names only what it changes, so that nothing is lost that this program does not know, and it carries the resource
//! version on which it was decided: a write that was decided on an old pod fails, and is decided anew.

use std::fmt;

use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, Patch, PatchParams};
use kube::{Client, ResourceExt};
use safepoint_api::names::kusionstack::{CONTROL, CONTROL_ON};
use serde_json::{Value, json};

/// A pod by its names, of which another one may have the first two later.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct PodName {
    pub(crate) namespace: String,
    pub(crate) name: String,
}

/// Why nothing was written.
#[derive(Debug)]
pub(crate) enum Missed {
    /// The pod is another one than was thought: look again, decide again.
    Changed,
    /// There is no such pod.
    Gone,
    /// The same may succeed in a moment.
    Passing(kube::Error),
    /// Somebody has to do something.
    Refused(kube::Error),
}

// === impl PodName ===

impl PodName {
    pub(crate) fn of(pod: &Pod) -> Self {
        Self { namespace: pod.namespace().unwrap_or_default(), name: pod.name_any() }
    }

    pub(crate) fn api(&self, client: &Client) -> Api<Pod> {
        Api::namespaced(client.clone(), &self.namespace)
    }
}

impl fmt::Display for PodName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// Whether the pod takes part in the lifecycle.
pub(crate) fn is_controlled(pod: &Pod) -> bool {
    pod.labels().get(CONTROL).is_some_and(|value| value == CONTROL_ON)
}

pub(crate) fn is_terminating(pod: &Pod) -> bool {
    pod.metadata.deletion_timestamp.is_some()
}

/// What a condition says, if it is there.
pub(crate) fn condition(pod: &Pod, kind: &str) -> Option<bool> {
    let conditions = pod.status.as_ref()?.conditions.as_ref()?;
    conditions.iter().find(|condition| condition.type_ == kind).map(|condition| condition.status == "True")
}

/// Changes some of the metadata of this very pod, as it was seen.
pub(crate) async fn write(client: &Client, pod: &Pod, mut metadata: Value) -> Result<Pod, Missed> {
    let name = PodName::of(pod);
    metadata["resourceVersion"] = json!(pod.metadata.resource_version);
    let patch = Patch::Merge(json!({ "metadata": metadata }));
    name.api(client).patch(&name.name, &PatchParams::default(), &patch).await.map_err(missed)
}

/// Looks at this very pod again.
pub(crate) async fn read(client: &Client, name: &PodName, uid: Option<&str>) -> Result<Pod, Missed> {
    let pod = name.api(client).get(&name.name).await.map_err(missed)?;
    match uid {
        Some(uid) if pod.metadata.uid.as_deref() != Some(uid) => Err(Missed::Gone),
        _ => Ok(pod),
    }
}

pub(crate) fn missed(error: kube::Error) -> Missed {
    match &error {
        kube::Error::Api(status) => match status.code {
            404 => Missed::Gone,
            409 => Missed::Changed,
            429 | 500..=599 => Missed::Passing(error),
            _ => Missed::Refused(error),
        },
        // Nobody answered. What was sent carries a resource version, so it can be sent again.
        kube::Error::HyperError(_) | kube::Error::Service(_) | kube::Error::ReadEvents(_) => {
            Missed::Passing(error)
        }
        _ => Missed::Refused(error),
    }
}
