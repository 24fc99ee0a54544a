//! Pins the words that other systems' programs look for. A change here breaks programs that we will never see.

use std::collections::BTreeSet;

use safepoint_api::names::kusionstack::operation::{OperationLabel, permission_key};
use safepoint_api::names::{horizon, kubeedge, kubernetes, kusionstack, openyurt, safepoint};

/// Each constant beside its literal.
fn assert_pinned(words: &[(&str, &str)]) {
    for (word, literal) in words {
        assert_eq!(word, literal);
    }
}

#[test]
fn kubeedges_words_are_as_its_clients_know_them() {
    use kubeedge::{condition, keadm, metaserver, module_restart};
    assert_pinned(&[
        (kubeedge::HOLD_UPGRADE, "edge.kubeedge.io/hold-upgrade"),
        (kubeedge::HOLD_UPGRADE_ON, "true"),
        (condition::HELD_UPGRADE, "HeldUpgrade"),
        (condition::REASON_ACTIVE, "UpdateHoldActive"),
        (condition::MESSAGE_ACTIVE, "Pod upgrade is currently held at the edge."),
        (condition::REASON_SHIPPED, "HoldUpgradeEnabled"),
        (condition::MESSAGE_SHIPPED, "Upgrade is currently held due to edge-hold-upgrade annotation"),
        (metaserver::PATH_UNHOLD_POD, "/api/v1/pods/unhold-upgrade"),
        (metaserver::PATH_UNHOLD_NODE, "/api/v1/nodes/unhold-upgrade"),
        (metaserver::INVALID_FORMAT, "invalid format, expected <namespace>/<name>"),
        (metaserver::NOT_MARKED, "pod is not marked with hold-upgrade annotation"),
        (metaserver::NOT_PENDING, "pod is not in pending phase"),
        (metaserver::NODE_REQUIRED, "node name required in body"),
        (metaserver::UNSUPPORTED_RESOURCE, "unsupported resource for unhold-upgrade"),
        (metaserver::POD_NOT_FOUND_PREFIX, "pod not found: "),
        (metaserver::NODE_NOT_FOUND_PREFIX, "node not found: "),
        (metaserver::LIST_FAILED_PREFIX, "failed to list pods: "),
        (keadm::COMMAND, "unhold-upgrade"),
        (keadm::ABOUT, "Unhold an upgrade for a pod or node-wide"),
        (keadm::DEFAULT_NAMESPACE, "default"),
        (keadm::POD_NAME_REQUIRED, "pod name is required"),
        (keadm::UNKNOWN_RESOURCE_PREFIX, "error: unknown resource type: "),
        (keadm::NOT_SENT_PREFIX, "failed to send unhold request to MetaService API, err: "),
        (module_restart::GATE, "moduleRestart"),
        (module_restart::RESTART_TYPE, "RestartType"),
        (module_restart::ALWAYS, "Always"),
        (module_restart::ON_FAILURE, "OnFailure"),
        (module_restart::RETRIES, "Retries"),
        (module_restart::INTERVAL_SECOND, "IntervalSecond"),
        (module_restart::INTERVAL_TIME_GROWTH_RATE, "IntervalTimeGrowthRate"),
        (module_restart::RESTART_INTERVAL_LIMIT, "RestartIntervalLimit"),
    ]);
    assert_eq!(metaserver::PORT, 10550);
}

#[test]
fn openyurts_words_are_as_its_clients_know_them() {
    use openyurt::{pod_condition, static_pod_condition, yurthub};
    assert_pinned(&[
        (openyurt::UPDATE_STRATEGY, "apps.openyurt.io/update-strategy"),
        (openyurt::MAX_UNAVAILABLE, "apps.openyurt.io/max-unavailable"),
        (openyurt::STRATEGY_OTA, "OTA"),
        (openyurt::STRATEGY_ADVANCED_ROLLING_UPDATE, "AdvancedRollingUpdate"),
        (openyurt::STATIC_POD_HASH, "openyurt.io/static-pod-hash"),
        (openyurt::CONFIG_MAP_PREFIX, "yurt-static-set-"),
        (openyurt::UPGRADE_TASK_PREFIX, "yss-upgrade-worker-"),
        (openyurt::UPGRADE_TASK_CONTAINER, "upgrade-worker"),
        (openyurt::STAGED_SUFFIX, ".upgrade"),
        (openyurt::BACKUP_SUFFIX, ".bak"),
        (openyurt::MANIFESTS, "/etc/kubernetes/manifests"),
        (pod_condition::NEED_UPGRADE, "PodNeedUpgrade"),
        (pod_condition::IMAGE_READY, "PodImageReady"),
        (pod_condition::REASON_PULLED, "PullImageSuccess"),
        (pod_condition::REASON_PULL_FAILED, "PullImageFail"),
        (pod_condition::MESSAGE_PREFIX, "controllerrevision: "),
        (static_pod_condition::SUCCESS, "Success"),
        (static_pod_condition::UPGRADING, "Upgrading"),
        (static_pod_condition::FAILED, "Failed"),
        (yurthub::PATH_PODS, "/pods"),
        (yurthub::PATH_UPGRADE, "/openyurt.io/v1/namespaces/{ns}/pods/{podname}/upgrade"),
        (yurthub::UPGRADE_STARTED_PREFIX, "Start updating pod "),
        (yurthub::DISCONNECTED, "OTA upgrade is not allowed when node is disconnected to cloud"),
        (yurthub::GET_POD_FAILED_PREFIX, "Get pod failed, "),
        (yurthub::GET_PODS_FAILED, "Get pod list failed"),
        (yurthub::PRE_CHECK_FAILED_PREFIX, "Pre check update pod failed, "),
        (yurthub::NO_OWNER, "Pod has no owner references"),
        (yurthub::UNSUPPORTED_OWNER_PREFIX, "Not support ota upgrade pod type "),
        (yurthub::NO_CONFIG_MAP, "Configmap for static pod does not exist"),
        (yurthub::APPLY_FAILED, "Apply update failed"),
    ]);
    assert_eq!(yurthub::PORT, 10267);
}

#[test]
fn horizons_words_are_as_its_clients_know_them() {
    assert_pinned(&[
        (horizon::PATH_CONFIGSTATE, "/node/configstate"),
        (horizon::INPUT_STATE, "configstate.state"),
        (horizon::state::UNCONFIGURED, "unconfigured"),
        (horizon::state::CONFIGURING, "configuring"),
        (horizon::state::CONFIGURED, "configured"),
        (horizon::state::UNCONFIGURING, "unconfiguring"),
        (horizon::state::CHANGEFREEZE, "changefreeze"),
    ]);
    assert_eq!(horizon::PORT, 8510);
}

#[test]
fn kusionstacks_words_are_as_its_controllers_know_them() {
    use kusionstack::webhook;
    assert_pinned(&[
        (kusionstack::CONTROL, "kusionstack.io/control"),
        (kusionstack::CONTROL_ON, "true"),
        (kusionstack::SERVICE_AVAILABLE, "podopslifecycle.kusionstack.io/service-available"),
        (kusionstack::STAY_OFFLINE, "podopslifecycle.kusionstack.io/stay-offline"),
        (kusionstack::PREPARING_TO_DELETE, "podopslifecycle.kusionstack.io/preparing-to-delete"),
        (kusionstack::CREATING, "podopslifecycle.kusionstack.io/creating"),
        (kusionstack::COMPLETING, "podopslifecycle.kusionstack.io/completing"),
        (kusionstack::TO_DELETE, "collaset.kusionstack.io/to-delete"),
        (kusionstack::TO_DELETE_OLD, "podopslifecycle.kusionstack.io/to-delete"),
        (kusionstack::DELETE_ID, "pod-delete"),
        (kusionstack::DELETE_TYPE, "delete"),
        (kusionstack::SERVICE_READY, "pod.kusionstack.io/service-ready"),
        (kusionstack::SERVICE_READY_MESSAGE, "updated by PodOpsLifecycle"),
        (kusionstack::PROTECTION_FINALIZER_PREFIX, "prot.podopslifecycle.kusionstack.io"),
        (kusionstack::AVAILABLE_CONDITIONS, "pod.kusionstack.io/available-conditions"),
        (kusionstack::DELETE_TIMESTAMP, "gracedelete.kusionstack.io/delete-timestamp"),
        (kusionstack::SKIP_RULES, "podtransitionrule.kusionstack.io/skip-rule-conditions"),
        (kusionstack::RULE_DETAIL_PREFIX, "detail.podtransitionrule.kusionstack.io"),
        (kusionstack::STAGE_PRE_CHECK, "PreCheck"),
        (kusionstack::STAGE_POST_CHECK, "PostCheck"),
        (kusionstack::GROUP, "apps.kusionstack.io"),
        (kusionstack::VERSION, "v1alpha1"),
        (kusionstack::RULE_FINALIZERS[0], "finalizer.operating.kusionstack.io/protected"),
        (kusionstack::RULE_FINALIZERS[1], "podtransitionrule.kusionstack.io/need-clean-up"),
        (kusionstack::SKIP_RULE_KINDS, "SKIP_POD_TRANSITION_RULES"),
        (kusionstack::EVENT_SERVICE_READY, "ServiceReady"),
        (kusionstack::EVENT_POD_DELETION, "PodDeletion"),
        (webhook::MUTATING_POD, "mutating-pod.apps.kusionstack.io"),
        (webhook::VALIDATING_POD, "validating-pod.apps.kusionstack.io"),
        (webhook::PATH_MUTATING, "/mutating-generic"),
        (webhook::PATH_VALIDATING, "/validating-generic"),
        (webhook::GRACE_DELETE_GATE, "GraceDeleteWebhook"),
        (webhook::INVALID_LABELS_PREFIX, "failed to validate PodOpsLifecycleWebhook, "),
        (
            webhook::DELETION_UNDERWAY,
            "failed to validate GraceDeleteWebhook, pod deletion process is underway and being managed by PodOpsLifecycle",
        ),
    ]);
}

#[test]
fn the_labels_of_an_operation_are_as_kusionstacks_controllers_know_them() {
    let keys: Vec<_> = OperationLabel::ALL.iter().map(|label| label.key("pod-delete").unwrap()).collect();
    let expected = [
        "operating",
        "operation-type",
        "undo-operation-type",
        "pre-check",
        "pre-checked",
        "preparing",
        "operate",
        "operated",
        "done-operation-type",
        "post-check",
        "post-checked",
        "completing",
    ]
    .map(|prefix| format!("{prefix}.podopslifecycle.kusionstack.io/pod-delete"));
    assert_eq!(keys, expected);
    assert_eq!(
        permission_key("delete").unwrap(),
        "operation-permission.podopslifecycle.kusionstack.io/delete"
    );
}

#[test]
fn kubernetes_words_are_as_its_components_write_them() {
    assert_pinned(&[
        (kubernetes::POD_TEMPLATE_HASH, "pod-template-hash"),
        (kubernetes::CONTROLLER_REVISION_HASH, "controller-revision-hash"),
        (kubernetes::POD_TEMPLATE_GENERATION, "pod-template-generation"),
        (kubernetes::DAEMONSET_TEMPLATE_GENERATION, "deprecated.daemonset.template.generation"),
        (kubernetes::DEPLOYMENT_REVISION, "deployment.kubernetes.io/revision"),
        (kubernetes::STATEFULSET_POD_NAME, "statefulset.kubernetes.io/pod-name"),
        (kubernetes::POD_INDEX, "apps.kubernetes.io/pod-index"),
        (kubernetes::CONFIG_MIRROR, "kubernetes.io/config.mirror"),
        (kubernetes::CONFIG_HASH, "kubernetes.io/config.hash"),
        (kubernetes::CONFIG_SOURCE, "kubernetes.io/config.source"),
        (kubernetes::CONFIG_SOURCE_FILE, "file"),
        (kubernetes::INITIAL_EVENTS_END, "k8s.io/initial-events-end"),
        (kubernetes::NODE_USER_PREFIX, "system:node:"),
        (kubernetes::NODE_GROUP, "system:nodes"),
        (kubernetes::CONDITION_READY, "Ready"),
        (kubernetes::CONDITION_DISRUPTION_TARGET, "DisruptionTarget"),
        (kubernetes::CONDITION_RESIZE_PENDING, "PodResizePending"),
        (kubernetes::CONDITION_RESIZE_IN_PROGRESS, "PodResizeInProgress"),
    ]);
}

#[test]
fn our_own_words_are_as_documented() {
    use safepoint::{change_freeze, deferral, order, refusal};
    assert_pinned(&[
        (safepoint::GROUP, "safepoint.dev"),
        (safepoint::VERSION, "v1alpha1"),
        (safepoint::FIRST_INSTALL, "safepoint.dev/first-install"),
        (safepoint::END_WISHED, "safepoint.dev/end-wished"),
        (safepoint::HOLD_CARRIED, "safepoint.dev/hold-carried-from"),
        (safepoint::FIRST_INSTALL_ALLOW, "allow"),
        (safepoint::SOCKET, "/run/safepoint/agent.sock"),
        (safepoint::CONDITION_CHANGE_FREEZE, "ChangeFreeze"),
        (safepoint::REASON_RELEASED, "Released"),
        (change_freeze::OPEN, "Open"),
        (change_freeze::FREEZING, "Freezing"),
        (change_freeze::FROZEN, "Frozen"),
        (change_freeze::ORPHANED, "Orphaned"),
        (change_freeze::THAWING, "Thawing"),
        (refusal::NOT_READY, "NotReady"),
        (refusal::UPGRADE_IN_PROGRESS, "UpgradeInProgress"),
        (refusal::REPLACEMENT_PENDING, "ReplacementPending"),
        (refusal::POD_UNSETTLED, "PodUnsettled"),
        (refusal::PULL_IN_PROGRESS, "PullInProgress"),
        (refusal::CONFIG_PENDING, "ConfigPending"),
        (refusal::DISRUPTION_IN_PROGRESS, "DisruptionInProgress"),
        (order::EXPIRED, "Expired"),
        (order::NOTHING_HELD, "NothingHeld"),
        (order::NOT_UNDERSTOOD, "NotUnderstood"),
        (deferral::NODE_NOT_READY, "NodeNotReady"),
        (deferral::NODE_FROZEN, "NodeFrozen"),
        (deferral::NODE_HELD, "NodeHeld"),
    ]);
}

#[test]
fn no_two_labels_annotations_or_conditions_share_a_key() {
    let keys = [
        kubeedge::HOLD_UPGRADE,
        kubeedge::condition::HELD_UPGRADE,
        openyurt::UPDATE_STRATEGY,
        openyurt::MAX_UNAVAILABLE,
        openyurt::STATIC_POD_HASH,
        openyurt::pod_condition::NEED_UPGRADE,
        openyurt::pod_condition::IMAGE_READY,
        kusionstack::CONTROL,
        kusionstack::SERVICE_AVAILABLE,
        kusionstack::STAY_OFFLINE,
        kusionstack::PREPARING_TO_DELETE,
        kusionstack::CREATING,
        kusionstack::COMPLETING,
        kusionstack::TO_DELETE,
        kusionstack::TO_DELETE_OLD,
        kusionstack::SERVICE_READY,
        kusionstack::AVAILABLE_CONDITIONS,
        kusionstack::DELETE_TIMESTAMP,
        kusionstack::SKIP_RULES,
        safepoint::FIRST_INSTALL,
        safepoint::CONDITION_CHANGE_FREEZE,
    ];
    assert_eq!(keys.iter().collect::<BTreeSet<_>>().len(), keys.len());
}
