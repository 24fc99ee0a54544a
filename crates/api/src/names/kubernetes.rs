//! Well-known words of Kubernetes that we read. Nobody here writes them, unless said otherwise.

/// Label on a pod. Written by the Deployment controller: which ReplicaSet, and so which revision, the pod belongs to.
pub const POD_TEMPLATE_HASH: &str = "pod-template-hash";

/// Label on a pod. Written by the DaemonSet and StatefulSet controllers: the revision the pod was made from.
pub const CONTROLLER_REVISION_HASH: &str = "controller-revision-hash";

/// Label on a pod. Written by the DaemonSet controller: the generation of the template the pod was made from.
pub const POD_TEMPLATE_GENERATION: &str = "pod-template-generation";

/// Annotation on a DaemonSet. Written by its controller: what [`POD_TEMPLATE_GENERATION`] is compared with.
pub const DAEMONSET_TEMPLATE_GENERATION: &str = "deprecated.daemonset.template.generation";

/// Annotation on a Deployment and its ReplicaSets. Written by the Deployment controller: the number of the rollout.
pub const DEPLOYMENT_REVISION: &str = "deployment.kubernetes.io/revision";

/// Label on a pod. Written by the StatefulSet controller: the pod's own name.
pub const STATEFULSET_POD_NAME: &str = "statefulset.kubernetes.io/pod-name";

/// Label on a pod. Written by the StatefulSet controller since 1.28: the pod's ordinal.
pub const POD_INDEX: &str = "apps.kubernetes.io/pod-index";

/// Annotation on a mirror pod. Written by the kubelet: its presence says that the pod is the API's picture of a static
/// pod and not the cause of one.
pub const CONFIG_MIRROR: &str = "kubernetes.io/config.mirror";

/// Annotation on a static pod. Written by the kubelet: a digest over host, path and pod, or the manifest's own uid. Not
/// a digest of the file.
pub const CONFIG_HASH: &str = "kubernetes.io/config.hash";

/// Annotation on a pod inside the kubelet and on mirror pods. Written by the kubelet: where it has the pod from.
pub const CONFIG_SOURCE: &str = "kubernetes.io/config.source";

/// The value of [`CONFIG_SOURCE`] for a pod from a manifest file.
pub const CONFIG_SOURCE_FILE: &str = "file";

/// Annotation on a pod inside the kubelet and on mirror pods. Written by the kubelet: when it saw the pod.
pub const CONFIG_SEEN: &str = "kubernetes.io/config.seen";

/// Annotation on the bookmark that ends the initial events of a watch. Written by the API server, and by our door towards
/// the kubelet: without it a client that asked for `sendInitialEvents` waits for ever.
pub const INITIAL_EVENTS_END: &str = "k8s.io/initial-events-end";

/// The user that a node's certificate names is this and the node's name. Checked by our door: only its own kubelet gets in.
pub const NODE_USER_PREFIX: &str = "system:node:";

/// The group that a node's certificate names.
pub const NODE_GROUP: &str = "system:nodes";

/// Condition on a pod. Written by the kubelet: all containers and readiness gates are ready.
pub const CONDITION_READY: &str = "Ready";

/// Condition on a pod. Written by whoever is about to stop it: eviction, preemption, taint manager, kubelet.
pub const CONDITION_DISRUPTION_TARGET: &str = "DisruptionTarget";

/// Condition on a pod. Written by the kubelet: an in-place resize waits.
pub const CONDITION_RESIZE_PENDING: &str = "PodResizePending";

/// Condition on a pod. Written by the kubelet: an in-place resize is under way.
pub const CONDITION_RESIZE_IN_PROGRESS: &str = "PodResizeInProgress";

/// Annotation on any object. Written by kubectl: what was applied last, so that the next apply can take things out.
pub const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Label on any object. Written by whoever keeps it as it should be.
pub const MANAGED_BY: &str = "app.kubernetes.io/managed-by";

/// The value of [`MANAGED_BY`] on what Safepoint keeps.
pub const MANAGED_BY_SAFEPOINT: &str = "safepoint";
