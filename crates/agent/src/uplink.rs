//! The uplink: what the cluster wants of this node, list by list and event by event.
//!
//! It forwards and judges nothing. Whenever the gate begins anew or asks for it, everything is listed again.

pub(crate) mod feed;
mod gather;

use std::collections::{BTreeMap, BTreeSet};
use std::pin::Pin;
use std::sync::Arc;

use futures::StreamExt;
use futures::future::{AbortHandle, Abortable};
use futures::stream::{SelectAll, Stream, unfold};
use safepoint_core::{Effect, Event, Gate, Key, Kind, Uid};
use safepoint_supervisor::{Ctx, Fault, Module, Spec};
use serde_json::Value;
use tokio::sync::broadcast::error::RecvError;

use crate::cluster::{Cluster, Query, Resource};
use crate::faults;
use crate::journal::Body;
use crate::keeper::{self, Desk};
use crate::kubelet::{self, Adoption, Takeover};
use crate::link::Link;
use crate::seen::SeenPods;
use feed::{Feed, News};
use gather::{Gather, Known, Step};

/// The name of the module.
pub(crate) const NAME: &str = "uplink";

/// The uplink as a module.
pub(crate) struct Uplink {
    pub(crate) node: String,
    pub(crate) cluster: Cluster,
    pub(crate) desk: Desk,
    pub(crate) link: Link,
    pub(crate) seen: Arc<SeenPods>,
    /// The door, which has to be there first.
    pub(crate) after: &'static str,
    /// The takeover from a kubelet, where there is one.
    pub(crate) adoption: Option<Arc<Adoption>>,
}

/// Whose news it is: of the pods, or of one ConfigMap or Secret.
type Tagged = (Option<Key>, News);
type Feeds = SelectAll<Pin<Box<dyn Stream<Item = Tagged> + Send>>>;

/// One round, from a complete list on.
struct Round<'a> {
    uplink: &'a Uplink,
    gather: Gather,
    feeds: Feeds,
    followed: BTreeMap<Key, AbortHandle>,
    /// The pods that a kubelet has taken up, where what it runs is to be taken as it is.
    taken: Option<BTreeSet<Uid>>,
    /// What has to be remembered of those of them that have come to their end.
    over: Vec<(String, Option<Vec<u8>>)>,
}

// === impl Uplink ===

impl Module for Uplink {
    fn spec(&self) -> Spec {
        Spec::new(NAME).after([keeper::NAME, self.after])
    }

    async fn run(&self, ctx: Ctx) -> Result<(), Fault> {
        faults::misbehave(&ctx).await?;
        let mut starts = self.desk.starts();
        let mut effects = self.desk.effects();
        loop {
            starts.mark_unchanged();
            let mut round = Round::begin(self).await?;
            // Whether the cluster can be reached is shown, and is no reason not to be ready: the gate does without.
            ctx.ready();
            loop {
                tokio::select! {
                    news = round.feeds.next() => {
                        let Some(news) = news else { return Err(Fault::transient("the feeds have ended")) };
                        if !round.take(news).await? {
                            break;
                        }
                    }
                    effect = effects.recv() => match effect.as_deref() {
                        Ok(Effect::Relist) | Err(RecvError::Lagged(_)) => break,
                        Ok(_) => {}
                        Err(RecvError::Closed) => return Ok(()),
                    },
                    changed = starts.changed() => {
                        if changed.is_err() {
                            return Ok(());
                        }
                        break;
                    }
                    () = ctx.cancelled() => return Ok(()),
                }
            }
        }
    }
}

// === impl Round ===

impl<'a> Round<'a> {
    async fn begin(uplink: &'a Uplink) -> Result<Self, Fault> {
        let looked = uplink.desk.look(|gate, _| (known(gate), gate.is_sealed())).await;
        let (known, is_sealed) = looked.map_err(Fault::transient)?;
        let adopts = !is_sealed && uplink.adoption.as_ref().is_some_and(|adoption| adoption.is_wanted());
        let mut round = Self {
            uplink,
            taken: adopts.then(BTreeSet::new),
            over: Vec::new(),
            gather: Gather::new(&uplink.node, known),
            feeds: SelectAll::new(),
            followed: BTreeMap::new(),
        };
        let query = Query::field("spec.nodeName", &uplink.node);
        round.feeds.push(stream(None, Feed::new(uplink.cluster.clone(), Resource::core("pods"), query)));
        Ok(round)
    }

    /// Takes one piece of news. False: what was said makes no sense, begin anew.
    async fn take(&mut self, (of, news): Tagged) -> Result<bool, Fault> {
        let steps = match (of, news) {
            (None, News::Listed(pods)) => {
                self.uplink.link.up();
                self.uplink.seen.listed(&pods);
                if let Some(taken) = &mut self.taken {
                    let uid = |pod: &Value| Uid::from(metadata(pod, "uid"));
                    let running = || pods.iter().filter(|pod| kubelet::is_taken(pod));
                    *taken = running().map(uid).collect();
                    let over = running().filter(|pod| kubelet::is_over(&pod["status"]));
                    self.over = over.map(|pod| kubelet::over(&uid(pod), &pod["status"])).collect();
                    self.gather.knows(taken.iter().cloned());
                }
                self.gather.pods_listed(&pods)
            }
            (None, News::Live) => {
                self.uplink.link.up();
                return Ok(true);
            }
            (None, News::Changed(pod)) => {
                self.uplink.seen.changed(&pod);
                self.gather.pod_changed(&pod)
            }
            (None, News::Gone(pod)) => {
                self.uplink.seen.gone(&pod);
                self.gather.pod_gone(&pod)
            }
            (None, News::Lost(error)) => {
                self.uplink.link.down(error.to_string());
                return Ok(true);
            }
            (Some(key), News::Listed(objects)) => {
                // A server that does not select gives others as well.
                let named = objects.iter().find(|object| metadata(object, "name") == &*key.name);
                self.uplink.seen.config(&key, named.is_some());
                self.gather.config_is(&key, named)
            }
            (Some(key), News::Changed(object)) => {
                self.uplink.seen.config(&key, true);
                self.gather.config_is(&key, Some(&object))
            }
            (Some(key), News::Gone(_)) => {
                self.uplink.seen.config(&key, false);
                self.gather.config_is(&key, None)
            }
            (Some(_), News::Live) => return Ok(true),
            (Some(key), News::Lost(error)) if error.is_final() => {
                tracing::warn!(object = %key, %error, "cannot read configuration that a pod uses");
                Ok(self.gather.config_refused(&key))
            }
            (Some(key), News::Lost(error)) => {
                tracing::debug!(object = %key, %error, "cannot read configuration that a pod uses");
                Ok(self.gather.config_unclear(&key))
            }
        };
        match steps {
            Ok(steps) => self.carry_out(steps).await.map(|()| true),
            Err(error) => {
                self.uplink.link.down(format!("the cluster shows something that cannot be read: {error}"));
                tokio::time::sleep(feed::pause(4)).await;
                Ok(false)
            }
        }
    }

    async fn carry_out(&mut self, steps: Vec<Step>) -> Result<(), Fault> {
        for step in steps {
            match step {
                Step::Follow(key) => self.follow(key),
                Step::Leave(key) => {
                    if let Some(handle) = self.followed.remove(&key) {
                        handle.abort();
                    }
                }
                Step::Observe(event, bodies) => {
                    let all = matches!(&event, Event::Observed { complete, .. } if complete.contains(&Kind::ConfigMap) || complete.contains(&Kind::Secret));
                    let is_adopted = self.adopt(&event, &bodies).await?;
                    self.uplink.desk.bring(event, bodies).await.map_err(Fault::transient)?;
                    if let Some(adoption) = self.uplink.adoption.as_ref().filter(|_| is_adopted) {
                        // The door opens on a look at the gate. One at a gate that has not heard of it yet would show a
                        // kubelet nothing at all.
                        self.uplink.desk.keep(Vec::new()).await.map_err(Fault::transient)?;
                        adoption.set(Takeover::Done);
                    }
                    if all {
                        self.uplink.link.synced();
                    }
                }
            }
        }
        Ok(())
    }

    /// With the first complete list, what a kubelet runs already is taken as it is. Whether that was it.
    async fn adopt(&mut self, event: &Event, bodies: &[Body]) -> Result<bool, Fault> {
        let is_list = matches!(event, Event::Observed { complete, .. } if complete.contains(&Kind::Pod));
        let Some(taken) = self.taken.take_if(|_| is_list) else { return Ok(false) };
        // Before anything is shown: what is over must not be started again.
        self.uplink.desk.keep(std::mem::take(&mut self.over)).await.map_err(Fault::transient)?;
        let adopted = kubelet::adopted(event, &taken);
        self.uplink.desk.bring(Event::Adopted(adopted), bodies.to_vec()).await.map_err(Fault::transient)?;
        Ok(true)
    }

    fn follow(&mut self, key: Key) {
        let plural = match key.kind {
            Kind::Secret => "secrets",
            Kind::ConfigMap | Kind::Pod | Kind::StaticPod => "configmaps",
        };
        let resource = Resource::core_in(&key.namespace, plural);
        // A node may read single objects only, and to read one by name is to select it by name.
        let query = Query::field("metadata.name", &key.name);
        let feed = Feed::new(self.uplink.cluster.clone(), resource, query);
        let (handle, registration) = AbortHandle::new_pair();
        self.feeds.push(Box::pin(Abortable::new(stream(Some(key.clone()), feed), registration)));
        self.followed.insert(key, handle);
    }
}

fn known(gate: &Gate) -> Known {
    let mut known = Known::default();
    for (key, slot) in gate.slots() {
        if key.kind.runs() {
            known.pods.extend(slot.versions().map(|version| version.uid.clone()));
        } else if let Some(version) = slot.wanted.as_ref().or_else(|| {
            let applied = slot.applied.as_ref().filter(|_| !slot.is_ending());
            applied.map(|applied| &applied.version)
        }) {
            known.configs.insert(key.clone(), version.clone());
        }
    }
    known
}

fn stream(key: Option<Key>, feed: Feed) -> Pin<Box<dyn Stream<Item = Tagged> + Send>> {
    Box::pin(unfold((key, feed), |(key, mut feed)| async move {
        let news = feed.next().await;
        Some(((key.clone(), news), (key, feed)))
    }))
}

/// The metadata of an object.
pub(crate) fn metadata<'a>(object: &'a Value, field: &str) -> &'a str {
    object["metadata"][field].as_str().unwrap_or_default()
}
