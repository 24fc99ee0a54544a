//! A PodTransitionRule, read into what core judges by. Pure.
//!
//! What cannot be read stands in the way and says why: a rule of the pods that it would be about, a whole object of every
//! pod of its namespace where not even its selector can be read. What is switched off, and what has conditions, which nobody
//! can meet, is left out, as KusionStack does.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use http::Uri;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use safepoint_api::names::kusionstack::{STAGE_POST_CHECK, STAGE_PRE_CHECK};
use safepoint_api::pod_transition_rule::{AvailablePolicy, Parameter, Poll, RuleWebhook, TransitionRule};
use safepoint_core::lifecycle::rules::quota::{Amount, Quota};
use safepoint_core::lifecycle::rules::webhook::Polling;
use safepoint_core::lifecycle::rules::{Demand, Rule, RuleSet};
use safepoint_core::lifecycle::{Nanos, Stage};
use safepoint_core::{Requirement, Selector, Text};
use serde_json::Value;

/// How long between two questions about a task, and before a question is asked again.
const INTERVAL: Nanos = Nanos::from_secs(5);
/// How long a task may take.
const TIMEOUT: Nanos = Nanos::from_secs(60);
/// The key of a task in a query.
const TASK_KEY: &str = "task-id";

/// An object that was read.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Reading {
    /// What core judges by.
    pub(crate) set: RuleSet,
    /// The webhooks, by rule.
    pub(crate) hooks: BTreeMap<Text, Arc<Hook>>,
    /// What cannot be read.
    pub(crate) broken: Vec<Broken>,
}

/// A webhook of a rule.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Hook {
    pub(crate) rule: Text,
    pub(crate) stage: Stage,
    pub(crate) url: Uri,
    pub(crate) ca: Option<String>,
    pub(crate) poll: Option<PollAt>,
    pub(crate) polling: Polling,
    pub(crate) parameters: Vec<Parameter>,
}

/// Where a webhook is asked about a task.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct PollAt {
    pub(crate) url: String,
    pub(crate) key: String,
    pub(crate) ca: Option<String>,
}

/// Something that cannot be read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Broken {
    /// The rule, or the object where it is all of it.
    pub(crate) rule: Text,
    /// When it would be asked; always, where that cannot be read either.
    pub(crate) stage: Option<Stage>,
    /// Of which pods; all where there is none.
    pub(crate) filter: Option<Selector>,
    /// Why.
    pub(crate) why: Text,
}

// === impl Reading ===

impl Reading {
    /// Reads a spec. `skipped` are the kinds of rules that an operator has switched off everywhere.
    pub(crate) fn of(namespace: &str, name: &str, spec: &Value, skipped: &BTreeSet<String>) -> Self {
        let set = |selector| RuleSet {
            namespace: namespace.into(),
            name: name.into(),
            selector,
            rules: Vec::new(),
        };
        let all = || Selector(Arc::from([]));
        let whole = |why: String| Self {
            set: set(all()),
            hooks: BTreeMap::new(),
            broken: vec![Broken { rule: name.into(), stage: None, filter: None, why: why.into() }],
        };
        let selector = match spec.get("selector") {
            // Kubernetes: a selector that is not there selects nothing.
            None | Some(Value::Null) => Selector(Arc::from([Requirement::In("".into(), Vec::new())])),
            Some(selector) => match read_selector(selector) {
                Ok(selector) => selector,
                Err(why) => return whole(format!("spec.selector cannot be read: {why}")),
            },
        };
        let rules = match spec.get("rules") {
            None | Some(Value::Null) => &Vec::new(),
            Some(Value::Array(rules)) => rules,
            Some(_) => return whole("spec.rules is no list".to_owned()),
        };
        let mut reading = Self { set: set(selector), hooks: BTreeMap::new(), broken: Vec::new() };
        let mut names = BTreeSet::new();
        for (index, rule) in rules.iter().enumerate() {
            reading.take(index, rule, skipped, &mut names);
        }
        reading
    }

    fn take(&mut self, index: usize, value: &Value, skipped: &BTreeSet<String>, names: &mut BTreeSet<Text>) {
        let text = |field: &str| value.get(field).and_then(Value::as_str).filter(|text| !text.is_empty());
        let name: Text = text("name").map_or_else(|| format!("rules[{index}]").into(), Text::from);
        let has_conditions =
            value.get("conditions").and_then(Value::as_array).is_some_and(|all| !all.is_empty());
        // KusionStack: who has two kinds has the first of them.
        let kinds = ["availablePolicy", "labelCheck", "webhook"];
        let kind = kinds.into_iter().find(|kind| value.get(*kind).is_some_and(|it| !it.is_null()));
        let is_off = value.get("disabled").and_then(Value::as_bool).unwrap_or_default();
        if is_off || has_conditions || kind.is_some_and(|kind| skipped.contains(kind)) {
            return;
        }
        let stage = match text("stage") {
            None | Some(STAGE_PRE_CHECK) => Some(Stage::PreCheck),
            Some(STAGE_POST_CHECK) => Some(Stage::PostCheck),
            Some(_) => None,
        };
        let filter = value.pointer("/filter/labelSelector").filter(|it| !it.is_null()).map(read_selector);
        let known = filter.as_ref().and_then(|filter| filter.as_ref().ok()).cloned();
        let mut read = || -> Result<(Rule, Option<Hook>), String> {
            let stage =
                stage.ok_or_else(|| format!("stage must be {STAGE_PRE_CHECK} or {STAGE_POST_CHECK}"))?;
            filter.clone().transpose().map_err(|why| format!("filter cannot be read: {why}"))?;
            if !names.insert(name.clone()) {
                return Err("another rule has the same name".to_owned());
            }
            let kind = kind.ok_or("it has none of availablePolicy, labelCheck and webhook")?;
            let rule: TransitionRule =
                serde_json::from_value(value.clone()).map_err(|error| format!("{kind}: {error}"))?;
            let (demand, hook) = demand(&rule, &name, stage).map_err(|why| format!("{kind}: {why}"))?;
            Ok((Rule { name: name.clone(), stage, disabled: false, filter: known.clone(), demand }, hook))
        };
        match read() {
            Ok((rule, hook)) => {
                self.set.rules.push(rule);
                self.hooks.extend(hook.map(|hook| (name, Arc::new(hook))));
            }
            Err(why) => self.broken.push(Broken { rule: name, stage, filter: known, why: why.into() }),
        }
    }

    /// Why it cannot be read, as one sentence; nothing where it can.
    pub(crate) fn trouble(&self) -> Option<String> {
        let all: Vec<String> =
            self.broken.iter().map(|broken| format!("{}: {}", broken.rule, broken.why)).collect();
        (!all.is_empty()).then(|| all.join("; "))
    }
}

fn demand(rule: &TransitionRule, name: &Text, stage: Stage) -> Result<(Demand, Option<Hook>), String> {
    if let Some(policy) = &rule.available_policy {
        return Ok((Demand::Available(quota(policy)?), None));
    }
    if let Some(check) = &rule.label_check {
        return Ok((Demand::Labels(selector(&check.requires)?), None));
    }
    let webhook = rule.webhook.as_ref().ok_or("it is not there")?;
    let hook = hook(webhook, name, stage)?;
    Ok((Demand::Webhook(hook.polling), Some(hook)))
}

fn quota(policy: &AvailablePolicy) -> Result<Quota, String> {
    let amount = |field: &str, value: &Option<IntOrString>| {
        let read = value.as_ref().map(amount).transpose();
        read.map_err(|()| format!("{field} must be a number from 0 up or a share such as 30%"))
    };
    let quota = Quota {
        max_unavailable: amount("maxUnavailableValue", &policy.max_unavailable_value)?,
        min_available: amount("minAvailableValue", &policy.min_available_value)?,
    };
    if quota.max_unavailable.is_none() && quota.min_available.is_none() {
        return Err("it has neither maxUnavailableValue nor minAvailableValue".to_owned());
    }
    Ok(quota)
}

fn amount(value: &IntOrString) -> Result<Amount, ()> {
    match value {
        IntOrString::Int(count) => usize::try_from(*count).map(Amount::Count).map_err(drop),
        IntOrString::String(text) => {
            let share = text.strip_suffix('%').ok_or(())?;
            // More would be counted over what a number can hold; there is no more than all anyway.
            share.parse::<usize>().map(|share| Amount::Percent(share.min(10_000))).map_err(drop)
        }
    }
}

fn hook(webhook: &RuleWebhook, name: &Text, stage: Stage) -> Result<Hook, String> {
    let client = &webhook.client_config;
    let seconds = |given: Option<i64>, usual: Nanos| match given {
        None => Ok(usual),
        Some(given) => u64::try_from(given)
            .ok()
            .filter(|given| *given > 0)
            .map(Nanos::from_secs)
            .ok_or("intervalSeconds and timeoutSeconds must be from 1 up"),
    };
    let poll = client.poll.as_ref();
    let polling = Polling {
        interval: seconds(poll.and_then(|poll| poll.interval_seconds), INTERVAL)?,
        timeout: seconds(poll.and_then(|poll| poll.timeout_seconds), TIMEOUT)?,
    };
    Ok(Hook {
        rule: name.clone(),
        stage,
        url: address(&client.url)?,
        ca: client.ca_bundle.clone(),
        poll: poll.map(poll_at).transpose()?,
        polling,
        parameters: webhook.parameters.clone(),
    })
}

fn poll_at(poll: &Poll) -> Result<PollAt, String> {
    address(&poll.url)?;
    let key = poll.raw_query_key.clone().filter(|key| !key.is_empty());
    Ok(PollAt {
        url: poll.url.clone(),
        key: key.unwrap_or_else(|| TASK_KEY.to_owned()),
        ca: poll.ca_bundle.clone(),
    })
}

/// An address of a webhook: one of the web, and of nothing else.
pub(crate) fn address(url: &str) -> Result<Uri, String> {
    let uri: Uri = url.parse().map_err(|error| format!("{url:?} is no address: {error}"))?;
    let is_web = matches!(uri.scheme_str(), Some("http" | "https"));
    if !is_web || uri.host().is_none_or(str::is_empty) {
        return Err(format!("{url:?} is no address: it begins with https:// or http:// and names a host"));
    }
    Ok(uri)
}

fn read_selector(value: &Value) -> Result<Selector, String> {
    let read: LabelSelector = serde_json::from_value(value.clone()).map_err(|error| error.to_string())?;
    selector(&read)
}

/// A selector of Kubernetes.
pub(crate) fn selector(selector: &LabelSelector) -> Result<Selector, String> {
    let equal = selector.match_labels.iter().flatten();
    let mut all: Vec<Requirement> =
        equal.map(|(key, value)| Requirement::In(key.as_str().into(), vec![value.as_str().into()])).collect();
    for wanted in selector.match_expressions.iter().flatten() {
        let key = Text::from(wanted.key.as_str());
        let values: Vec<Text> =
            wanted.values.iter().flatten().map(|value| Text::from(value.as_str())).collect();
        let requirement = match (wanted.operator.as_str(), values.is_empty()) {
            ("In", false) => Requirement::In(key, values),
            ("NotIn", false) => Requirement::NotIn(key, values),
            ("Exists", true) => Requirement::Exists(key),
            ("DoesNotExist", true) => Requirement::Absent(key),
            ("In" | "NotIn", true) => return Err(format!("{key}: {} needs values", wanted.operator)),
            ("Exists" | "DoesNotExist", false) => {
                return Err(format!("{key}: {} takes no values", wanted.operator));
            }
            (other, _) => return Err(format!("{key}: nobody knows the operator {other:?}")),
        };
        all.push(requirement);
    }
    Ok(Selector(all.into()))
}

#[cfg(test)]
mod tests;
