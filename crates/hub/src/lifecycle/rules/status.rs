//! What has been decided, in the status of a PodTransitionRule, and what a hub that starts anew finds there. Pure.
//!
//! The status is KusionStack's. It is also the memory: which pods were let go, and which tasks webhooks have taken on.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, MicroTime, Time};
use safepoint_api::pod_transition_rule::{
    PodTransitionDetail, PodTransitionRuleStatus as Status, RejectInfo, RuleState, TaskInfo, WebhookStatus,
    limits,
};
use safepoint_core::Text;
use safepoint_core::lifecycle::rules::webhook::{Asked, Task};
use safepoint_core::lifecycle::rules::{Detail, Evaluation, RuledPod};
use safepoint_core::lifecycle::{Nanos, Stage};
use serde_json::Value;

use super::ask::stage_word;
use super::read::Reading;

/// The condition that says whether all rules can be read.
const READABLE: &str = "Readable";
/// The longest message of a condition.
const LONGEST: usize = 4_096;

/// What is known of webhooks, by rule.
#[derive(Clone, PartialEq, Default, Debug)]
pub(crate) struct Memory {
    /// What they were asked and have said.
    pub(crate) asked: BTreeMap<Text, Asked>,
    /// What is only told to people, by rule and task.
    pub(crate) notes: BTreeMap<(Text, Text), Note>,
}

/// What is told about a task.
#[derive(Clone, PartialEq, Default, Debug)]
pub(crate) struct Note {
    pub(crate) approved: BTreeSet<Text>,
    pub(crate) message: Text,
}

/// What a status is made of.
pub(crate) struct Made<'a> {
    pub(crate) reading: &'a Reading,
    pub(crate) evaluation: &'a Evaluation,
    pub(crate) memory: &'a Memory,
    pub(crate) targets: Vec<String>,
    pub(crate) generation: Option<i64>,
    /// The status that is there.
    pub(crate) before: &'a Status,
}

// === impl Made ===

impl Made<'_> {
    /// The status.
    pub(crate) fn status(&self, now: Timestamp) -> Status {
        let number = |count: usize| Some(i32::try_from(count).unwrap_or(i32::MAX));
        let refused = self.evaluation.details.iter().filter(|(_, detail)| !detail.rejected.is_empty());
        let refused: BTreeSet<&Text> = refused.map(|((pod, _), _)| pod).collect();
        let selected = self.targets.len();
        let mut targets = self.targets.clone();
        targets.sort_unstable();
        targets.truncate(limits::TARGETS);
        Status {
            update_time: Some(MicroTime(now)),
            observed_generation: self.generation,
            selected_number: number(selected),
            refused_number: number(refused.len()),
            targets,
            rule_states: self.rule_states(),
            details: details(&self.evaluation.details),
            conditions: vec![self.condition(now)],
        }
    }

    fn rule_states(&self) -> Vec<RuleState> {
        let rules = self.memory.asked.iter().filter(|(_, asked)| !asked.tasks.is_empty());
        rules
            .map(|(rule, asked)| {
                let tasks = asked.tasks.iter().take(limits::TASKS);
                let task_states = tasks.map(|(id, task)| self.task(rule, id, task)).collect();
                let webhook_status = Some(WebhookStatus { task_states, history: Vec::new() });
                RuleState { name: rule.to_string(), webhook_status }
            })
            .collect()
    }

    fn task(&self, rule: &Text, id: &Text, task: &Task) -> TaskInfo {
        let note = self.memory.notes.get(&(rule.clone(), id.clone())).cloned().unwrap_or_default();
        TaskInfo {
            task_id: id.to_string(),
            processing: names(&task.pods),
            approved: names(&note.approved),
            begin_time: moment(task.begun),
            last_time: moment(task.last),
            message: note.message.to_string(),
        }
    }

    fn condition(&self, now: Timestamp) -> Condition {
        let trouble = self.reading.trouble();
        let (status, reason) = if trouble.is_some() { ("False", "NotUnderstood") } else { ("True", "Read") };
        let message = trouble.map(|why| format!("{why}; what cannot be read stands in the way"));
        let before = self.before.conditions.iter().find(|known| known.type_ == READABLE);
        let since =
            before.filter(|known| known.status == status).map(|known| known.last_transition_time.clone());
        Condition {
            type_: READABLE.to_owned(),
            status: status.to_owned(),
            reason: reason.to_owned(),
            message: message.unwrap_or_default().chars().take(LONGEST).collect(),
            last_transition_time: since.unwrap_or(Time(now)),
            observed_generation: self.generation,
        }
    }
}

/// Whether a status says the same. When it was written, and when a task was asked about last, is nothing new.
pub(crate) fn is_same(one: &Status, other: &Status) -> bool {
    let plain = |status: &Status| {
        let mut status = status.clone();
        status.update_time = None;
        let tasks = status.rule_states.iter_mut().filter_map(|state| state.webhook_status.as_mut());
        for webhook in tasks {
            webhook.history.clear();
            webhook.task_states.iter_mut().for_each(|task| task.last_time = None);
        }
        for condition in &mut status.conditions {
            condition.last_transition_time = Time(Timestamp::UNIX_EPOCH);
        }
        status
    };
    plain(one) == plain(other)
}

/// The status as a merge patch: what is not said any more has to be taken out.
pub(crate) fn patch(status: &Status) -> Value {
    let mut value = serde_json::to_value(status).unwrap_or_default();
    if let Some(fields) = value.as_object_mut() {
        const OPTIONAL: [&str; 8] = [
            "updateTime",
            "observedGeneration",
            "selectedNumber",
            "refusedNumber",
            "targets",
            "ruleStates",
            "details",
            "conditions",
        ];
        for optional in OPTIONAL {
            fields.entry(optional).or_insert(Value::Null);
        }
    }
    value
}

/// What a hub that starts anew finds: what was decided about operations that still ask, and the tasks of webhooks.
///
/// The status does not say which operation was asked for. One that asked before the status was written was; one that asked
/// later is asked for anew.
pub(crate) fn recall(stored: &Status, reading: &Reading, pods: &[RuledPod]) -> (Evaluation, Memory) {
    let mut evaluation = Evaluation::default();
    let mut memory = Memory::default();
    let Some(written) = stored.update_time.as_ref().map(|written| nanos(written.0)) else {
        return (evaluation, memory);
    };
    for detail in &stored.details {
        let stages = [Stage::PreCheck, Stage::PostCheck];
        let stage = stages.into_iter().find(|stage| stage_word(*stage) == detail.stage);
        let pod = pods.iter().find(|pod| *pod.name == *detail.name && reading.set.selects(pod));
        let Some((stage, pod)) = stage.zip(pod) else { continue };
        let before = |since: &Text| Nanos::parse(since).is_some_and(|since| since <= written);
        let asked: BTreeSet<_> =
            pod.asks.get(&stage).into_iter().flatten().filter(|(_, since)| before(since)).cloned().collect();
        if !asked.is_empty() {
            let passed = detail.passed_rules.iter().map(|rule| Text::from(rule.as_str())).collect();
            let detail = Detail { asked, passed, rejected: BTreeMap::new() };
            evaluation.details.insert((pod.name.clone(), stage), detail);
        }
    }
    for state in &stored.rule_states {
        let rule = Text::from(state.name.as_str());
        if !reading.hooks.contains_key(&rule) {
            continue;
        }
        let tasks = state.webhook_status.iter().flat_map(|webhook| &webhook.task_states);
        for task in tasks {
            let Some(begun) = task.begin_time.as_ref().map(|begun| nanos(begun.0)) else { continue };
            let last = task.last_time.as_ref().map_or(begun, |last| nanos(last.0));
            let id = Text::from(task.task_id.as_str());
            let note = Note { approved: texts(&task.approved), message: task.message.as_str().into() };
            let asked = memory.asked.entry(rule.clone()).or_default();
            asked.agreed.extend(note.approved.iter().cloned());
            asked
                .refused
                .extend(task.processing.iter().map(|pod| (pod.as_str().into(), note.message.clone())));
            asked.tasks.insert(id.clone(), Task { pods: texts(&task.processing), begun, last });
            memory.notes.insert((rule.clone(), id), note);
        }
    }
    (evaluation, memory)
}

/// Those that were let go come first: they are what must not be forgotten.
fn details(all: &BTreeMap<(Text, Stage), Detail>) -> Vec<PodTransitionDetail> {
    let mut shown: Vec<(&(Text, Stage), &Detail)> = all.iter().collect();
    if shown.len() > limits::DETAILS {
        shown.sort_by_key(|(_, detail)| !detail.rejected.is_empty());
        shown.truncate(limits::DETAILS);
        shown.sort_by_key(|(key, _)| *key);
    }
    let detail = |((pod, stage), detail): (&(Text, Stage), &Detail)| PodTransitionDetail {
        name: pod.to_string(),
        stage: stage_word(*stage).to_owned(),
        passed: detail.rejected.is_empty(),
        passed_rules: names(&detail.passed),
        reject_info: detail
            .rejected
            .iter()
            .map(|(rule, why)| RejectInfo { rule_name: rule.to_string(), reason: why.to_string() })
            .collect(),
    };
    shown.into_iter().map(detail).collect()
}

fn names(texts: &BTreeSet<Text>) -> Vec<String> {
    texts.iter().map(ToString::to_string).collect()
}

fn texts(names: &[String]) -> BTreeSet<Text> {
    names.iter().map(|name| Text::from(name.as_str())).collect()
}

fn moment(nanos: Nanos) -> Option<MicroTime> {
    Timestamp::from_nanosecond(i128::from(nanos.0)).ok().map(MicroTime)
}

/// Time as labels have it.
pub(crate) fn nanos(time: Timestamp) -> Nanos {
    Nanos(u64::try_from(time.as_nanosecond()).unwrap_or_default())
}
