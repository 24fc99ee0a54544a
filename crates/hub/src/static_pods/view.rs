//! What the planner sees of the nodes of one StaticPod, kept up to date node by node. Pure.
//!
//! A plan looks at every node, which takes a few milliseconds for ten thousand. What is looked at is not gathered anew each
//! time: only nodes of which something has changed are.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use safepoint_api::node_gate::NodeGateStatus;
use safepoint_core::rollout::{Gate, Pod, Presence, Seen, Started, Wanted as Wish};
use safepoint_core::{Revision, Text, Timestamp};

use super::gate::{About, gate};
use super::mirror::Mirror;
use super::nodes::{NodeFacts, Nodes};
use super::pods::Pods;
use super::task::{Kind, TaskFacts};
use super::wanted::Wanted;

/// Everything that is seen of the cluster, for one pass over one StaticPod.
pub(crate) struct Sight<'a> {
    pub(crate) nodes: &'a Nodes,
    pub(crate) pods: &'a Pods,
    pub(crate) gates: &'a dyn Fn(&str) -> Option<Arc<NodeGateStatus>>,
    pub(crate) now: Timestamp,
}

/// Whose view it is.
#[derive(Clone, Copy)]
pub(crate) struct Whose<'a> {
    pub(crate) namespace: &'a str,
    pub(crate) uid: &'a str,
    pub(crate) wanted: &'a Wanted,
    /// The object is being deleted: nobody gets the pod any more.
    pub(crate) leaving: bool,
}

/// The nodes of one StaticPod.
#[derive(Default)]
pub(crate) struct View {
    seen: Vec<Seen>,
    at: HashMap<Text, usize>,
    /// Nodes that have to be looked at again; nothing where all have.
    stale: Option<HashSet<Text>>,
    /// Nodes with a task that was started and is not seen yet.
    unseen: HashSet<Text>,
}

// === impl View ===

impl View {
    /// Something about a node has changed.
    pub(crate) fn touch(&mut self, node: &Text) {
        if let Some(stale) = &mut self.stale {
            stale.insert(node.clone());
        }
    }

    /// Everything has to be looked at again.
    pub(crate) fn touch_all(&mut self) {
        self.stale = None;
    }

    /// A task was started on a node.
    pub(crate) fn started(&mut self, node: &Text) {
        self.unseen.insert(node.clone());
    }

    /// Looks at what has changed, and adds what was started and is not seen yet.
    pub(crate) fn refresh(&mut self, whose: Whose<'_>, sight: &Sight<'_>, started: &mut Started) -> &[Seen] {
        match self.stale.take() {
            None => {
                self.seen.clear();
                self.at.clear();
                // The planner sorts them by name, which is little work where they are.
                for node in everybody(whose, sight) {
                    self.put(&node, whose, sight);
                }
            }
            Some(stale) => {
                for node in stale.iter().chain(&self.unseen.clone()) {
                    self.put(node, whose, sight);
                }
            }
        }
        self.stale = Some(HashSet::new());
        // What was not let is seen, although the planner is not shown it.
        for node in &self.unseen {
            for task in sight.pods.tasks(whose.uid, node).iter().filter(|task| task.put_off().is_some()) {
                started.refused(node, &task.name);
            }
        }
        started.merge(&mut self.seen, sight.pods.version());
        // Only nodes that were given more than is seen have to be looked at again for that.
        let (at, seen) = (&self.at, &self.seen);
        self.unseen.retain(|node| {
            let shown = sight.pods.tasks(whose.uid, node).iter().filter(|task| task.is_planned()).count();
            !started.is_empty() && at.get(node).is_none_or(|index| seen[*index].tasks.len() > shown)
        });
        &self.seen
    }

    fn put(&mut self, node: &Text, whose: Whose<'_>, sight: &Sight<'_>) {
        match (look(node, whose, sight), self.at.get(node).copied()) {
            (Some(seen), Some(index)) => self.seen[index] = seen,
            (Some(seen), None) => {
                self.at.insert(node.clone(), self.seen.len());
                self.seen.push(seen);
            }
            (None, Some(index)) => {
                self.at.remove(node);
                self.seen.swap_remove(index);
                if let Some(moved) = self.seen.get(index) {
                    self.at.insert(moved.node.clone(), index);
                }
            }
            (None, None) => {}
        }
    }

    /// The revisions that are in use: on a node, or brought to one.
    pub(crate) fn revisions(&self) -> HashSet<Revision> {
        let on_nodes = self.seen.iter().filter_map(|seen| match &seen.pod {
            Pod::Present { revision, .. } => revision.as_ref(),
            Pod::Absent => None,
        });
        let brought = self.seen.iter().flat_map(|seen| seen.tasks.iter().map(|task| &task.revision));
        let staged = self.seen.iter().filter_map(|seen| seen.staged.as_ref());
        let mut all: HashSet<Revision> = HashSet::new();
        for revision in on_nodes.chain(brought).chain(staged) {
            // Few revisions, many nodes: most are there already.
            if !all.contains(revision) {
                all.insert(revision.clone());
            }
        }
        all
    }
}

/// Every node that may have to do with it.
fn everybody(whose: Whose<'_>, sight: &Sight<'_>) -> BTreeSet<Text> {
    let mirrors = sight.pods.mirrors(&whose.wanted.static_pod).map(|(node, _)| node);
    let tasks = sight.pods.all_tasks(whose.uid).map(|(node, _)| node);
    let picked = whose.wanted.install.as_ref().filter(|_| !whose.leaving);
    let picked = sight.nodes.names().filter(|node| {
        picked.is_some_and(|selector| sight.nodes.get(node).is_some_and(|facts| facts.has(selector)))
    });
    mirrors.chain(tasks).chain(picked).cloned().collect()
}

/// What is seen of one node. Nothing where the node has nothing to do with it.
fn look(node: &Text, whose: Whose<'_>, sight: &Sight<'_>) -> Option<Seen> {
    let Whose { wanted, .. } = whose;
    let facts = sight.nodes.get(node);
    let mirror = sight.pods.mirror(&wanted.static_pod, node);
    let tasks = sight.pods.tasks(whose.uid, node);
    let wish = wish(whose, facts, mirror);
    if mirror.is_none() && tasks.is_empty() && wish != Wish::Yes {
        return None;
    }
    // Only what is taken away is still looked at when the object goes.
    if whose.leaving && wish != Wish::No {
        return None;
    }
    let planned: Vec<_> = tasks.iter().filter_map(TaskFacts::planned).collect();
    Some(Seen {
        node: node.clone(),
        // A node that is not there is away for as long as anybody can think (its pods go soon).
        presence: facts.map_or(Presence::Away { since: Timestamp(0) }, |facts| facts.presence),
        cordoned: facts.is_some_and(|facts| facts.cordoned),
        gate: gate_of(node, whose, (mirror, tasks), sight),
        canary: wanted.canary.as_ref().is_some_and(|selector| facts.is_some_and(|facts| facts.has(selector))),
        wanted: wish,
        pod: mirror.map_or(Pod::Absent, |mirror| mirror.pod.clone()),
        tasks: planned,
        staged: staged(mirror, tasks),
        marked: mirror.and_then(|mirror| mirror.marked.clone()),
    })
}

/// Whether the node shall have the pod.
fn wish(whose: Whose<'_>, facts: Option<&NodeFacts>, mirror: Option<&Mirror>) -> Wish {
    let picked = |selector| !whose.leaving && facts.is_some_and(|facts| facts.has(selector));
    match &whose.wanted.install {
        Some(selector) if picked(selector) => Wish::Yes,
        // Only what the hub has brought is ever taken away.
        Some(_) if whose.wanted.remove && mirror.is_some_and(|mirror| mirror.installed) => Wish::No,
        Some(_) | None => Wish::IfPresent,
    }
}

/// What the node's gate says; and where it says nothing, a task that was not let says it.
fn gate_of(
    node: &Text,
    whose: Whose<'_>,
    (mirror, tasks): (Option<&Mirror>, &[TaskFacts]),
    sight: &Sight<'_>,
) -> Gate {
    let wanted = whose.wanted;
    let about = About {
        namespace: whose.namespace,
        static_pod: &wanted.static_pod,
        node,
        labels: wanted.template.metadata.as_ref().map(|meta| &meta.labels),
        annotated: wanted.is_annotated() || mirror.is_some_and(|mirror| mirror.annotated),
        owner_decides: wanted.order.strategy == safepoint_core::rollout::Strategy::Ota,
    };
    let now = jiff::Timestamp::from_millisecond(sight.now.0).unwrap_or_default();
    let said = gate((sight.gates)(node).as_deref(), &about, now);
    let put_off = tasks.iter().filter(|task| matches!(task.kind, Kind::Work(_))).find_map(TaskFacts::put_off);
    match (said, put_off) {
        (Gate::Unknown | Gate::Open, Some((why, _))) => Gate::Held { by: format!("the node ({why})").into() },
        (said, _) => said,
    }
}

/// What lies ready on the node. Where there is no mirror pod to write it on, the task that put it there is kept.
fn staged(mirror: Option<&Mirror>, tasks: &[TaskFacts]) -> Option<Revision> {
    match mirror {
        Some(mirror) => mirror.staged.clone(),
        None => {
            let done = tasks.iter().filter(|task| task.kind == Kind::Stage && task.has_succeeded());
            done.map(|task| task.revision.clone()).next_back()
        }
    }
}

#[cfg(test)]
mod tests;
