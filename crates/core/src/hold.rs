//! Holds: who keeps changes back, from what, and how that can end.
//!
//! Several holds may stand at once; a change passes when none of them covers it. A freeze is a hold on the whole node
//! that is taken in two phases. A hold never ends because its holder died or because a clock moved.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::object::{Key, Slot};
use crate::text::{HoldId, Text};
use crate::time::{Age, Span, Stamp};
use crate::workload::{Labels, Workload};

/// Where a request comes from. Each side vetoes what the other would open.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Origin {
    /// From this machine: a program or a person on its socket.
    Local,
    /// From the cluster: an admin's order.
    Remote,
}

/// Who asks.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Holder {
    /// A name that means something to an operator, such as `flight-control` or `uid 1000`.
    pub name: Text,
    /// Where it is.
    pub origin: Origin,
}

/// What a hold keeps back.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Scope {
    /// One pod by name, whatever its uid, and the configuration it uses.
    Pod {
        /// The pod's namespace.
        namespace: Text,
        /// The pod's name.
        name: Text,
    },
    /// One workload and the configuration its pods use.
    Workload(Workload),
    /// Everything in a namespace.
    Namespace(Text),
    /// Everything whose labels match, in one namespace or in all.
    Selector {
        /// The namespace, or none for all.
        namespace: Option<Text>,
        /// What the labels must be.
        selector: Selector,
    },
    /// Everything on the node.
    Node,
}

/// A label selector: every requirement must be met.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Selector(pub Arc<[Requirement]>);

/// One requirement of a label selector.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Requirement {
    /// The label has one of these values.
    In(Text, Vec<Text>),
    /// The label is absent or has none of these values.
    NotIn(Text, Vec<Text>),
    /// The label is there.
    Exists(Text),
    /// The label is not there.
    Absent(Text),
}

/// What to do when the time that the holder fixed beforehand is up.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug, Serialize, Deserialize)]
pub enum OnExpiry {
    /// Keep holding, orphaned, with an alarm.
    #[default]
    Stay,
    /// End the hold if every configured safety signal says safe, now; otherwise as `Stay` until they do.
    ThawIfSafe,
}

/// A hold that its holder promised to renew or that has a fixed end.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Lease {
    /// How long it was taken for; a renewal without a length takes this.
    pub length: Span,
    /// When it is up.
    pub ends: Age,
    /// What then.
    pub on_expiry: OnExpiry,
}

/// A hold that an override has put out of force for a while. It is still on record and comes back by itself.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Suspension {
    /// When the hold is in force again.
    pub until: Age,
    /// Who overrode it.
    pub by: Holder,
    /// Why.
    pub reason: Text,
}

/// What a freeze that has not been acknowledged yet waits for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Barrier {
    /// Until when the node may settle before the freeze is refused.
    pub deadline: Age,
    /// Whether the barrier stays up after a refusal, until the node settles.
    pub keep: bool,
}

/// The two kinds of hold.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum HoldKind {
    /// In force at once. It does not wait for what is in flight, and may catch a workload between its stop and its
    /// start: the holder is told what was in flight.
    Plain,
    /// A freeze that waits for the node to settle.
    FreezeAsked(Barrier),
    /// A freeze that was acknowledged.
    Freeze,
}

/// One hold.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Hold {
    /// Plain, or a freeze.
    pub kind: HoldKind,
    /// Who holds.
    pub holder: Holder,
    /// Why, in the holder's words.
    pub reason: Text,
    /// What it keeps back; a freeze always the node.
    pub scope: Scope,
    /// Since when.
    pub since: Stamp,
    /// Its lease, if it is not held without end.
    pub lease: Option<Lease>,
    /// Since when nobody has renewed it although it was due.
    pub orphaned: Option<Stamp>,
    /// Whether an override has put it out of force.
    pub suspended: Option<Suspension>,
    /// Its place in the order of holds and releases: a release opens only what was held before it.
    pub order: u64,
}

// === impl Scope ===

impl Scope {
    /// Whether the scope covers a change of this object. Of a ConfigMap or Secret, the pods that use it are asked as well.
    #[must_use]
    pub fn covers(&self, key: &Key, slot: &Slot) -> bool {
        match self {
            Self::Node => true,
            Self::Namespace(namespace) => key.namespace == *namespace,
            Self::Pod { namespace, name } => {
                key.kind.runs() && key.namespace == *namespace && key.name == *name
            }
            Self::Workload(workload) => slot
                .versions()
                .filter_map(|version| version.workload.as_ref())
                .any(|other| workload.includes(other)),
            // Either side counts: a pod does not slip out of a hold by changing its labels.
            Self::Selector { namespace, selector } => {
                namespace.as_ref().is_none_or(|namespace| key.namespace == *namespace)
                    && slot.versions().any(|version| selector.matches(&version.labels))
            }
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pod { namespace, name } => write!(f, "pod {namespace}/{name}"),
            Self::Workload(workload) => workload.fmt(f),
            Self::Namespace(namespace) => write!(f, "namespace {namespace}"),
            Self::Selector { namespace: None, selector } => write!(f, "everything labelled {selector}"),
            Self::Selector { namespace: Some(namespace), selector } => {
                write!(f, "everything labelled {selector} in namespace {namespace}")
            }
            Self::Node => f.write_str("the node"),
        }
    }
}

// === impl Selector ===

impl Selector {
    /// Whether an object with these labels is selected.
    #[must_use]
    pub fn matches(&self, labels: &Labels) -> bool {
        self.0.iter().all(|requirement| match requirement {
            Requirement::In(label, values) => labels.get(label).is_some_and(|value| values.contains(value)),
            Requirement::NotIn(label, values) => {
                labels.get(label).is_none_or(|value| !values.contains(value))
            }
            Requirement::Exists(label) => labels.contains_key(label),
            Requirement::Absent(label) => !labels.contains_key(label),
        })
    }
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, requirement) in self.0.iter().enumerate() {
            f.write_str(if index == 0 { "" } else { "," })?;
            match requirement {
                Requirement::In(label, values) if values.len() == 1 => write!(f, "{label}={}", values[0])?,
                Requirement::In(label, values) => write!(f, "{label} in ({})", values.join(","))?,
                Requirement::NotIn(label, values) => write!(f, "{label} notin ({})", values.join(","))?,
                Requirement::Exists(label) => write!(f, "{label}")?,
                Requirement::Absent(label) => write!(f, "!{label}")?,
            }
        }
        Ok(())
    }
}

// === impl Hold ===

impl Hold {
    /// Whether the hold is a freeze, acknowledged or not.
    #[must_use]
    pub const fn is_freeze(&self) -> bool {
        matches!(self.kind, HoldKind::Freeze | HoldKind::FreezeAsked(_))
    }

    /// Whether the hold keeps anything back now.
    #[must_use]
    pub const fn in_force(&self) -> bool {
        self.suspended.is_none()
    }

    /// When something about this hold is due, past or future.
    pub fn due(&self) -> impl Iterator<Item = Age> {
        let lease = self.lease.filter(|_| self.orphaned.is_none()).map(|lease| lease.ends);
        let barrier = match self.kind {
            HoldKind::FreezeAsked(barrier) => Some(barrier.deadline),
            HoldKind::Plain | HoldKind::Freeze => None,
        };
        let suspension = self.suspended.as_ref().map(|suspension| suspension.until);
        lease.into_iter().chain(barrier).chain(suspension)
    }

    /// How the hold is named in a list of who holds: `flight-control (mission)`.
    #[must_use]
    pub fn label(&self, id: &HoldId) -> String {
        format!("{} ({id})", self.holder.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(pairs: &[(&str, &str)]) -> Labels {
        pairs.iter().map(|(key, value)| (Text::from(*key), Text::from(*value))).collect()
    }

    #[test]
    fn a_selector_selects_only_what_meets_every_requirement() {
        let selector = Selector(Arc::from([
            Requirement::In("app".into(), vec!["nav".into(), "lidar".into()]),
            Requirement::NotIn("tier".into(), vec!["test".into()]),
            Requirement::Exists("robot".into()),
            Requirement::Absent("spare".into()),
        ]));
        assert!(selector.matches(&labels(&[("app", "nav"), ("robot", "7")])));
        assert!(!selector.matches(&labels(&[("app", "cam"), ("robot", "7")])));
        assert!(!selector.matches(&labels(&[("app", "nav"), ("robot", "7"), ("tier", "test")])));
        assert!(!selector.matches(&labels(&[("app", "nav")])));
        assert!(!selector.matches(&labels(&[("app", "nav"), ("robot", "7"), ("spare", "")])));
        assert_eq!(selector.to_string(), "app in (nav,lidar),tier notin (test),robot,!spare");
    }
}
