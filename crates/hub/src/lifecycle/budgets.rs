//! Disruption budgets: an eviction that is put off begins only where a budget would let it pass.
//!
//! An API server asks webhooks about an eviction before it looks at budgets, so an eviction that is put off never gets there. Its
//! pod goes out of service as soon as the operation begins; that is the disruption, and here is where it is counted. What a
//! budget allows is in its status, which lags behind: pods whose deletion has begun and which are still ready are not in it
//! yet, and are taken off. Only one eviction is looked at and begun at a time, so that two do not take the same place.
//!
//! A deletion that is no eviction asks no budget, as in Kubernetes.

use std::sync::Arc;

use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kube::api::{Api, ListParams};
use kube::{Client, ResourceExt};
use safepoint_core::lifecycle::{DELETE_ID, Operation, OperationId};
use tokio::sync::{Mutex, MutexGuard};

use super::known::{Key, Known};
use super::rules::selector;
use super::world::Pods;

/// The budgets of all namespaces.
pub(super) struct Budgets {
    client: Client,
    turn: Mutex<()>,
}

// === impl Budgets ===

impl Budgets {
    pub(super) fn new(client: Client) -> Self {
        Self { client, turn: Mutex::new(()) }
    }

    /// Waits until no other eviction is being begun. The turn is over when this is dropped.
    pub(super) async fn turn(&self) -> MutexGuard<'_, ()> {
        self.turn.lock().await
    }

    /// The budget that does not let this pod be evicted now, if there is one. The phase is the one in its status.
    pub(super) async fn against(
        &self,
        pods: &Pods,
        key: &Key,
        known: &Known,
        phase: &str,
    ) -> Result<Option<String>, kube::Error> {
        // Kubernetes: what does not run yet, or no more, is no disruption.
        if matches!(phase, "Pending" | "Succeeded" | "Failed") {
            return Ok(None);
        }
        let api: Api<PodDisruptionBudget> = Api::namespaced(self.client.clone(), &key.namespace);
        let budgets = match api.list(&ListParams::default()).await {
            Ok(budgets) => budgets.items,
            // There are no budgets here; the embedded API has none.
            Err(kube::Error::Api(status)) if status.code == 404 => return Ok(None),
            Err(error) => return Err(error),
        };
        let budgets: Vec<_> = budgets.iter().filter(|budget| selects(budget, known)).collect();
        if budgets.is_empty() {
            return Ok(None);
        }
        let mut others = pods.of_namespace(&key.namespace);
        others.retain(|(other, _)| other != key);
        let others: Vec<Arc<Known>> = others.into_iter().map(|(_, known)| known).collect();
        let against = budgets.into_iter().find(|budget| !allows(budget, known, &others));
        Ok(against.map(ResourceExt::name_any))
    }
}

/// Whether a budget is about a pod. One whose selector is not there is about none; one that cannot be read is about all.
fn selects(budget: &PodDisruptionBudget, pod: &Known) -> bool {
    let wanted = budget.spec.as_ref().and_then(|spec| spec.selector.as_ref());
    wanted.is_some_and(|wanted| selector(wanted).map_or(true, |wanted| wanted.matches(&pod.labels)))
}

/// Whether a budget lets one more of its pods go. `others` may be about pods that are not its own.
fn allows(budget: &PodDisruptionBudget, pod: &Known, others: &[Arc<Known>]) -> bool {
    let Some(status) = &budget.status else { return false };
    // It was changed, and nobody has counted since.
    if status.observed_generation < budget.metadata.generation {
        return false;
    }
    if !pod.ready {
        let policy = budget.spec.as_ref().and_then(|spec| spec.unhealthy_pod_eviction_policy.as_deref());
        let healthy = status.desired_healthy > 0 && status.current_healthy >= status.desired_healthy;
        if policy == Some("AlwaysAllow") || healthy {
            return true;
        }
    }
    let others: Vec<&Known> = others
        .iter()
        .map(|other| &**other)
        .filter(|other| !other.deleting && selects(budget, other))
        .collect();
    let count = |is: &dyn Fn(&Known) -> bool| {
        i32::try_from(others.iter().filter(|other| is(other)).count()).unwrap_or(i32::MAX)
    };
    let going = count(&|other| other.ready && has_begun(other));
    let staying = count(&|other| other.ready && !has_begun(other));
    // Where all of its pods take part they can be counted here, and no status that lags behind is needed for it.
    let all_seen = count(&|_| true).saturating_add(1) == status.expected_pods;
    status.disruptions_allowed > going && (!all_seen || staying >= status.desired_healthy)
}

/// Whether the deletion of a pod has begun.
fn has_begun(pod: &Known) -> bool {
    pod.view().operations.get(&OperationId::from(DELETE_ID)).is_some_and(Operation::is_alive)
}

#[cfg(test)]
#[expect(clippy::needless_pass_by_value, reason = "a JSON text reads best where it is passed")]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn budget(allowed: i32, healthy: (i32, i32), expected: i32, spec: Value) -> PodDisruptionBudget {
        let mut budget = json!({"metadata": {"name": "web", "generation": 2},
            "spec": {"selector": {"matchLabels": {"app": "web"}}},
            "status": {"observedGeneration": 2, "disruptionsAllowed": allowed, "currentHealthy": healthy.0,
                "desiredHealthy": healthy.1, "expectedPods": expected}});
        budget["spec"].as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
        serde_json::from_value(budget).unwrap()
    }

    fn pod(begun: bool, ready: bool) -> Arc<Known> {
        let mut labels = json!({"app": "web", "kusionstack.io/control": "true"});
        if begun {
            labels["operating.podopslifecycle.kusionstack.io/pod-delete"] = json!("1");
            labels["operation-type.podopslifecycle.kusionstack.io/pod-delete"] = json!("delete");
        }
        let conditions = json!([{"type": "Ready", "status": if ready { "True" } else { "False" }}]);
        Arc::new(
            Known::read(&json!({"metadata": {"labels": labels}, "status": {"conditions": conditions}}))
                .unwrap(),
        )
    }

    #[test]
    fn of_three_pods_that_are_drained_at_once_only_as_many_begin_as_the_budget_allows() {
        let budget = budget(1, (3, 2), 3, json!({}));
        let one = pod(false, true);
        assert!(allows(&budget, &one, &[pod(false, true), pod(false, true)]));
        assert!(!allows(&budget, &one, &[pod(true, true), pod(false, true)]), "one is on its way");
        // It is not ready any more, and the status does not say so yet.
        assert!(!allows(&budget, &one, &[pod(true, false), pod(false, true)]));
    }

    #[test]
    fn a_status_that_has_counted_a_pod_out_is_believed() {
        // Five pods, of which the two that are not seen here do not take part.
        let budget = budget(1, (4, 3), 5, json!({}));
        assert!(allows(&budget, &pod(false, true), &[pod(true, false), pod(false, true)]));
        assert!(!allows(&budget, &pod(false, true), &[pod(true, true), pod(false, true)]));
    }

    #[test]
    fn a_budget_that_allows_nothing_or_has_not_counted_lets_nobody_go() {
        let others = [pod(false, true)];
        assert!(!allows(&budget(0, (2, 2), 2, json!({})), &pod(false, true), &others));
        let mut behind = budget(1, (2, 1), 2, json!({}));
        assert!(allows(&behind, &pod(false, true), &others));
        behind.metadata.generation = Some(3);
        assert!(!allows(&behind, &pod(false, true), &others));
        behind.status = None;
        assert!(!allows(&behind, &pod(false, true), &others));
    }

    #[test]
    fn a_pod_that_is_not_ready_goes_as_the_policy_of_the_budget_says() {
        let ill = pod(false, false);
        assert!(allows(&budget(0, (2, 2), 3, json!({})), &ill, &[]));
        assert!(!allows(&budget(0, (1, 2), 3, json!({})), &ill, &[]));
        let always = json!({"unhealthyPodEvictionPolicy": "AlwaysAllow"});
        assert!(allows(&budget(0, (1, 2), 3, always), &ill, &[]));
    }

    #[test]
    fn a_budget_is_about_the_pods_that_its_selector_selects() {
        let web = pod(false, true);
        assert!(selects(&budget(0, (0, 0), 0, json!({})), &web));
        assert!(!selects(&budget(0, (0, 0), 0, json!({"selector": {"matchLabels": {"app": "db"}}})), &web));
        assert!(selects(&budget(0, (0, 0), 0, json!({"selector": {}})), &web));
        assert!(!selects(&budget(0, (0, 0), 0, json!({"selector": null})), &web));
        let strange = json!({"selector": {"matchExpressions": [{"key": "app", "operator": "Like"}]}});
        assert!(selects(&budget(0, (0, 0), 0, strange), &web), "what cannot be read protects");
    }
}
