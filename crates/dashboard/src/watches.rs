//! The watches that feed [`Known`], as a module.

use std::collections::HashSet;
use std::fmt::Debug;
use std::hash::Hash;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use k8s_openapi::api::core::v1::Node;
use kube::api::Api;
use kube::runtime::watcher;
use kube::runtime::watcher::Event;
use kube::{Client, Resource, ResourceExt};
use safepoint_api::{NodeGate, StaticPod};
use safepoint_supervisor::{Ctx, Fault, Module, Spec};
use serde::de::DeserializeOwned;
use tokio::sync::watch;

use crate::dashboard::Clock;
use crate::known::{GateFacts, Known, News, NodeFacts};

/// A watch on which nothing came for so many seconds is begun again, from where it was: a line that has gone dead does not say so.
const QUIET: u32 = 30;
/// When the cluster is asked again after an error, at first and at most.
const SOONEST: Duration = Duration::from_secs(1);
const LATEST: Duration = Duration::from_secs(30);

/// The watches as a module.
pub(crate) struct Watches {
    pub(crate) client: Client,
    pub(crate) known: Arc<Known>,
    pub(crate) clock: Clock,
    pub(crate) after: Vec<&'static str>,
}

// === impl Watches ===

impl Watches {
    pub(crate) const NAME: &str = "dashboard-watches";

    /// Follows all objects of a kind. The receiver says when all have been seen once. `name` tells one from another, and `news`
    /// says what became of it. After an error it begins anew: a watch that works again says nothing until something happens.
    fn follow<K, I>(
        &self,
        ctx: &Ctx,
        task: &'static str,
        name: impl Fn(&K) -> I + Send + 'static,
        news: impl Fn(I, Option<K>) -> News + Send + 'static,
    ) -> watch::Receiver<bool>
    where
        K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + 'static,
        I: Clone + Eq + Hash + Send + 'static,
    {
        let (complete, told) = watch::channel(false);
        let (known, clock, stop) = (Arc::clone(&self.known), self.clock, ctx.token());
        let api: Api<K> = Api::all(self.client.clone());
        ctx.spawn(task, async move {
            let mut wait = SOONEST;
            let mut all = HashSet::new();
            loop {
                let config = watcher::Config::default().timeout(QUIET);
                let mut events = std::pin::pin!(watcher(api.clone(), config));
                let mut fresh = HashSet::new();
                let error = loop {
                    let event = tokio::select! {
                        event = events.next() => event,
                        () = stop.cancelled() => return Ok(()),
                    };
                    match event {
                        Some(Ok(Event::Init)) => fresh.clear(),
                        Some(Ok(Event::InitApply(object))) => {
                            let name = name(&object);
                            fresh.insert(name.clone());
                            known.take(news(name, Some(object)));
                        }
                        Some(Ok(Event::InitDone)) => {
                            known.forget(all.difference(&fresh).cloned().map(|gone| news(gone, None)));
                            all = std::mem::take(&mut fresh);
                            known.take(News::Complete(task));
                            complete.send_replace(true);
                            wait = SOONEST;
                        }
                        Some(Ok(Event::Apply(object))) => {
                            let name = name(&object);
                            all.insert(name.clone());
                            known.take(news(name, Some(object)));
                        }
                        Some(Ok(Event::Delete(object))) => {
                            let name = name(&object);
                            all.remove(&name);
                            known.take(news(name, None));
                        }
                        // The cluster has forgotten where we were. It is asked for everything at once, and nothing is lost by it.
                        Some(Err(watcher::Error::WatchError(status))) if status.code == 410 => {}
                        Some(Err(error)) => break error,
                        None => return Err(Fault::transient("the watch has ended")),
                    }
                };
                tracing::warn!(%error, kind = task, "the cluster is not heard, and is asked again");
                known.take(News::Lost(task, clock()));
                tokio::select! {
                    () = tokio::time::sleep(wait) => wait = (wait * 2).min(LATEST),
                    () = stop.cancelled() => return Ok(()),
                }
            }
        });
        told
    }
}

impl Module for Watches {
    fn spec(&self) -> Spec {
        Spec::new(Self::NAME).after(self.after.iter().copied())
    }

    async fn run(&self, ctx: Ctx) -> Result<(), Fault> {
        let nodes = self.follow(&ctx, "nodes", Node::name_any, |name, node| {
            News::Node(name, node.as_ref().map(NodeFacts::of))
        });
        let gates = self.follow(&ctx, "gates", NodeGate::name_any, |name, gate| {
            News::Gate(name, gate.map(GateFacts::of))
        });
        let name = |object: &StaticPod| (object.namespace().unwrap_or_default(), object.name_any());
        let static_pods = self.follow(&ctx, "static-pods", name, |name, object: Option<StaticPod>| {
            let slim = |mut object: StaticPod| {
                object.metadata.managed_fields = None;
                Arc::new(object)
            };
            News::StaticPod(name, object.map(slim))
        });
        for mut complete in [nodes, gates, static_pods] {
            tokio::select! {
                seen = complete.wait_for(|complete| *complete) => drop(seen.map_err(Fault::transient)?),
                () = ctx.cancelled() => return Ok(()),
            }
        }
        ctx.ready();
        ctx.cancelled().await;
        Ok(())
    }
}
