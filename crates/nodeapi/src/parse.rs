//! Bodies of requests, read into what the gate can be asked.
//!
//! Wire types end here. Everything that is wrong with a body is said at once, each with the field it is about, so that
//! nobody has to send five requests to learn five things. What an API server checks in a NodeGate is checked here in the
//! same way, because nobody else does it on a socket.

mod scope;

#[cfg(test)]
mod tests;

use std::fmt;

use safepoint_api::local::{Overriding, Release, RenewHold, TakeFreeze, TakeHold};
use safepoint_api::node_gate::{Lease, OnExpiry, Override};
use safepoint_api::{PodRef, Span, WorkloadRef};
use safepoint_core as core;
use safepoint_core::{Ask, HoldId, LeaseAsk, Revision, Workload};

/// The longest reason, as in a NodeGate.
const LONGEST_REASON: usize = 1024;
/// The longest id, as in a NodeGate.
const LONGEST_ID: usize = 63;
/// The cluster's freezes are called this, or this, a dot and more. Nobody on the machine has such a name: a hold under the name
/// of a freeze keeps it from being taken.
pub const OF_CLUSTER: &str = "cluster";
/// The longest name of a holder or of a revision, as in a NodeGate.
const LONGEST_NAME: usize = 253;

/// Everything that is wrong with a request.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Problems(Vec<Problem>);

/// One thing that is wrong with a request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Problem {
    /// Where, as `scope.pod.name`; empty for the whole.
    pub field: String,
    /// What, and what to do.
    pub message: String,
}

/// What a release is for, before the gate was asked which pod it is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Target {
    /// The workload of this pod, old or new.
    Pod(PodRef),
    /// This workload.
    Workload(Workload),
    /// Everything that waits.
    Node,
}

/// A release, read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReleaseAsk {
    /// Whose.
    pub target: Target,
    /// Only this revision.
    pub revision: Option<Revision>,
    /// Against which holds it goes, and why.
    pub overriding: Option<core::Override>,
}

/// A hold or a freeze, read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HoldAsk {
    /// Its name, chosen or made up.
    pub id: HoldId,
    /// What the caller calls themselves.
    pub holder: Option<String>,
    /// What to ask the gate.
    pub ask: Ask,
}

/// Reads a hold. `id` is its name if the caller chose none.
///
/// # Errors
/// Everything that is wrong with it.
pub fn take_hold(body: &TakeHold, id: &str) -> Result<HoldAsk, Problems> {
    let mut problems = Problems::default();
    let id = hold_id(&mut problems, body.id.as_deref().unwrap_or(id));
    let holder = holder(&mut problems, body.holder.as_deref());
    let reason = reason(&mut problems, "reason", &body.reason);
    let scope = scope::scope(&mut problems, &body.scope);
    let lease = body.lease.as_ref().map(lease);
    problems.settle()?;
    let scope = scope.expect("a scope that cannot be read is a problem, and there is none");
    Ok(HoldAsk { id: id.clone(), holder, ask: Ask::Hold { id, reason, scope, lease } })
}

/// Reads a freeze. `id` is its name if the caller chose none.
///
/// # Errors
/// Everything that is wrong with it.
pub fn take_freeze(body: &TakeFreeze, id: &str) -> Result<HoldAsk, Problems> {
    let mut problems = Problems::default();
    let id = hold_id(&mut problems, body.id.as_deref().unwrap_or(id));
    let holder = holder(&mut problems, body.holder.as_deref());
    let reason = reason(&mut problems, "reason", &body.reason);
    let lease = body.lease.as_ref().map(lease);
    let settle = body.deadline.map_or(core::Span::ZERO, span);
    problems.settle()?;
    let keep_barrier = body.hold_barrier;
    Ok(HoldAsk { id: id.clone(), holder, ask: Ask::Freeze { id, reason, lease, settle, keep_barrier } })
}

/// Reads a renewal of the hold that the path names.
///
/// # Errors
/// Everything that is wrong with it.
pub fn renew_hold(body: &RenewHold, id: &str) -> Result<HoldAsk, Problems> {
    let mut problems = Problems::default();
    let holder = holder(&mut problems, body.holder.as_deref());
    problems.settle()?;
    let id = HoldId::from(id);
    Ok(HoldAsk { id: id.clone(), holder, ask: Ask::Renew { id, length: body.duration.map(span) } })
}

/// Reads a release.
///
/// # Errors
/// Everything that is wrong with it.
pub fn release(body: &Release) -> Result<ReleaseAsk, Problems> {
    let mut problems = Problems::default();
    let target = match (&body.pod, &body.workload, body.node) {
        (Some(pod), None, false) => {
            scope::pod(&mut problems, "pod", pod);
            Some(Target::Pod(pod.clone()))
        }
        (None, Some(of), false) => scope::workload(&mut problems, "workload", of).map(Target::Workload),
        (None, None, true) => Some(Target::Node),
        _ => {
            problems.add("", "name what to release: exactly one of pod, workload and node");
            None
        }
    };
    let revision = body.revision.as_deref();
    if revision.is_some_and(|revision| revision.is_empty() || revision.len() > LONGEST_NAME) {
        problems.add(
            "revision",
            format!("must have 1 to {LONGEST_NAME} characters, as GET /v1/changes shows it"),
        );
    }
    if revision.is_some() && body.node {
        problems.add("revision", "goes with a pod or a workload: a node has no revision");
    }
    let overriding = overriding(&mut problems, body.override_.as_ref());
    problems.settle()?;
    let target = target.expect("a target that cannot be read is a problem, and there is none");
    Ok(ReleaseAsk { target, revision: revision.map(Revision::from), overriding })
}

/// Reads the body of what ends something.
///
/// # Errors
/// Everything that is wrong with it.
pub fn ending(body: &Overriding) -> Result<Option<core::Override>, Problems> {
    let mut problems = Problems::default();
    let overriding = overriding(&mut problems, body.override_.as_ref());
    problems.settle()?;
    Ok(overriding)
}

/// A workload as it is named on the wire, for whoever reads a NodeGate.
///
/// # Errors
/// Everything that is wrong with it.
pub fn workload(of: &WorkloadRef) -> Result<Workload, Problems> {
    let mut problems = Problems::default();
    let read = scope::workload(&mut problems, "workload", of);
    problems.settle()?;
    Ok(read.expect("a workload that cannot be read is a problem, and there is none"))
}

/// A length of time.
#[must_use]
pub fn span(span: Span) -> core::Span {
    core::Span::from_secs(std::time::Duration::from(span).as_secs())
}

fn lease(lease: &Lease) -> LeaseAsk {
    let on_expiry = match lease.on_expiry {
        OnExpiry::Stay => core::OnExpiry::Stay,
        OnExpiry::ThawIfSafe => core::OnExpiry::ThawIfSafe,
    };
    LeaseAsk { length: span(lease.duration), on_expiry }
}

fn overriding(problems: &mut Problems, over: Option<&Override>) -> Option<core::Override> {
    over.map(|over| core::Override {
        reason: reason(problems, "override.reason", &over.reason),
        length: span(over.duration),
    })
}

fn hold_id(problems: &mut Problems, id: &str) -> HoldId {
    let edge = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    let inner = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let fits = id.len() <= LONGEST_ID
        && edge(id.chars().next())
        && edge(id.chars().next_back())
        && id.chars().all(inner);
    if !fits {
        problems.add(
            "id",
            format!(
                "must have 1 to {LONGEST_ID} letters, digits, '-', '_' or '.', and begin and end with a letter or digit"
            ),
        );
    }
    if id.strip_prefix(OF_CLUSTER).is_some_and(|rest| rest.is_empty() || rest.starts_with('.')) {
        problems.add(
            "id",
            format!("{OF_CLUSTER:?} and what begins with \"{OF_CLUSTER}.\" are names of the cluster's: choose another"),
        );
    }
    HoldId::from(id)
}

/// Parentheses are left to the agent, which puts there what the kernel says of the caller.
fn holder(problems: &mut Problems, holder: Option<&str>) -> Option<String> {
    let holder = holder?.trim();
    let strange = |c: char| c.is_control() || matches!(c, '(' | ')');
    if holder.is_empty() || holder.len() > LONGEST_NAME || holder.chars().any(strange) {
        problems.add(
            "holder",
            format!("must have 1 to {LONGEST_NAME} characters, and no parentheses or line breaks"),
        );
    }
    Some(holder.to_owned())
}

fn reason(problems: &mut Problems, field: &str, reason: &str) -> core::Text {
    let reason = reason.trim();
    if reason.is_empty() {
        problems.add(field, "say why, in words for the person who asks why nothing happens");
    } else if reason.chars().count() > LONGEST_REASON {
        problems.add(field, format!("must have at most {LONGEST_REASON} characters"));
    } else if reason.chars().any(|c| c.is_control() && c != '\n' && c != '\t') {
        problems.add(field, "must be plain text, without control characters");
    }
    reason.into()
}

// === impl Problems ===

impl Problems {
    /// What is wrong, in the order of the fields.
    #[must_use]
    pub fn all(&self) -> &[Problem] {
        &self.0
    }

    fn add(&mut self, field: &str, message: impl Into<String>) {
        self.0.push(Problem { field: field.to_owned(), message: message.into() });
    }

    fn settle(&mut self) -> Result<(), Self> {
        if self.0.is_empty() { Ok(()) } else { Err(std::mem::take(self)) }
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, Problem { field, message }) in self.0.iter().enumerate() {
            f.write_str(if index == 0 { "" } else { "; " })?;
            match field.is_empty() {
                true => f.write_str(message)?,
                false => write!(f, "{field}: {message}")?,
            }
        }
        Ok(())
    }
}

impl std::error::Error for Problems {}
