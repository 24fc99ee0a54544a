//! Which workload a pod belongs to.
//!
//! A hold and a release are about a workload, not about a pod: a rollout comes in waves of pods with names and uids
//! that nobody has seen before. The workload is the *top* controller, read from what the pod itself carries, because
//! an edge machine may be offline and cannot ask the cluster who owns a ReplicaSet.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use crate::text::{Revision, Text};

/// Labels of an object.
pub type Labels = BTreeMap<Text, Text>;

const POD_TEMPLATE_HASH: &str = "pod-template-hash";
const CONTROLLER_REVISION_HASH: &str = "controller-revision-hash";

/// What kind of controller stands behind a workload.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum WorkloadKind {
    /// A Deployment, known through its ReplicaSet's `pod-template-hash`.
    Deployment,
    /// A ReplicaSet of its own, with no Deployment above it.
    ReplicaSet,
    /// A DaemonSet: at most one pod per node, and the old one goes before the new one comes.
    DaemonSet,
    /// One ordinal of a StatefulSet: the same name every time, never two at once.
    StatefulSet,
    /// A Job.
    Job,
    /// A pod that nobody controls.
    Pod,
    /// A pod from a manifest file on the node.
    StaticPod,
    /// Any other controller, by its kind.
    Other(Text),
}

impl WorkloadKind {
    /// The kind as manifests spell it.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Deployment => "Deployment",
            Self::ReplicaSet => "ReplicaSet",
            Self::DaemonSet => "DaemonSet",
            Self::StatefulSet => "StatefulSet",
            Self::Job => "Job",
            Self::Pod => "Pod",
            Self::StaticPod => "StaticPod",
            Self::Other(kind) => kind,
        }
    }
}

/// What a change belongs to.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Workload {
    /// The kind of its controller.
    pub kind: WorkloadKind,
    /// Its namespace.
    pub namespace: Text,
    /// The controller's name; a bare pod's or a static pod's own name.
    pub name: Text,
    /// Which replica, for a StatefulSet: each ordinal is upgraded on its own.
    pub ordinal: Option<u32>,
}

/// The owner reference of a pod that has `controller: true`.
#[derive(Clone, Copy, Debug)]
pub struct Controller<'a> {
    /// Its kind, such as `ReplicaSet`.
    pub kind: &'a str,
    /// Its name.
    pub name: &'a str,
}

/// What a pod tells about itself, as far as its identity goes.
#[derive(Clone, Copy, Debug)]
pub struct PodIdentity<'a> {
    /// The pod's namespace.
    pub namespace: &'a str,
    /// The pod's name.
    pub name: &'a str,
    /// The node it is bound to.
    pub node: &'a str,
    /// Its controlling owner, if it has one.
    pub controller: Option<Controller<'a>>,
    /// Its labels.
    pub labels: &'a Labels,
}

// === impl Workload ===

impl Workload {
    /// Finds the workload that a pod belongs to, and the revision of it that the pod is. A bare pod and a static pod have
    /// no revision but their own digest, so for them there is none.
    #[must_use]
    pub fn of(pod: PodIdentity<'_>) -> (Self, Option<Revision>) {
        let label = |key: &str| pod.labels.get(key).map(|value| Revision::from(&**value));
        let template_hash = pod.labels.get(POD_TEMPLATE_HASH);
        let (kind, name, ordinal) = match pod.controller {
            // A task of a StaticPod is done when it has ended: there is no successor to wait for.
            None | Some(Controller { kind: "StaticPod", .. }) => (WorkloadKind::Pod, pod.name, None),
            Some(Controller { kind: "ReplicaSet", name }) => match deployment_of(name, template_hash) {
                Some(deployment) => (WorkloadKind::Deployment, deployment, None),
                None => (WorkloadKind::ReplicaSet, name, None),
            },
            Some(Controller { kind: "DaemonSet", name }) => (WorkloadKind::DaemonSet, name, None),
            Some(Controller { kind: "StatefulSet", name }) => {
                (WorkloadKind::StatefulSet, name, ordinal_of(name, pod.name))
            }
            Some(Controller { kind: "Job", name }) => (WorkloadKind::Job, name, None),
            Some(Controller { kind: "Node", .. }) => {
                (WorkloadKind::StaticPod, static_name(pod.name, pod.node), None)
            }
            Some(Controller { kind, name }) => (WorkloadKind::Other(kind.into()), name, None),
        };
        // All pods of one controller that names no revision are of the same one: its own name will do.
        let controller = || Some(Revision::from(name));
        let revision = match kind {
            WorkloadKind::Deployment | WorkloadKind::ReplicaSet => {
                label(POD_TEMPLATE_HASH).or_else(controller)
            }
            WorkloadKind::Pod | WorkloadKind::StaticPod => None,
            WorkloadKind::Job => controller(),
            WorkloadKind::DaemonSet | WorkloadKind::StatefulSet | WorkloadKind::Other(_) => {
                label(CONTROLLER_REVISION_HASH).or_else(|| label(POD_TEMPLATE_HASH)).or_else(controller)
            }
        };
        (Self { kind, namespace: pod.namespace.into(), name: name.into(), ordinal }, revision)
    }

    /// Whether what is said of this workload is said of the other: a StatefulSet without an ordinal is all its ordinals.
    #[must_use]
    pub fn includes(&self, other: &Self) -> bool {
        (&self.kind, &self.namespace, &self.name) == (&other.kind, &other.namespace, &other.name)
            && (self.ordinal.is_none() || self.ordinal == other.ordinal)
    }

    /// Whether it is a StatefulSet as a whole.
    pub(crate) fn is_whole_set(&self) -> bool {
        self.kind == WorkloadKind::StatefulSet && self.ordinal.is_none()
    }

    /// The range of workloads that this one includes, in their order.
    pub(crate) fn ordinals(&self) -> RangeInclusive<Self> {
        let last = Self { ordinal: self.ordinal.or(Some(u32::MAX)), ..self.clone() };
        self.clone()..=last
    }

    /// Whether at most one pod of it is meant to run on a node at a time.
    #[must_use]
    pub const fn is_single(&self) -> bool {
        match self.kind {
            WorkloadKind::DaemonSet
            | WorkloadKind::StatefulSet
            | WorkloadKind::Pod
            | WorkloadKind::StaticPod => true,
            WorkloadKind::Deployment
            | WorkloadKind::ReplicaSet
            | WorkloadKind::Job
            | WorkloadKind::Other(_) => false,
        }
    }

    /// Whether a controller makes a successor when one of its pods has been stopped.
    #[must_use]
    pub const fn is_replaced_when_stopped(&self) -> bool {
        match self.kind {
            WorkloadKind::Deployment
            | WorkloadKind::ReplicaSet
            | WorkloadKind::DaemonSet
            | WorkloadKind::StatefulSet
            | WorkloadKind::Other(_) => true,
            WorkloadKind::Job | WorkloadKind::Pod | WorkloadKind::StaticPod => false,
        }
    }
}

impl fmt::Display for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match &self.kind {
            WorkloadKind::Deployment => "deployment",
            WorkloadKind::ReplicaSet => "replicaset",
            WorkloadKind::DaemonSet => "daemonset",
            WorkloadKind::StatefulSet => "statefulset",
            WorkloadKind::Job => "job",
            WorkloadKind::Pod => "pod",
            WorkloadKind::StaticPod => "static pod",
            WorkloadKind::Other(kind) => kind,
        };
        write!(f, "{kind} {}/{}", self.namespace, self.name)?;
        self.ordinal.map_or(Ok(()), |ordinal| write!(f, " #{ordinal}"))
    }
}

/// A Deployment names its ReplicaSets `<deployment>-<pod-template-hash>` and labels the pods with the hash.
fn deployment_of<'a>(replica_set: &'a str, template_hash: Option<&Text>) -> Option<&'a str> {
    let deployment = replica_set.strip_suffix(&**template_hash?)?.strip_suffix('-')?;
    (!deployment.is_empty()).then_some(deployment)
}

/// A StatefulSet names its pods `<set>-<ordinal>`. The index label says the same, but only since Kubernetes 1.28.
fn ordinal_of(set: &str, pod: &str) -> Option<u32> {
    pod.strip_prefix(set)?.strip_prefix('-')?.parse().ok()
}

/// A mirror pod is named `<static pod>-<node>`; only the last occurrence counts, a pod may carry the node's name itself.
fn static_name<'a>(pod: &'a str, node: &str) -> &'a str {
    pod.strip_suffix(node)
        .and_then(|rest| rest.strip_suffix('-'))
        .filter(|name| !name.is_empty())
        .unwrap_or(pod)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identify(
        name: &str,
        controller: Option<(&str, &str)>,
        labels: &[(&str, &str)],
    ) -> (String, Option<String>) {
        let labels = labels.iter().map(|(key, value)| (Text::from(*key), Text::from(*value))).collect();
        let controller = controller.map(|(kind, name)| Controller { kind, name });
        let (workload, revision) = Workload::of(PodIdentity {
            namespace: "shop",
            name,
            node: "rover-7",
            controller,
            labels: &labels,
        });
        (workload.to_string(), revision.map(|revision| revision.to_string()))
    }

    #[test]
    fn a_pod_of_a_replica_set_belongs_to_the_deployment_above_it() {
        let labels = [("pod-template-hash", "5d4f8c")];
        let found = identify("web-5d4f8c-x2x", Some(("ReplicaSet", "web-5d4f8c")), &labels);
        assert_eq!(found, ("deployment shop/web".into(), Some("5d4f8c".into())));
    }

    #[test]
    fn a_task_of_a_static_pod_is_a_pod_that_nobody_replaces() {
        let found = identify("eye-upgrade-rover-7-abc-1", Some(("StaticPod", "eye")), &[]);
        assert_eq!(found, ("pod shop/eye-upgrade-rover-7-abc-1".into(), None));
    }

    #[test]
    fn a_replica_set_without_a_deployment_is_its_own_workload() {
        let found = identify("web-abc", Some(("ReplicaSet", "web")), &[]);
        assert_eq!(found, ("replicaset shop/web".into(), Some("web".into())));
        let foreign_hash = [("pod-template-hash", "zzz")];
        assert_eq!(identify("web-abc", Some(("ReplicaSet", "web")), &foreign_hash).0, "replicaset shop/web");
    }

    #[test]
    fn each_ordinal_of_a_stateful_set_is_a_workload() {
        let labels = [("controller-revision-hash", "db-77")];
        let found = identify("db-2", Some(("StatefulSet", "db")), &labels);
        assert_eq!(found, ("statefulset shop/db #2".into(), Some("db-77".into())));
    }

    #[test]
    fn a_stateful_set_without_an_ordinal_includes_all_its_ordinals() {
        let set = |ordinal| Workload {
            kind: WorkloadKind::StatefulSet,
            namespace: "shop".into(),
            name: "db".into(),
            ordinal,
        };
        assert!(set(None).includes(&set(Some(2))));
        assert!(set(Some(2)).includes(&set(Some(2))));
        assert!(!set(Some(1)).includes(&set(Some(2))));
        for (asked, other) in
            [(None, Some(2)), (None, None), (Some(2), Some(2)), (Some(1), Some(2)), (Some(2), None)]
        {
            assert_eq!(set(asked).ordinals().contains(&set(other)), set(asked).includes(&set(other)));
        }
    }

    #[test]
    fn a_daemon_set_is_known_by_its_controller_revision() {
        let labels = [("controller-revision-hash", "77"), ("pod-template-generation", "3")];
        let found = identify("lidar-k9x2p", Some(("DaemonSet", "lidar")), &labels);
        assert_eq!(found, ("daemonset shop/lidar".into(), Some("77".into())));
    }

    #[test]
    fn a_mirror_pod_belongs_to_its_static_pod_even_when_that_carries_the_nodes_name() {
        assert_eq!(identify("etcd-rover-7", Some(("Node", "rover-7")), &[]).0, "static pod shop/etcd");
        assert_eq!(
            identify("a-rover-7-b-rover-7", Some(("Node", "rover-7")), &[]).0,
            "static pod shop/a-rover-7-b"
        );
    }

    #[test]
    fn a_bare_pod_is_its_own_workload_and_a_foreign_controller_keeps_its_kind() {
        assert_eq!(identify("rover", None, &[]), ("pod shop/rover".into(), None));
        assert_eq!(identify("c-1", Some(("CollaSet", "c")), &[]).0, "CollaSet shop/c");
    }
}
