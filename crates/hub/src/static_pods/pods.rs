//! The mirror pods and task pods of one namespace, by static pod, by owner, and by node. Pure.
//!
//! Both come from one watch, so that what is seen of a task is never older or newer than what is seen of the pod it changes.
//! An event costs as much as what it changes.

use std::collections::{HashMap, HashSet};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::runtime::watcher::Event;
use safepoint_core::{Revision, Text, Timestamp};

use super::mirror::{Mirror, Shown};
use super::slim::SlimPod;
use super::task::TaskFacts;

/// The pods of a namespace that matter here.
#[derive(Default)]
pub(crate) struct Pods {
    /// Where each pod stands in the tables below.
    places: HashMap<Text, Place>,
    mirrors: HashMap<Text, HashMap<Text, Mirror>>,
    tasks: HashMap<Text, HashMap<Text, Vec<TaskFacts>>>,
    /// The version that everything is at least as new as.
    version: u64,
    /// The newest that the present list has shown.
    listed: u64,
    fresh: Option<HashSet<Text>>,
    /// Whether a list has been complete.
    pub(crate) complete: bool,
    /// How many lists have been begun.
    lists: u64,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Place {
    Mirror { static_pod: Text, node: Text },
    Task { owner: Text, node: Text },
}

/// Whose view of which node has changed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Touched {
    /// That of whoever has this static pod.
    StaticPod { name: Text, node: Text },
    /// That of the StaticPod with this uid.
    Owner { uid: Text, node: Text },
}

// === impl Pods ===

impl Pods {
    pub(crate) fn mirror(&self, static_pod: &str, node: &str) -> Option<&Mirror> {
        self.mirrors.get(static_pod)?.get(node)
    }

    pub(crate) fn mirrors(&self, static_pod: &str) -> impl Iterator<Item = (&Text, &Mirror)> {
        self.mirrors.get(static_pod).into_iter().flatten()
    }

    pub(crate) fn tasks(&self, owner: &str, node: &str) -> &[TaskFacts] {
        self.tasks.get(owner).and_then(|all| all.get(node)).map_or(&[], Vec::as_slice)
    }

    pub(crate) fn all_tasks(&self, owner: &str) -> impl Iterator<Item = (&Text, &TaskFacts)> {
        let nodes = self.tasks.get(owner).into_iter().flatten();
        nodes.flat_map(|(node, tasks)| tasks.iter().map(move |task| (node, task)))
    }

    /// The version that everything here is at least as new as.
    pub(crate) const fn version(&self) -> u64 {
        self.version
    }

    /// How many lists have been begun, without one that is not complete yet. What was written before a list was begun is in it.
    pub(crate) fn lists(&self) -> u64 {
        self.lists - u64::from(self.fresh.is_some())
    }

    /// Takes an event, and says whose view has changed.
    pub(crate) fn take(&mut self, event: Event<SlimPod>, now: Timestamp) -> Vec<Touched> {
        match event {
            Event::Init => {
                self.fresh = Some(HashSet::new());
                self.lists += 1;
                Vec::new()
            }
            Event::InitApply(pod) | Event::Apply(pod) => {
                self.see_version(&pod.metadata);
                let Some(name) = pod.metadata.name.as_deref().map(Text::from) else { return Vec::new() };
                if let Some(fresh) = &mut self.fresh {
                    fresh.insert(name.clone());
                }
                self.put(name, &pod, now)
            }
            Event::Delete(pod) => {
                self.see_version(&pod.metadata);
                self.remove(pod.metadata.name.as_deref().unwrap_or_default()).into_iter().collect()
            }
            Event::InitDone => {
                self.complete = true;
                self.version = self.version.max(self.listed);
                let fresh = self.fresh.take().unwrap_or_default();
                let gone: Vec<Text> =
                    self.places.keys().filter(|name| !fresh.contains(*name)).cloned().collect();
                gone.iter().filter_map(|name| self.remove(name)).collect()
            }
        }
    }

    /// A task that was just made, of which the watch has not told yet.
    pub(crate) fn add(&mut self, owner: &Text, node: &Text, task: TaskFacts) {
        if task.version.parse().is_ok_and(|version: u64| version <= self.version)
            || self.places.contains_key(&task.name)
        {
            return;
        }
        self.places.insert(task.name.clone(), Place::Task { owner: owner.clone(), node: node.clone() });
        self.tasks.entry(owner.clone()).or_default().entry(node.clone()).or_default().push(task);
    }

    /// A task that was just told to go.
    pub(crate) fn removing(&mut self, owner: &str, node: &str, uid: &str) {
        let tasks = self.tasks.get_mut(owner).and_then(|all| all.get_mut(node)).into_iter().flatten();
        for task in tasks.filter(|task| &*task.uid == uid) {
            task.removing = true;
        }
    }

    /// A mirror pod whose owner was just told of a revision, or that there is none.
    pub(crate) fn marked(&mut self, static_pod: &str, node: &str, uid: &str, revision: Option<Revision>) {
        if let Some(mirror) = self.mirror_mut(static_pod, node, uid) {
            mirror.marked = revision;
        }
    }

    /// A mirror pod on which was just written what lies ready.
    pub(crate) fn staged(&mut self, static_pod: &str, node: &str, uid: &str, revision: Revision) {
        if let Some(mirror) = self.mirror_mut(static_pod, node, uid) {
            mirror.staged = Some(revision);
        }
    }

    fn mirror_mut(&mut self, static_pod: &str, node: &str, uid: &str) -> Option<&mut Mirror> {
        self.mirrors.get_mut(static_pod)?.get_mut(node).filter(|mirror| &*mirror.uid == uid)
    }

    fn put(&mut self, name: Text, pod: &SlimPod, now: Timestamp) -> Vec<Touched> {
        // What a list shows may have happened at any time; what a watch tells has just happened.
        let seen = (self.complete && self.fresh.is_none()).then_some(now);
        if let Some(Shown { static_pod, node, mirror }) = Mirror::read(pod, now) {
            let known = self.mirrors.entry(static_pod.clone()).or_default();
            let mirror = mirror.dated(known.get(&node), seen);
            if known.get(&node) == Some(&mirror) {
                return Vec::new();
            }
            known.insert(node.clone(), mirror);
            self.places.insert(name, Place::Mirror { static_pod: static_pod.clone(), node: node.clone() });
            return vec![Touched::StaticPod { name: static_pod, node }];
        }
        let node = pod.spec.node_name.as_deref().filter(|node| !node.is_empty()).map(Text::from);
        let (Some(task), Some(owner), Some(node)) = (TaskFacts::read(pod, now), owner(&pod.metadata), node)
        else {
            return self.remove(&name).into_iter().collect();
        };
        let tasks = self.tasks.entry(owner.clone()).or_default().entry(node.clone()).or_default();
        match tasks.iter_mut().find(|known| known.name == task.name) {
            Some(known) => *known = task.dated(Some(&*known), seen),
            None => tasks.push(task.dated(None, seen)),
        }
        self.places.insert(name, Place::Task { owner: owner.clone(), node: node.clone() });
        vec![Touched::Owner { uid: owner, node }]
    }

    fn remove(&mut self, name: &str) -> Option<Touched> {
        match self.places.remove(name)? {
            Place::Mirror { static_pod, node } => {
                let known = self.mirrors.get_mut(&static_pod)?;
                known.remove(&node);
                if known.is_empty() {
                    self.mirrors.remove(&static_pod);
                }
                Some(Touched::StaticPod { name: static_pod, node })
            }
            Place::Task { owner, node } => {
                let nodes = self.tasks.get_mut(&owner)?;
                let tasks = nodes.get_mut(&node)?;
                tasks.retain(|task| &*task.name != name);
                if tasks.is_empty() {
                    nodes.remove(&node);
                }
                if nodes.is_empty() {
                    self.tasks.remove(&owner);
                }
                Some(Touched::Owner { uid: owner, node })
            }
        }
    }

    fn see_version(&mut self, meta: &ObjectMeta) {
        let version: u64 =
            meta.resource_version.as_deref().and_then(|text| text.parse().ok()).unwrap_or_default();
        // A list comes in no order: before it is complete, something older may be missing still.
        let seen = if self.fresh.is_some() { &mut self.listed } else { &mut self.version };
        *seen = version.max(*seen);
    }
}

/// Whose a task is: by the owner's uid, never by a name (OpenYurt's defect 3).
fn owner(meta: &ObjectMeta) -> Option<Text> {
    let mut owners = meta.owner_references.iter().flatten();
    let owner = owners.find(|owner| owner.controller == Some(true) && owner.kind == "StaticPod")?;
    Some(owner.uid.as_str().into())
}

#[cfg(test)]
mod tests;
