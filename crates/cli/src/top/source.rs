//! Who tells: the agent of this machine, or the cluster. Both go on for ever: what breaks off is said and taken up again.
//!
//! The agent's stream says *that* something happened; what is so then is asked at once, and not more often than a person can
//! read. What the stream does not tell of (a hold that covers nothing yet, a lease that runs) is seen at the next look.

use std::collections::VecDeque;
use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use futures::stream::{self, BoxStream, StreamExt};
use k8s_openapi::api::core::v1::Node;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Client as Kube, Resource, ResourceExt};
use safepoint_api::names::kubernetes::CONDITION_READY;
use safepoint_api::{NodeGate, StaticPod};
use safepoint_sdk::{Client, Events, News as Happened};
use serde::de::DeserializeOwned;
use tokio::time::{Instant, sleep, sleep_until};

use super::fleet::{self, Presence};
use super::known::Sighting;
use super::model::News;
use super::node;
use crate::problem::Problem;

/// How often the agent is looked at if nothing happens.
const LOOK: Duration = Duration::from_secs(2);
/// How soon after something has happened. A roll-out tells a hundred things at once.
const SOON: Duration = Duration::from_millis(100);
/// How long somebody who has gone is waited for before they are asked again, at first and at most.
const AGAIN: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(30);
/// So many lines of the log are asked for at once.
const LINES: usize = 100;

/// Asks the agent.
struct Asking {
    client: Client,
    events: Option<Events>,
    /// Whether the last attempt failed.
    failed: bool,
    /// When it is looked at next.
    due: Instant,
    /// The last line of the log that is known.
    line: Option<u64>,
    ready: VecDeque<node::Told>,
}

/// What the agent of this machine tells.
pub(crate) fn agent(client: Client) -> BoxStream<'static, News> {
    let asking = Asking {
        client,
        events: None,
        failed: false,
        due: Instant::now(),
        line: None,
        ready: VecDeque::new(),
    };
    stream::unfold(asking, |mut asking| async { Some((News::Here(asking.next().await), asking)) }).boxed()
}

/// What the cluster tells: of one node, or of all and of the roll-outs.
pub(crate) fn cluster(client: Kube, node: Option<&str>) -> BoxStream<'static, News> {
    let config = match node {
        Some(node) => watcher::Config::default().fields(&format!("metadata.name={node}")),
        None => watcher::Config::default(),
    };
    let gates = watching(Api::<NodeGate>::all(client.clone()), config.clone(), NodeGate::name_any, |gate| {
        Box::new(gate.status.unwrap_or_default())
    });
    let nodes = watching(Api::<Node>::all(client.clone()), config, Node::name_any, |node| presence(&node));
    let gates = gates.map(|told| News::Fleet(fleet::Told::Gate(told)));
    let nodes = nodes.map(|told| News::Fleet(fleet::Told::Node(told)));
    if node.is_some() {
        // One node has no roll-outs to wait for.
        let none = stream::iter([News::Fleet(fleet::Told::RollOut(Sighting::Complete))]);
        return stream::select(none, stream::select(gates, nodes)).boxed();
    }
    let name = |it: &StaticPod| format!("{}/{}", it.namespace().unwrap_or_default(), it.name_any());
    let roll_outs = watching(Api::<StaticPod>::all(client), watcher::Config::default(), name, Box::new);
    let roll_outs = roll_outs.map(|told| News::Fleet(fleet::Told::RollOut(told)));
    stream::select(stream::select(gates, nodes), roll_outs).boxed()
}

// === impl Asking ===

impl Asking {
    async fn next(&mut self) -> node::Told {
        loop {
            if let Some(told) = self.ready.pop_front() {
                return told;
            }
            let Some(events) = &mut self.events else {
                if self.failed {
                    sleep(AGAIN).await;
                }
                match self.client.events().await {
                    Ok(events) => (self.events, self.due) = (Some(events), Instant::now()),
                    Err(error) => return self.lost(error),
                }
                continue;
            };
            tokio::select! {
                () = sleep_until(self.due) => {
                    self.due = Instant::now() + LOOK;
                    match self.look().await {
                        Ok(told) => return told,
                        Err(error) => return self.lost(error),
                    }
                }
                happened = events.next() => match happened {
                    Ok(Some(happened)) => {
                        self.due = self.due.min(Instant::now() + SOON);
                        if let Happened::Notice(notice) = happened {
                            return node::Told::Notice(notice);
                        }
                    }
                    Ok(None) => {
                        (self.events, self.failed) = (None, true);
                        return node::Told::Lost("the agent has ended".to_owned());
                    }
                    Err(error) => return self.lost(error),
                },
            }
        }
    }

    async fn look(&mut self) -> Result<node::Told, safepoint_sdk::Error> {
        let status = self.client.status().await?;
        let after = match self.line {
            Some(line) => line,
            None => self.client.log(0, 1).await?.last.saturating_sub(LINES as u64),
        };
        let lines = self.client.log(after, LINES).await?.items;
        self.line = Some(lines.last().map_or(after, |line| line.number));
        self.failed = false;
        Ok(node::Told::Status(Box::new(status), lines))
    }

    fn lost(&mut self, error: safepoint_sdk::Error) -> node::Told {
        (self.events, self.failed) = (None, true);
        node::Told::Lost(Problem::from(error).message)
    }
}

/// Whether the cluster hears of a node.
fn presence(node: &Node) -> Presence {
    let conditions = node.status.as_ref().and_then(|status| status.conditions.as_ref());
    let ready = conditions.into_iter().flatten().find(|it| it.type_ == CONDITION_READY);
    match ready {
        Some(ready) if ready.status == "True" => Presence::Ready,
        _ => Presence::Away { since: ready.and_then(|ready| ready.last_transition_time.clone()) },
    }
}

/// Watches a kind. After an error it is begun anew, because a watch that works again says nothing until something happens.
fn watching<K, T>(
    api: Api<K>,
    config: watcher::Config,
    name: fn(&K) -> String,
    take: fn(K) -> T,
) -> BoxStream<'static, Sighting<T>>
where
    K: Resource + Clone + DeserializeOwned + Debug + Send + 'static,
    T: Send + 'static,
{
    let begun = watcher(api.clone(), config.clone()).boxed();
    stream::unfold((begun, Duration::ZERO), move |(mut watching, wait)| {
        let (api, config) = (api.clone(), config.clone());
        async move {
            if !wait.is_zero() {
                // The last word was an error, and the watch after it has not begun.
                sleep(wait).await;
                watching = watcher(api, config).boxed();
            }
            match watching.next().await {
                Some(Ok(event)) => {
                    let sighting = match event {
                        Event::Init => Sighting::Begins,
                        Event::Apply(object) | Event::InitApply(object) => {
                            Sighting::Is(Arc::from(name(&object)), take(object))
                        }
                        Event::Delete(object) => Sighting::Gone(Arc::from(name(&object))),
                        Event::InitDone => Sighting::Complete,
                    };
                    Some((sighting, (watching, Duration::ZERO)))
                }
                Some(Err(error)) => {
                    let longer = (wait * 2).clamp(AGAIN, LONGEST);
                    Some((Sighting::Lost(words(&error)), (watching, longer)))
                }
                None => unreachable!("a watch begins anew by itself"),
            }
        }
    })
    .boxed()
}

/// An error in plain words, as the other commands have it.
fn words(error: &watcher::Error) -> String {
    match error {
        watcher::Error::InitialListFailed(error)
        | watcher::Error::WatchStartFailed(error)
        | watcher::Error::WatchFailed(error) => crate::cluster::problem(error).message,
        watcher::Error::WatchError(status) => status.message.clone(),
        watcher::Error::NoResourceVersion => error.to_string(),
    }
}
