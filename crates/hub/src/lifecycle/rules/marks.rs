//! The annotation on a pod by which people see which rule says no to it. Pure.
//!
//! KusionStack writes it three times for each operation. Here only a pod that is refused gets it, and loses it when it does not ask
//! any more: an operation that nobody stands against costs no write. Reasons come and go while a pod waits; it is written
//! anew when it is other rules that say no.

use std::collections::{BTreeMap, BTreeSet};

use safepoint_api::names::kusionstack::RULE_DETAIL_PREFIX;
use safepoint_api::pod_transition_rule::{PodTransitionRuleStatus as Status, RejectInfo};
use safepoint_core::Text;
use safepoint_core::lifecycle::Stage;
use safepoint_core::lifecycle::rules::Evaluation;
use serde_json::{Value, json};

use super::ask::stage_word;
use super::news::said;
use super::read::Reading;
use super::status::Memory;

/// The longest name that an annotation can have behind its prefix.
const LONGEST: usize = 63;

/// An annotation to be written, or taken off.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Mark {
    pub(crate) pod: Text,
    pub(crate) value: Option<String>,
}

/// Which pods have it, and which rules it names. Nothing: nobody here knows which.
#[derive(Default)]
pub(crate) struct Marks(BTreeMap<Text, Option<(Stage, BTreeSet<Text>)>>);

/// The key of the annotation of an object; nothing where its name is too long for one.
pub(crate) fn key(object: &str) -> Option<String> {
    (object.len() <= LONGEST).then(|| format!("{RULE_DETAIL_PREFIX}/{object}"))
}

// === impl Marks ===

impl Marks {
    /// What an earlier hub may have put on.
    pub(crate) fn recall(&mut self, stored: &Status) {
        let refused = stored.details.iter().filter(|detail| !detail.passed);
        self.doubt(refused.map(|detail| Text::from(detail.name.as_str())));
    }

    /// Nobody knows what is on these: they are written anew, or it is taken off them.
    pub(crate) fn doubt(&mut self, pods: impl IntoIterator<Item = Text>) {
        self.0.extend(pods.into_iter().map(|pod| (pod, None)));
    }

    /// The pods that have it.
    pub(crate) fn pods(&self) -> impl Iterator<Item = &Text> {
        self.0.keys()
    }

    /// What is to be written.
    pub(crate) fn compare(
        &mut self,
        reading: &Reading,
        evaluation: &Evaluation,
        memory: &Memory,
    ) -> Vec<Mark> {
        let mut marks = Vec::new();
        let mut asking = BTreeSet::new();
        for ((pod, stage), detail) in &evaluation.details {
            // Of two stages the first that is refused is shown.
            if !asking.insert(pod.clone()) && self.0.get(pod).is_some_and(Option::is_some) {
                continue;
            }
            let rejected = said(pod, detail, reading, memory);
            let rules: BTreeSet<Text> = rejected.keys().cloned().collect();
            let shown = Some((*stage, rules));
            if rejected.is_empty() || self.0.get(pod) == Some(&shown) {
                continue;
            }
            marks.push(Mark { pod: pod.clone(), value: Some(text(*stage, &rejected)) });
            self.0.insert(pod.clone(), shown);
        }
        let over: Vec<Text> = self.0.keys().filter(|pod| !asking.contains(*pod)).cloned().collect();
        for pod in over {
            self.0.remove(&pod);
            marks.push(Mark { pod, value: None });
        }
        marks
    }
}

fn text(stage: Stage, rejected: &BTreeMap<Text, Text>) -> String {
    let info =
        |(rule, why): (&Text, &Text)| RejectInfo { rule_name: rule.to_string(), reason: why.to_string() };
    let info: Vec<RejectInfo> = rejected.iter().map(info).collect();
    let info = serde_json::to_value(info).unwrap_or(Value::Null);
    json!({"stage": stage_word(stage), "passed": false, "rejectInfo": info}).to_string()
}
