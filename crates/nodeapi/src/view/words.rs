//! One thing of the gate, as the wire has it.

use jiff::Timestamp as Instant;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use safepoint_api::node_gate::{self as api, GateState, ScopeKind};
use safepoint_api::{ObjectRef, PodRef, WorkloadRef};
use safepoint_core::{
    Age, Blocker, Gate, Grant, Hold, HoldId, Key, Kind, Mode, OnExpiry, Origin, Scope, Subject, Target,
    Timestamp, Workload,
};

/// A time of the gate. Whole seconds, as Kubernetes keeps them: a status that is read back must equal what was written.
#[must_use]
pub fn time(at: Timestamp) -> Time {
    // A clock that is that far off is wrong whatever is shown.
    Time(Instant::from_second(at.0.div_euclid(1000)).unwrap_or(Instant::UNIX_EPOCH))
}

/// When an age is or was by the wall clock, as far as the gate can tell.
#[must_use]
pub fn wall_of(gate: &Gate, age: Age) -> Time {
    let millis = |age: Age| i64::try_from(age.0).unwrap_or(i64::MAX);
    let ahead = millis(age).saturating_sub(millis(gate.age()));
    time(Timestamp(gate.wall().0.saturating_add(ahead)))
}

/// What the gate does.
#[must_use]
pub const fn state(mode: Mode) -> GateState {
    match mode {
        Mode::Open => GateState::Open,
        Mode::Freezing => GateState::Freezing,
        Mode::Frozen => GateState::Frozen,
        Mode::Thawing => GateState::Thawing,
    }
}

/// A hold.
#[must_use]
pub fn hold(gate: &Gate, id: &HoldId, hold: &Hold) -> api::Hold {
    api::Hold {
        id: id.to_string(),
        holder: hold.holder.name.to_string(),
        origin: match hold.holder.origin {
            Origin::Local => api::Origin::Local,
            Origin::Remote => api::Origin::Remote,
        },
        reason: hold.reason.to_string(),
        scope: scope(&hold.scope),
        since: time(hold.since.at),
        expires: hold.lease.map(|lease| wall_of(gate, lease.ends)),
        on_expiry: hold.lease.map(|lease| match lease.on_expiry {
            OnExpiry::Stay => api::OnExpiry::Stay,
            OnExpiry::ThawIfSafe => api::OnExpiry::ThawIfSafe,
        }),
        orphaned: hold.orphaned.is_some(),
        suspended_until: hold.suspended.as_ref().map(|suspension| wall_of(gate, suspension.until)),
    }
}

/// What a hold covers.
#[must_use]
pub fn scope(scope: &Scope) -> api::Scope {
    let bare = |kind| api::Scope { kind, namespace: None, workload: None, pod: None, selector: None };
    match scope {
        Scope::Node => bare(ScopeKind::Node),
        Scope::Namespace(namespace) => {
            api::Scope { namespace: Some(namespace.to_string()), ..bare(ScopeKind::Namespace) }
        }
        Scope::Selector { namespace, selector } => api::Scope {
            namespace: namespace.as_deref().map(str::to_owned),
            selector: Some(selector.to_string()),
            ..bare(ScopeKind::Selector)
        },
        Scope::Workload(held) => api::Scope { workload: Some(workload(held)), ..bare(ScopeKind::Workload) },
        Scope::Pod { namespace, name } => {
            let pod = PodRef { namespace: namespace.to_string(), name: name.to_string() };
            api::Scope { pod: Some(pod), ..bare(ScopeKind::Pod) }
        }
    }
}

/// A workload.
#[must_use]
pub fn workload(workload: &Workload) -> WorkloadRef {
    WorkloadRef {
        kind: workload.kind.name().to_owned(),
        namespace: workload.namespace.to_string(),
        name: workload.name.to_string(),
        ordinal: workload.ordinal.and_then(|ordinal| i32::try_from(ordinal).ok()),
    }
}

/// The kind of an object.
pub(super) const fn object_kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Pod => "Pod",
        Kind::StaticPod => "StaticPod",
        Kind::ConfigMap => "ConfigMap",
        Kind::Secret => "Secret",
    }
}

/// Something that stands against a freeze.
#[must_use]
pub fn blocker(blocker: &Blocker) -> api::Blocker {
    let object = match &blocker.subject {
        Subject::Object(Key { kind, namespace, name }) => ObjectRef {
            kind: object_kind(*kind).to_owned(),
            namespace: Some(namespace.to_string()),
            name: name.to_string(),
        },
        Subject::Workload(workload) => ObjectRef {
            kind: workload.kind.name().to_owned(),
            namespace: Some(workload.namespace.to_string()),
            // As the pods of a StatefulSet are named.
            name: match workload.ordinal {
                Some(ordinal) => format!("{}-{ordinal}", workload.name),
                None => workload.name.to_string(),
            },
        },
        Subject::Part(part) => ObjectRef { kind: "Part".to_owned(), namespace: None, name: part.to_string() },
    };
    api::Blocker {
        // The gate's codes are those of the wire, letter for letter; a test compares them.
        reason: format!("{:?}", blocker.reason),
        object: Some(object),
        message: format!("{} {}", blocker.subject, blocker.message),
        since: None,
    }
}

/// A release that has not run its course.
#[must_use]
pub fn grant(gate: &Gate, of: &Workload, grant: &Grant) -> api::Grant {
    api::Grant {
        workload: workload(of),
        revision: match &grant.target {
            Target::Revision(revision) => Some(revision.to_string()),
            Target::FirstSuccessor | Target::InPlace => None,
        },
        since: time(grant.opened.at),
        expires: Some(wall_of(gate, grant.closes)),
        by: grant.by.name.to_string(),
    }
}
