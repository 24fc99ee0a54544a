//! KusionStack PodOpsLifecycle: the labels by which operation controllers, cooperation controllers and the lifecycle
//! speak with each other, all on the pod.
//!
//! "Time" as a value means decimal Unix time in nanoseconds.

pub mod operation;
pub mod webhook;

/// Label that opts a pod in, with the value [`CONTROL_ON`]. Written by users; webhooks and controllers ignore pods without.
pub const CONTROL: &str = "kusionstack.io/control";

/// The one value of [`CONTROL`] that counts.
pub const CONTROL_ON: &str = "true";

/// Label, value a time. Written and removed by the lifecycle: the pod is in normal service.
pub const SERVICE_AVAILABLE: &str = "podopslifecycle.kusionstack.io/service-available";

/// Label, any value. Written by users, read by the lifecycle: do not bring an idle pod into service.
pub const STAY_OFFLINE: &str = "podopslifecycle.kusionstack.io/stay-offline";

/// Label, value a time. Written by operation controllers when they begin: this operation ends in deletion.
pub const PREPARING_TO_DELETE: &str = "podopslifecycle.kusionstack.io/preparing-to-delete";

/// Label, value a time. Written by CollaSet on a pod that it creates, removed by the lifecycle: for display.
pub const CREATING: &str = "podopslifecycle.kusionstack.io/creating";

/// Label, value a time. Written by CollaSet on a pod that it creates again, removed by the lifecycle: for display.
pub const COMPLETING: &str = "podopslifecycle.kusionstack.io/completing";

/// Label, any value. Written by users, by CollaSet and by GraceDelete, read by the pod deletion controller: delete this
/// pod through the lifecycle.
pub const TO_DELETE: &str = "collaset.kusionstack.io/to-delete";

/// What [`TO_DELETE`] was called until v0.6. Read only.
pub const TO_DELETE_OLD: &str = "podopslifecycle.kusionstack.io/to-delete";

/// The id under which the pod deletion controller operates, with the type [`DELETE_TYPE`].
pub const DELETE_ID: &str = "pod-delete";

/// The type of the operation that deletes a pod.
pub const DELETE_TYPE: &str = "delete";

/// Readiness gate and condition on a pod. The gate is added when the pod is created; the condition is written by the
/// lifecycle and read by the kubelet: `False` takes the pod out of service.
pub const SERVICE_READY: &str = "pod.kusionstack.io/service-ready";

/// Message of the condition [`SERVICE_READY`].
pub const SERVICE_READY_MESSAGE: &str = "updated by PodOpsLifecycle";

/// Finalizers of cooperation controllers start with this. Added once their resource is on, removed once it is off; while
/// there is one, no operation may begin.
pub const PROTECTION_FINALIZER_PREFIX: &str = "prot.podopslifecycle.kusionstack.io";

/// Annotation on a pod. Written by cooperation controllers, pruned by the lifecycle:
/// `{"expectedFinalizers":{"<Kind>/<namespace>/<name>":"<finalizer>"}}`, which must all be there before it is in service.
pub const AVAILABLE_CONDITIONS: &str = "pod.kusionstack.io/available-conditions";

/// Annotation on a pod, value a time. Written by GraceDelete: when a deletion was refused last.
pub const DELETE_TIMESTAMP: &str = "gracedelete.kusionstack.io/delete-timestamp";

/// Annotation on a pod. Written by users, read by transition rules: `{"skipRules":["<rule>", …]}`.
pub const SKIP_RULES: &str = "podtransitionrule.kusionstack.io/skip-rule-conditions";

/// Annotation on a pod: this, a `/` and the name of a PodTransitionRule. Written by the rules' controller, read by people:
/// `{"stage", "passed", "rejectInfo"}`.
pub const RULE_DETAIL_PREFIX: &str = "detail.podtransitionrule.kusionstack.io";

/// Stage of a transition rule: before an operation.
pub const STAGE_PRE_CHECK: &str = "PreCheck";

/// Stage of a transition rule: after an operation.
pub const STAGE_POST_CHECK: &str = "PostCheck";

/// The API group of [`PodTransitionRule`](crate::PodTransitionRule).
pub const GROUP: &str = "apps.kusionstack.io";

/// The version of [`PodTransitionRule`](crate::PodTransitionRule).
pub const VERSION: &str = "v1alpha1";

/// Finalizers that KusionStack puts on a PodTransitionRule, the present one and an older one. Taken off by the hub where such
/// an object is deleted: where KusionStack is gone, nobody else does.
pub const RULE_FINALIZERS: [&str; 2] =
    ["finalizer.operating.kusionstack.io/protected", "podtransitionrule.kusionstack.io/need-clean-up"];

/// Variable in the environment of KusionStack's manager and of the hub, set by operators: kinds of transition rules that are
/// switched off everywhere, such as `availablePolicy,webhook`.
pub const SKIP_RULE_KINDS: &str = "SKIP_POD_TRANSITION_RULES";

/// Reason of the event on a pod whose [`SERVICE_READY`] was written.
pub const EVENT_SERVICE_READY: &str = "ServiceReady";

/// Reason of the event on a pod that the pod deletion controller deleted.
pub const EVENT_POD_DELETION: &str = "PodDeletion";
