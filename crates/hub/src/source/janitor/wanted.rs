//! Whether the control plane still wants a pod gone. Pure.
//!
//! Which of its controllers wished it may not be known, since they may all go by one name; so every ground is looked at. Where
//! something is not known, the wish stands.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::apps::v1::{DaemonSet, ReplicaSet, StatefulSet};
use k8s_openapi::api::core::v1::{
    Node, NodeSelectorRequirement, NodeSelectorTerm, Pod, PodSpec, Taint, Toleration,
};
use kube::ResourceExt;
use safepoint_api::names::kubernetes::CONTROLLER_REVISION_HASH;

/// Where a pod stands.
pub(super) struct Ground<'a> {
    pub(super) pod: &'a Pod,
    pub(super) node: Option<&'a Node>,
    pub(super) namespace_ending: bool,
    /// Whether it was a taint that it was wished for.
    pub(super) by_taint: bool,
    pub(super) now: Timestamp,
}

/// The controller of a pod as it is now.
pub(super) enum Above {
    /// None that is known here, or one that is gone.
    Nobody,
    ReplicaSet {
        /// How many pods it has too many; counted down with every wish that stands for it.
        surplus: i32,
    },
    StatefulSet(Box<StatefulSet>),
    DaemonSet {
        set: Box<DaemonSet>,
        /// The hash of its newest revision.
        newest: Option<String>,
    },
}

/// Whether something still wants the pod gone.
pub(super) fn is_wanted_gone(ground: &Ground<'_>, above: &mut Above) -> bool {
    let Some(node) = ground.node else { return true };
    ground.namespace_ending
        || is_driven_out(ground.pod, node, ground.now)
        || above.wants_gone(ground.pod, node, ground.by_taint)
}

// === impl Above ===

impl Above {
    pub(super) fn replica_set(set: &ReplicaSet) -> Self {
        surplus(set).map_or(Self::Nobody, |surplus| Self::ReplicaSet { surplus })
    }

    fn wants_gone(&mut self, pod: &Pod, node: &Node, by_taint: bool) -> bool {
        match self {
            // Nobody here knows what a controller of another kind wants; but a taint that is lifted is no ground for anybody.
            Self::Nobody => !by_taint,
            Self::ReplicaSet { surplus } => {
                let wanted = *surplus > 0;
                *surplus -= i32::from(wanted);
                wanted
            }
            Self::StatefulSet(set) => set.metadata.deletion_timestamp.is_some() || !is_in_set(set, pod),
            Self::DaemonSet { set, newest } => {
                let hash = pod.labels().get(CONTROLLER_REVISION_HASH);
                let template = set.spec.as_ref().and_then(|spec| spec.template.spec.as_ref());
                set.metadata.deletion_timestamp.is_some()
                    || newest.is_none()
                    || hash != newest.as_ref()
                    || !template.is_some_and(|template| fits(template, node))
            }
        }
    }
}

/// How many pods a ReplicaSet has too many; nothing if it has not looked yet, or goes away with all of them.
fn surplus(set: &ReplicaSet) -> Option<i32> {
    let status = set.status.as_ref()?;
    if set.metadata.deletion_timestamp.is_some() || status.observed_generation != set.metadata.generation {
        return None;
    }
    let wanted = set.spec.as_ref().and_then(|spec| spec.replicas).unwrap_or(1);
    Some(status.replicas.saturating_sub(wanted))
}

/// Whether a StatefulSet wants this pod as it is.
fn is_in_set(set: &StatefulSet, pod: &Pod) -> bool {
    let (Some(spec), Some(status)) = (&set.spec, &set.status) else { return false };
    let name = pod.name_any();
    let ordinal =
        name.strip_prefix(&format!("{}-", set.name_any())).and_then(|rest| rest.parse::<i32>().ok());
    let Some(ordinal) = ordinal else { return false };
    let start = spec.ordinals.as_ref().and_then(|ordinals| ordinals.start).unwrap_or_default();
    let partition =
        spec.update_strategy.as_ref().and_then(|strategy| strategy.rolling_update.as_ref()?.partition);
    let hash = pod.labels().get(CONTROLLER_REVISION_HASH);
    let is_current = hash.is_some() && hash == status.update_revision.as_ref();
    // Below the partition nothing is rolled out.
    let is_kept = ordinal < start.saturating_add(partition.unwrap_or_default());
    status.observed_generation == set.metadata.generation
        && (start..start.saturating_add(spec.replicas.unwrap_or(1))).contains(&ordinal)
        && (is_current || is_kept)
}

/// Whether the pods of a DaemonSet belong on a node: by its labels and its name.
fn fits(template: &PodSpec, node: &Node) -> bool {
    let selector = template.node_selector.iter().flatten();
    let selected = selector.into_iter().all(|(key, value)| node.labels().get(key) == Some(value));
    let affinity = template.affinity.as_ref().and_then(|affinity| affinity.node_affinity.as_ref());
    let required =
        affinity.and_then(|affinity| affinity.required_during_scheduling_ignored_during_execution.as_ref());
    let name = BTreeMap::from([("metadata.name".to_owned(), node.name_any())]);
    let matches = |term: &NodeSelectorTerm| {
        let labels = term.match_expressions.as_deref().unwrap_or_default();
        let fields = term.match_fields.as_deref().unwrap_or_default();
        // A term that asks for nothing selects nothing.
        !(labels.is_empty() && fields.is_empty())
            && labels.iter().all(|one| is_met(one, node.labels()))
            && fields.iter().all(|one| is_met(one, &name))
    };
    selected && required.is_none_or(|required| required.node_selector_terms.iter().any(matches))
}

fn is_met(requirement: &NodeSelectorRequirement, values: &BTreeMap<String, String>) -> bool {
    let value = values.get(&requirement.key);
    let listed = requirement.values.as_deref().unwrap_or_default();
    let is_listed = value.is_some_and(|value| listed.contains(value));
    let compared = |is: fn(&i64, &i64) -> bool| {
        let number = |text: Option<&String>| text.and_then(|text| text.parse::<i64>().ok());
        number(value).zip(number(listed.first())).is_some_and(|(value, limit)| is(&value, &limit))
    };
    match &*requirement.operator {
        "In" => is_listed,
        "NotIn" => !is_listed,
        "Exists" => value.is_some(),
        "DoesNotExist" => value.is_none(),
        "Gt" => compared(|value, limit| value > limit),
        "Lt" => compared(|value, limit| value < limit),
        // What is not known does not withdraw a wish.
        _ => false,
    }
}

/// Whether a taint drives the pod out by now: one that it does not tolerate, or has tolerated for as long as it does.
fn is_driven_out(pod: &Pod, node: &Node, now: Timestamp) -> bool {
    let taints = node.spec.iter().flat_map(|spec| spec.taints.iter().flatten());
    let tolerations = pod.spec.as_ref().and_then(|spec| spec.tolerations.as_deref()).unwrap_or_default();
    taints.filter(|taint| taint.effect == "NoExecute").any(|taint| {
        let mut lengths = tolerations
            .iter()
            .filter(|toleration| tolerates(toleration, taint))
            .map(|toleration| toleration.toleration_seconds);
        let Some(first) = lengths.next() else { return true };
        // The shortest counts, and one without an end is the longest.
        let shortest = lengths.chain([first]).flatten().min();
        shortest.is_some_and(|seconds| {
            let length = SignedDuration::from_secs(seconds.max(0));
            taint.time_added.as_ref().is_none_or(|added| now.duration_since(added.0) >= length)
        })
    })
}

fn tolerates(toleration: &Toleration, taint: &Taint) -> bool {
    let is = |mine: Option<&String>, theirs: &str| mine.is_none_or(|mine| mine.is_empty() || mine == theirs);
    is(toleration.effect.as_ref(), &taint.effect)
        && is(toleration.key.as_ref(), &taint.key)
        && match toleration.operator.as_deref() {
            Some("Exists") => true,
            None | Some("" | "Equal") => {
                toleration.value.as_deref().unwrap_or_default() == taint.value.as_deref().unwrap_or_default()
            }
            Some(_) => false,
        }
}

#[cfg(test)]
mod tests;
