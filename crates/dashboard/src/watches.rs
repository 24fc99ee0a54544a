//! The watches that feed [`Known`], as a module.

use std::collections::HashSet;
use std::fmt::Debug;
use std::hash::Hash;
use std::sync::Arc;

use futures::StreamExt;
use k8s_openapi::api::core::v1::Node;
use kube::api::Api;
use kube::runtime::watcher::Event;
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Client, Resource, ResourceExt};
use safepoint_api::{NodeGate, StaticPod};
use safepoint_supervisor::{Ctx, Fault, Module, Spec};
use serde::de::DeserializeOwned;
use tokio::sync::watch;

use crate::known::{GateFacts, Known, News, NodeFacts};

/// The watches as a module.
pub(crate) struct Watches {
    pub(crate) client: Client,
    pub(crate) known: Arc<Known>,
    pub(crate) after: Vec<&'static str>,
}

// === impl Watches ===

impl Watches {
    pub(crate) const NAME: &str = "dashboard-watches";

    /// Follows all objects of a kind. The receiver says when all have been seen once. `name` tells one from another, and `news`
    /// says what became of it.
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
        let (known, stop) = (Arc::clone(&self.known), ctx.token());
        let api: Api<K> = Api::all(self.client.clone());
        ctx.spawn(task, async move {
            let events = watcher(api, watcher::Config::default()).default_backoff();
            let mut events = std::pin::pin!(events.take_until(stop.cancelled_owned()));
            let (mut all, mut fresh) = (HashSet::new(), HashSet::new());
            while let Some(event) = events.next().await {
                match event {
                    Ok(Event::Init) => fresh.clear(),
                    Ok(Event::InitApply(object)) => {
                        let name = name(&object);
                        fresh.insert(name.clone());
                        known.take(news(name, Some(object)));
                    }
                    Ok(Event::InitDone) => {
                        known.forget(all.difference(&fresh).cloned().map(|gone| news(gone, None)));
                        all = std::mem::take(&mut fresh);
                        complete.send_replace(true);
                    }
                    Ok(Event::Apply(object)) => {
                        let name = name(&object);
                        all.insert(name.clone());
                        known.take(news(name, Some(object)));
                    }
                    Ok(Event::Delete(object)) => {
                        let name = name(&object);
                        all.remove(&name);
                        known.take(news(name, None));
                    }
                    Err(error) => tracing::debug!(%error, "the watch is tried again"),
                }
            }
            Err(Fault::transient("the watch has ended"))
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
