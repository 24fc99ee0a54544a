//! Mirror pods: which static pod one shows, and at which revision. Pure.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use safepoint_api::names::kubeedge::{HOLD_UPGRADE, HOLD_UPGRADE_ON};
use safepoint_api::names::kubernetes::{CONDITION_READY, CONFIG_MIRROR};
use safepoint_api::names::openyurt::{STATIC_POD_HASH, pod_condition};
use safepoint_api::names::safepoint::static_pod as words;
use safepoint_core::rollout::Pod;
use safepoint_core::{Revision, Text, Timestamp};

use super::slim::{SlimPod, moment, not_long_before};

/// What is known of a static pod on a node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Mirror {
    pub(crate) name: Text,
    pub(crate) uid: Text,
    /// The revision and since when it is ready.
    pub(crate) pod: Pod,
    /// The revision that its owner has been told of.
    pub(crate) marked: Option<Revision>,
    /// The revision that lies ready for its owner.
    pub(crate) staged: Option<Revision>,
    /// The hub has brought it to the node.
    pub(crate) installed: bool,
    /// It says that its changes wait for a release.
    pub(crate) annotated: bool,
    /// Since when it is ready in the words of its node, whose clock may be wrong.
    said: Option<Timestamp>,
}

/// A static pod on a node, by its own name and the node's.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Shown {
    pub(crate) static_pod: Text,
    pub(crate) node: Text,
    pub(crate) mirror: Mirror,
}

// === impl Mirror ===

impl Mirror {
    /// Reads a mirror pod. Nothing if it is none.
    ///
    /// The name is the static pod's and the node's, joined by a dash. The node is known from the spec, so that nothing has to
    /// be guessed where a static pod's name contains a node's (OpenYurt's defect 12).
    pub(crate) fn read(pod: &SlimPod, now: Timestamp) -> Option<Shown> {
        pod.annotation(CONFIG_MIRROR)?;
        let (name, node) = (pod.metadata.name.as_deref()?, pod.spec.node_name.as_deref()?);
        if !is_owned_by_node(&pod.metadata, node) {
            return None;
        }
        let static_pod = name.strip_suffix(&node.to_ascii_lowercase())?.strip_suffix('-')?;
        let ready = pod.condition(CONDITION_READY).filter(|condition| condition.status == "True");
        // Who does not say since when has been ready for no time at all.
        let ready = ready.map(|ready| ready.last_transition_time.as_ref().map_or(now, moment));
        let told = pod.condition(pod_condition::NEED_UPGRADE).filter(|told| told.status == "True");
        let told = told.map(|told| {
            let message = told.message.as_deref().unwrap_or_default();
            // Told of something that it does not name: of nothing that is known here.
            Revision::from(message.strip_prefix(pod_condition::MESSAGE_PREFIX).unwrap_or_default())
        });
        let annotation = |key: &str| pod.annotation(key).filter(|value| !value.is_empty());
        Some(Shown {
            static_pod: static_pod.into(),
            node: node.into(),
            mirror: Self {
                name: name.into(),
                uid: pod.metadata.uid.as_deref().unwrap_or_default().into(),
                pod: Pod::Present { revision: annotation(STATIC_POD_HASH).map(Revision::from), ready },
                marked: told,
                staged: annotation(words::STAGED).map(Revision::from),
                installed: annotation(words::INSTALLED).is_some(),
                annotated: annotation(HOLD_UPGRADE) == Some(HOLD_UPGRADE_ON),
                said: ready,
            },
        })
    }

    /// Counts its readiness from when it was seen, where its node says that it was long before. What was seen of it before is
    /// in `known`; `seen` is now, if it has become so just now.
    pub(crate) fn dated(mut self, known: Option<&Self>, seen: Option<Timestamp>) -> Self {
        let same = known.filter(|known| known.uid == self.uid && known.said == self.said);
        if let Pod::Present { ready: Some(ready), .. } = &mut self.pod {
            *ready = match same.and_then(Self::pod_ready) {
                Some(known) => known,
                None => not_long_before(*ready, seen),
            };
        }
        self
    }

    const fn pod_ready(&self) -> Option<Timestamp> {
        match self.pod {
            Pod::Present { ready, .. } => ready,
            Pod::Absent => None,
        }
    }

    pub(crate) fn revision(&self) -> Option<&Revision> {
        match &self.pod {
            Pod::Present { revision, .. } => revision.as_ref(),
            Pod::Absent => None,
        }
    }
}

/// A kubelet makes its Node the owner. What only carries the annotation is not believed to be a kubelet's.
fn is_owned_by_node(meta: &ObjectMeta, node: &str) -> bool {
    let mut owners = meta.owner_references.iter().flatten();
    owners.any(|owner| owner.kind == "Node" && owner.api_version == "v1" && owner.name == node)
}

#[cfg(test)]
#[allow(clippy::needless_pass_by_value, reason = "a JSON text reads best where it is passed")]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const NOW: Timestamp = Timestamp(1_794_700_800_000);

    fn pod(name: &str, node: &str, more: Value) -> SlimPod {
        let mut pod = json!({"metadata": {"name": name, "uid": "u", "annotations": {CONFIG_MIRROR: "h"},
            "ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": node, "uid": "n", "controller": true}]},
            "spec": {"nodeName": node}});
        for (pointer, value) in more.as_object().unwrap() {
            *pod.pointer_mut(pointer).unwrap() = value.clone();
        }
        serde_json::from_value(pod).unwrap()
    }

    fn shown(name: &str, node: &str) -> Option<(String, String)> {
        let shown = Mirror::read(&pod(name, node, json!({})), NOW)?;
        Some((shown.static_pod.to_string(), shown.node.to_string()))
    }

    /// OpenYurt's defect 12: `a-n1-n1` on node `n1` was taken for `a`.
    #[test]
    fn a_static_pod_whose_name_contains_the_nodes_is_not_mistaken() {
        assert_eq!(shown("a-n1-n1", "n1"), Some(("a-n1".into(), "n1".into())));
        assert_eq!(shown("a-n1", "n1"), Some(("a".into(), "n1".into())));
        assert_eq!(shown("a-b-n1", "b-n1"), Some(("a".into(), "b-n1".into())));
        assert_eq!(shown("a-n2", "n1"), None);
    }

    #[test]
    fn what_no_kubelet_has_made_is_no_mirror_pod() {
        let mut plain = pod("a-n1", "n1", json!({}));
        plain.metadata.annotations = None;
        assert_eq!(Mirror::read(&plain, NOW), None);
        let mut forged = pod("a-n1", "n1", json!({}));
        forged.metadata.owner_references = None;
        assert_eq!(Mirror::read(&forged, NOW), None);
    }

    #[test]
    fn revision_readiness_and_what_its_owner_was_told_are_read() {
        let mut pod = serde_json::to_value(json!({"metadata": {"name": "a-n1", "uid": "u",
            "annotations": {CONFIG_MIRROR: "h", STATIC_POD_HASH: "r1", words::STAGED: "r2", words::INSTALLED: "true"},
            "ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": "n1", "uid": "n"}]},
            "spec": {"nodeName": "n1"},
            "status": {"phase": "Running", "conditions": [
                {"type": "Ready", "status": "True", "lastTransitionTime": "2026-11-14T00:00:00Z"},
                {"type": "PodNeedUpgrade", "status": "True", "message": "controllerrevision: r2"}]}}))
        .unwrap();
        let mirror = Mirror::read(&serde_json::from_value(pod.clone()).unwrap(), NOW).unwrap().mirror;
        assert_eq!(mirror.revision(), Some(&Revision::from("r1")));
        assert_eq!(mirror.marked, Some(Revision::from("r2")));
        assert_eq!(mirror.staged, Some(Revision::from("r2")));
        assert!(mirror.installed && matches!(mirror.pod, Pod::Present { ready: Some(at), .. } if at < NOW));
        pod["status"]["conditions"][0]["status"] = json!("False");
        pod["status"]["conditions"][1]["status"] = json!("False");
        let mirror = Mirror::read(&serde_json::from_value(pod).unwrap(), NOW).unwrap().mirror;
        assert!(matches!(mirror.pod, Pod::Present { ready: None, .. }));
        assert_eq!(mirror.marked, None);
    }
}
