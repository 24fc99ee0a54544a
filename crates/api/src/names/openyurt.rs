//! OpenYurt: static pods, DaemonSet pods and upgrades that the node's owner decides on.

/// Annotation on a DaemonSet with `updateStrategy: OnDelete`. Written by users, read by the hub: who decides when its pods
/// are upgraded, [`STRATEGY_OTA`] or [`STRATEGY_ADVANCED_ROLLING_UPDATE`].
pub const UPDATE_STRATEGY: &str = "apps.openyurt.io/update-strategy";

/// Annotation beside [`UPDATE_STRATEGY`]. Written by users, read by the hub: how many pods may be missing at once.
pub const MAX_UNAVAILABLE: &str = "apps.openyurt.io/max-unavailable";

/// Strategy: the node's owner decides. The same word as in [`StrategyType`](crate::static_pod::StrategyType).
pub const STRATEGY_OTA: &str = "OTA";

/// Strategy: the cluster decides, and leaves out nodes that are not ready.
pub const STRATEGY_ADVANCED_ROLLING_UPDATE: &str = "AdvancedRollingUpdate";

/// Annotation on a static pod, on the ConfigMap with its manifest and on the upgrade task. Written by the hub, read by the
/// hub and the upgrade task: the digest of the template that it was made from.
pub const STATIC_POD_HASH: &str = "openyurt.io/static-pod-hash";

/// The ConfigMap with the manifest of a static pod is named this and the static pod's name.
pub const CONFIG_MAP_PREFIX: &str = "yurt-static-set-";

/// An upgrade task is named this, the static pod's name, the node's name and the digest, joined by `-`.
pub const UPGRADE_TASK_PREFIX: &str = "yss-upgrade-worker-";

/// The one container of an upgrade task.
pub const UPGRADE_TASK_CONTAINER: &str = "upgrade-worker";

/// Follows the name of a manifest that is staged for the node's owner, as in `nginx.yaml.upgrade`.
pub const STAGED_SUFFIX: &str = ".upgrade";

/// Follows the name of the manifest that an upgrade has replaced.
pub const BACKUP_SUFFIX: &str = ".bak";

/// The kubelet's folder of manifests, where its configuration does not say otherwise.
pub const MANIFESTS: &str = "/etc/kubernetes/manifests";

/// Conditions on a pod whose upgrade is the node owner's to decide.
pub mod pod_condition {
    /// Written by the hub, read by the node's owner and by the upgrade call: a newer version is there.
    pub const NEED_UPGRADE: &str = "PodNeedUpgrade";
    /// Written by the hub, read by the upgrade call: the images of the newer version are on the node.
    pub const IMAGE_READY: &str = "PodImageReady";
    /// Reason of [`IMAGE_READY`] with status `True`.
    pub const REASON_PULLED: &str = "PullImageSuccess";
    /// Reason of [`IMAGE_READY`] with status `False` after a try.
    pub const REASON_PULL_FAILED: &str = "PullImageFail";
    /// The message of both: this and the revision they speak of.
    pub const MESSAGE_PREFIX: &str = "controllerrevision: ";
}

/// Conditions of a StaticPod, from the proposal. Written by the hub.
pub mod static_pod_condition {
    /// Every node that is not put off runs the wanted revision.
    pub const SUCCESS: &str = "Success";
    /// Some node is being upgraded or waits for its turn.
    pub const UPGRADING: &str = "Upgrading";
    /// On some node the upgrade was tried and rolled back.
    pub const FAILED: &str = "Failed";
}

/// YurtHub's HTTP API on the node. Its clients are curl and programs on the device; we answer them with the same paths
/// and texts.
pub mod yurthub {
    /// The port on loopback.
    pub const PORT: u16 = 10267;

    /// `GET`: the pods on this node, as a `v1.PodList`.
    pub const PATH_PODS: &str = "/pods";
    /// `POST`: upgrade one pod now.
    pub const PATH_UPGRADE: &str = "/openyurt.io/v1/namespaces/{ns}/pods/{podname}/upgrade";

    /// 200 of an upgrade: this and `<namespace>/<pod>`.
    pub const UPGRADE_STARTED_PREFIX: &str = "Start updating pod ";
    /// 503: the cluster is not reachable and nothing is staged.
    pub const DISCONNECTED: &str = "OTA upgrade is not allowed when node is disconnected to cloud";
    /// 500: the cause follows.
    pub const GET_POD_FAILED_PREFIX: &str = "Get pod failed, ";
    /// 500: the pods of this node are not known.
    pub const GET_PODS_FAILED: &str = "Get pod list failed";
    /// 403: the pod goes, is not ours, or has no newer version; which follows.
    pub const PRE_CHECK_FAILED_PREFIX: &str = "Pre check update pod failed, ";
    /// 400: nobody owns the pod.
    pub const NO_OWNER: &str = "Pod has no owner references";
    /// 400: the owner is neither a DaemonSet nor the node; its kind follows.
    pub const UNSUPPORTED_OWNER_PREFIX: &str = "Not support ota upgrade pod type ";
    /// 403: there is no manifest to upgrade to.
    pub const NO_CONFIG_MAP: &str = "Configmap for static pod does not exist";
    /// 500: the upgrade did not work.
    pub const APPLY_FAILED: &str = "Apply update failed";
}
