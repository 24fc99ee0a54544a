//! The words in which the stories are told: pods and configuration, callers and what they ask for.

use std::sync::Arc;

use crate::event::{Answer, Ask, Change, LeaseAsk, Order, Override, Released};
use crate::freeze::{Blocker, BlockerReason, Subject};
use crate::hold::{Holder, OnExpiry, Origin, Requirement, Scope, Selector};
use crate::object::{ChangeKind, Key, Kind, Needs, Version};
use crate::text::HoldId;
use crate::time::{Span, Timestamp};
use crate::workload::{Labels, Workload, WorkloadKind};

/// No change at all.
pub(super) const NOTHING: [Change; 0] = [];

pub(super) const A_MINUTE: Span = Span::from_mins(1);

/// One version of an object, as the cluster shows it.
#[derive(Clone)]
pub(super) struct Object {
    pub(super) key: Key,
    pub(super) version: Version,
}

/// A bare pod of revision `a`, whose uid is its name.
pub(super) fn pod(namespace: &str, name: &str) -> Object {
    let object = Object::new(Key::pod(namespace, name));
    object.of(&workload(WorkloadKind::Pod, namespace, name, None))
}

/// A static pod, from a manifest on this machine.
pub(super) fn static_pod(namespace: &str, name: &str) -> Object {
    let object = Object::new(Key { kind: Kind::StaticPod, ..Key::pod(namespace, name) });
    object.of(&workload(WorkloadKind::StaticPod, namespace, name, None))
}

pub(super) fn config_map(namespace: &str, name: &str) -> Object {
    Object::new(Key::config_map(namespace, name))
}

pub(super) fn secret(namespace: &str, name: &str) -> Object {
    Object::new(Key::secret(namespace, name))
}

pub(super) fn deployment(namespace: &str, name: &str) -> Workload {
    workload(WorkloadKind::Deployment, namespace, name, None)
}

pub(super) fn daemon_set(namespace: &str, name: &str) -> Workload {
    workload(WorkloadKind::DaemonSet, namespace, name, None)
}

pub(super) fn stateful_set(namespace: &str, name: &str, ordinal: u32) -> Workload {
    workload(WorkloadKind::StatefulSet, namespace, name, Some(ordinal))
}

/// The whole StatefulSet that an ordinal belongs to.
pub(super) fn all_of(ordinal: &Workload) -> Workload {
    Workload { ordinal: None, ..ordinal.clone() }
}

fn workload(kind: WorkloadKind, namespace: &str, name: &str, ordinal: Option<u32>) -> Workload {
    Workload { kind, namespace: namespace.into(), name: name.into(), ordinal }
}

/// A pod of the Deployment `shop/web`, born in the second in which its revision was pushed: `a` is 1, `b` is 2, …
pub(super) fn web(revision: &str, number: usize) -> Object {
    let replica = pod("shop", &format!("web-{revision}-{number}")).of(&deployment("shop", "web"));
    replica.revision(revision).born(i64::from(revision.as_bytes()[0] - b'a') + 1)
}

// === impl Object ===

impl Object {
    fn new(key: Key) -> Self {
        let version = Version {
            uid: (&*key.name).into(),
            workload: None,
            revision: "a".into(),
            digest: "a".into(),
            labels: Arc::default(),
            hold: false,
            first_install_allowed: false,
            deleting: false,
            uses: Arc::default(),
            needs: Arc::default(),
            born: Timestamp(0),
        };
        Self { key, version }
    }

    pub(super) fn of(mut self, workload: &Workload) -> Self {
        self.version.workload = Some(workload.clone());
        self
    }

    pub(super) fn workload(&self) -> Workload {
        self.version.workload.clone().unwrap()
    }

    pub(super) fn uid(mut self, uid: &str) -> Self {
        self.version.uid = uid.into();
        self
    }

    pub(super) fn revision(mut self, revision: &str) -> Self {
        self.version.revision = revision.into();
        self.with_its_digest()
    }

    pub(super) fn labelled(mut self, label: &str, value: &str) -> Self {
        self.version.labels = Arc::new(Labels::from([(label.into(), value.into())]));
        self.with_its_digest()
    }

    pub(super) fn born(mut self, second: i64) -> Self {
        self.version.born = Timestamp(second * 1000);
        self
    }

    pub(super) fn annotated(mut self) -> Self {
        self.version.hold = true;
        self
    }

    pub(super) fn not_annotated(mut self) -> Self {
        self.version.hold = false;
        self
    }

    pub(super) fn first_install_allowed(mut self) -> Self {
        self.version.first_install_allowed = true;
        self
    }

    pub(super) fn deleting(mut self) -> Self {
        self.version.deleting = true;
        self
    }

    pub(super) fn needing(mut self, name: &str, amount: u64) -> Self {
        self.version.needs = Arc::new(Needs::from([(name.into(), amount)]));
        self
    }

    pub(super) fn using<const N: usize>(mut self, configuration: [&Object; N]) -> Self {
        self.version.uses = configuration.map(|object| object.key.clone()).into();
        self
    }

    fn with_its_digest(mut self) -> Self {
        let labels = self.version.labels.iter().map(|(label, value)| format!(" {label}={value}"));
        self.version.digest = format!("{}{}", self.version.revision, labels.collect::<String>()).into();
        self
    }
}

pub(super) fn start(object: &Object) -> Change {
    change(ChangeKind::Start, object)
}

pub(super) fn update(object: &Object) -> Change {
    change(ChangeKind::Update, object)
}

pub(super) fn stop(object: &Object) -> Change {
    change(ChangeKind::Stop, object)
}

fn change(kind: ChangeKind, object: &Object) -> Change {
    let Version { uid, digest, .. } = object.version.clone();
    Change { kind, key: object.key.clone(), uid, digest }
}

// === callers, and what they ask ===

/// A program on this machine.
pub(super) fn pilot() -> Holder {
    local("flight-control")
}

pub(super) fn local(name: &str) -> Holder {
    Holder { name: name.into(), origin: Origin::Local }
}

/// An admin, through the cluster.
pub(super) fn admin() -> Holder {
    Holder { name: "admin".into(), origin: Origin::Remote }
}

/// An order that never expires.
pub(super) fn order(id: &str) -> Order {
    Order { id: id.into(), expires: None }
}

pub(super) fn because(reason: &str, length: Span) -> Override {
    Override { reason: reason.into(), length }
}

pub(super) fn hold(id: &str, scope: Scope) -> Ask {
    Ask::Hold { id: id.into(), reason: "a mission is flown".into(), scope, lease: None }
}

pub(super) fn hold_for(length: Span, on_expiry: OnExpiry, id: &str) -> Ask {
    leased(hold(id, Scope::Node), length, on_expiry)
}

/// A freeze of a node that must be settled already.
pub(super) fn freeze(id: &str) -> Ask {
    freeze_within(Span::ZERO, id)
}

/// A freeze that waits so long for the node to settle.
pub(super) fn freeze_within(settle: Span, id: &str) -> Ask {
    Ask::Freeze { id: id.into(), reason: "takeoff".into(), lease: None, settle, keep_barrier: false }
}

pub(super) fn freeze_for(length: Span, on_expiry: OnExpiry, id: &str) -> Ask {
    leased(freeze(id), length, on_expiry)
}

/// The same freeze, whose barrier stays up after a refusal.
pub(super) fn keeping_the_barrier(mut ask: Ask) -> Ask {
    if let Ask::Freeze { keep_barrier, .. } = &mut ask {
        *keep_barrier = true;
    }
    ask
}

/// The same hold or freeze, with a lease.
pub(super) fn leased(mut ask: Ask, length: Span, on_expiry: OnExpiry) -> Ask {
    if let Ask::Hold { lease, .. } | Ask::Freeze { lease, .. } = &mut ask {
        *lease = Some(LeaseAsk { length, on_expiry });
    }
    ask
}

pub(super) fn renew(id: &str) -> Ask {
    Ask::Renew { id: id.into(), length: None }
}

pub(super) fn let_go(id: &str) -> Ask {
    Ask::Drop { id: id.into() }
}

pub(super) fn release(workload: &Workload) -> Ask {
    Ask::Release { what: Released::Workload(workload.clone()), revision: None }
}

pub(super) fn release_pod(pod: &Object) -> Ask {
    Ask::Release { what: Released::Pod(pod.key.clone()), revision: None }
}

pub(super) const RELEASE_ALL: Ask = Ask::Release { what: Released::Node, revision: None };

// === small values ===

/// The answer to a hold that catches nothing half done.
pub(super) fn holding() -> Answer {
    Answer::Holding { in_flight: vec![] }
}

pub(super) fn ids<const N: usize>(names: [&str; N]) -> Vec<HoldId> {
    names.map(HoldId::from).into()
}

/// Everything that carries this label, in any namespace.
pub(super) fn labelled(label: &str, value: &str) -> Scope {
    let requirement = Requirement::In(label.into(), vec![value.into()]);
    Scope::Selector { namespace: None, selector: Selector(Arc::new([requirement])) }
}

pub(super) fn this_pod(pod: &Object) -> Scope {
    Scope::Pod { namespace: pod.key.namespace.clone(), name: pod.key.name.clone() }
}

pub(super) fn blocker(reason: BlockerReason, subject: Subject, message: &str) -> Blocker {
    Blocker { reason, subject, message: message.into() }
}
