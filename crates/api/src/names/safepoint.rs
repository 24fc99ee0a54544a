//! Safepoint's own words.

/// The API group, and the domain of every label and annotation of our own.
pub const GROUP: &str = "safepoint.dev";

/// The version of [`NodeGate`](crate::NodeGate) and [`StaticPod`](crate::StaticPod).
pub const VERSION: &str = "v1alpha1";

/// Annotation on a pod. Written by users in the pod template, read by the gate: whether the *first* start of a pod that
/// carries [`HOLD_UPGRADE`](super::kubeedge::HOLD_UPGRADE) is held too. Only [`FIRST_INSTALL_ALLOW`] means that it is not.
pub const FIRST_INSTALL: &str = "safepoint.dev/first-install";

/// The value of [`FIRST_INSTALL`] that lets the first start through.
pub const FIRST_INSTALL_ALLOW: &str = "allow";

/// Annotation on a pod. Written by the hub where somebody asked for the end of a pod that its node holds and was put off at
/// the API server, read by the gate: the end is wanted, as if the pod had been deleted. The value says who asked and when.
/// Taken off, the wish is withdrawn.
pub const END_WISHED: &str = "safepoint.dev/end-wished";

/// Annotation on a pod. Written by the hub together with [`HOLD_UPGRADE`](super::kubeedge::HOLD_UPGRADE) that it carries from
/// the pod's workload, read by the hub alone: what it has not put on, it does not take off. The value names the workload.
pub const HOLD_CARRIED: &str = "safepoint.dev/hold-carried-from";

/// Annotation on a pod, in the view of the node's kubelet and in nobody else's. Written by the kubelet door: by it a kubelet
/// notices at once that configuration of a pod has changed.
pub const CONFIGURATION: &str = "safepoint.dev/configuration";

/// Label on a Node that nothing but a simulation is behind, with the value `true`. Written by `safepoint up --nodes`.
pub const SIMULATED: &str = "safepoint.dev/simulated";

/// Unix socket of the node API. Bound by the agent, used by the CLI, by programs on the device and by the SDK.
pub const SOCKET: &str = "/run/safepoint/agent.sock";

/// Variables in the environment, beside those that stand for options.
pub mod environment {
    /// Read by everything that stays: what to log to standard error, such as `info` or `safepoint_agent=debug`. Warnings and
    /// errors if it is not set.
    pub const LOG: &str = "SAFEPOINT_LOG";
    /// Set by `safepoint run` for its command: the name of the hold.
    pub const HOLD: &str = "SAFEPOINT_HOLD";
    /// Set by the agent for the containers of pods that run as processes: the folder in which they find what would be at the
    /// root of a container. Empty for upgrade tasks in real containers.
    pub const ROOT: &str = "SAFEPOINT_ROOT";
}

/// Condition on the Node and on its NodeGate. Written by the agent, read by deployers in `kubectl describe node`: `True`
/// while nothing may change. Its reasons are in [`change_freeze`].
pub const CONDITION_CHANGE_FREEZE: &str = "ChangeFreeze";

/// Reason of the pod condition [`HELD_UPGRADE`](super::kubeedge::condition::HELD_UPGRADE) with status `False`. Written by
/// the agent once the pod has been let through; KubeEdge never takes the condition back.
pub const REASON_RELEASED: &str = "Released";

/// Reasons of [`CONDITION_CHANGE_FREEZE`]. Written by the agent.
pub mod change_freeze {
    /// Status `False`: no node-wide hold.
    pub const OPEN: &str = "Open";
    /// Status `True`: the barrier is up; what was under way may still finish.
    pub const FREEZING: &str = "Freezing";
    /// Status `True`: everything has settled.
    pub const FROZEN: &str = "Frozen";
    /// Status `True`: frozen, but the holder is gone or its lease has ended where it was not safe to thaw. An alarm.
    pub const ORPHANED: &str = "Orphaned";
    /// Status `False`: what was missed is being applied.
    pub const THAWING: &str = "Thawing";
}

/// Why a freeze is refused or not complete yet. Written by the agent in the 409 of its API and as the blockers of a
/// NodeGate, read by whoever asked for the freeze and must decide whether to wait.
pub mod refusal {
    /// The agent, the kubelet, the runtime, the journal or a door is not ready: a freeze that cannot be enforced or
    /// written down is never accepted.
    pub const NOT_READY: &str = "NotReady";
    /// A static pod, the agent or the host itself is being upgraded or rolled back.
    pub const UPGRADE_IN_PROGRESS: &str = "UpgradeInProgress";
    /// The old pod is going or gone and its successor is not settled.
    pub const REPLACEMENT_PENDING: &str = "ReplacementPending";
    /// A pod is bound to the node but neither ready nor finished.
    pub const POD_UNSETTLED: &str = "PodUnsettled";
    /// An image is being pulled for a pod that was already admitted.
    pub const PULL_IN_PROGRESS: &str = "PullInProgress";
    /// A ConfigMap or Secret was admitted and has not reached the pods that use it.
    pub const CONFIG_PENDING: &str = "ConfigPending";
    /// An eviction, a preemption or a shutdown of the node is already decided.
    pub const DISRUPTION_IN_PROGRESS: &str = "DisruptionInProgress";
}

/// Why an order was refused. Written by the agent in the answers of a NodeGate.
pub mod order {
    /// It arrived after its `expires`.
    pub const EXPIRED: &str = "Expired";
    /// Nothing that it names is held.
    pub const NOTHING_HELD: &str = "NothingHeld";
    /// It asks for something that this agent does not know. The agent is older than the hub.
    pub const NOT_UNDERSTOOD: &str = "NotUnderstood";
}

/// Why a node is put off in the upgrade of a static pod. Written by the hub in the status of a StaticPod.
pub mod deferral {
    /// The node is not ready.
    pub const NODE_NOT_READY: &str = "NodeNotReady";
    /// The node is frozen or freezing.
    pub const NODE_FROZEN: &str = "NodeFrozen";
    /// A hold on the node covers the static pod.
    pub const NODE_HELD: &str = "NodeHeld";
}

/// Reasons of Events. Those about pods, ConfigMaps, Secrets, the Node and the NodeGate are written by the agent, those about
/// StaticPods by the hub; both write [`UPGRADE_HELD`](event::UPGRADE_HELD), the hub about the workload.
pub mod event {
    /// A change waits; the message says why, and what would let it through.
    pub const UPGRADE_HELD: &str = "UpgradeHeld";
    /// A change waits no longer.
    pub const UPGRADE_NO_LONGER_HELD: &str = "UpgradeNoLongerHeld";
    /// A change was let through: the machine sees it now.
    pub const CHANGE_ADMITTED: &str = "ChangeAdmitted";
    /// Changes pass.
    pub const GATE_OPEN: &str = "GateOpen";
    /// The barrier of a freeze is up; what was under way may still finish.
    pub const GATE_FREEZING: &str = "GateFreezing";
    /// Nothing changes any more. The message says for whom and why.
    pub const GATE_FROZEN: &str = "GateFrozen";
    /// What was missed while frozen is being applied.
    pub const GATE_THAWING: &str = "GateThawing";
    /// What was released has settled.
    pub const RELEASE_SETTLED: &str = "ReleaseSettled";
    /// A release was over before what it let through had settled. A warning.
    pub const RELEASE_EXPIRED: &str = "ReleaseExpired";
    /// A hold has lost its holder and stays. A warning: somebody has to look.
    pub const HOLD_ORPHANED: &str = "HoldOrphaned";
    /// Somebody went over a hold. A warning.
    pub const HOLD_OVERRIDDEN: &str = "HoldOverridden";
    /// A line of the node's audit log: what, by whom and why.
    pub const RECORDED: &str = "Recorded";
    /// A revision of a static pod goes to its nodes.
    pub const UPGRADE_STARTED: &str = "UpgradeStarted";
    /// All nodes have it, and are well.
    pub const UPGRADE_SUCCEEDED: &str = "UpgradeSucceeded";
    /// Nodes have failed. A warning.
    pub const UPGRADE_FAILED: &str = "UpgradeFailed";
    /// Nothing more is started until somebody resumes it.
    pub const UPGRADE_PAUSED: &str = "UpgradePaused";
    /// Too many nodes have failed, or a canary: nothing more is started. A warning.
    pub const UPGRADE_STOPPED: &str = "UpgradeStopped";
    /// One node has failed; the message says how, and what follows. A warning.
    pub const NODE_UPGRADE_FAILED: &str = "NodeUpgradeFailed";
}

/// Words on pods that take part in the lifecycle, beside KusionStack's.
pub mod lifecycle {
    /// Label on a pod. Written by the hub, read by people: the phase of the pod in one word, for `kubectl get pods -L`. It goes
    /// with the write that changes the phase.
    pub const PHASE: &str = "safepoint.dev/lifecycle-phase";
    /// Annotation on a pod. Written and read by the hub: who asked for the deletion that was put off, when and how, in the form of
    /// a wish. It goes together with the label that asks for the deletion once nobody has that wish any more, and is of that
    /// label only: it has its value.
    pub const WISH: &str = "safepoint.dev/lifecycle-end-wished";
    /// Reason of the Event about an operation that takes too long in a phase. Written by the hub.
    pub const EVENT_OVERDUE: &str = "LifecycleOverdue";
    /// Finalizers of cooperation controllers on Services begin with this; the controller's name follows. Put on and taken off by
    /// the SDK.
    pub const COOPERATION_FINALIZER_PREFIX: &str = "cooperation.safepoint.dev/";
}

/// Words around static pods: on ConfigMaps, task pods and mirror pods.
pub mod static_pod {
    /// Label on the ConfigMaps of a StaticPod and on its task pods. Written by the hub: the object's name, shortened with a
    /// digest where it is too long for a label. For finding them; whose they are is said by the owner's uid.
    pub const OF: &str = "safepoint.dev/static-pod";
    /// Label beside [`OF`]. Written by the hub: the revision of the template.
    pub const REVISION: &str = "safepoint.dev/static-pod-revision";
    /// Label on a task pod. Written by the hub: `upgrade`, `install`, `remove` or `stage`.
    pub const WORK: &str = "safepoint.dev/static-pod-work";
    /// Annotation on a task pod. Written by the hub: the how manieth try it is, from one.
    pub const ATTEMPT: &str = "safepoint.dev/static-pod-attempt";
    /// Annotation on the ConfigMap of a revision. Written by the hub: when the revision was last wanted anew.
    pub const WANTED_AT: &str = "safepoint.dev/static-pod-wanted-at";
    /// Annotation on a mirror pod. Written by the hub after a staging task has succeeded, read by the hub: the revision that
    /// lies ready on the node. It goes with the mirror pod, as what is staged goes with its use.
    pub const STAGED: &str = "safepoint.dev/static-pod-staged";
    /// Annotation in the manifest, and so on the mirror pod, of a static pod that the hub has brought to a node that had
    /// none. Only such a pod is ever taken away again.
    pub const INSTALLED: &str = "safepoint.dev/static-pod-installed";
    /// Finalizer on a StaticPod. Put on and taken off by the hub.
    pub const FINALIZER: &str = "safepoint.dev/static-pod";
    /// The ConfigMap of a revision is named this, the object's name, `-`, and the revision.
    pub const CONFIG_MAP_PREFIX: &str = "safepoint-static-";
    /// Key in the ConfigMap: the manifest as the kubelet shall have it.
    pub const KEY_MANIFEST: &str = "manifest.yaml";
    /// Key in the ConfigMap: the same for a node that had none before, with [`INSTALLED`].
    pub const KEY_INSTALLED: &str = "installed.yaml";
    /// Key in the ConfigMap: the template as JSON, for going back to it.
    pub const KEY_TEMPLATE: &str = "template.json";
}
