//! Static pods on many nodes: what a StaticPod says becomes manifests, tasks and a status.
//!
//! ```text
//!   StaticPod ──► wanted ─┐
//!   nodes, pods, gates ───┼─► view (what has changed) ─► core::rollout::plan ─► acts ─► write
//!   ConfigMaps ───────────┘                                                └─► status, news
//! ```
//!
//! The API server cannot manage a static pod, and a node without an agent has nobody who could be asked. So a task pod goes to
//! the node, swaps the manifest and says how it went. All memory is in the cluster: a failed task stays as the record of its
//! failure, what lies ready is written on the mirror pod. A hub that takes over lists everything and goes on.
//!
//! One loop takes events and makes passes. A pass looks at what has changed, plans and hands over what is to be done; the next
//! one over the same object is made when that is written. Passes over a large fleet are kept apart, so that the many events of
//! one moment cost one plan.

mod acts;
mod gate;
mod hook;
mod manifest;
mod mirror;
mod names;
mod news;
mod nodes;
mod pods;
mod set;
mod slim;
mod stage;
mod status;
mod task;
mod view;
mod wanted;
mod words;
mod world;
mod write;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::stream::{BoxStream, FuturesUnordered, SelectAll};
use futures::{FutureExt, StreamExt};
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube::Client;
use kube::api::{Api, PartialObjectMeta};
use kube::runtime::watcher::Event;
use kube::runtime::{WatchStreamExt, watcher};
use safepoint_api::StaticPod;
use safepoint_api::names::safepoint::{GROUP, VERSION, static_pod as names_of};
use safepoint_core::{Text, Timestamp};
use safepoint_supervisor::{Ctx, Fault, Module, Spec};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use crate::clock::Clock;
use crate::facts::{Facts, Pass};
use crate::seen::Seen;
pub(crate) use hook::Check;
pub(crate) use names::digest;
use slim::{SlimNode, SlimPod};
use task::Program;
use world::World;
use write::{Object, Writer};

/// What could not be written is tried again this much later.
const AGAIN: Duration = Duration::from_secs(5);
/// Two passes over one object are so far apart at the least.
const APART: Duration = Duration::from_millis(25);
/// And so many times as long as the last one took, so that a large fleet does not take a whole processor.
const APART_TIMES: u32 = 4;
/// How often it is looked whether it is time for something: a clock may be moved.
const LOOK: Duration = Duration::from_secs(1);
/// So many events are taken before it is looked whether there is something to do.
const EVENTS: usize = 512;

/// How the tasks of static pods run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Tasks {
    /// From an image. Left out, it is that of the hub's own pod.
    Image(Option<String>),
    /// As processes, on nodes whose pods are: with this program, and its first arguments.
    Processes(Vec<String>),
}

/// The controller as a module.
pub(crate) struct StaticPods {
    pub(crate) client: Client,
    pub(crate) seen: Arc<Seen>,
    pub(crate) clock: Clock,
    pub(crate) facts: Arc<Facts>,
    pub(crate) tasks: Tasks,
    /// This hub's own pod: namespace and name, if it is one.
    pub(crate) own: Option<(String, String)>,
    pub(crate) after: Vec<&'static str>,
}

/// Something that a watch has told.
enum Told {
    Object(Box<Event<StaticPod>>),
    Node(Event<SlimNode>),
    Map(Event<PartialObjectMeta<ConfigMap>>),
    Pod(Text, Event<SlimPod>),
}

type Telling = SelectAll<BoxStream<'static, Told>>;

// === impl StaticPods ===

impl Module for StaticPods {
    fn spec(&self) -> Spec {
        Spec::new("static-pods").after(self.after.iter().copied())
    }

    async fn run(&self, ctx: Ctx) -> Result<(), Fault> {
        let mut world = World::new(self.program().await.map_err(Fault::transient)?);
        let mut telling: Telling = SelectAll::new();
        telling.push(follow(Api::<StaticPod>::all(self.client.clone()), None, |event| {
            Told::Object(Box::new(event))
        }));
        telling.push(follow(Api::<SlimNode>::all(self.client.clone()), None, Told::Node));
        telling.push(follow(
            Api::<PartialObjectMeta<ConfigMap>>::all(self.client.clone()),
            Some(names_of::OF),
            Told::Map,
        ));
        let writer = Writer {
            client: &self.client,
            clock: &self.clock,
            facts: &self.facts,
            accounts: Mutex::default(),
        };
        let gates = self.seen.dirty_nodes();
        let mut writing = FuturesUnordered::new();
        let mut is_ready = false;
        loop {
            let wake = world.wake(Instant::now(), self.now());
            tokio::select! {
                told = telling.next() => {
                    let Some(told) = told else { return Err(Fault::transient("the watches have ended")) };
                    self.take(told, &mut world, &mut telling);
                    // What has come at once is taken at once: the plan is the same for all of it.
                    for _ in 0..EVENTS {
                        let Some(Some(told)) = telling.next().now_or_never() else { break };
                        self.take(told, &mut world, &mut telling);
                    }
                }
                nodes = gates.next() => nodes.iter().for_each(|node| world.touch(&node.as_str().into())),
                Some((object, done)) = writing.next(), if !writing.is_empty() => {
                    world.written(&object, done, self.now(), Instant::now());
                }
                () = async { match wake {
                    Some(at) => sleep_until(at).await,
                    None => std::future::pending().await,
                } } => {}
                () = ctx.cancelled() => return Ok(()),
            }
            if !is_ready && world.is_complete() {
                is_ready = true;
                ctx.ready();
            }
            while let Some((object, acts)) = self.pass(&mut world) {
                let writer = &writer;
                writing.push(async move {
                    let done = writer.carry_out(&object, acts).await;
                    (object, done)
                });
            }
        }
    }
}

impl StaticPods {
    /// Makes the next pass that is due and has something to be done.
    fn pass(&self, world: &mut World) -> Option<(Object, acts::Acts)> {
        loop {
            let (now, begun) = (self.now(), Instant::now());
            let gates = |node: &str| self.seen.gates().get(node);
            let (object, acts) = world.pass(&gates, now, begun)?;
            let took = begun.elapsed();
            self.facts.passed(Pass { took });
            let idle = acts.is_empty();
            world.passed(&object, !idle, begun + APART.max((took * APART_TIMES).min(LOOK)));
            if !idle {
                return Some((object, acts));
            }
        }
    }

    fn take(&self, told: Told, world: &mut World, telling: &mut Telling) {
        match told {
            Told::Object(event) => {
                for (namespace, stop) in world.take_object(*event) {
                    telling.push(self.follow_pods(namespace, stop));
                }
            }
            Told::Node(event) => world.take_node(event),
            Told::Map(event) => world.take_map(event),
            Told::Pod(namespace, event) => world.take_pod(&namespace, event, self.now()),
        }
    }

    /// The pods of a namespace that has a StaticPod.
    fn follow_pods(&self, namespace: Text, stop: CancellationToken) -> BoxStream<'static, Told> {
        let api: Api<SlimPod> = Api::namespaced(self.client.clone(), &namespace);
        let told = follow(api, None, move |event| Told::Pod(namespace.clone(), event));
        told.take_until(stop.cancelled_owned()).boxed()
    }

    fn now(&self) -> Timestamp {
        Timestamp(self.clock.now().as_millisecond())
    }

    /// What tasks run: what was said, or what this hub's own pod runs.
    async fn program(&self) -> Result<Program, kube::Error> {
        let usual = || format!("safepoint:{}", env!("CARGO_PKG_VERSION"));
        match &self.tasks {
            Tasks::Image(Some(image)) => return Ok(Program::of_image(image)),
            Tasks::Processes(command) => {
                return Ok(Program { image: usual(), command: command.clone(), is_process: true });
            }
            Tasks::Image(None) => {}
        }
        let own = match &self.own {
            Some((namespace, name)) => {
                let pods: Api<Pod> = Api::namespaced(self.client.clone(), namespace);
                pods.get_opt(name).await?
            }
            None => None,
        };
        let image = own.and_then(|pod| pod.spec?.containers.into_iter().next()?.image);
        Ok(Program::of_image(image.unwrap_or_else(usual)))
    }
}

/// Follows objects, for ever.
fn follow<K>(
    api: Api<K>,
    label: Option<&str>,
    tell: impl Fn(Event<K>) -> Told + Send + 'static,
) -> BoxStream<'static, Told>
where
    K: kube::Resource<DynamicType = ()>
        + Clone
        + std::fmt::Debug
        + serde::de::DeserializeOwned
        + Send
        + 'static,
{
    let config = match label {
        Some(label) => watcher::Config::default().labels(label),
        None => watcher::Config::default(),
    };
    let events = watcher(api, config).default_backoff();
    let told = events.filter_map(move |event| {
        let told = match event {
            Ok(event) => Some(tell(event)),
            Err(error) => {
                tracing::debug!(%error, "the watch is tried again");
                None
            }
        };
        std::future::ready(told)
    });
    told.boxed()
}

/// The StaticPod as an owner.
fn owner(name: &str, uid: &str) -> Value {
    json!({"apiVersion": format!("{GROUP}/{VERSION}"), "kind": "StaticPod", "name": name, "uid": uid, "controller": true})
}
