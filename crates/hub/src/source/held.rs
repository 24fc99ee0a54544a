//! Whether a pod is held now, for whoever wants it to end; and whether enough others of its ReplicaSet are to go already.

use k8s_openapi::api::apps::v1::ReplicaSet;
use kube::Client;
use kube::api::Api;

use super::janitor::surplus;
use super::judge::{Request, Verdict, judge};
use super::message::{Way, denial};
use super::wish::How;
use crate::clock::Clock;
use crate::pod::{Marks, Owner, Pod};
use crate::seen::Seen;
use crate::webhook::Denial;

/// Who deletes what a ReplicaSet has too many.
const REPLICA_SETS: &str = "system:serviceaccount:kube-system:replicaset-controller";

/// Who asks for the end of which pod.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asks<'a> {
    pub(crate) namespace: &'a str,
    pub(crate) uid: &'a str,
    /// The pod's controller.
    pub(crate) owner: Option<&'a Owner>,
    pub(crate) by: &'a str,
}

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

/// Whether a ReplicaSet has wished the ends of enough others. Where that cannot be told it has not, and the janitor counts.
pub(crate) async fn is_one_too_many(client: &Client, seen: &Seen, asks: Asks<'_>) -> bool {
    let Some(owner) = asks.owner.filter(|_| asks.by == REPLICA_SETS) else { return false };
    let sets: Api<ReplicaSet> = Api::namespaced(client.clone(), asks.namespace);
    let Ok(Some(set)) = sets.get_opt(&owner.name).await else { return false };
    let wished = seen.index().wished_beside(asks.uid, &owner.uid);
    surplus(&set).is_some_and(|surplus| usize::try_from(surplus).is_ok_and(|surplus| wished >= surplus))
}
