//! How it all stands, as a verdict and as a sentence.

use super::order::Order;
use super::outcome::{Plan, Promotion, Verdict};

/// Fills in the verdict and the sentence of a plan whose counts are known.
pub(super) fn judge(order: &Order, plan: &mut Plan, stopped: bool) {
    let counts = plan.counts;
    let left = counts.upgrading + counts.waiting + counts.failed;
    // A canary that was given up stops everybody who waits for it.
    let stuck = counts.waiting == 0 || matches!(plan.promotion, Promotion::Failed { .. });
    plan.verdict = if left == 0 && (counts.upgraded > 0 || counts.total == 0) {
        Verdict::Success
    } else if order.paused {
        Verdict::Paused
    } else if stopped {
        Verdict::Stopped
    } else if counts.failed > 0 && counts.retrying == 0 && counts.upgrading == 0 && stuck {
        Verdict::Failed
    } else {
        Verdict::Upgrading
    };
    plan.why = sentence(order, plan);
}

fn sentence(order: &Order, plan: &Plan) -> String {
    let counts = plan.counts;
    if counts.total == 0 {
        return "no node runs the static pod".into();
    }
    let mut text = format!("{} of {} upgraded", counts.upgraded, counts.total);
    for (count, word) in [
        (counts.upgrading, "under way"),
        (counts.waiting, "waiting"),
        (counts.deferred, "put off"),
        (counts.failed, "failed"),
    ] {
        if count > 0 {
            text.push_str(&format!(", {count} {word}"));
        }
    }
    match plan.verdict {
        Verdict::Success => return text,
        Verdict::Paused => text.push_str("; paused"),
        Verdict::Stopped => {
            text.push_str("; stopped, because too many have failed: change the template, or set restartedAt");
        }
        Verdict::Failed => text.push_str("; nothing more is tried: change the template, or set restartedAt"),
        Verdict::Upgrading => {}
    }
    let canaries = match &plan.promotion {
        Promotion::NoCanaries | Promotion::Passed => return text + waits(order, plan),
        Promotion::Upgrading => "; canaries first".into(),
        Promotion::Watching { until } => format!("; the canaries are watched until {until}"),
        Promotion::Failed { node } => format!("; canary {node} has failed"),
        Promotion::Absent => "; no canary is there to go first".into(),
    };
    text + &canaries
}

/// Says why nothing goes on where that is not plain from the counts.
fn waits(order: &Order, plan: &Plan) -> &'static str {
    let counts = plan.counts;
    let idle = plan.verdict == Verdict::Upgrading && counts.waiting > 0 && counts.upgrading == 0;
    match order.strategy {
        super::Strategy::Ota if idle => "; the nodes' owners decide",
        super::Strategy::Rolling if idle && counts.taken >= counts.places => {
            "; pods that are not ready take every place in the window"
        }
        super::Strategy::Ota | super::Strategy::Rolling => "",
    }
}
