//! What a hold covers: a kind, and the fields that belong to it and no others.

use safepoint_api::node_gate::{self as api, ScopeKind};
use safepoint_api::{PodRef, WorkloadRef};
use safepoint_core::{Requirement, Scope, Selector, Text, Workload, WorkloadKind};
use safepoint_machinery::names;
use safepoint_machinery::selector::{LabelRequirement, LabelSelector, Operator};

use super::Problems;

/// The longest name of a kind, as in a NodeGate.
const LONGEST_KIND: usize = 63;

/// Reads a scope. None means that there is a problem.
pub(super) fn scope(problems: &mut Problems, scope: &api::Scope) -> Option<Scope> {
    let api::Scope { kind, namespace, workload: of, pod: one, selector: labels } = scope;
    let given = [
        ("scope.namespace", namespace.is_some(), matches!(kind, ScopeKind::Namespace | ScopeKind::Selector)),
        ("scope.workload", of.is_some(), *kind == ScopeKind::Workload),
        ("scope.pod", one.is_some(), *kind == ScopeKind::Pod),
        ("scope.selector", labels.is_some(), *kind == ScopeKind::Selector),
    ];
    for (field, is_given, belongs) in given {
        if is_given && !belongs {
            problems.add(field, format!("does not go with the kind {kind:?}"));
        }
    }
    let mut missing = |field: &str| {
        problems.add(field, format!("is needed with the kind {kind:?}"));
        None
    };
    match kind {
        ScopeKind::Node => Some(Scope::Node),
        ScopeKind::Namespace => match namespace {
            Some(namespace) => Some(Scope::Namespace(label(problems, "scope.namespace", namespace))),
            None => missing("scope.namespace"),
        },
        ScopeKind::Selector => match labels {
            Some(labels) => {
                let namespace = namespace.as_deref();
                let namespace = namespace.map(|namespace| label(problems, "scope.namespace", namespace));
                let selector = selector(problems, labels)?;
                Some(Scope::Selector { namespace, selector })
            }
            None => missing("scope.selector"),
        },
        ScopeKind::Workload => match of {
            Some(of) => workload(problems, "scope.workload", of).map(Scope::Workload),
            None => missing("scope.workload"),
        },
        ScopeKind::Pod => match one {
            Some(one) => {
                let (namespace, name) = pod(problems, "scope.pod", one);
                Some(Scope::Pod { namespace, name })
            }
            None => missing("scope.pod"),
        },
    }
}

/// Reads the name of a pod.
pub(super) fn pod(problems: &mut Problems, field: &str, pod: &PodRef) -> (Text, Text) {
    let namespace = label(problems, &format!("{field}.namespace"), &pod.namespace);
    (namespace, subdomain(problems, &format!("{field}.name"), &pod.name))
}

/// Reads the name of a workload; `field` is where it stands. None means that there is a problem.
pub(super) fn workload(problems: &mut Problems, field: &str, of: &WorkloadRef) -> Option<Workload> {
    let kind = match &*of.kind {
        "Deployment" => WorkloadKind::Deployment,
        "ReplicaSet" => WorkloadKind::ReplicaSet,
        "DaemonSet" => WorkloadKind::DaemonSet,
        "StatefulSet" => WorkloadKind::StatefulSet,
        "Job" => WorkloadKind::Job,
        "Pod" => WorkloadKind::Pod,
        "StaticPod" => WorkloadKind::StaticPod,
        other => WorkloadKind::Other(other.into()),
    };
    let is_a_word = of.kind.chars().all(|c| c.is_ascii_alphanumeric());
    if of.kind.is_empty() || of.kind.len() > LONGEST_KIND || !is_a_word {
        problems.add(
            &format!("{field}.kind"),
            "must be the kind of a controller, such as Deployment, or Pod or StaticPod",
        );
    }
    let namespace = label(problems, &format!("{field}.namespace"), &of.namespace);
    let name = subdomain(problems, &format!("{field}.name"), &of.name);
    let ordinal = of.ordinal.map(u32::try_from);
    match ordinal {
        Some(_) if kind != WorkloadKind::StatefulSet => {
            problems.add(&format!("{field}.ordinal"), "only the replicas of a StatefulSet have an ordinal");
            None
        }
        Some(Err(_)) => {
            problems.add(&format!("{field}.ordinal"), "must not be negative");
            None
        }
        Some(Ok(ordinal)) => Some(Workload { kind, namespace, name, ordinal: Some(ordinal) }),
        None => Some(Workload { kind, namespace, name, ordinal: None }),
    }
}

fn selector(problems: &mut Problems, text: &str) -> Option<Selector> {
    let parsed = match LabelSelector::parse(text) {
        Ok(parsed) if parsed.is_empty() => {
            problems.add("scope.selector", "selects everything: to hold everything, use the kind Node");
            return None;
        }
        Ok(parsed) => parsed,
        Err(error) => {
            problems.add("scope.selector", error.to_string());
            return None;
        }
    };
    let read: Option<Vec<_>> = parsed.requirements().iter().map(requirement).collect();
    if read.is_none() {
        problems.add("scope.selector", "a hold compares labels as texts: '>' and '<' cannot be used here");
    }
    read.map(|requirements| Selector(requirements.into()))
}

fn requirement(requirement: &LabelRequirement) -> Option<Requirement> {
    let key = Text::from(requirement.key());
    let values = || requirement.values().iter().map(|value| Text::from(value.as_str())).collect();
    Some(match requirement.operator() {
        Operator::Equals | Operator::DoubleEquals | Operator::In => Requirement::In(key, values()),
        Operator::NotEquals | Operator::NotIn => Requirement::NotIn(key, values()),
        Operator::Exists => Requirement::Exists(key),
        Operator::DoesNotExist => Requirement::Absent(key),
        Operator::GreaterThan | Operator::LessThan => return None,
    })
}

fn label(problems: &mut Problems, field: &str, name: &str) -> Text {
    for message in names::dns1123_label(name) {
        problems.add(field, message);
    }
    name.into()
}

fn subdomain(problems: &mut Problems, field: &str, name: &str) -> Text {
    for message in names::dns1123_subdomain(name) {
        problems.add(field, message);
    }
    name.into()
}
