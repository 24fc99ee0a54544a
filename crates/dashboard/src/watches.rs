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

/// How often the cluster is asked whether it is there, and how long it may take to answer.
const PULSE: Duration = Duration::from_secs(15);
const PATIENCE: Duration = Duration::from_secs(10);
/// What is lost then.
const LINE: &str = "line";

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
    /// says what became of it. After an error, and when the line is `dead`, it begins anew: a watch that works again says nothing
    /// until something happens.
    fn follow<K, I>(
        &self,
        ctx: &Ctx,
        task: &'static str,
        mut dead: watch::Receiver<()>,
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
                        changed = dead.changed() => match changed {
                            Ok(()) => break "it does not answer".to_owned(),
                            Err(_) => return Ok(()),
                        },
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
                        Some(Err(error)) => break error.to_string(),
                        None => return Err(Fault::transient("the watch has ended")),
                    }
                };
                tracing::warn!(error, kind = task, "the cluster is not heard, and is asked again");
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

/// Asks again and again whether the cluster is there, and tells when it is not: a watch on a line that has gone dead waits as one does
/// on which nothing happens.
async fn feel<F: Future<Output = bool>>(
    ask: impl Fn() -> F,
    known: Arc<Known>,
    clock: Clock,
    dead: watch::Sender<()>,
) {
    loop {
        tokio::time::sleep(PULSE).await;
        match tokio::time::timeout(PATIENCE, ask()).await {
            Ok(true) => known.take(News::Complete(LINE)),
            Ok(false) | Err(_) => {
                known.take(News::Lost(LINE, clock()));
                dead.send_replace(());
            }
        }
    }
}

impl Module for Watches {
    fn spec(&self) -> Spec {
        Spec::new(Self::NAME).after(self.after.iter().copied())
    }

    async fn run(&self, ctx: Ctx) -> Result<(), Fault> {
        let dead = watch::Sender::new(());
        let nodes = self.follow(&ctx, "nodes", dead.subscribe(), Node::name_any, |name, node| {
            News::Node(name, node.as_ref().map(NodeFacts::of))
        });
        let gates = self.follow(&ctx, "gates", dead.subscribe(), NodeGate::name_any, |name, gate| {
            News::Gate(name, gate.map(GateFacts::of))
        });
        let name = |object: &StaticPod| (object.namespace().unwrap_or_default(), object.name_any());
        let slim = |mut object: StaticPod| {
            object.metadata.managed_fields = None;
            Arc::new(object)
        };
        let static_pods = self.follow(&ctx, "static-pods", dead.subscribe(), name, move |name, object| {
            News::StaticPod(name, object.map(slim))
        });
        let (client, stop) = (self.client.clone(), ctx.token());
        let is_there = move || {
            let client = client.clone();
            // Whatever it answers.
            async move { matches!(client.apiserver_version().await, Ok(_) | Err(kube::Error::Api(_))) }
        };
        let felt = feel(is_there, Arc::clone(&self.known), self.clock, dead);
        ctx.spawn(LINE, async move {
            stop.run_until_cancelled_owned(felt).await;
            Ok(())
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::known::World;

    #[tokio::test(start_paused = true)]
    async fn a_line_that_has_gone_dead_without_a_word_is_found_dead_and_well_again() {
        let known = Arc::new(Known::new());
        let (is_well, dead) = (watch::Sender::new(false), watch::Sender::new(()));
        let mut felt = dead.subscribe();
        let well = is_well.clone();
        // It answers when it is well, and else never.
        let ask = move || {
            let mut well = well.subscribe();
            async move { well.wait_for(|well| *well).await.is_ok() }
        };
        let begun = tokio::time::Instant::now();
        let clock = || "2026-11-16T12:00:00Z".parse().unwrap();
        let mut heard = known.changes();
        let feeling = feel(ask, Arc::clone(&known), clock, dead);
        let seen = async {
            felt.changed().await.unwrap();
            assert_eq!(known.look(World::lost_since), Some(clock()));
            assert!(
                begun.elapsed() <= 2 * (PULSE + PATIENCE),
                "by the clock of the test, which waits for nobody"
            );
            heard.mark_unchanged();
            is_well.send_replace(true);
            heard.changed().await.unwrap();
            assert_eq!(known.look(World::lost_since), None);
        };
        tokio::select! {
            () = feeling => unreachable!("it goes on for ever"),
            () = seen => {}
        }
    }
}
