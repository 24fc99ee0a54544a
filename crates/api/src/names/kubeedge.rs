//! KubeEdge: hold-upgrade (since v1.22) and module restart (gate `moduleRestart`).

/// Annotation on a pod, and with us also on the Deployment, StatefulSet or DaemonSet above it. Written by users, read by
/// the gate: changes to this pod wait for a release. KubeEdge reads it on pods only.
pub const HOLD_UPGRADE: &str = "edge.kubeedge.io/hold-upgrade";

/// The one value of [`HOLD_UPGRADE`] that holds. Any other, `True` included, does not.
pub const HOLD_UPGRADE_ON: &str = "true";

/// The pod condition that tells the cluster that an upgrade waits on purpose.
pub mod condition {
    /// Type of the condition. Written by the agent on the held pod, read by deployers.
    pub const HELD_UPGRADE: &str = "HeldUpgrade";

    /// Reason with status `True`, as the proposal has it. Written by our agent.
    pub const REASON_ACTIVE: &str = "UpdateHoldActive";
    /// Message with status `True`, as the proposal has it. Written by our agent.
    pub const MESSAGE_ACTIVE: &str = "Pod upgrade is currently held at the edge.";

    /// Reason as KubeEdge ships it. Read by us on pods that KubeEdge held before.
    pub const REASON_SHIPPED: &str = "HoldUpgradeEnabled";
    /// Message as KubeEdge ships it. Read by people only.
    pub const MESSAGE_SHIPPED: &str = "Upgrade is currently held due to edge-hold-upgrade annotation";
}

/// MetaServer, the node's HTTP API. Its clients are curl, `keadm ctl` and programs on the device; we answer them with the
/// same paths, codes and texts.
pub mod metaserver {
    /// The port on loopback.
    pub const PORT: u16 = 10550;

    /// `POST`, body `<namespace>/<name>`: release one pod.
    pub const PATH_UNHOLD_POD: &str = "/api/v1/pods/unhold-upgrade";
    /// `POST`, body the node's name: release everything that is held on the node.
    pub const PATH_UNHOLD_NODE: &str = "/api/v1/nodes/unhold-upgrade";

    /// 400: the body has no `/`.
    pub const INVALID_FORMAT: &str = "invalid format, expected <namespace>/<name>";
    /// 400: the pod does not carry the annotation.
    pub const NOT_MARKED: &str = "pod is not marked with hold-upgrade annotation";
    /// 400: the pod already runs or has ended.
    pub const NOT_PENDING: &str = "pod is not in pending phase";
    /// 400: the body is blank.
    pub const NODE_REQUIRED: &str = "node name required in body";
    /// 400: the path names neither pods nor nodes.
    pub const UNSUPPORTED_RESOURCE: &str = "unsupported resource for unhold-upgrade";
    /// 404: the cause follows.
    pub const POD_NOT_FOUND_PREFIX: &str = "pod not found: ";
    /// 404: the cause follows.
    pub const NODE_NOT_FOUND_PREFIX: &str = "node not found: ";
    /// 500: the cause follows.
    pub const LIST_FAILED_PREFIX: &str = "failed to list pods: ";
}

/// `keadm ctl unhold-upgrade`, the command line. Scripts parse these texts, so our command prints the same.
pub mod keadm {
    /// The command's name.
    pub const COMMAND: &str = "unhold-upgrade";
    /// What its help says.
    pub const ABOUT: &str = "Unhold an upgrade for a pod or node-wide";
    /// The namespace where none is given.
    pub const DEFAULT_NAMESPACE: &str = "default";
    /// `pod` without a name.
    pub const POD_NAME_REQUIRED: &str = "pod name is required";
    /// A resource other than `pod` and `node`, which follows.
    pub const UNKNOWN_RESOURCE_PREFIX: &str = "error: unknown resource type: ";
    /// The node could not be asked; the cause follows.
    pub const NOT_SENT_PREFIX: &str = "failed to send unhold request to MetaService API, err: ";

    /// What is printed when the node refused; `resource` is `pods` or `nodes`.
    #[must_use]
    pub fn refused(resource: &str, code: u16, message: &str) -> String {
        format!("failed to unhold {resource} upgrade, status code: {code}, message: {message}")
    }
}

/// Module restart. Read from our configuration under the names KubeEdge gave them; KubeEdge itself has the policy in
/// code only.
pub mod module_restart {
    /// The feature gate.
    pub const GATE: &str = "moduleRestart";

    /// When a module is restarted: [`ALWAYS`] or [`ON_FAILURE`].
    pub const RESTART_TYPE: &str = "RestartType";
    /// Value of [`RESTART_TYPE`]: after any end.
    pub const ALWAYS: &str = "Always";
    /// Value of [`RESTART_TYPE`]: after a failure only.
    pub const ON_FAILURE: &str = "OnFailure";
    /// How often; 0 means without limit.
    pub const RETRIES: &str = "Retries";
    /// The first wait.
    pub const INTERVAL_SECOND: &str = "IntervalSecond";
    /// What each wait is multiplied with to give the next.
    pub const INTERVAL_TIME_GROWTH_RATE: &str = "IntervalTimeGrowthRate";
    /// The longest wait.
    pub const RESTART_INTERVAL_LIMIT: &str = "RestartIntervalLimit";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_printed_as_keadm_prints_it() {
        assert_eq!(
            keadm::refused("pods", 400, metaserver::NOT_PENDING),
            "failed to unhold pods upgrade, status code: 400, message: pod is not in pending phase"
        );
    }
}
