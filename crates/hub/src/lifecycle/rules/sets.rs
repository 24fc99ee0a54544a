//! All PodTransitionRules, and when which one is looked at. No I/O.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::time::Duration;

use jiff::Timestamp;
use kube::runtime::watcher::Event;
use safepoint_core::Text;
use safepoint_core::lifecycle::rules::RuledPod;
use safepoint_core::lifecycle::rules::webhook::Answer;
use safepoint_core::lifecycle::{Blocked, BlockedBy, Nanos, RuleStates, StageState};
use tokio::time::Instant;

use super::super::world::Touched;
use super::marks::Mark;
use super::raw::RawRule;
use super::set::{Acts, Calling, Object, Set};
use super::write::Done;
use super::{AGAIN, CONFLICT, LOOK};

/// All of them.
#[derive(Default)]
pub(crate) struct Sets {
    /// By namespace and name.
    all: BTreeMap<Text, BTreeMap<Text, Kept>>,
    fresh: Option<HashSet<(Text, Text)>>,
    complete: bool,
    skipped: BTreeSet<String>,
}

/// A PodTransitionRule that does not stand any more.
pub(crate) struct Gone {
    pub(crate) object: Object,
    /// The pods that it has left a mark on.
    pub(crate) marked: Vec<Text>,
}

/// A PodTransitionRule, and when it is looked at.
struct Kept {
    set: Set,
    /// What was decided is being written.
    busy: bool,
    /// The pods of its namespace have not been seen yet.
    blind: bool,
    not_before: Option<Instant>,
}

// === impl Sets ===

impl Sets {
    pub(crate) fn new(skipped: BTreeSet<String>) -> Self {
        Self { skipped, ..Self::default() }
    }

    /// What the rules say about a pod.
    pub(crate) fn states(&self, pod: &RuledPod) -> RuleStates {
        if !self.complete {
            let unknown = Blocked { rule: "PodTransitionRules".into(), by: BlockedBy::NotEvaluated };
            let waits = StageState::Waiting(vec![unknown]);
            return RuleStates { pre_check: waits.clone(), post_check: waits };
        }
        let here = self.all.get(&pod.namespace).into_iter().flat_map(BTreeMap::values);
        let standing = here.filter(|kept| !kept.set.is_gone);
        let known: Vec<_> = standing.flat_map(|kept| kept.set.evaluations()).collect();
        let mut states = RuleStates::of(pod, &known);
        for state in [&mut states.pre_check, &mut states.post_check] {
            if let StageState::Waiting(blocked) = state {
                // A set that is being written says things twice.
                let mut told = HashSet::new();
                blocked.retain(|one| told.insert(one.clone()));
            }
        }
        states
    }

    /// Takes an event. Returns those that do not stand any more.
    pub(crate) fn take(&mut self, event: Event<RawRule>) -> Vec<Gone> {
        match event {
            Event::Init => {
                self.fresh = Some(HashSet::new());
                Vec::new()
            }
            Event::InitApply(raw) | Event::Apply(raw) => self.apply(&raw).into_iter().collect(),
            Event::Delete(raw) => self.remove(&key(&raw)).into_iter().collect(),
            Event::InitDone => {
                self.complete = true;
                let fresh = self.fresh.take().unwrap_or_default();
                let known = self.all.iter().flat_map(|(namespace, sets)| {
                    sets.keys().map(move |name| (namespace.clone(), name.clone()))
                });
                let gone: Vec<(Text, Text)> = known.filter(|key| !fresh.contains(key)).collect();
                gone.iter().filter_map(|key| self.remove(key)).collect()
            }
        }
    }

    fn apply(&mut self, raw: &RawRule) -> Option<Gone> {
        let (namespace, name) = key(raw);
        if let Some(fresh) = &mut self.fresh {
            fresh.insert((namespace.clone(), name.clone()));
        }
        let here = self.all.entry(namespace).or_default();
        let uid = raw.metadata.uid.as_deref().unwrap_or_default();
        match here.get_mut(&name).filter(|kept| &*kept.set.object.uid == uid) {
            Some(kept) => {
                let stood = !kept.set.is_gone;
                kept.set.update(raw, &self.skipped);
                // What could not be written on an old version may be now.
                kept.not_before = None;
                (stood && kept.set.is_gone).then(|| gone(&kept.set))
            }
            None => {
                let set = Set::new(raw, &self.skipped);
                // Another one of the same name is not seen to go where the watch was interrupted.
                let other = here.insert(name, Kept { set, busy: false, blind: false, not_before: None });
                other.map(|other| gone(&other.set))
            }
        }
    }

    fn remove(&mut self, (namespace, name): &(Text, Text)) -> Option<Gone> {
        let here = self.all.get_mut(namespace)?;
        let removed = here.remove(name);
        if here.is_empty() {
            self.all.remove(namespace);
        }
        removed.map(|kept| gone(&kept.set))
    }

    /// Pods have changed.
    pub(crate) fn touch(&mut self, touched: &Touched) {
        for (namespace, sets) in &mut self.all {
            for kept in sets.values_mut() {
                kept.set.dirty |= kept.blind || touched.all || touched.namespaces.contains(namespace);
                kept.blind = false;
            }
        }
    }

    /// The next one that is due.
    pub(crate) fn due(&self, now: Nanos, moment: Instant) -> Option<Object> {
        if !self.complete {
            return None;
        }
        let is_due = |kept: &&Kept| {
            let wants = kept.set.dirty || kept.set.wake.is_some_and(|at| at <= now);
            wants && !kept.busy && !kept.blind && kept.not_before.is_none_or(|at| at <= moment)
        };
        self.kept().find(is_due).map(|kept| kept.set.object.clone())
    }

    /// Makes a pass over an object. Nothing, if there is nothing to be done.
    pub(crate) fn pass(
        &mut self,
        object: &Object,
        pods: Option<&[RuledPod]>,
        wall: Timestamp,
        not_before: Instant,
    ) -> Option<Acts> {
        let kept = self.get(object)?;
        let none: &[RuledPod] = &[];
        let Some(pods) = pods.or(kept.set.is_gone.then_some(none)) else {
            kept.blind = true;
            return None;
        };
        let acts = kept.set.pass(pods, wall);
        kept.not_before = Some(not_before);
        kept.busy = acts.status.is_some() || acts.finalizers.is_some();
        let told = acts.news.is_empty() && acts.marks.is_empty();
        let idle = !kept.busy && told && acts.calls.is_empty() && acts.changed.is_empty();
        (!idle).then_some(acts)
    }

    /// What a pass decided has been written, or not. Returns pods about which something else counts now.
    pub(crate) fn written(&mut self, object: &Object, done: Done, moment: Instant) -> BTreeSet<Text> {
        let Some(kept) = self.get(object) else { return BTreeSet::new() };
        if matches!(done, Done::Nothing) {
            return BTreeSet::new();
        }
        kept.busy = false;
        let wait = match done {
            Done::Nothing | Done::Gone => return BTreeSet::new(),
            Done::Written { version, status } => return kept.set.written(version, *status),
            Done::Conflict => CONFLICT,
            Done::Failed => AGAIN,
        };
        kept.set.dirty = true;
        kept.not_before = Some(moment + wait);
        BTreeSet::new()
    }

    /// The marks of an object have been written, but for these.
    pub(crate) fn marked(&mut self, object: &Object, failed: Vec<Mark>) {
        if let Some(kept) = self.get(object) {
            kept.set.marks_written(failed);
        }
    }

    /// Marks of an object that is gone could not be taken off. If there is another one of its name, which marks pods with the same
    /// key, they are its own now; if not, they are given back.
    pub(crate) fn inherit(&mut self, object: &Object, marks: Vec<Mark>) -> Vec<Mark> {
        let here = self.all.get_mut(&object.namespace).and_then(|here| here.get_mut(&object.name));
        match here.filter(|kept| !kept.set.is_gone) {
            Some(kept) => {
                kept.set.doubt(marks);
                Vec::new()
            }
            None => marks,
        }
    }

    pub(crate) fn heard(
        &mut self,
        object: &Object,
        call: &Calling,
        answer: Result<Answer, Text>,
        now: Nanos,
    ) {
        if let Some(kept) = self.get(object) {
            kept.set.heard(call, answer, now);
        }
    }

    /// When to look although nothing has happened.
    pub(crate) fn wake(&self, now: Nanos, moment: Instant) -> Option<Instant> {
        let wake = |kept: &Kept| {
            if kept.busy || kept.blind {
                return None;
            }
            let again = kept.set.wake.map(|at| moment + Duration::from_nanos(at.since(now).0).min(LOOK));
            let at = if kept.set.dirty { Some(moment) } else { again };
            at.map(|at| kept.not_before.map_or(at, |not_before| at.max(not_before)))
        };
        self.kept().filter_map(wake).min()
    }

    fn kept(&self) -> impl Iterator<Item = &Kept> {
        self.all.values().flat_map(BTreeMap::values)
    }

    fn get(&mut self, object: &Object) -> Option<&mut Kept> {
        let kept = self.all.get_mut(&object.namespace)?.get_mut(&object.name)?;
        (kept.set.object == *object).then_some(kept)
    }
}

fn gone(set: &Set) -> Gone {
    Gone { object: set.object.clone(), marked: set.marked() }
}

fn key(raw: &RawRule) -> (Text, Text) {
    let text = |text: &Option<String>| Text::from(text.as_deref().unwrap_or_default());
    (text(&raw.metadata.namespace), text(&raw.metadata.name))
}
