//! Whether a pod is held now, for whoever wants it to end.

use super::judge::{Request, Verdict, judge};
use super::message::{Way, denial};
use super::wish::How;
use crate::clock::Clock;
use crate::pod::{Marks, Pod};
use crate::seen::Seen;
use crate::webhook::Denial;

/// How the end of a pod is asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ends<'a> {
    pub(crate) user: &'a str,
    pub(crate) grace: Option<i64>,
    pub(crate) how: How,
}

/// What is said to somebody whose pod its node would hold; nothing where it would not.
pub(crate) fn held(seen: &Seen, clock: &Clock, pod: &Pod, ends: Ends<'_>, way: Way) -> Option<Denial> {
    let workload_holds = carrier(seen, pod).is_some();
    let gate = pod.node.as_deref().and_then(|node| seen.gates().get(node));
    let asked = Request { user: ends.user, grace: ends.grace, now: clock.now(), workload_holds };
    match judge(pod, gate.as_deref(), &asked) {
        Verdict::Allow(_) => None,
        Verdict::Defer(causes) => Some(denial(pod, &causes, ends.how, way)),
    }
}

/// The workload that holds the pod's upgrades, where the pod does not say so yet and nobody else has decided.
pub(super) fn carrier(seen: &Seen, pod: &Pod) -> Option<String> {
    if matches!(pod.marks, Marks::Own { .. }) || pod.marks.holds() {
        return None;
    }
    let index = seen.index();
    let workload = index.workload(&pod.owner.as_ref()?.uid).filter(|workload| workload.holds)?;
    Some(workload.to_string())
}
