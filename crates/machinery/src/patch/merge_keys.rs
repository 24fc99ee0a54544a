//! Which lists of Kubernetes' own types are merged by a strategic merge patch, and by which key.
//!
//! These are the facts of Kubernetes 1.36, from the tags `patchStrategy` and `patchMergeKey` of its types. Only members
//! that lead to a list that is merged are here; for all others the rules of
//! [`Lookup`] without a field apply. The versions of a kind that are still served agree in what they have
//! in common, so that a kind is found by its group alone.

use super::strategic::{Field, Lookup, Rule};

/// A type of which some members have rules.
pub struct Type(&'static [(&'static str, Entry)]);

enum Entry {
    /// An object with rules of its own.
    Object(&'static Type),
    /// An object that is a choice between its members.
    Choice(&'static Type),
    /// An object that is replaced.
    Replaced,
    /// A list that is merged by a key.
    By(&'static str, &'static Type),
    /// A list that is merged by a key, and whose items are a choice between their members.
    ChoiceBy(&'static str, &'static Type),
    /// A list of scalars that is merged.
    Set,
}

use Entry::{By, Choice, ChoiceBy, Object, Replaced, Set};

/// How objects of this kind are merged; `None` for a kind that is not one of Kubernetes' own, and which therefore has no
/// strategic merge patch.
#[must_use]
pub fn of(api_version: &str, kind: &str) -> Option<&'static Type> {
    let group = api_version.split_once('/').map_or("", |(group, _)| group);
    if !GROUPS.contains(&group) {
        return None;
    }
    Some(match (group, kind) {
        ("", "ComponentStatus") => &WITH_CONDITIONS_AT_THE_TOP,
        ("", "Namespace") => &WITH_CONDITIONS,
        ("", "Node") => &NODE,
        ("", "PersistentVolumeClaim") => &WITH_CONDITIONS,
        ("", "Pod") => &POD,
        ("", "PodTemplate") => &POD_TEMPLATE,
        ("", "ReplicationController") => &WORKLOAD,
        ("", "Service") => &SERVICE,
        ("", "ServiceAccount") => &SERVICE_ACCOUNT,
        ("admissionregistration.k8s.io", "MutatingAdmissionPolicy") => &MUTATING_POLICY,
        ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy") => &VALIDATING_POLICY,
        (
            "admissionregistration.k8s.io",
            "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration",
        ) => &WEBHOOKS,
        ("apiregistration.k8s.io", "APIService") => &WITH_CONDITIONS,
        ("apps" | "extensions", "Deployment") => &DEPLOYMENT,
        ("apps" | "extensions", "DaemonSet" | "ReplicaSet" | "StatefulSet") => &WORKLOAD,
        ("autoscaling", "HorizontalPodAutoscaler") => &WITH_CONDITIONS,
        ("batch", "CronJob") => &CRON_JOB,
        ("batch", "Job") => &WORKLOAD,
        ("certificates.k8s.io", "PodCertificateRequest") => &WITH_CONDITIONS,
        ("flowcontrol.apiserver.k8s.io", "FlowSchema" | "PriorityLevelConfiguration") => &WITH_CONDITIONS,
        ("networking.k8s.io", "ServiceCIDR") => &WITH_CONDITIONS,
        ("policy", "PodDisruptionBudget") => &DISRUPTION_BUDGET,
        ("resource.k8s.io", "ResourceClaim") => &RESOURCE_CLAIM,
        ("resource.k8s.io", "ResourceClaimTemplate") => &RESOURCE_CLAIM_TEMPLATE,
        ("resource.k8s.io", "DeviceTaintRule" | "ResourcePoolStatusRequest") => &WITH_CONDITIONS,
        ("scheduling.k8s.io", "PodGroup") => &POD_GROUP,
        ("storage.k8s.io", "CSINode") => &CSI_NODE,
        ("storagemigration.k8s.io", "StorageVersionMigration") => &WITH_CONDITIONS,
        _ => &PLAIN,
    })
}

// === impl Type ===

impl Lookup for Type {
    fn field(&self, name: &str) -> Option<Field<'_>> {
        let (_, entry) = self.0.iter().find(|(field, _)| *field == name)?;
        let (rule, retain_keys) = match entry {
            Object(inner) => (Rule::Object(*inner), false),
            Choice(inner) => (Rule::Object(*inner), true),
            Replaced => (Rule::Replace, false),
            By(key, item) => (Rule::Map { key, item: *item }, false),
            ChoiceBy(key, item) => (Rule::Map { key, item: *item }, true),
            Set => (Rule::Set, false),
        };
        Some(Field { rule, retain_keys })
    }
}

/// The groups that Kubernetes serves itself. A custom resource may well have a group that ends in `k8s.io`.
const GROUPS: [&str; 24] = [
    "",
    "admissionregistration.k8s.io",
    "apiextensions.k8s.io",
    "apiregistration.k8s.io",
    "apps",
    "authentication.k8s.io",
    "authorization.k8s.io",
    "autoscaling",
    "batch",
    "certificates.k8s.io",
    "coordination.k8s.io",
    "discovery.k8s.io",
    "events.k8s.io",
    "extensions",
    "flowcontrol.apiserver.k8s.io",
    "internal.apiserver.k8s.io",
    "networking.k8s.io",
    "node.k8s.io",
    "policy",
    "rbac.authorization.k8s.io",
    "resource.k8s.io",
    "scheduling.k8s.io",
    "storage.k8s.io",
    "storagemigration.k8s.io",
];

// === what many kinds have ===

/// A type without rules.
static LEAF: Type = Type(&[]);

static METADATA: Type = Type(&[("finalizers", Set), ("ownerReferences", By("uid", &LEAF))]);

/// An object of which only the metadata has rules.
static PLAIN: Type = Type(&[("metadata", Object(&METADATA))]);

static CONDITIONS: Type = Type(&[("conditions", By("type", &LEAF))]);

static WITH_CONDITIONS: Type = Type(&[("metadata", Object(&METADATA)), ("status", Object(&CONDITIONS))]);

static WITH_CONDITIONS_AT_THE_TOP: Type =
    Type(&[("metadata", Object(&METADATA)), ("conditions", By("type", &LEAF))]);

// === pods ===

static POD: Type =
    Type(&[("metadata", Object(&METADATA)), ("spec", Object(&POD_SPEC)), ("status", Object(&POD_STATUS))]);

static POD_SPEC: Type = Type(&[
    ("containers", By("name", &CONTAINER)),
    ("ephemeralContainers", By("name", &CONTAINER)),
    ("hostAliases", By("ip", &LEAF)),
    ("imagePullSecrets", By("name", &LEAF)),
    ("initContainers", By("name", &CONTAINER)),
    ("resourceClaims", ChoiceBy("name", &LEAF)),
    ("schedulingGates", By("name", &LEAF)),
    ("topologySpreadConstraints", By("topologyKey", &LEAF)),
    ("volumes", ChoiceBy("name", &VOLUME)),
]);

static CONTAINER: Type = Type(&[
    ("env", By("name", &LEAF)),
    ("ports", By("containerPort", &LEAF)),
    ("volumeDevices", By("devicePath", &LEAF)),
    ("volumeMounts", By("mountPath", &LEAF)),
]);

static VOLUME: Type = Type(&[("ephemeral", Object(&EPHEMERAL_VOLUME))]);

static EPHEMERAL_VOLUME: Type = Type(&[("volumeClaimTemplate", Object(&PLAIN))]);

static POD_STATUS: Type = Type(&[
    ("conditions", By("type", &LEAF)),
    ("hostIPs", By("ip", &LEAF)),
    ("podIPs", By("ip", &LEAF)),
    ("resourceClaimStatuses", ChoiceBy("name", &LEAF)),
]);

static POD_TEMPLATE: Type =
    Type(&[("metadata", Object(&METADATA)), ("template", Object(&POD_TEMPLATE_SPEC))]);

static POD_TEMPLATE_SPEC: Type = Type(&[("metadata", Object(&METADATA)), ("spec", Object(&POD_SPEC))]);

// === workloads ===

static WORKLOAD: Type = Type(&[
    ("metadata", Object(&METADATA)),
    ("spec", Object(&WORKLOAD_SPEC)),
    ("status", Object(&CONDITIONS)),
]);

static WORKLOAD_SPEC: Type = Type(&[("template", Object(&POD_TEMPLATE_SPEC))]);

static DEPLOYMENT: Type = Type(&[
    ("metadata", Object(&METADATA)),
    ("spec", Object(&DEPLOYMENT_SPEC)),
    ("status", Object(&CONDITIONS)),
]);

static DEPLOYMENT_SPEC: Type = Type(&[("strategy", Choice(&LEAF)), ("template", Object(&POD_TEMPLATE_SPEC))]);

static CRON_JOB: Type = Type(&[("metadata", Object(&METADATA)), ("spec", Object(&CRON_JOB_SPEC))]);

static CRON_JOB_SPEC: Type = Type(&[("jobTemplate", Object(&JOB_TEMPLATE))]);

static JOB_TEMPLATE: Type = Type(&[("metadata", Object(&METADATA)), ("spec", Object(&WORKLOAD_SPEC))]);

// === the rest of the core group ===

static NODE: Type =
    Type(&[("metadata", Object(&METADATA)), ("spec", Object(&NODE_SPEC)), ("status", Object(&NODE_STATUS))]);

static NODE_SPEC: Type = Type(&[("podCIDRs", Set)]);

static NODE_STATUS: Type = Type(&[("addresses", By("type", &LEAF)), ("conditions", By("type", &LEAF))]);

static SERVICE: Type = Type(&[
    ("metadata", Object(&METADATA)),
    ("spec", Object(&SERVICE_SPEC)),
    ("status", Object(&CONDITIONS)),
]);

static SERVICE_SPEC: Type = Type(&[("ports", By("port", &LEAF))]);

static SERVICE_ACCOUNT: Type = Type(&[("metadata", Object(&METADATA)), ("secrets", By("name", &LEAF))]);

// === other groups ===

static WEBHOOKS: Type = Type(&[("metadata", Object(&METADATA)), ("webhooks", By("name", &WEBHOOK))]);

static WEBHOOK: Type = Type(&[("matchConditions", By("name", &LEAF))]);

static MUTATING_POLICY: Type =
    Type(&[("metadata", Object(&METADATA)), ("spec", Object(&MUTATING_POLICY_SPEC))]);

static MUTATING_POLICY_SPEC: Type = Type(&[("matchConditions", By("name", &LEAF))]);

static VALIDATING_POLICY: Type =
    Type(&[("metadata", Object(&METADATA)), ("spec", Object(&VALIDATING_POLICY_SPEC))]);

static VALIDATING_POLICY_SPEC: Type =
    Type(&[("matchConditions", By("name", &LEAF)), ("variables", By("name", &LEAF))]);

static DISRUPTION_BUDGET: Type = Type(&[
    ("metadata", Object(&METADATA)),
    ("spec", Object(&DISRUPTION_BUDGET_SPEC)),
    ("status", Object(&CONDITIONS)),
]);

static DISRUPTION_BUDGET_SPEC: Type = Type(&[("selector", Replaced)]);

static RESOURCE_CLAIM: Type =
    Type(&[("metadata", Object(&METADATA)), ("status", Object(&RESOURCE_CLAIM_STATUS))]);

static RESOURCE_CLAIM_STATUS: Type = Type(&[("reservedFor", By("uid", &LEAF))]);

static RESOURCE_CLAIM_TEMPLATE: Type = Type(&[("metadata", Object(&METADATA)), ("spec", Object(&PLAIN))]);

static POD_GROUP: Type = Type(&[
    ("metadata", Object(&METADATA)),
    ("spec", Object(&POD_GROUP_SPEC)),
    ("status", Object(&POD_GROUP_STATUS)),
]);

static POD_GROUP_SPEC: Type = Type(&[("resourceClaims", ChoiceBy("name", &LEAF))]);

static POD_GROUP_STATUS: Type =
    Type(&[("conditions", By("type", &LEAF)), ("resourceClaimStatuses", ChoiceBy("name", &LEAF))]);

static CSI_NODE: Type = Type(&[("metadata", Object(&METADATA)), ("spec", Object(&CSI_NODE_SPEC))]);

static CSI_NODE_SPEC: Type = Type(&[("drivers", By("name", &LEAF))]);
