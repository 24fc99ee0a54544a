//! What is worth an Event: a rule says no to a pod, or cannot be read. Pure.
//!
//! A pod that waits is told of once for each time that it asks, whatever the reasons are that come and go. An Event is named by
//! what it tells, so that a hub that starts anew tells nothing twice.

use std::collections::{BTreeMap, BTreeSet};

use safepoint_core::Text;
use safepoint_core::lifecycle::rules::{Detail, Evaluation};
use safepoint_core::lifecycle::{OperationId, Stage};

use super::ask::stage_word;
use super::read::Reading;
use super::status::Memory;
use crate::static_pods::digest;

/// So many pods are told of in one pass; the others when there are fewer.
const AT_ONCE: usize = 20;

/// Something to tell.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct News {
    /// About which pod; nothing: about the PodTransitionRule.
    pub(crate) pod: Option<Text>,
    /// One word.
    pub(crate) reason: &'static str,
    /// Whether somebody has to look.
    pub(crate) warning: bool,
    /// A sentence.
    pub(crate) text: String,
    /// What makes it different from other Events of the object: the end of its name.
    pub(crate) name: String,
}

/// What has been told.
#[derive(Default)]
pub(crate) struct Told {
    refused: BTreeMap<(Text, Stage), BTreeSet<(OperationId, Text)>>,
    trouble: Option<String>,
}

// === impl Told ===

impl Told {
    /// Says what is new.
    pub(crate) fn compare(
        &mut self,
        reading: &Reading,
        evaluation: &Evaluation,
        memory: &Memory,
    ) -> Vec<News> {
        let mut news = Vec::new();
        let trouble = reading.trouble();
        if self.trouble != trouble
            && let Some(text) = &trouble
        {
            let name = digest(&["unreadable", text]);
            let (reason, text) = ("RuleNotUnderstood", text.clone());
            news.push(News { pod: None, reason, warning: true, text, name });
        }
        self.trouble = trouble;
        self.refused
            .retain(|key, asked| evaluation.details.get(key).is_some_and(|detail| detail.asked == *asked));
        for ((pod, stage), detail) in &evaluation.details {
            if news.len() >= AT_ONCE {
                break;
            }
            let key = (pod.clone(), *stage);
            let rejected = said(pod, detail, reading, memory);
            if rejected.is_empty() || self.refused.contains_key(&key) {
                continue;
            }
            let reasons: Vec<String> =
                rejected.iter().map(|(rule, why)| format!("{rule} says no ({why})")).collect();
            self.refused.insert(key, detail.asked.clone());
            let text = format!(
                "{} of PodTransitionRule {}: {}",
                stage_word(*stage),
                reading.set.name,
                reasons.join(", ")
            );
            let mut parts = vec![&*reading.set.name, stage_word(*stage)];
            parts.extend(detail.asked.iter().flat_map(|(id, since)| [&*id.0, &**since]));
            news.push(News {
                pod: Some(pod.clone()),
                reason: "RuleRejected",
                warning: false,
                text,
                name: digest(&parts),
            });
        }
        news
    }
}

/// Who says no, and why. A webhook that has not answered yet has not.
pub(crate) fn said(pod: &Text, detail: &Detail, reading: &Reading, memory: &Memory) -> BTreeMap<Text, Text> {
    let has_answered = |rule: &Text| {
        let asked = memory.asked.get(rule);
        !reading.hooks.contains_key(rule) || asked.is_some_and(|asked| asked.refused.contains_key(pod))
    };
    let rejected = detail.rejected.iter().filter(|(rule, _)| has_answered(rule));
    rejected.map(|(rule, why)| (rule.clone(), why.clone())).collect()
}
