//! Whether as many pods of a ReplicaSet are to go already as it has too many.
//!
//! A ReplicaSet that may not delete the pod it chose tries again, and may choose another one: the order in which it takes pods changes
//! while they grow older. Were each choice noted, more pods would go than it has too many, all of them perhaps, and nobody would be
//! left to serve until it has made new ones.
//!
//! So it is counted, from what the API server has at that moment and one after the other: what is watched comes later than the next
//! try does. Two hubs that are asked at the same moment do not know of each other; what they note too much the janitor takes off.

use k8s_openapi::api::apps::v1::ReplicaSet;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{Api, ListParams};
use kube::core::{PartialObjectMeta, Selector};
use kube::{Client, ResourceExt};
use safepoint_api::names::kusionstack::{TO_DELETE, TO_DELETE_OLD};
use safepoint_api::names::safepoint::END_WISHED;
use tokio::sync::{Mutex, MutexGuard};

use crate::pod::Owner;

/// Who deletes what a ReplicaSet has too many, where each controller has an account of its own.
const REPLICA_SETS: &str = "system:serviceaccount:kube-system:replicaset-controller";
/// All controllers, where they have none. It may be another one that asks.
const CONTROLLERS: &str = "system:kube-controller-manager";
/// ReplicaSets that share a turn wait for each other, which costs time and nothing else.
const TURNS: usize = 64;
/// Pods that have ended are nobody's to count.
const ALIVE: &str = "status.phase!=Failed,status.phase!=Succeeded";

/// Who asks for the end of which pod.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asks<'a> {
    pub(crate) namespace: &'a str,
    pub(crate) uid: &'a str,
    /// The pod's controller.
    pub(crate) owner: Option<&'a Owner>,
    pub(crate) by: &'a str,
}

/// Who may note a wish, one after the other.
pub(crate) struct Surplus {
    client: Client,
    turns: [Mutex<()>; TURNS],
}

/// Leave to note one wish. Where there is something to count, nobody else counts before it is dropped.
pub(crate) type Turn<'a> = Option<MutexGuard<'a, ()>>;

// === impl Surplus ===

impl Surplus {
    pub(crate) fn new(client: Client) -> Self {
        Self { client, turns: std::array::from_fn(|_| Mutex::default()) }
    }

    /// Leave to note this wish; none if enough others are to go. Where that cannot be told there is leave, and the janitor counts.
    pub(crate) async fn leave(&self, asks: Asks<'_>) -> Option<Turn<'_>> {
        let Some(owner) = asks.owner.filter(|owner| owner.kind == "ReplicaSet" && may_be_its(asks.by)) else {
            return Some(None);
        };
        let turn =
            owner.uid.bytes().fold(0_usize, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
        let turn = self.turns[turn % TURNS].lock().await;
        match self.look(asks.namespace, owner).await {
            Ok(Some((replicas, pods))) => has_room(replicas, &pods, asks).then_some(Some(turn)),
            Ok(None) => Some(Some(turn)),
            Err(error) => {
                tracing::warn!(%error, replica_set = owner.name, "cannot count the pods of a ReplicaSet");
                Some(Some(turn))
            }
        }
    }

    /// How many pods a ReplicaSet is to have, and those that it has; nothing if it goes away with all of them.
    async fn look(
        &self,
        namespace: &str,
        owner: &Owner,
    ) -> Result<Option<(usize, Vec<ObjectMeta>)>, kube::Error> {
        let sets: Api<ReplicaSet> = Api::namespaced(self.client.clone(), namespace);
        let set = sets.get_opt(&owner.name).await?;
        let stays = |set: &ReplicaSet| {
            set.uid().is_some_and(|uid| uid == owner.uid) && set.metadata.deletion_timestamp.is_none()
        };
        let Some(spec) = set.filter(stays).and_then(|set| set.spec) else { return Ok(None) };
        let Ok(selector) = Selector::try_from(spec.selector) else { return Ok(None) };
        let pods: Api<Pod> = Api::namespaced(self.client.clone(), namespace);
        let asked = ListParams::default().labels_from(&selector).fields(ALIVE);
        let pods = pods.list_metadata(&asked).await?.items;
        let its = |pod: PartialObjectMeta<Pod>| {
            let is_its = Owner::of(&pod.metadata).is_some_and(|of| of.uid == owner.uid);
            (is_its && pod.metadata.deletion_timestamp.is_none()).then_some(pod.metadata)
        };
        let replicas = usize::try_from(spec.replicas.unwrap_or(1)).unwrap_or_default();
        Ok(Some((replicas, pods.into_iter().filter_map(its).collect())))
    }
}

fn may_be_its(user: &str) -> bool {
    matches!(user, REPLICA_SETS | CONTROLLERS)
}

/// Whether enough pods stay if this one goes too. A controller that may be another one is counted only while there are too many.
fn has_room(replicas: usize, pods: &[ObjectMeta], asks: Asks<'_>) -> bool {
    let stays = |pod: &&ObjectMeta| pod.uid.as_deref() != Some(asks.uid) && !is_wished_gone(pod);
    let has_too_many = pods.len() > replicas;
    (asks.by == CONTROLLERS && !has_too_many) || pods.iter().filter(stays).count() >= replicas
}

fn is_wished_gone(pod: &ObjectMeta) -> bool {
    let has_label = |key: &str| pod.labels.as_ref().is_some_and(|labels| labels.contains_key(key));
    has_label(TO_DELETE)
        || has_label(TO_DELETE_OLD)
        || pod.annotations.as_ref().is_some_and(|annotations| annotations.contains_key(END_WISHED))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn pod(uid: &str, more: &Value) -> ObjectMeta {
        let mut meta = json!({"uid": uid});
        meta.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap_or_default());
        serde_json::from_value(meta).unwrap()
    }

    fn pods(wished: &[&str]) -> Vec<ObjectMeta> {
        let one = |uid: &str| match wished.contains(&uid) {
            true => pod(uid, &json!({"labels": {TO_DELETE: "1"}})),
            false => pod(uid, &json!({})),
        };
        ["a", "b", "c"].into_iter().map(one).collect()
    }

    fn asks<'a>(uid: &'a str, by: &'a str) -> Asks<'a> {
        Asks { namespace: "shop", uid, owner: None, by }
    }

    #[test]
    fn as_many_go_as_are_too_many_whichever_are_chosen() {
        assert!(has_room(2, &pods(&[]), asks("a", REPLICA_SETS)));
        assert!(!has_room(2, &pods(&["a"]), asks("b", REPLICA_SETS)));
        assert!(has_room(1, &pods(&["a"]), asks("b", REPLICA_SETS)));
        assert!(!has_room(1, &pods(&["a", "b"]), asks("c", REPLICA_SETS)));
        assert!(has_room(0, &pods(&["a", "b"]), asks("c", REPLICA_SETS)));
    }

    #[test]
    fn one_whose_end_was_wished_at_its_node_counts_too() {
        let held = pod("a", &json!({"annotations": {END_WISHED: "{}"}}));
        let all = [held, pod("b", &json!({})), pod("c", &json!({}))];
        assert!(!has_room(2, &all, asks("b", REPLICA_SETS)));
    }

    #[test]
    fn a_controller_without_a_name_of_its_own_may_have_another_reason_where_none_is_too_many() {
        assert!(has_room(3, &pods(&[]), asks("a", CONTROLLERS)));
        assert!(!has_room(3, &pods(&[]), asks("a", REPLICA_SETS)));
        assert!(!has_room(2, &pods(&["a"]), asks("b", CONTROLLERS)));
    }

    #[test]
    fn people_are_not_counted() {
        assert!(!may_be_its("jane") && may_be_its(REPLICA_SETS) && may_be_its(CONTROLLERS));
    }
}
