//! Everything that the controller sees, and when it looks at which StaticPod. No I/O.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::PartialObjectMeta;
use kube::runtime::watcher::Event;
use safepoint_api::StaticPod;
use safepoint_api::node_gate::NodeGateStatus;
use safepoint_core::{Revision, Text, Timestamp};
use tokio::time::Instant;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::acts::{Acts, Done};
use super::nodes::Nodes;
use super::pods::{Pods, Touched};
use super::set::{Cluster, Maps, Set};
use super::slim::{SlimNode, SlimPod};
use super::task::Program;
use super::view::Sight;
use super::write::{Object, read_map};
use super::{AGAIN, LOOK};

/// Everything that is seen.
pub(crate) struct World {
    program: Arc<Program>,
    nodes: Nodes,
    namespaces: HashMap<Text, Watched>,
    sets: BTreeMap<Object, Kept>,
    /// ConfigMaps by the uid of their StaticPod.
    maps: HashMap<Text, Maps>,
    /// Where each ConfigMap stands, by its own uid.
    places: HashMap<Text, (Text, Revision)>,
    fresh_maps: Option<HashSet<Text>>,
    fresh_sets: Option<HashSet<Object>>,
    maps_complete: bool,
    sets_complete: bool,
}

/// A namespace whose pods are watched, for as long as it has a StaticPod.
struct Watched {
    pods: Pods,
    _stop: DropGuard,
}

/// A StaticPod, and when it is looked at.
struct Kept {
    set: Set,
    /// What was decided is being written.
    busy: bool,
    not_before: Instant,
    /// Something could not be written: it is tried again then.
    retry: Option<Instant>,
}

// === impl World ===

impl World {
    pub(crate) fn new(program: Program) -> Self {
        Self {
            program: Arc::new(program),
            nodes: Nodes::default(),
            namespaces: HashMap::new(),
            sets: BTreeMap::new(),
            maps: HashMap::new(),
            places: HashMap::new(),
            fresh_maps: None,
            fresh_sets: None,
            maps_complete: false,
            sets_complete: false,
        }
    }

    /// Whether everything has been seen once, but for the pods of single namespaces.
    pub(crate) fn is_complete(&self) -> bool {
        self.nodes.complete && self.maps_complete && self.sets_complete
    }

    /// Takes an event of a StaticPod. Returns namespaces whose pods are to be watched from now on.
    pub(crate) fn take_object(&mut self, event: Event<StaticPod>) -> Vec<(Text, CancellationToken)> {
        match event {
            Event::Init => {
                self.fresh_sets = Some(HashSet::new());
                Vec::new()
            }
            Event::InitApply(object) | Event::Apply(object) => {
                let set = Set::new(&object);
                let key = key(&set);
                if let Some(fresh) = &mut self.fresh_sets {
                    fresh.insert(key.clone());
                }
                let namespace = key.namespace.clone();
                // Another object of the same name is not seen to go where the watch was interrupted.
                let same = |known: &Object| {
                    known.namespace == key.namespace && known.name == key.name && *known != key
                };
                self.sets.retain(|known, _| !same(known));
                match self.sets.get_mut(&key) {
                    Some(kept) => kept.set.update(&object),
                    None => {
                        let kept = Kept { set, busy: false, not_before: Instant::now(), retry: None };
                        self.sets.insert(key, kept);
                        self.rivals_may_have_changed();
                    }
                }
                self.watch(namespace).into_iter().collect()
            }
            Event::Delete(object) => {
                let gone = key(&Set::new(&object));
                self.sets.remove(&gone);
                self.gone();
                Vec::new()
            }
            Event::InitDone => {
                self.sets_complete = true;
                let fresh = self.fresh_sets.take().unwrap_or_default();
                self.sets.retain(|object, _| fresh.contains(object));
                self.gone();
                Vec::new()
            }
        }
    }

    pub(crate) fn take_node(&mut self, event: Event<SlimNode>) {
        for node in self.nodes.take(event) {
            self.touch(&node);
        }
    }

    pub(crate) fn take_map(&mut self, event: Event<PartialObjectMeta<ConfigMap>>) {
        match event {
            Event::Init => self.fresh_maps = Some(HashSet::new()),
            Event::InitApply(map) | Event::Apply(map) => {
                let mut owners = map.metadata.owner_references.iter().flatten();
                let owner = owners.find(|owner| owner.kind == "StaticPod" && owner.controller == Some(true));
                let Some((owner, (revision, facts))) = owner.zip(read_map(&map.metadata)) else { return };
                let owner = Text::from(owner.uid.as_str());
                if let Some(fresh) = &mut self.fresh_maps {
                    fresh.insert(facts.uid.clone());
                }
                self.places.insert(facts.uid.clone(), (owner.clone(), revision.clone()));
                self.maps.entry(owner.clone()).or_default().insert(revision, facts);
                self.touch_owner(&owner);
            }
            Event::Delete(map) => self.forget_map(map.metadata.uid.as_deref().unwrap_or_default()),
            Event::InitDone => {
                self.maps_complete = true;
                let fresh = self.fresh_maps.take().unwrap_or_default();
                let gone: Vec<Text> =
                    self.places.keys().filter(|uid| !fresh.contains(*uid)).cloned().collect();
                gone.iter().for_each(|uid| self.forget_map(uid));
            }
        }
    }

    pub(crate) fn take_pod(&mut self, namespace: &Text, event: Event<SlimPod>, now: Timestamp) {
        let Some(watched) = self.namespaces.get_mut(namespace) else { return };
        let was_complete = watched.pods.complete;
        let touched = watched.pods.take(event, now);
        if watched.pods.complete && !was_complete {
            let here = self.sets.iter_mut().filter(|(object, _)| object.namespace == *namespace);
            here.for_each(|(_, kept)| kept.set.touch_all());
            return;
        }
        for touched in touched {
            let here = self.sets.iter_mut().filter(|(object, _)| object.namespace == *namespace);
            for (object, kept) in here {
                match &touched {
                    Touched::StaticPod { name, node } if kept.set.static_pod() == Some(name) => {
                        kept.set.touch(node);
                    }
                    Touched::Owner { uid, node } if object.uid == *uid => kept.set.touch(node),
                    Touched::StaticPod { .. } | Touched::Owner { .. } => {}
                }
            }
        }
    }

    /// Something about a node has changed.
    pub(crate) fn touch(&mut self, node: &Text) {
        self.sets.values_mut().for_each(|kept| kept.set.touch(node));
    }

    /// Makes the next pass that is due.
    pub(crate) fn pass(
        &mut self,
        gates: &dyn Fn(&str) -> Option<Arc<NodeGateStatus>>,
        now: Timestamp,
        moment: Instant,
    ) -> Option<(Object, Acts)> {
        if !self.is_complete() {
            return None;
        }
        let due = |(object, kept): &(&Object, &Kept)| {
            let is_due = kept.set.dirty || kept.set.again.is_some_and(|at| at <= now);
            let may = !kept.busy && kept.not_before <= moment && kept.retry.is_none_or(|at| at <= moment);
            let seen = self.namespaces.get(&object.namespace).is_some_and(|watched| watched.pods.complete);
            may && seen && (is_due || kept.retry.is_some())
        };
        let object = self.sets.iter().find(due).map(|(object, _)| object.clone())?;
        let rival = self.rival(&object);
        let pods = &self.namespaces.get(&object.namespace)?.pods;
        let none = Maps::new();
        let cluster = Cluster {
            sight: Sight { nodes: &self.nodes, pods, gates, now },
            maps: self.maps.get(&object.uid).unwrap_or(&none),
            rival: rival.as_deref(),
            program: &self.program,
        };
        let kept = self.sets.get_mut(&object)?;
        kept.retry = None;
        let acts = kept.set.pass(&cluster);
        Some((object, acts))
    }

    /// A pass was made; the next one is not made before this moment, nor before what was decided is written.
    pub(crate) fn passed(&mut self, object: &Object, busy: bool, not_before: Instant) {
        if let Some(kept) = self.sets.get_mut(object) {
            (kept.busy, kept.not_before) = (busy, not_before);
        }
    }

    /// What a pass decided has been written.
    pub(crate) fn written(&mut self, object: &Object, done: Vec<Done>, now: Timestamp, moment: Instant) {
        let Some(kept) = self.sets.get_mut(object) else { return };
        kept.busy = false;
        let pods = self.namespaces.get_mut(&object.namespace).map(|watched| &mut watched.pods);
        let maps = self.maps.entry(object.uid.clone()).or_default();
        if kept.set.done(done, pods, maps, now) {
            kept.retry = Some(moment + AGAIN);
        }
        for (revision, map) in &*maps {
            self.places.insert(map.uid.clone(), (object.uid.clone(), revision.clone()));
        }
    }

    /// When to look although nothing has happened.
    pub(crate) fn wake(&self, moment: Instant, now: Timestamp) -> Option<Instant> {
        let wake = |kept: &Kept| {
            if kept.busy {
                return None;
            }
            let again = kept.set.again.map(|at| {
                let left = u64::try_from(at.0.saturating_sub(now.0)).unwrap_or_default();
                moment + std::time::Duration::from_millis(left).min(LOOK)
            });
            let at = match (kept.set.dirty, again) {
                (true, _) => Some(moment),
                (false, again) => again,
            };
            // What is to be tried again is, whatever else there is to do; and nothing else before.
            let at = kept.retry.or(at);
            at.map(|at| at.max(kept.not_before))
        };
        self.sets.values().filter_map(wake).min()
    }

    /// An older StaticPod that is about the same static pod.
    fn rival(&self, object: &Object) -> Option<String> {
        let set = &self.sets.get(object)?.set;
        let name = set.static_pod()?;
        let others = self.sets.iter().filter(|(other, kept)| {
            other.namespace == object.namespace && *other != object && kept.set.static_pod() == Some(name)
        });
        let mut older = others.filter(|(_, kept)| (kept.set.made, &kept.set.uid) < (set.made, &set.uid));
        older.next().map(|(other, _)| other.name.to_string())
    }

    /// Begins to watch the pods of a namespace, unless they are.
    fn watch(&mut self, namespace: Text) -> Option<(Text, CancellationToken)> {
        if self.namespaces.contains_key(&namespace) {
            return None;
        }
        let stop = CancellationToken::new();
        let watched = Watched { pods: Pods::default(), _stop: stop.clone().drop_guard() };
        self.namespaces.insert(namespace.clone(), watched);
        Some((namespace, stop))
    }

    /// A StaticPod is gone: its namespace may not be watched any more, and another one may have what it had.
    fn gone(&mut self) {
        let used: HashSet<Text> = self.sets.keys().map(|object| object.namespace.clone()).collect();
        self.namespaces.retain(|namespace, _| used.contains(namespace));
        self.rivals_may_have_changed();
    }

    fn rivals_may_have_changed(&mut self) {
        self.sets.values_mut().for_each(|kept| kept.set.dirty = true);
    }

    fn touch_owner(&mut self, uid: &Text) {
        let owners = self.sets.iter_mut().filter(|(object, _)| object.uid == *uid);
        owners.for_each(|(_, kept)| kept.set.dirty = true);
    }

    fn forget_map(&mut self, uid: &str) {
        let Some((owner, revision)) = self.places.remove(uid) else { return };
        if let Some(maps) = self.maps.get_mut(&owner) {
            if maps.get(&revision).is_some_and(|map| &*map.uid == uid) {
                maps.remove(&revision);
            }
            if maps.is_empty() {
                self.maps.remove(&owner);
            }
        }
        self.touch_owner(&owner);
    }
}

fn key(set: &Set) -> Object {
    Object { namespace: set.namespace.clone(), name: set.name.clone(), uid: set.uid.clone() }
}
