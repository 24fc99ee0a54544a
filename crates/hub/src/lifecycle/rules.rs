//! Transition rules: what PodTransitionRules say about the pods that ask.
//!
//! ```text
//!   PodTransitionRule ──► read ─┐
//!   pods of the lifecycle ──────┼─► set (core::lifecycle::rules) ─► status ─► counts ─► states() ─► lifecycle
//!   webhooks ◄──── client ◄─────┘                                └─► Events
//! ```
//!
//! The lifecycle's controller asks what the rules say ([`Rules::states`]) about a pod as it sees it. [`RuleKeeper`] is the module that
//! looks at the pods of the controller, judges, writes, asks webhooks, and says which pods to look at again. Until it has seen
//! every rule once, all pods wait.

mod ask;
mod client;
mod marks;
mod news;
mod raw;
mod read;
mod set;
mod sets;
mod status;
mod write;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::StreamExt as _;
use futures::stream::FuturesUnordered;
use kube::api::Api;
use kube::runtime::watcher::Event;
use kube::runtime::{WatchStreamExt as _, watcher};
use safepoint_api::names::kusionstack::{SKIP_RULE_KINDS, SKIP_RULES};
use safepoint_core::Text;
use safepoint_core::lifecycle::rules::RuledPod;
use safepoint_core::lifecycle::{RuleStates, View};
use safepoint_supervisor::{Ctx, Fault, Module, Spec};
use serde::Deserialize;
use tokio::time::{Instant, sleep_until};

use super::known::{Key, Known};
use super::world::Pods;
use crate::clock::Clock;
use client::Client;
use marks::Mark;
use raw::RawRule;
pub(super) use read::selector;
use set::{Acts, Object};
use sets::{Gone, Sets};
use status::nanos;
use write::Writer;

/// What could not be written is tried again this much later.
const AGAIN: Duration = Duration::from_secs(5);
/// What was written on an old version is tried again this much later, unless the new one comes before.
const CONFLICT: Duration = Duration::from_millis(500);
/// Two passes over one object are so far apart at the least, so that the many events of one moment cost one.
const APART: Duration = Duration::from_millis(25);
/// How often it is looked whether it is time for something: a clock may be moved.
const LOOK: Duration = Duration::from_secs(1);

/// What the rules say. Shared by the lifecycle's controller, which asks, and by [`RuleKeeper`], which answers.
#[derive(Default)]
pub(crate) struct Rules(Mutex<Sets>);

/// What judges, as a module.
pub(crate) struct RuleKeeper {
    pub(crate) client: kube::Client,
    pub(crate) rules: Arc<Rules>,
    pub(crate) pods: Arc<Pods>,
    pub(crate) clock: Clock,
    pub(crate) after: Vec<&'static str>,
}

// === impl Rules ===

impl Rules {
    /// What the rules say about a pod, as it is seen by whoever asks.
    pub(crate) fn states(&self, key: &Key, known: &Known, view: &View) -> RuleStates {
        self.sets().states(&ruled(key, known, view))
    }

    fn sets(&self) -> MutexGuard<'_, Sets> {
        // What is under this lock is whole, or made anew by the next look.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl RuleKeeper ===

impl RuleKeeper {
    /// The name of the module.
    pub(crate) const NAME: &str = "transition-rules";
}

impl Module for RuleKeeper {
    fn spec(&self) -> Spec {
        Spec::new(Self::NAME).after(self.after.iter().copied())
    }

    async fn run(&self, ctx: Ctx) -> Result<(), Fault> {
        let skipped = skipped(std::env::var(SKIP_RULE_KINDS).ok().as_deref());
        // What a run before this one knew may be old. Pods wait until everything has been seen.
        *self.rules.sets() = Sets::new(skipped);
        let mut changes = self.pods.changes();
        let api: Api<RawRule> = Api::all(self.client.clone());
        let mut events = std::pin::pin!(watcher(api, watcher::Config::default()).default_backoff());
        let writer = Writer { client: &self.client, pods: &self.pods, clock: &self.clock };
        let client = Client::new();
        let mut writing = FuturesUnordered::new();
        let mut calling = FuturesUnordered::new();
        let mut telling = FuturesUnordered::new();
        let mut marking = FuturesUnordered::new();
        let mut leaving = FuturesUnordered::new();
        // Those that could not be written are given back.
        let mark = |object: Object, marks: Vec<Mark>| {
            let writer = &writer;
            async move {
                let failed = writer.mark(&object, marks).await;
                (object, failed)
            }
        };
        loop {
            let wake = self.rules.sets().wake(nanos(self.clock.now()), Instant::now());
            tokio::select! {
                event = events.next() => match event {
                    None => return Err(Fault::transient("the watch has ended")),
                    Some(Err(error)) => tracing::debug!(%error, "the watch is tried again"),
                    Some(Ok(event)) => {
                        let is_complete = matches!(event, Event::InitDone);
                        for Gone { object, marked } in self.take(event) {
                            let marks = marked.into_iter().map(|pod| Mark { pod, value: None }).collect();
                            leaving.push(mark(object, marks));
                        }
                        if is_complete {
                            ctx.ready();
                        }
                    }
                },
                changed = changes.changed() => {
                    changed.map_err(Fault::transient)?;
                    let touched = self.pods.touched();
                    self.rules.sets().touch(&touched);
                }
                Some((object, done)) = writing.next(), if !writing.is_empty() => {
                    let object: Object = object;
                    let changed = self.rules.sets().written(&object, done, Instant::now());
                    self.look_again(&object.namespace, changed);
                }
                Some((object, call, answer)) = calling.next(), if !calling.is_empty() => {
                    self.rules.sets().heard(&object, &call, answer, nanos(self.clock.now()));
                }
                Some(()) = telling.next(), if !telling.is_empty() => {}
                Some((object, failed)) = marking.next(), if !marking.is_empty() => {
                    self.rules.sets().marked(&object, failed);
                }
                Some((object, failed)) = leaving.next(), if !leaving.is_empty() => {
                    let failed = self.rules.sets().inherit(&object, failed);
                    if !failed.is_empty() {
                        leaving.push(mark(object, failed));
                    }
                }
                () = async { match wake {
                    Some(at) => sleep_until(at).await,
                    None => std::future::pending().await,
                } } => {}
                () = ctx.cancelled() => return Ok(()),
            }
            while let Some((object, mut acts)) = self.pass() {
                for call in std::mem::take(&mut acts.calls) {
                    let (writer, client, object) = (&writer, &client, object.clone());
                    calling.push(async move {
                        let answer = writer.call(client, &object, &call).await;
                        (object, call, answer)
                    });
                }
                self.look_again(&object.namespace, std::mem::take(&mut acts.changed));
                let (writer, news, marks) =
                    (&writer, std::mem::take(&mut acts.news), std::mem::take(&mut acts.marks));
                if !news.is_empty() {
                    let object = object.clone();
                    telling.push(async move { writer.events(&object, news).await });
                }
                if !marks.is_empty() {
                    marking.push(mark(object.clone(), marks));
                }
                writing.push(async move {
                    let done = writer.carry_out(&object, acts).await;
                    (object, done)
                });
            }
        }
    }
}

impl RuleKeeper {
    fn take(&self, event: Event<RawRule>) -> Vec<Gone> {
        let is_complete = matches!(event, Event::InitDone);
        let all_gone = self.rules.sets().take(event);
        for gone in &all_gone {
            // Nobody knows any more for whom it stood in the way. Those who ask are looked at.
            let namespace = &gone.object.namespace;
            let pods = self.ruled(namespace).unwrap_or_default();
            let asking = pods.into_iter().filter(|pod| !pod.asks.is_empty());
            self.look_again(namespace, asking.map(|pod| pod.name));
        }
        if is_complete {
            // Whoever was looked at before all rules had been seen waits.
            self.pods.soil(self.pods.keys());
        }
        all_gone
    }

    /// Makes the next pass that is due.
    fn pass(&self) -> Option<(Object, Acts)> {
        loop {
            let (wall, moment) = (self.clock.now(), Instant::now());
            let object = self.rules.sets().due(nanos(wall), moment)?;
            // Never under the lock: whoever has the pods may be asking us.
            let pods = self.ruled(&object.namespace);
            let acts = self.rules.sets().pass(&object, pods.as_deref(), wall, moment + APART);
            if let Some(acts) = acts {
                return Some((object, acts));
            }
        }
    }

    /// The pods of a namespace that take part; nothing while they have not all been seen.
    fn ruled(&self, namespace: &Text) -> Option<Vec<RuledPod>> {
        let all = self.pods.is_complete().then(|| self.pods.of_namespace(namespace))?;
        let mut all: Vec<RuledPod> =
            all.iter().map(|(key, known)| ruled(key, known, &known.view())).collect();
        // Who goes first does not depend on how they are kept.
        all.sort_unstable_by(|one, other| one.name.cmp(&other.name));
        Some(all)
    }

    fn look_again(&self, namespace: &Text, names: impl IntoIterator<Item = Text>) {
        let keys = names.into_iter().map(|name| Key { namespace: namespace.clone(), name });
        self.pods.soil(keys);
    }
}

/// A pod as rules see it.
fn ruled(key: &Key, known: &Known, view: &View) -> RuledPod {
    let skips = known.annotation(SKIP_RULES).map(|text| skips(text)).unwrap_or_default();
    RuledPod::of(&key.namespace, &key.name, &known.labels, view, skips)
}

/// The rules that people let a pod skip. What cannot be read skips none.
fn skips(text: &str) -> BTreeSet<Text> {
    #[derive(Default, Deserialize)]
    #[serde(rename_all = "camelCase", default)]
    struct Skips {
        skip_rules: Vec<Text>,
    }
    serde_json::from_str(text).map(|skips: Skips| skips.skip_rules.into_iter().collect()).unwrap_or_default()
}

/// The kinds of rules that an operator has switched off.
fn skipped(kinds: Option<&str>) -> BTreeSet<String> {
    let kinds = kinds.unwrap_or_default().split(',').map(str::trim);
    kinds.filter(|kind| !kind.is_empty()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_switched_off_by_their_names() {
        assert!(skipped(None).is_empty() && skipped(Some(" , ")).is_empty());
        assert_eq!(skipped(Some("webhook, labelCheck")).len(), 2);
    }
    #[test]
    fn a_pod_skips_the_rules_that_its_annotation_names_and_no_others() {
        assert_eq!(skips(r#"{"skipRules":["a","b"]}"#), BTreeSet::from(["a".into(), "b".into()]));
        for strange in ["", "a", "{}", r#"{"skipRules":"a"}"#, "[]"] {
            assert!(skips(strange).is_empty(), "{strange}");
        }
    }
}
