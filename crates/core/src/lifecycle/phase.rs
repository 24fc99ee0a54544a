//! Where a pod is in its lifecycle, in one word.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::view::{Operation, View};
use super::words::{Label, Mark};

/// Where a pod, or one operation on it, is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Phase {
    /// The pod does not take part.
    NotControlled,
    /// Nobody operates on it and it is not in service yet.
    Starting,
    /// It is in normal service.
    ServiceAvailable,
    /// It is to stay out of service.
    Offline,
    /// An operation waits for the rules.
    PreCheck,
    /// The pod goes back into service.
    Completing,
    /// The rules are asked whether it may.
    PostCheck,
    /// It goes out of service.
    Preparing,
    /// An operation may act, or has acted and waits for another.
    Operating,
    /// The pod is terminating.
    Deleting,
}

/// Where a pod is: with several operations, where the one is that needs it out of service most.
#[must_use]
pub fn phase(view: &View) -> Phase {
    let operations = view.alive().map(|(_, operation)| phase_of(operation)).max();
    match operations {
        _ if !view.controlled => Phase::NotControlled,
        _ if view.deleting => Phase::Deleting,
        Some(phase) => phase,
        None if view.has(Mark::ServiceAvailable) => Phase::ServiceAvailable,
        None if view.has(Mark::StayOffline) => Phase::Offline,
        None => Phase::Starting,
    }
}

/// Where one operation is.
#[must_use]
pub const fn phase_of(operation: &Operation) -> Phase {
    if operation.is_waiting() {
        Phase::PreCheck
    } else if operation.is_busy() && !operation.has(Label::Operate) {
        Phase::Preparing
    } else if !operation.has(Label::Operated) {
        Phase::Operating
    } else if operation.has(Label::Completing) {
        Phase::Completing
    } else {
        Phase::PostCheck
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotControlled => "NotControlled",
            Self::Starting => "Starting",
            Self::ServiceAvailable => "ServiceAvailable",
            Self::Offline => "Offline",
            Self::PreCheck => "PreCheck",
            Self::Completing => "Completing",
            Self::PostCheck => "PostCheck",
            Self::Preparing => "Preparing",
            Self::Operating => "Operating",
            Self::Deleting => "Deleting",
        })
    }
}
