//! Transition rules: what has to be true before a pod may go out of service, and before it may come back.
//!
//! A [`RuleSet`] is one PodTransitionRule. It speaks of pods of its own namespace that its selector selects, and it is
//! asked by selector, never by what it has written down: a rule that has not looked at a pod yet stands in its way. The two
//! stages are judged apart, because a pod may be in both at once. Rules of a set are tried in the order quota, labels,
//! webhook, and a pod that one of them rejects is not shown to the next.

pub mod quota;
pub mod webhook;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Serialize};

use super::view::{Operation, View};
use super::words::{Label, Mark, OperationId};
use crate::hold::Selector;
use crate::text::Text;
use crate::workload::Labels;
use quota::Quota;
use webhook::Asked;

/// When a rule is asked.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Stage {
    /// Before a pod goes out of service.
    PreCheck,
    /// Before it comes back.
    PostCheck,
}

/// What the rules say about a pod, for each stage by itself.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct RuleStates {
    /// Before it goes out of service.
    pub pre_check: StageState,
    /// Before it comes back.
    pub post_check: StageState,
}

/// What the rules of one stage say.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum StageState {
    /// All agree, or there are none.
    Passed,
    /// These do not.
    Waiting(Vec<Blocked>),
}

/// A rule that does not agree.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Blocked {
    /// The rule, or the whole set where that has not looked yet.
    pub rule: Text,
    /// Why.
    pub by: BlockedBy,
}

/// Why a rule does not agree.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum BlockedBy {
    /// It has not looked at the pod, or not since this operation asked.
    NotEvaluated,
    /// It has, and says no.
    Rejected(Text),
}

/// One PodTransitionRule.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct RuleSet {
    /// Its namespace, which is that of its pods.
    pub namespace: Text,
    /// Its name.
    pub name: Text,
    /// Which pods it is about.
    pub selector: Selector,
    /// Its rules.
    pub rules: Vec<Rule>,
}

/// One rule of a set.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Rule {
    /// Its name, by which a pod can skip it.
    pub name: Text,
    /// When it is asked.
    pub stage: Stage,
    /// Whether it is switched off.
    pub disabled: bool,
    /// Which of the set's pods it is about; all where there is none.
    pub filter: Option<Selector>,
    /// What it demands.
    pub demand: Demand,
}

/// What a rule demands. The order is that in which rules are tried.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Demand {
    /// That enough pods stay in service.
    Available(Quota),
    /// That the pod has labels.
    Labels(Selector),
    /// That a webhook agrees.
    Webhook(webhook::Polling),
}

/// A pod as rules see it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct RuledPod {
    /// Its namespace.
    pub namespace: Text,
    /// Its name.
    pub name: Text,
    /// All its labels.
    pub labels: Labels,
    /// Whether it is in service, and stays.
    pub available: bool,
    /// Who asks in which stage: the operations in it, and since when, as the labels have it.
    pub asks: BTreeMap<Stage, BTreeSet<(OperationId, Text)>>,
    /// Rules that people let it skip.
    pub skips: BTreeSet<Text>,
}

/// What a set has decided.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct Evaluation {
    /// By pod and stage.
    pub details: BTreeMap<(Text, Stage), Detail>,
    /// What its webhooks are to be asked now, by rule.
    pub calls: Vec<(Text, webhook::Call)>,
}

/// What a set has decided about a pod in a stage.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct Detail {
    /// For whom: an operation that asked later has to wait for the next evaluation.
    pub asked: BTreeSet<(OperationId, Text)>,
    /// Rules that agree.
    pub passed: BTreeSet<Text>,
    /// Rules that do not, and why.
    pub rejected: BTreeMap<Text, Text>,
}

/// What an evaluation starts from.
#[derive(Clone, Copy, Debug)]
pub struct Before<'a> {
    /// The evaluation before it.
    pub last: &'a Evaluation,
    /// What webhooks have said, by rule.
    pub asked: &'a BTreeMap<Text, Asked>,
    /// How many pods the workloads behind the pods lack.
    pub uncreated: usize,
}

// === impl RuledPod ===

impl RuledPod {
    /// A pod as rules see it.
    #[must_use]
    pub fn of(namespace: &str, name: &str, labels: &Labels, view: &View, skips: BTreeSet<Text>) -> Self {
        let asking = |label: Label, still: fn(&Operation) -> bool| {
            let in_stage = view.alive().filter(move |(_, operation)| still(operation));
            in_stage
                .filter_map(move |(id, operation)| Some((id.clone(), operation.get(label)?.clone())))
                .collect::<BTreeSet<_>>()
        };
        let stages = [
            (Stage::PreCheck, asking(Label::PreCheck, Operation::is_waiting)),
            (Stage::PostCheck, asking(Label::PostCheck, |operation| !operation.has(Label::PostChecked))),
        ];
        Self {
            namespace: namespace.into(),
            name: name.into(),
            labels: labels.clone(),
            // One that is terminating goes, and no controller takes the label off it any more.
            available: view.has(Mark::ServiceAvailable) && !view.deleting,
            asks: stages.into_iter().filter(|(_, asks)| !asks.is_empty()).collect(),
            skips,
        }
    }
}

// === impl RuleSet ===

impl RuleSet {
    /// Whether the set is about this pod.
    #[must_use]
    pub fn selects(&self, pod: &RuledPod) -> bool {
        self.namespace == pod.namespace && self.selector.matches(&pod.labels)
    }

    /// Judges every pod of the set that asks.
    pub fn evaluate(&self, pods: &[RuledPod], before: Before<'_>) -> Evaluation {
        let targets: Vec<&RuledPod> = pods.iter().filter(|pod| self.selects(pod)).collect();
        let mut evaluation = Evaluation::default();
        for stage in [Stage::PreCheck, Stage::PostCheck] {
            let asking = |pod: &&&RuledPod| pod.asks.contains_key(&stage);
            for pod in targets.iter().filter(asking) {
                let asked = pod.asks[&stage].clone();
                evaluation.details.insert((pod.name.clone(), stage), Detail { asked, ..Detail::default() });
            }
            let mut rules: Vec<&Rule> =
                self.rules.iter().filter(|rule| rule.stage == stage && !rule.disabled).collect();
            rules.sort_by_key(|rule| rule.demand.order());
            for rule in rules {
                let about =
                    |pod: &&&RuledPod| rule.filter.as_ref().is_none_or(|filter| filter.matches(&pod.labels));
                let targets: Vec<&RuledPod> = targets.iter().filter(about).copied().collect();
                self.judge(rule, &targets, before, &mut evaluation);
            }
        }
        evaluation
    }

    fn judge(&self, rule: &Rule, targets: &[&RuledPod], before: Before<'_>, evaluation: &mut Evaluation) {
        let subjects: Vec<&RuledPod> = targets
            .iter()
            .filter(|pod| {
                let detail = evaluation.details.get(&(pod.name.clone(), rule.stage));
                detail.is_some_and(|detail| detail.rejected.is_empty()) && !pod.skips.contains(&rule.name)
            })
            .copied()
            .collect();
        // What was passed stays passed, for those who asked then.
        let passed_before = |pod: &RuledPod| {
            let detail = before.last.details.get(&(pod.name.clone(), rule.stage));
            detail.is_some_and(|detail| {
                detail.passed.contains(&rule.name)
                    && pod.asks.get(&rule.stage).is_some_and(|asks| asks.is_subset(&detail.asked))
            })
        };
        let rejected: BTreeMap<Text, Text> = match &rule.demand {
            Demand::Available(quota) => quota.judge(targets, &subjects, before.uncreated, passed_before),
            Demand::Labels(requires) => subjects
                .iter()
                .filter(|pod| !requires.matches(&pod.labels))
                .map(|pod| (pod.name.clone(), Text::from(format!("its labels are not {requires}"))))
                .collect(),
            Demand::Webhook(polling) => {
                let fresh: BTreeSet<Text> =
                    subjects.iter().filter(|pod| !passed_before(pod)).map(|pod| pod.name.clone()).collect();
                let none = Asked::default();
                let asked = before.asked.get(&rule.name).unwrap_or(&none);
                let calls = asked.calls(&fresh, *polling).into_iter();
                evaluation.calls.extend(calls.map(|call| (rule.name.clone(), call)));
                asked.rejected(&fresh)
            }
        };
        for pod in subjects {
            let Some(detail) = evaluation.details.get_mut(&(pod.name.clone(), rule.stage)) else { continue };
            match rejected.get(&pod.name) {
                Some(why) => drop(detail.rejected.insert(rule.name.clone(), why.clone())),
                None => drop(detail.passed.insert(rule.name.clone())),
            }
        }
    }
}

impl Demand {
    const fn order(&self) -> u8 {
        match self {
            Self::Available(_) => 0,
            Self::Labels(_) => 1,
            Self::Webhook(_) => 2,
        }
    }
}

// === impl RuleStates ===

impl RuleStates {
    /// Nobody stands against anything.
    pub const PASSED: Self = Self { pre_check: StageState::Passed, post_check: StageState::Passed };

    /// What all sets, with their newest evaluations, say about a pod.
    #[must_use]
    pub fn of(pod: &RuledPod, sets: &[(&RuleSet, &Evaluation)]) -> Self {
        let state = |stage| {
            let blocked: Vec<Blocked> = sets
                .iter()
                .filter(|(set, _)| set.selects(pod))
                .flat_map(|(set, evaluation)| stand(pod, set, evaluation, stage))
                .collect();
            if blocked.is_empty() { StageState::Passed } else { StageState::Waiting(blocked) }
        };
        Self { pre_check: state(Stage::PreCheck), post_check: state(Stage::PostCheck) }
    }
}

/// The rules of a set that stand against a pod in a stage.
fn stand(pod: &RuledPod, set: &RuleSet, evaluation: &Evaluation, stage: Stage) -> Vec<Blocked> {
    let Some(asks) = pod.asks.get(&stage) else { return Vec::new() };
    match evaluation.details.get(&(pod.name.clone(), stage)) {
        Some(detail) if asks.is_subset(&detail.asked) => detail
            .rejected
            .iter()
            .map(|(rule, why)| Blocked { rule: rule.clone(), by: BlockedBy::Rejected(why.clone()) })
            .collect(),
        _ => vec![Blocked { rule: set.name.clone(), by: BlockedBy::NotEvaluated }],
    }
}

impl fmt::Display for Blocked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.by {
            BlockedBy::NotEvaluated => write!(f, "{} has not looked at it yet", self.rule),
            BlockedBy::Rejected(why) => write!(f, "{} says no ({why})", self.rule),
        }
    }
}
