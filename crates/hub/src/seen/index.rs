//! Pods and the workloads above them, with the ways between: which pods a workload has, and which workload a pod has. Pure.
//!
//! An event costs as much as what it changes: a pod looks up, a workload looks down at its own pods only.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use safepoint_api::names::kusionstack::TO_DELETE;
use safepoint_api::names::{kubeedge, safepoint};

use crate::pod::{Marks, Owner};
use crate::source::Wish;

/// The identity of an object, shared between the tables.
pub(crate) type Uid = Arc<str>;

/// What is watched.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Kind {
    Pod,
    ReplicaSet,
    Carrier(Carrier),
}

/// The workloads whose annotation is carried to their pods.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Carrier {
    Deployment,
    DaemonSet,
    StatefulSet,
}

/// What is kept of a pod that has a controller, or a wish.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct PodFacts {
    pub(crate) namespace: Arc<str>,
    pub(crate) name: Box<str>,
    /// For writing only what was looked at.
    pub(crate) version: Box<str>,
    pub(crate) owner: Option<Uid>,
    pub(crate) ending: bool,
    pub(crate) marks: Marks,
    pub(crate) wish: Option<Box<Wish>>,
    /// Whether the wish goes through the lifecycle, and not to the node.
    pub(crate) through_lifecycle: bool,
}

/// What is kept of a workload.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct WorkloadFacts {
    pub(crate) kind: Carrier,
    pub(crate) name: Box<str>,
    /// Whether it is annotated to hold its upgrades.
    pub(crate) holds: bool,
}

/// Everything that is kept.
#[derive(Default)]
pub(crate) struct Index {
    pods: HashMap<Uid, PodFacts>,
    /// Pods by their controller.
    pods_of: HashMap<Uid, HashSet<Uid>>,
    /// The Deployment of each ReplicaSet that has one.
    deployments: HashMap<Uid, Uid>,
    /// ReplicaSets by their Deployment.
    sets_of: HashMap<Uid, HashSet<Uid>>,
    workloads: HashMap<Uid, WorkloadFacts>,
    wished: HashSet<Uid>,
    namespaces: HashSet<Arc<str>>,
    /// What the present lists have shown so far.
    fresh: HashMap<Kind, HashSet<Uid>>,
}

// === impl Index ===

impl Index {
    /// A list begins.
    pub(crate) fn begin(&mut self, kind: Kind) {
        self.fresh.insert(kind, HashSet::new());
    }

    /// A list is complete: what it has not shown is gone.
    pub(crate) fn finish(&mut self, kind: Kind) -> Vec<Uid> {
        let fresh = self.fresh.remove(&kind).unwrap_or_default();
        let known: Vec<Uid> = match kind {
            Kind::Pod => self.pods.keys().cloned().collect(),
            Kind::ReplicaSet => self.deployments.keys().cloned().collect(),
            Kind::Carrier(kind) => {
                let of_kind = self.workloads.iter().filter(|(_, workload)| workload.kind == kind);
                of_kind.map(|(uid, _)| Arc::clone(uid)).collect()
            }
        };
        let gone = known.into_iter().filter(|uid| !fresh.contains(uid));
        gone.collect::<Vec<_>>().iter().flat_map(|uid| self.forget(kind, uid)).collect()
    }

    /// An object is there, or has changed. Returns the pods that have to be looked at.
    pub(crate) fn apply(&mut self, kind: Kind, meta: ObjectMeta) -> Vec<Uid> {
        let Some(uid) = meta.uid.as_deref().map(Uid::from) else { return Vec::new() };
        if let Some(fresh) = self.fresh.get_mut(&kind) {
            fresh.insert(Arc::clone(&uid));
        }
        match kind {
            Kind::Pod => self.apply_pod(uid, &meta),
            Kind::ReplicaSet => self.apply_set(&uid, &meta),
            Kind::Carrier(kind) => {
                let workload = WorkloadFacts::read(kind, meta);
                if self.workloads.get(&uid) == Some(&workload) {
                    return Vec::new();
                }
                self.workloads.insert(Arc::clone(&uid), workload);
                self.pods_below(&uid)
            }
        }
    }

    /// An object is gone. Its pods are not looked at: what was carried to them stays.
    pub(crate) fn remove(&mut self, kind: Kind, meta: &ObjectMeta) -> Vec<Uid> {
        meta.uid.as_deref().map(|uid| self.forget(kind, &Uid::from(uid))).unwrap_or_default()
    }

    pub(crate) fn pods(&self) -> impl Iterator<Item = &Uid> {
        self.pods.keys()
    }

    pub(crate) fn pod(&self, uid: &str) -> Option<&PodFacts> {
        self.pods.get(uid)
    }

    /// Pods whose end somebody wished.
    pub(crate) fn wished(&self) -> impl Iterator<Item = (&Uid, &PodFacts)> {
        self.wished.iter().filter_map(|uid| Some((uid, self.pods.get(uid)?)))
    }

    /// The workload that a pod's controller is, or is a part of.
    pub(crate) fn workload(&self, owner: &str) -> Option<&WorkloadFacts> {
        let above = self.deployments.get(owner).map_or(owner, |deployment| deployment);
        self.workloads.get(above)
    }

    fn apply_pod(&mut self, uid: Uid, meta: &ObjectMeta) -> Vec<Uid> {
        let annotation = |key: &str| meta.annotations.as_ref()?.get(key).map(String::as_str);
        let owner = Owner::of(meta).map(|owner| self.shared(&owner.uid));
        let read = |key: &str| annotation(key).and_then(Wish::read).map(Box::new);
        let at_node = read(safepoint::END_WISHED);
        let through_lifecycle = at_node.is_none();
        // What is left of a wish whose label was taken off is none, and a label that somebody else put on is not of it.
        let label = meta.labels.as_ref().and_then(|labels| labels.get(TO_DELETE));
        let labelled =
            || read(crate::lifecycle::WISH).filter(|wish| label.is_some_and(|label| wish.is_of(label)));
        let wish = at_node.or_else(labelled);
        if owner.is_none() && wish.is_none() {
            return self.forget(Kind::Pod, &uid);
        }
        let pod = PodFacts {
            namespace: self.namespace(meta.namespace.as_deref().unwrap_or_default()),
            name: meta.name.as_deref().unwrap_or_default().into(),
            version: meta.resource_version.as_deref().unwrap_or_default().into(),
            owner,
            ending: meta.deletion_timestamp.is_some(),
            marks: Marks::read(annotation),
            wish,
            through_lifecycle,
        };
        let before = self.pods.get(&uid).and_then(|known| known.owner.clone());
        if before != pod.owner {
            self.unlink(&uid, before.as_ref());
            if let Some(owner) = &pod.owner {
                self.pods_of.entry(Arc::clone(owner)).or_default().insert(Arc::clone(&uid));
            }
        }
        if pod.wish.is_some() {
            self.wished.insert(Arc::clone(&uid));
        } else {
            self.wished.remove(&uid);
        }
        self.pods.insert(Arc::clone(&uid), pod);
        vec![uid]
    }

    fn apply_set(&mut self, uid: &Uid, meta: &ObjectMeta) -> Vec<Uid> {
        let above = Owner::of(meta).filter(|owner| owner.kind == "Deployment");
        let above = above.map(|owner| self.shared(&owner.uid));
        if self.deployments.get(uid) == above.as_ref() {
            return Vec::new();
        }
        self.forget(Kind::ReplicaSet, uid);
        if let Some(above) = above {
            self.sets_of.entry(Arc::clone(&above)).or_default().insert(Arc::clone(uid));
            self.deployments.insert(Arc::clone(uid), above);
        }
        self.pods_below(uid)
    }

    fn forget(&mut self, kind: Kind, uid: &Uid) -> Vec<Uid> {
        match kind {
            Kind::Pod => {
                if let Some(pod) = self.pods.remove(uid) {
                    self.unlink(uid, pod.owner.as_ref());
                }
                self.wished.remove(uid);
            }
            Kind::ReplicaSet => {
                if let Some(above) = self.deployments.remove(uid)
                    && let Some(sets) = self.sets_of.get_mut(&above)
                {
                    sets.remove(uid);
                    if sets.is_empty() {
                        self.sets_of.remove(&above);
                    }
                }
            }
            Kind::Carrier(_) => drop(self.workloads.remove(uid)),
        }
        Vec::new()
    }

    fn unlink(&mut self, pod: &Uid, owner: Option<&Uid>) {
        let Some(owner) = owner else { return };
        if let Some(pods) = self.pods_of.get_mut(owner) {
            pods.remove(pod);
            if pods.is_empty() {
                self.pods_of.remove(owner);
            }
        }
    }

    /// The pods of a controller, and of the ReplicaSets that it has.
    fn pods_below(&self, controller: &Uid) -> Vec<Uid> {
        let sets = self.sets_of.get(controller).into_iter().flatten();
        let owners = sets.chain([controller]);
        owners.filter_map(|owner| self.pods_of.get(owner)).flatten().cloned().collect()
    }

    /// One text for all pods of a controller.
    fn shared(&self, uid: &str) -> Uid {
        match self.pods_of.get_key_value(uid) {
            Some((known, _)) => Arc::clone(known),
            None => Uid::from(uid),
        }
    }

    /// One text for all pods of a namespace.
    fn namespace(&mut self, name: &str) -> Arc<str> {
        match self.namespaces.get(name) {
            Some(known) => Arc::clone(known),
            None => {
                let name: Arc<str> = name.into();
                self.namespaces.insert(Arc::clone(&name));
                name
            }
        }
    }
}

// === impl Carrier ===

impl Carrier {
    /// What Kubernetes calls it.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Deployment => "Deployment",
            Self::DaemonSet => "DaemonSet",
            Self::StatefulSet => "StatefulSet",
        }
    }
}

// === impl WorkloadFacts ===

impl WorkloadFacts {
    pub(crate) fn read(kind: Carrier, meta: ObjectMeta) -> Self {
        let value = meta.annotations.as_ref().and_then(|all| all.get(kubeedge::HOLD_UPGRADE));
        let holds = value.is_some_and(|value| value == kubeedge::HOLD_UPGRADE_ON);
        Self { kind, name: meta.name.unwrap_or_default().into(), holds }
    }
}

impl fmt::Display for WorkloadFacts {
    /// As it stands in the annotation of a pod: `Deployment/web`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.kind.word(), self.name)
    }
}

#[cfg(test)]
mod tests;
