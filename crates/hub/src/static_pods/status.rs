//! What a plan looks like in the status of a StaticPod. Pure.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use safepoint_api::names::openyurt::static_pod_condition::{FAILED, SUCCESS, UPGRADING};
use safepoint_api::static_pod::{CanaryPhase, NodeUpgrade, NodeUpgradeState, StaticPodStatus, limits};
use safepoint_core::rollout::{Node, Plan, Promotion, State, Then, Verdict};
use safepoint_core::{Revision, Timestamp};
use serde_json::Value;

use super::stage::Failures;

/// The longest sentence about a node, and about all.
const LONGEST: usize = 1_024;

/// Why nothing can be planned.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Stuck {
    /// One word.
    pub(crate) reason: &'static str,
    /// A sentence.
    pub(crate) text: String,
}

/// What there is to say beside the plan.
#[derive(Clone, Copy, Default)]
pub(crate) struct Said<'a> {
    /// What cannot be done.
    pub(crate) trouble: Option<&'a str>,
    /// Why nothing lies ready on which nodes.
    pub(crate) unstaged: Option<&'a Failures>,
}

/// The status that a plan makes. `before` is the status that is there; what is the same since then stays since then.
pub(crate) fn status(
    plan: &Plan,
    target: &Revision,
    generation: Option<i64>,
    said: Said<'_>,
    before: &StaticPodStatus,
    now: Timestamp,
) -> StaticPodStatus {
    let counts = plan.counts;
    let number = |count: usize| i32::try_from(count).unwrap_or(i32::MAX);
    let shown = shown(&plan.nodes);
    let truncated = shown.len() < plan.nodes.len();
    let everybody = counts.total > 0 && counts.upgraded == counts.total;
    let message = match said.trouble {
        Some(trouble) => format!("{}; {trouble}", plan.why),
        None => plan.why.clone(),
    };
    StaticPodStatus {
        observed_generation: generation,
        desired_number: number(counts.total),
        upgraded_number: number(counts.upgraded),
        ready_number: number(counts.ready),
        deferred_number: number(counts.deferred),
        failed_number: number(counts.failed),
        upgrading_number: Some(number(counts.upgrading)),
        canary_phase: phase(&plan.promotion),
        current_revision: if everybody { Some(target.to_string()) } else { before.current_revision.clone() },
        update_revision: Some(target.to_string()),
        nodes: shown.into_iter().map(|node| entry(node, said.unstaged, before, now)).collect(),
        nodes_truncated: truncated,
        conditions: conditions(plan, &message, generation, before, now),
    }
}

/// The status of an object that nothing can be planned for. The numbers stay what they were, with the generation they belong to.
pub(crate) fn stuck(
    stuck: &Stuck,
    generation: Option<i64>,
    before: &StaticPodStatus,
    now: Timestamp,
) -> StaticPodStatus {
    let all = [(SUCCESS, false), (UPGRADING, false), (FAILED, true)];
    let conditions = all
        .map(|(kind, is)| condition(kind, is, stuck.reason, &stuck.text, generation, before, now))
        .to_vec();
    StaticPodStatus { observed_generation: generation, conditions, ..before.clone() }
}

/// The status as a merge patch: what is not said any more has to be taken out.
pub(crate) fn patch(status: &StaticPodStatus) -> Value {
    let mut value = serde_json::to_value(status).unwrap_or_default();
    if let Some(fields) = value.as_object_mut() {
        for optional in [
            "observedGeneration",
            "upgradingNumber",
            "canaryPhase",
            "currentRevision",
            "updateRevision",
            "nodes",
            "conditions",
        ] {
            fields.entry(optional).or_insert(Value::Null);
        }
    }
    value
}

/// The word for how it all stands.
pub(crate) const fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Success => "Upgraded",
        Verdict::Upgrading => "RollingOut",
        Verdict::Failed => "NodesFailed",
        Verdict::Paused => "Paused",
        Verdict::Stopped => "Stopped",
    }
}

/// The nodes that are shown: those that somebody has to look at first, the upgraded ones last.
fn shown(nodes: &[Node]) -> Vec<&Node> {
    if nodes.len() <= limits::NODES {
        return nodes.iter().collect();
    }
    let rank = |state: &State| match state {
        State::Failed(_) => 0,
        State::Upgrading(_) => 1,
        State::Deferred(_) => 2,
        State::Waiting(_) => 3,
        State::Upgraded => 4,
    };
    // Ten thousand upgraded nodes of which five hundred are shown tell nobody anything.
    let mut rest: Vec<&Node> = nodes.iter().filter(|node| node.state != State::Upgraded).collect();
    rest.sort_by_key(|node| rank(&node.state));
    rest.truncate(limits::NODES);
    rest.sort_by(|one, other| one.name.cmp(&other.name));
    rest
}

fn entry(node: &Node, unstaged: Option<&Failures>, before: &StaticPodStatus, now: Timestamp) -> NodeUpgrade {
    let state = match &node.state {
        State::Upgraded => NodeUpgradeState::Upgraded,
        State::Upgrading(_) => NodeUpgradeState::Upgrading,
        State::Waiting(_) => NodeUpgradeState::Pending,
        State::Deferred(_) => NodeUpgradeState::Deferred,
        State::Failed(_) => NodeUpgradeState::Failed,
    };
    let reason = node.reason().map(str::to_owned);
    // Both are in the order of names.
    let known = before.nodes.binary_search_by(|known| known.node.as_str().cmp(&node.name)).ok();
    let known = known.and_then(|index| before.nodes.get(index));
    let since = known
        .filter(|known| known.state == state && known.reason == reason)
        .and_then(|known| known.since.clone());
    NodeUpgrade {
        node: node.name.to_string(),
        state,
        message: (node.state != State::Upgraded).then(|| {
            match unstaged.and_then(|all| all.get(&node.name)) {
                Some(failure) => cut(&format!("{node}; {failure}")),
                None => cut(&node.to_string()),
            }
        }),
        reason,
        since: Some(since.unwrap_or_else(|| time(now))),
        attempts: Some(node.attempts)
            .filter(|attempts| *attempts > 0)
            .and_then(|attempts| attempts.try_into().ok()),
        retry_at: match node.state {
            State::Failed(Then::RetryAt(at)) => Some(time(at)),
            _ => None,
        },
    }
}

fn conditions(
    plan: &Plan,
    message: &str,
    generation: Option<i64>,
    before: &StaticPodStatus,
    now: Timestamp,
) -> Vec<Condition> {
    let verdict = plan.verdict;
    let all = [
        (SUCCESS, verdict == Verdict::Success),
        (UPGRADING, matches!(verdict, Verdict::Upgrading | Verdict::Paused)),
        (FAILED, plan.counts.failed > 0 || matches!(verdict, Verdict::Failed | Verdict::Stopped)),
    ];
    all.map(|(kind, is)| condition(kind, is, word(verdict), message, generation, before, now)).to_vec()
}

fn condition(
    kind: &str,
    is: bool,
    reason: &str,
    message: &str,
    generation: Option<i64>,
    before: &StaticPodStatus,
    now: Timestamp,
) -> Condition {
    let status = if is { "True" } else { "False" };
    let known = before.conditions.iter().find(|known| known.type_ == kind && known.status == status);
    Condition {
        type_: kind.to_owned(),
        status: status.to_owned(),
        reason: reason.to_owned(),
        message: cut(message),
        observed_generation: generation,
        last_transition_time: known.map_or_else(|| time(now), |known| known.last_transition_time.clone()),
    }
}

const fn phase(promotion: &Promotion) -> Option<CanaryPhase> {
    Some(match promotion {
        Promotion::NoCanaries => return None,
        Promotion::Upgrading => CanaryPhase::Upgrading,
        Promotion::Watching { .. } => CanaryPhase::Watching,
        Promotion::Failed { .. } => CanaryPhase::Failed,
        Promotion::Absent => CanaryPhase::Absent,
        Promotion::Passed => CanaryPhase::Passed,
    })
}

/// To the second: that is what Kubernetes keeps of a time, and a status that comes back has to be the one that was written.
fn time(at: Timestamp) -> Time {
    Time(jiff::Timestamp::from_second(at.0.div_euclid(1_000)).unwrap_or_default())
}

fn cut(text: &str) -> String {
    match text.len() <= LONGEST {
        true => text.to_owned(),
        false => format!("{}…", &text[..text.floor_char_boundary(LONGEST)]),
    }
}

#[cfg(test)]
mod tests;
