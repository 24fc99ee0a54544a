//! What a hold covers.
//!
//! ```
//! use safepoint_sdk::{Hold, scope};
//!
//! let arm = Hold::on(scope::workload("Deployment", "robot", "arm"), "the gripper holds something");
//! let cameras = Hold::on(scope::selector("app=camera"), "recording");
//! ```

use safepoint_api::node_gate::{Scope, ScopeKind};
use safepoint_api::{PodRef, WorkloadRef};

/// Everything on the node.
#[must_use]
pub fn node() -> Scope {
    of(ScopeKind::Node)
}

/// Every pod of a namespace.
#[must_use]
pub fn namespace(namespace: impl Into<String>) -> Scope {
    Scope { namespace: Some(namespace.into()), ..of(ScopeKind::Namespace) }
}

/// One pod.
#[must_use]
pub fn pod(namespace: impl Into<String>, name: impl Into<String>) -> Scope {
    let pod = PodRef { namespace: namespace.into(), name: name.into() };
    Scope { pod: Some(pod), ..of(ScopeKind::Pod) }
}

/// Every pod of one workload. The kind is that of its controller, such as `Deployment`; `Pod` for a bare pod.
#[must_use]
pub fn workload(kind: impl Into<String>, namespace: impl Into<String>, name: impl Into<String>) -> Scope {
    let workload =
        WorkloadRef { kind: kind.into(), namespace: namespace.into(), name: name.into(), ordinal: None };
    Scope { workload: Some(workload), ..of(ScopeKind::Workload) }
}

/// Every pod with these labels, written as for kubectl: `app=camera,tier!=test`.
#[must_use]
pub fn selector(labels: impl Into<String>) -> Scope {
    Scope { selector: Some(labels.into()), ..of(ScopeKind::Selector) }
}

fn of(kind: ScopeKind) -> Scope {
    Scope { kind, namespace: None, workload: None, pod: None, selector: None }
}
