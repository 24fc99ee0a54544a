//! Takes wishes off that nobody has any more.
//!
//! Who evicts asks again while it wants the end, so silence withdraws. A controller's reason may go away before the pod is
//! released: the Deployment was scaled up again, the rollout rolled back, the taint lifted. A person's wish stays until the
//! person takes it off.

mod wanted;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::SignedDuration;
use k8s_openapi::api::apps::v1::{ControllerRevision, DaemonSet, ReplicaSet, StatefulSet};
use k8s_openapi::api::core::v1::{Namespace, Node, Pod};
use kube::Client;
use kube::api::{Api, ListParams, Patch, PatchParams};
use safepoint_api::names::kubernetes::CONTROLLER_REVISION_HASH;
use safepoint_api::names::kusionstack::{DELETE_TIMESTAMP, TO_DELETE};
use safepoint_api::names::safepoint::END_WISHED;
use safepoint_supervisor::{Ctx, Fault, Module, Spec};
use serde_json::json;

use super::wish::{Asker, Wish};
use crate::clock::Clock;
use crate::facts::{Count, Facts};
use crate::lifecycle::WISH;
use crate::pod::Owner;
use crate::seen::{PodFacts, Seen, Uid};
use wanted::{Above, Ground, is_wanted_gone};

/// How often wishes are looked at.
const EVERY: Duration = Duration::from_secs(10);
/// `kubectl drain` asks again after five seconds, and a wish is written anew after thirty.
const SILENCE: SignedDuration = SignedDuration::from_secs(60);
/// The scheduler looks again at what it could not place after five minutes at the latest.
const SCHEDULERS_SILENCE: SignedDuration = SignedDuration::from_mins(10);

/// The janitor as a module.
pub(crate) struct Janitor {
    pub(crate) client: Client,
    pub(crate) seen: Arc<Seen>,
    pub(crate) clock: Clock,
    pub(crate) facts: Arc<Facts>,
    pub(crate) after: Vec<&'static str>,
}

/// What was asked of the API server in one round, so that nothing is asked twice.
#[derive(Default)]
struct Round {
    namespaces: HashMap<String, bool>,
    nodes: HashMap<String, Option<Node>>,
    above: HashMap<String, Above>,
}

// === impl Janitor ===

impl Module for Janitor {
    fn spec(&self) -> Spec {
        Spec::new("janitor").after(self.after.iter().copied())
    }

    async fn run(&self, ctx: Ctx) -> Result<(), Fault> {
        ctx.ready();
        loop {
            self.look().await;
            tokio::select! {
                () = tokio::time::sleep(EVERY) => {}
                () = ctx.cancelled() => return Ok(()),
            }
        }
    }
}

impl Janitor {
    async fn look(&self) {
        let mut wished: Vec<(Uid, PodFacts)> = {
            let index = self.seen.index();
            index.wished().map(|(uid, pod)| (Arc::clone(uid), pod.clone())).collect()
        };
        // The oldest first: where a controller wants fewer gone than it wished, the last wishes are withdrawn.
        wished.sort_by_key(|(_, pod)| pod.wish.as_ref().map(|wish| wish.at));
        let mut round = Round::default();
        for (uid, pod) in wished {
            let Some(wish) = pod.wish.as_deref() else { continue };
            match self.is_over(&mut round, &uid, &pod, wish).await {
                Ok(false) => {}
                Ok(true) => self.withdraw(&uid, &pod, wish).await,
                Err(error) => {
                    tracing::debug!(%error, pod = &*pod.name, "cannot tell whether a wish still stands");
                }
            }
        }
    }

    async fn is_over(
        &self,
        round: &mut Round,
        uid: &Uid,
        pod: &PodFacts,
        wish: &Wish,
    ) -> Result<bool, kube::Error> {
        let silent_for = |long: SignedDuration| self.clock.now().duration_since(wish.at) >= long;
        match wish.asker() {
            Asker::Person => Ok(false),
            Asker::Evictor => Ok(silent_for(SILENCE)),
            Asker::Controller if wish.by == "system:kube-scheduler" => Ok(silent_for(SCHEDULERS_SILENCE)),
            Asker::Controller => {
                let pods: Api<Pod> = Api::namespaced(self.client.clone(), &pod.namespace);
                let Some(found) = pods.get_opt(&pod.name).await? else { return Ok(false) };
                if found.metadata.uid.as_deref() != Some(&**uid) {
                    return Ok(false);
                }
                Ok(!self.is_wanted_gone(round, &found, wish.is_by_taint()).await?)
            }
        }
    }

    async fn is_wanted_gone(
        &self,
        round: &mut Round,
        pod: &Pod,
        by_taint: bool,
    ) -> Result<bool, kube::Error> {
        let namespace = pod.metadata.namespace.clone().unwrap_or_default();
        let namespace_ending = match round.namespaces.get(&namespace) {
            Some(ending) => *ending,
            None => {
                let api: Api<Namespace> = Api::all(self.client.clone());
                let found = api.get_opt(&namespace).await?;
                let ending = found.is_none_or(|found| found.metadata.deletion_timestamp.is_some());
                *round.namespaces.entry(namespace.clone()).or_insert(ending)
            }
        };
        let name = pod.spec.as_ref().and_then(|spec| spec.node_name.clone()).unwrap_or_default();
        let node = match round.nodes.get(&name) {
            Some(node) => node,
            None => {
                let api: Api<Node> = Api::all(self.client.clone());
                let found = api.get_opt(&name).await?;
                round.nodes.entry(name).or_insert(found)
            }
        };
        let above = match Owner::of(&pod.metadata) {
            None => &mut Above::Nobody,
            Some(owner) => {
                if !round.above.contains_key(&owner.uid) {
                    let found = self.above(&namespace, &owner).await?;
                    round.above.insert(owner.uid.clone(), found);
                }
                round.above.entry(owner.uid).or_insert(Above::Nobody)
            }
        };
        Ok(is_wanted_gone(
            &Ground { pod, node: node.as_ref(), namespace_ending, by_taint, now: self.clock.now() },
            above,
        ))
    }

    /// The controller of a pod as it is now.
    async fn above(&self, namespace: &str, owner: &Owner) -> Result<Above, kube::Error> {
        let sets = || Api::<ReplicaSet>::namespaced(self.client.clone(), namespace);
        let same = |uid: Option<&String>| uid == Some(&owner.uid);
        Ok(match &*owner.kind {
            "ReplicaSet" => match sets().get_opt(&owner.name).await? {
                Some(set) if same(set.metadata.uid.as_ref()) => Above::replica_set(&set),
                _ => Above::Nobody,
            },
            "StatefulSet" => {
                let api: Api<StatefulSet> = Api::namespaced(self.client.clone(), namespace);
                match api.get_opt(&owner.name).await? {
                    Some(set) if same(set.metadata.uid.as_ref()) => Above::StatefulSet(Box::new(set)),
                    _ => Above::Nobody,
                }
            }
            "DaemonSet" => {
                let api: Api<DaemonSet> = Api::namespaced(self.client.clone(), namespace);
                match api.get_opt(&owner.name).await? {
                    Some(set) if same(set.metadata.uid.as_ref()) => {
                        let newest = self.newest_revision(namespace, &owner.uid).await?;
                        Above::DaemonSet { set: Box::new(set), newest }
                    }
                    _ => Above::Nobody,
                }
            }
            _ => Above::Nobody,
        })
    }

    async fn newest_revision(&self, namespace: &str, owner: &str) -> Result<Option<String>, kube::Error> {
        let api: Api<ControllerRevision> = Api::namespaced(self.client.clone(), namespace);
        let all = api.list(&ListParams::default()).await?;
        let of_owner = all.items.into_iter().filter(|revision| {
            Owner::of(&revision.metadata).is_some_and(|controller| controller.uid == owner)
        });
        let newest = of_owner.max_by_key(|revision| revision.revision);
        Ok(newest.and_then(|newest| newest.metadata.labels?.remove(CONTROLLER_REVISION_HASH)))
    }

    /// Takes a wish off, unless it has been written anew since it was looked at.
    async fn withdraw(&self, uid: &Uid, pod: &PodFacts, wish: &Wish) {
        let pods: Api<Pod> = Api::namespaced(self.client.clone(), &pod.namespace);
        let mut change = json!({"metadata": {"uid": &**uid, "resourceVersion": &*pod.version,
            "annotations": {END_WISHED: null}}});
        if pod.through_lifecycle {
            change["metadata"]["labels"] = json!({TO_DELETE: null});
            change["metadata"]["annotations"] = json!({WISH: null, DELETE_TIMESTAMP: null});
        }
        match pods.patch_metadata(&pod.name, &PatchParams::default(), &Patch::Merge(change)).await {
            Ok(_) => {
                let (namespace, pod, by) = (&*pod.namespace, &*pod.name, &wish.by);
                tracing::info!(namespace, pod, by, how = ?wish.how, "nobody wishes the end of this pod any more");
                self.facts.count(Count::WishesWithdrawn);
            }
            // It has changed or is gone: the next round knows.
            Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409 | 422) => {}
            Err(error) => {
                tracing::warn!(%error, pod = &*pod.name, "cannot withdraw a wish; it is tried again");
            }
        }
    }
}
