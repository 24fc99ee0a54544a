//! One PodTransitionRule: what it has decided, what counts of that, and what its webhooks are to be asked. No I/O.
//!
//! A decision counts once it is in the status, written on the version of the object that it was made for. So a hub that starts
//! anew, or another one that believes to lead, does not let a second pod go where a first one was. A refusal counts at once.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;
use safepoint_api::names::kusionstack::RULE_FINALIZERS;
use safepoint_api::pod_transition_rule::PodTransitionRuleStatus as Status;
use safepoint_core::Text;
use safepoint_core::lifecycle::rules::webhook::{Answer, Call};
use safepoint_core::lifecycle::rules::{Before, Evaluation, RuledPod};
use safepoint_core::lifecycle::{Nanos, OperationId, Stage};

use super::marks::{Mark, Marks};
use super::news::{News, Told};
use super::raw::RawRule;
use super::read::{Hook, Reading};
use super::status::{Made, Memory, Note, is_same, nanos, recall};

/// Who asks about a pod in a stage, and since when.
type Asks = BTreeSet<(OperationId, Text)>;

/// Which object.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Object {
    pub(crate) namespace: Text,
    pub(crate) name: Text,
    pub(crate) uid: Text,
}

/// A PodTransitionRule.
pub(crate) struct Set {
    pub(crate) object: Object,
    version: String,
    generation: Option<i64>,
    reading: Reading,
    /// The status that is there.
    stored: Status,
    /// What was decided.
    last: Evaluation,
    /// What counts of it. Nothing: what was decided counts.
    counts: Option<Evaluation>,
    /// The rules have changed since something was decided.
    undecided: bool,
    memory: Memory,
    /// Whether the status was looked at for what another hub has decided.
    recalled: bool,
    /// Questions about these are under way, by rule.
    asking: BTreeMap<Text, BTreeSet<Text>>,
    /// Tasks that are being asked about, by rule.
    polling: BTreeSet<(Text, Text)>,
    /// Pods that are not asked about again before this, by rule.
    waits: BTreeMap<(Text, Text), Nanos>,
    told: Told,
    marks: Marks,
    /// Marks are being written. Until that is done there are no others: what is written later must not be there earlier.
    marking: bool,
    /// The finalizers that KusionStack has left on an object that is being deleted, and that nobody else takes off.
    left: Option<Vec<String>>,
    pub(crate) is_gone: bool,
    pub(crate) dirty: bool,
    /// When to look although nothing has happened.
    pub(crate) wake: Option<Nanos>,
}

/// What is to be done.
#[derive(Default)]
pub(crate) struct Acts {
    /// To be written on this version.
    pub(crate) status: Option<(String, Status)>,
    /// To be written on this version.
    pub(crate) finalizers: Option<(String, Vec<String>)>,
    pub(crate) calls: Vec<Calling>,
    pub(crate) news: Vec<News>,
    pub(crate) marks: Vec<Mark>,
    /// Pods about which something else counts from now on.
    pub(crate) changed: BTreeSet<Text>,
}

/// A call that is under way.
#[derive(Clone, Debug)]
pub(crate) struct Calling {
    pub(crate) hook: Arc<Hook>,
    pub(crate) call: Call,
    /// For whom it is made.
    asks: BTreeMap<Text, Asks>,
}

// === impl Set ===

impl Set {
    pub(crate) fn new(raw: &RawRule, skipped: &BTreeSet<String>) -> Self {
        let text = |text: &Option<String>| Text::from(text.as_deref().unwrap_or_default());
        let object = Object {
            namespace: text(&raw.metadata.namespace),
            name: text(&raw.metadata.name),
            uid: text(&raw.metadata.uid),
        };
        let reading = Reading::of(&object.namespace, &object.name, &raw.spec, skipped);
        let mut set = Self {
            object,
            version: String::new(),
            generation: None,
            reading,
            stored: Status::default(),
            last: Evaluation::default(),
            counts: None,
            undecided: true,
            memory: Memory::default(),
            recalled: false,
            asking: BTreeMap::new(),
            polling: BTreeSet::new(),
            waits: BTreeMap::new(),
            told: Told::default(),
            marks: Marks::default(),
            marking: false,
            left: None,
            is_gone: false,
            dirty: true,
            wake: None,
        };
        set.update(raw, skipped);
        set
    }

    /// The object has changed.
    pub(crate) fn update(&mut self, raw: &RawRule, skipped: &BTreeSet<String>) {
        self.version = raw.metadata.resource_version.clone().unwrap_or_default();
        self.generation = raw.metadata.generation;
        // A status that cannot be read is written anew.
        self.stored = serde_json::from_value(raw.status.clone()).unwrap_or_default();
        self.is_gone = raw.metadata.deletion_timestamp.is_some();
        let finalizers = raw.metadata.finalizers.clone().unwrap_or_default();
        let left = finalizers.iter().any(|name| RULE_FINALIZERS.contains(&name.as_str()));
        let others = || finalizers.iter().filter(|name| !RULE_FINALIZERS.contains(&name.as_str())).cloned();
        self.left = (self.is_gone && left).then(|| others().collect());
        self.dirty = true;
        let reading = Reading::of(&self.object.namespace, &self.object.name, &raw.spec, skipped);
        if reading == self.reading {
            return;
        }
        // What counts was decided by other rules. What was let go stays so for those who count.
        self.counts = Some(Evaluation::default());
        self.undecided = true;
        let hooks = &self.reading.hooks;
        let same = |rule: &Text| hooks.get(rule) == reading.hooks.get(rule);
        self.memory.asked.retain(|rule, _| same(rule));
        self.waits.retain(|(rule, _), _| same(rule));
        self.reading = reading;
    }

    /// The pods that it has left a mark on.
    pub(crate) fn marked(&self) -> Vec<Text> {
        self.marks.pods().cloned().collect()
    }

    /// Marks have been written, but for these, which are decided on anew.
    pub(crate) fn marks_written(&mut self, failed: Vec<Mark>) {
        self.marking = false;
        self.doubt(failed);
    }

    /// Nobody knows whether these are on their pods.
    pub(crate) fn doubt(&mut self, marks: Vec<Mark>) {
        self.marks.doubt(marks.into_iter().map(|mark| mark.pod));
        // Something may have changed while they were being written as well.
        self.dirty = true;
    }

    /// What counts.
    pub(crate) fn evaluations(
        &self,
    ) -> impl Iterator<Item = (&safepoint_core::lifecycle::rules::RuleSet, &Evaluation)> {
        // What was decided and does not count yet counts where it says no.
        [self.counts.as_ref(), Some(&self.last)].into_iter().flatten().map(|known| (&self.reading.set, known))
    }

    /// Looks at the pods of the namespace and decides.
    pub(crate) fn pass(&mut self, pods: &[RuledPod], wall: Timestamp) -> Acts {
        self.dirty = false;
        self.wake = None;
        if self.is_gone {
            let finalizers = self.left.take().map(|left| (self.version.clone(), left));
            return Acts { finalizers, ..Acts::default() };
        }
        let now = nanos(wall);
        if !std::mem::replace(&mut self.recalled, true) {
            (self.last, self.memory) = recall(&self.stored, &self.reading, pods);
            self.marks.recall(&self.stored);
            self.counts = Some(Evaluation::default());
        }
        self.forget(pods);
        let before = Before { last: &self.last, asked: &self.memory.asked, uncreated: 0 };
        let mut evaluation = self.reading.set.evaluate(pods, before);
        self.add_broken(&mut evaluation, pods);
        let calls = std::mem::take(&mut evaluation.calls);
        // What counted so far counts until this does.
        let counted = self.counts.take().unwrap_or_else(|| std::mem::take(&mut self.last));
        self.last = evaluation;
        self.undecided = false;
        let targets = pods.iter().filter(|pod| self.reading.set.selects(pod));
        let made = Made {
            reading: &self.reading,
            evaluation: &self.last,
            memory: &self.memory,
            targets: targets.map(|pod| pod.name.to_string()).collect(),
            generation: self.generation,
            before: &self.stored,
        };
        let status = made.status(wall);
        let mut acts = Acts { calls: self.calls(calls, now), ..Acts::default() };
        acts.news = self.told.compare(&self.reading, &self.last, &self.memory);
        if !self.marking {
            acts.marks = self.marks.compare(&self.reading, &self.last, &self.memory);
            self.marking = !acts.marks.is_empty();
        }
        self.counts = Some(counted);
        if is_same(&status, &self.stored) {
            acts.changed = self.count();
        } else {
            acts.status = Some((self.version.clone(), status));
        }
        acts
    }

    /// The status was written, as this version of the object: what was decided counts. Returns pods for which that is news.
    pub(crate) fn written(&mut self, version: String, status: Status) -> BTreeSet<Text> {
        // The watch may have been faster, and have told of something newer than the answer: versions are numbers that grow.
        let number = |version: &str| version.parse::<u64>().unwrap_or_default();
        if number(&version) >= number(&self.version) {
            self.version = version;
            self.stored = status;
        }
        if self.undecided { BTreeSet::new() } else { self.count() }
    }

    /// Takes in what came of a call.
    pub(crate) fn heard(&mut self, calling: &Calling, answer: Result<Answer, Text>, now: Nanos) {
        let Calling { hook, call, asks } = calling;
        let rule = &hook.rule;
        match call {
            Call::Ask(_) => drop(self.asking.remove(rule)),
            Call::Poll { task, .. } => drop(self.polling.remove(&(rule.clone(), task.clone()))),
        }
        self.dirty = true;
        if self.reading.hooks.get(rule) != Some(hook) {
            return;
        }
        // An operation that asked later has to be asked about by itself.
        let still = |pod: &Text| {
            let detail = self.last.details.get(&(pod.clone(), hook.stage));
            detail.is_some_and(|detail| asks.get(pod) == Some(&detail.asked))
        };
        let call = match call {
            Call::Ask(pods) => Call::Ask(pods.iter().filter(|pod| still(pod)).cloned().collect()),
            Call::Poll { .. } => call.clone(),
        };
        let asked = self.memory.asked.entry(rule.clone()).or_default();
        let subjects = match &call {
            Call::Ask(pods) => pods.clone(),
            Call::Poll { task, .. } => {
                asked.tasks.get(task).map(|task| task.pods.clone()).unwrap_or_default()
            }
        };
        let (task, said) = match (&call, &answer) {
            (Call::Poll { task, .. }, Ok(answer)) => (Some(task.clone()), Some(answer)),
            (Call::Ask(_), Ok(answer)) => (answer.task.clone(), Some(answer)),
            (_, Err(_)) => (None, None),
        };
        if let Some((task, said)) = task.zip(said) {
            let note: &mut Note = self.memory.notes.entry((rule.clone(), task)).or_default();
            note.approved.extend(said.finished.intersection(&subjects).cloned());
            note.message = said.message.clone();
        }
        asked.heard(&call, answer, hook.polling, now);
        let underway: BTreeSet<&Text> = asked.tasks.values().flat_map(|task| &task.pods).collect();
        for pod in subjects.iter().filter(|pod| !asked.agreed.contains(*pod) && !underway.contains(pod)) {
            self.waits
                .insert((rule.clone(), pod.clone()), Nanos(now.0.saturating_add(hook.polling.interval.0)));
        }
        let tasks = &self.memory.asked;
        self.memory
            .notes
            .retain(|(rule, task), _| tasks.get(rule).is_some_and(|asked| asked.tasks.contains_key(task)));
    }

    /// What was decided counts.
    fn count(&mut self) -> BTreeSet<Text> {
        let Some(counted) = self.counts.take() else { return BTreeSet::new() };
        let keys = counted.details.keys().chain(self.last.details.keys());
        let differs = |key: &&(Text, Stage)| counted.details.get(*key) != self.last.details.get(*key);
        keys.filter(differs).map(|(pod, _)| pod.clone()).collect()
    }

    /// Forgets what webhooks have said about pods that no longer ask, and about operations that were asked for earlier.
    fn forget(&mut self, pods: &[RuledPod]) {
        for (rule, hook) in &self.reading.hooks {
            let same = |pod: &&RuledPod| {
                let detail = self.last.details.get(&(pod.name.clone(), hook.stage));
                let asks = pod.asks.get(&hook.stage);
                self.reading.set.selects(pod)
                    && asks.zip(detail).is_some_and(|(asks, detail)| asks.is_subset(&detail.asked))
            };
            let asking: BTreeSet<Text> = pods.iter().filter(same).map(|pod| pod.name.clone()).collect();
            if let Some(asked) = self.memory.asked.get_mut(rule) {
                asked.retain(&asking);
            }
            self.waits.retain(|(of, pod), _| of != rule || asking.contains(pod));
        }
        let hooks = &self.reading.hooks;
        self.memory.asked.retain(|rule, _| hooks.contains_key(rule));
        let tasks = &self.memory.asked;
        self.memory
            .notes
            .retain(|(rule, task), _| tasks.get(rule).is_some_and(|asked| asked.tasks.contains_key(task)));
    }

    /// What cannot be read stands in the way.
    fn add_broken(&self, evaluation: &mut Evaluation, pods: &[RuledPod]) {
        for broken in &self.reading.broken {
            for ((name, stage), detail) in &mut evaluation.details {
                let Some(pod) = pods.iter().find(|pod| pod.name == *name) else { continue };
                let is_about = broken.stage.is_none_or(|of| of == *stage)
                    && broken.filter.as_ref().is_none_or(|filter| filter.matches(&pod.labels))
                    && !pod.skips.contains(&broken.rule);
                if is_about {
                    detail.passed.remove(&broken.rule);
                    detail
                        .rejected
                        .insert(broken.rule.clone(), format!("it cannot be read: {}", broken.why).into());
                }
            }
        }
    }

    /// The calls that are due, and when the next ones are.
    fn calls(&mut self, calls: Vec<(Text, Call)>, now: Nanos) -> Vec<Calling> {
        let mut due = Vec::new();
        let mut wake: Option<Nanos> = None;
        let mut later = |at: Nanos| wake = Some(wake.map_or(at, |wake: Nanos| wake.min(at)));
        for (rule, call) in calls {
            let Some(hook) = self.reading.hooks.get(&rule) else { continue };
            let call = match call {
                Call::Ask(pods) => {
                    if self.asking.contains_key(&rule) {
                        continue;
                    }
                    let waits =
                        |pod: &Text| self.waits.get(&(rule.clone(), pod.clone())).filter(|at| **at > now);
                    pods.iter().filter_map(waits).for_each(|at| later(*at));
                    let pods: BTreeSet<Text> =
                        pods.iter().filter(|pod| waits(pod).is_none()).cloned().collect();
                    if pods.is_empty() {
                        continue;
                    }
                    self.asking.insert(rule.clone(), pods.clone());
                    Call::Ask(pods)
                }
                Call::Poll { task, at } => {
                    if at > now {
                        later(at);
                        continue;
                    }
                    if !self.polling.insert((rule.clone(), task.clone())) {
                        continue;
                    }
                    Call::Poll { task, at }
                }
            };
            let asks = match &call {
                Call::Ask(pods) => {
                    let asks = |pod: &Text| {
                        let detail = self.last.details.get(&(pod.clone(), hook.stage))?;
                        Some((pod.clone(), detail.asked.clone()))
                    };
                    pods.iter().filter_map(asks).collect()
                }
                Call::Poll { .. } => BTreeMap::new(),
            };
            due.push(Calling { hook: Arc::clone(hook), call, asks });
        }
        self.wake = wake;
        due
    }
}

#[cfg(test)]
mod tests;
