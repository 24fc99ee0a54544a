//! A StaticPod's spec, as the controller goes by it. Pure.
//!
//! The controller and the webhook convert by the same function: what the webhook lets through is what can be carried out, and
//! what came while no webhook answered is refused by the controller in the same words.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use safepoint_api::names::kubeedge::{HOLD_UPGRADE, HOLD_UPGRADE_ON};
use safepoint_api::static_pod::{CordonedNodes, PodTemplate, StaticPodSpec, StrategyType, Unselected};
use safepoint_core::rollout::{Canary, Cordoned, Order, Retry, Share, Strategy};
use safepoint_core::{Revision, Span, Timestamp};
use safepoint_manifest::template::problems;
pub(crate) use safepoint_manifest::template::{Problem, sentence};

use super::slim::moment;

/// What a StaticPod wants.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Wanted {
    /// The static pod's name on each node.
    pub(crate) static_pod: String,
    /// Its manifest's file name without `.yaml`.
    pub(crate) manifest: String,
    pub(crate) template: PodTemplate,
    pub(crate) order: Order,
    /// Labels of the nodes that go first.
    pub(crate) canary: Option<BTreeMap<String, String>>,
    /// Labels of the nodes that get it if they lack it.
    pub(crate) install: Option<BTreeMap<String, String>>,
    /// Whether what was installed is taken away where it is not wanted any more.
    pub(crate) remove: bool,
    /// How many earlier revisions are kept.
    pub(crate) history: usize,
}

// === impl Wanted ===

impl Wanted {
    /// Reads a spec, and says everything that is wrong with it.
    pub(crate) fn read(spec: &StaticPodSpec) -> Result<Self, Vec<Problem>> {
        let mut problems = problems(spec);
        let strategy = &spec.upgrade_strategy;
        let mut share = |value: &IntOrString, field: &str, least: u32| {
            let read = read_share(value, least);
            if read.is_none() {
                let field = format!("spec.upgradeStrategy.{field}");
                let text = format!("must be a number from {least} up or a share from {least}% to 100%");
                problems.push(Problem { field, text });
            }
            read
        };
        let budget = share(&strategy.max_unavailable, "maxUnavailable", 1);
        let stop = strategy.stop_after_failed.as_ref().map(|stop| share(stop, "stopAfterFailed", 0));
        let (Some(budget), true) = (budget, problems.is_empty()) else { return Err(problems) };
        let span = |seconds: Option<i32>| {
            seconds.map(|seconds| Span::from_secs(seconds.max(0).unsigned_abs().into()))
        };
        let usual = Retry::default();
        let order = Order {
            strategy: match strategy.type_ {
                StrategyType::AdvancedRollingUpdate => Strategy::Rolling,
                StrategyType::Ota => Strategy::Ota,
            },
            budget,
            paused: spec.paused,
            canary: strategy
                .canary
                .as_ref()
                .map(|canary| Canary { wait: span(canary.wait_seconds).unwrap_or(Span::ZERO) }),
            stop: stop.flatten(),
            retry: Retry {
                limit: strategy.retry.and_then(|retry| retry.limit?.try_into().ok()).unwrap_or(usual.limit),
                base: strategy.retry.and_then(|retry| span(retry.backoff_seconds)).unwrap_or(usual.base),
                cap: usual.cap,
            },
            min_ready: span(strategy.min_ready_seconds).unwrap_or(Span::ZERO),
            cordoned: match strategy.cordoned {
                Some(CordonedNodes::Defer) => Cordoned::Defer,
                Some(CordonedNodes::Upgrade) | None => Cordoned::Upgrade,
            },
            restarted: spec.restarted_at.as_ref().map(moment),
            ..Order::new(Revision::from(spec.template.revision()))
        };
        Ok(Self {
            static_pod: spec.static_pod_name.clone(),
            manifest: spec.static_pod_manifest.clone(),
            template: spec.template.clone(),
            order,
            canary: strategy.canary.as_ref().map(|canary| canary.node_selector.clone()),
            install: strategy.install.as_ref().map(|install| install.node_selector.clone()),
            remove: strategy
                .install
                .as_ref()
                .is_some_and(|install| install.unselected == Some(Unselected::Remove)),
            history: usize::try_from(spec.revision_history_limit).unwrap_or_default(),
        })
    }

    pub(crate) fn revision(&self) -> &Revision {
        &self.order.target
    }

    /// Whether the template says that changes wait for a release.
    pub(crate) fn is_annotated(&self) -> bool {
        let meta = self.template.metadata.as_ref();
        let said = meta.and_then(|meta| meta.annotations.get(HOLD_UPGRADE));
        said.is_some_and(|said| said == HOLD_UPGRADE_ON)
    }

    /// When something is tried again that may be tried without an end: as the order says, and then after the longest wait.
    pub(crate) fn retry_at(&self, attempt: u32, failed: Timestamp) -> Timestamp {
        let retry = self.order.retry;
        let wait = if attempt > retry.limit { retry.cap.max(retry.base) } else { retry.after(attempt) };
        Timestamp(failed.0.saturating_add_unsigned(wait.0))
    }
}

fn read_share(value: &IntOrString, least: u32) -> Option<Share> {
    match value {
        IntOrString::Int(number) => {
            u32::try_from(*number).ok().filter(|number| *number >= least).map(Share::Number)
        }
        IntOrString::String(text) => {
            let percent: u32 = text.strip_suffix('%')?.parse().ok()?;
            Some(Share::Percent(percent)).filter(|_| (least..=100).contains(&percent))
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
