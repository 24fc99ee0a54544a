//! The lifecycle controller and the pod-deletion controller, in one: both look at the same pods.
//!
//! It is level triggered. A look at a pod decides on what was seen last, and writes at most once, with the version that was seen:
//! if the pod has changed since, the write fails and the next look decides anew. So it may be ended at any moment, and two of
//! them may run. The answer to a write is taken like an event of the watch, so that nothing waits for its own echo.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use kube::Client;
use kube::api::{Api, DeleteParams, Patch, PatchParams, Preconditions};
use kube::runtime::{WatchStreamExt, watcher};
use safepoint_core::Span;
use safepoint_core::lifecycle::{
    Alarm, CONTROL, CONTROL_ON, Changes, Explanation, Lifecycle, NextDeletion, Phase, RuleStates, Timeouts,
    View, Wish, explain,
};
use safepoint_supervisor::{Ctx, Fault, Module, Spec};
use tokio::time::Instant;

use super::budgets::Budgets;
use super::deletion::Deletions;
use super::gone::{self, Services};
use super::known::{Key, Known};
use super::patch::{body, has_stale_wish, stale_phase};
use super::rules::Rules;
use super::slim::SlimPod;
use super::tell::{Late, News, late};
use super::words::nanos;
use super::world::Pods;
use crate::clock::Clock;
use crate::facts::{Count, Facts};
use crate::source::How;

/// So many pods are written at once.
const AT_ONCE: usize = 32;
/// So many Events are on their way at the most; more are lost, and the labels say the same.
const EVENTS_AT_ONCE: usize = 256;
/// A pod that has changed since it was looked at is looked at again by then, also if no watch tells so.
const CHANGED: Duration = Duration::from_secs(1);
/// What could not be written is tried again this much later.
const AGAIN: Duration = Duration::from_secs(5);
/// A pod that its node holds is looked at so often, and one that an operation takes long on: a clock may be moved.
const LOOK: Duration = Duration::from_secs(2);

/// The controller as a module.
pub(crate) struct Controller {
    pub(crate) client: Client,
    pub(crate) clock: Clock,
    pub(crate) facts: Arc<Facts>,
    pub(crate) pods: Arc<Pods>,
    pub(crate) deletions: Arc<Deletions>,
    pub(crate) rules: Arc<Rules>,
    pub(crate) timeouts: Timeouts,
    pub(crate) after: Vec<&'static str>,
}

/// One run of it.
struct Looking<'a> {
    of: &'a Controller,
    services: Services,
    budgets: Budgets,
    overdue: Overdue,
}

/// What takes too long and has been told, by pod. A pod that is gone, or on its way out, is late no more.
#[derive(Default)]
struct Overdue(Mutex<HashMap<Key, Vec<Late>>>);

/// What came of a look.
#[derive(Default)]
struct Done {
    /// When to look again.
    again: Option<Duration>,
    news: Vec<News>,
}

// === impl Controller ===

impl Controller {
    /// The name of the module.
    pub(crate) const NAME: &str = "lifecycle";

    /// What transition rules say about a pod.
    fn rules(&self, key: &Key, known: &Known, view: &View) -> RuleStates {
        self.rules.states(key, known, view)
    }
}

impl Module for Controller {
    fn spec(&self) -> Spec {
        Spec::new(Self::NAME).after(self.after.iter().copied())
    }

    async fn run(&self, ctx: Ctx) -> Result<(), Fault> {
        self.pods.begin();
        let config = watcher::Config::default().labels(&format!("{CONTROL}={CONTROL_ON}"));
        let watch = watcher(Api::<SlimPod>::all(self.client.clone()), config).default_backoff();
        let mut events = std::pin::pin!(watch);
        let services = Services::new(self.client.clone());
        let budgets = Budgets::new(self.client.clone());
        let looking = Looking { of: self, services, budgets, overdue: Overdue::default() };
        let (mut acting, mut telling) = (FuturesUnordered::new(), FuturesUnordered::new());
        let mut is_ready = false;
        loop {
            while acting.len() < AT_ONCE
                && let Some((key, known)) = self.pods.next(Instant::now())
            {
                let looking = &looking;
                acting.push(async move {
                    let done = looking.look(&key, &known).await;
                    (key, done)
                });
            }
            tokio::select! {
                event = events.next() => match event {
                    Some(Ok(event)) => self.pods.take(event).iter().for_each(|key| looking.overdue.forget(key)),
                    Some(Err(error)) => tracing::debug!(%error, "the watch is tried again"),
                    None => return Err(Fault::transient("the watch has ended")),
                },
                Some((key, done)) = acting.next(), if !acting.is_empty() => {
                    self.pods.done(&key, done.again.map(|wait| Instant::now() + wait));
                    let room = EVENTS_AT_ONCE.saturating_sub(telling.len());
                    let news = done.news.into_iter().take(room);
                    telling.extend(news.map(|news| news.tell(self.client.clone(), self.clock.now())));
                }
                Some(()) = telling.next(), if !telling.is_empty() => {}
                () = self.pods.dirty(), if acting.len() < AT_ONCE => {}
                () = ctx.cancelled() => return Ok(()),
            }
            if !is_ready && self.pods.is_complete() {
                is_ready = true;
                ctx.ready();
            }
            self.facts.lifecycle(self.pods.number(), looking.overdue.number());
        }
    }
}

// === impl Looking ===

impl Looking<'_> {
    /// Looks at a pod, and does the one thing that is to be done next.
    async fn look(&self, key: &Key, known: &Known) -> Done {
        let (view, now) = (known.view(), nanos(self.of.clock.now()));
        if view.deleting {
            self.overdue.forget(key);
        }
        let rules = self.of.rules(key, known, &view);
        let gone = self.services.gone(&known.labels, &view).await;
        let changes = Lifecycle::default().reconcile(&view, &rules, &gone, now);
        let none = Changes::default();
        let is_stale = stale_phase(known, &view, &none).is_some() || has_stale_wish(known, &view, &none);
        if !changes.is_empty() || is_stale {
            return self.write(key, known, &view, &changes, &rules).await;
        }
        match Lifecycle::default().delete_step(&view, Wish::Stands, now) {
            NextDeletion::Nothing => self.wait(key, known, &view, &rules),
            // A deletion that nobody wants any more is cancelled whoever holds the pod.
            NextDeletion::Write(changes) if !view.is_wished_gone() => {
                self.write(key, known, &view, &changes, &rules).await
            }
            step => self.end(key, known, &view, &rules, step).await,
        }
    }

    /// Nothing is to be done. Who waits too long is told about.
    fn wait(&self, key: &Key, known: &Known, view: &View, rules: &RuleStates) -> Done {
        let why = self.explain(view, rules);
        let gone = view.deleting || self.of.pods.get(key).is_none_or(|seen| seen.uid != known.uid);
        let alarms: &[Alarm] = if gone { &[] } else { &why.alarms };
        let all: Vec<Late> = alarms.iter().map(|alarm| late(view, alarm)).collect();
        let fresh = self.overdue.tell(key, &all);
        let fresh = alarms.iter().zip(fresh).filter_map(|(alarm, fresh)| fresh.then_some(alarm));
        let news: Vec<News> = fresh.map(|alarm| News::overdue(key, known, view, alarm, &why)).collect();
        news.iter().for_each(|_| self.of.facts.count(Count::LifecycleAlarms));
        let left = why.operations.iter().filter_map(|operation| {
            let allowed = allowed(&self.of.timeouts, operation.phase)?;
            let left = allowed.0.saturating_sub(operation.for_long?.0);
            Some(Duration::from_millis(left).max(LOOK))
        });
        let service = (!gone::asked(view).is_empty()).then_some(gone::FRESH);
        // A wait is never longer than the clock can be trusted.
        Done { again: left.map(|left| left.min(AGAIN)).chain(service).min(), news }
    }

    /// Writes changes, all in one.
    async fn write(
        &self,
        key: &Key,
        known: &Known,
        view: &View,
        changes: &Changes,
        rules: &RuleStates,
    ) -> Done {
        let pods: Api<SlimPod> = Api::namespaced(self.of.client.clone(), &key.namespace);
        let body = body(known, view, changes, self.of.clock.now());
        let params = PatchParams::default();
        let written = match changes.gate {
            // Conditions are merged by their type, so those of the kubelet stay.
            Some(_) => pods.patch_status(&key.name, &params, &Patch::Strategic(body)).await,
            None => pods.patch(&key.name, &params, &Patch::Merge(body)).await,
        };
        match written {
            Ok(pod) => {
                self.of.facts.count(Count::LifecycleWrites);
                self.of.pods.written(&pod);
                let mut after = view.clone();
                after.apply(changes);
                let why = self.explain(&after, rules);
                let news = changes.gate.map(|open| News::gate(key, known, open, &why));
                Done { again: None, news: news.into_iter().collect() }
            }
            Err(error) => failed(key, &error),
        }
    }

    /// Begins or does the deletion of a pod, unless its node holds it.
    async fn end(
        &self,
        key: &Key,
        known: &Known,
        view: &View,
        rules: &RuleStates,
        step: NextDeletion,
    ) -> Done {
        let found = match self.of.deletions.fetch(&key.namespace, &key.name).await {
            Ok(Some(found)) if found["metadata"]["uid"] == *known.uid => found,
            Ok(_) => return Done::default(),
            Err(error) => return failed(key, &error),
        };
        if self.of.deletions.is_held(&key.namespace, &found) {
            return Done { again: Some(LOOK), news: Vec::new() };
        }
        if let NextDeletion::Write(changes) = step {
            return match known.wish().is_some_and(|wish| wish.how == How::Eviction) {
                true => {
                    let phase = found["status"]["phase"].as_str().unwrap_or_default();
                    self.begin_eviction(key, known, view, rules, (phase, &changes)).await
                }
                false => self.write(key, known, view, &changes, rules).await,
            };
        }
        let preconditions = Preconditions {
            uid: Some(known.uid.to_string()),
            // Somebody may have taken the label off since it was looked at.
            resource_version: Some(known.version.to_string()),
        };
        let only = DeleteParams { preconditions: Some(preconditions), ..DeleteParams::default() };
        let pods: Api<SlimPod> = Api::namespaced(self.of.client.clone(), &key.namespace);
        match pods.delete(&key.name, &only).await {
            Ok(_) => {
                tracing::info!(
                    namespace = &*key.namespace,
                    pod = &*key.name,
                    "deleted a pod through the lifecycle"
                );
                self.of.facts.count(Count::LifecycleDeletions);
                // The watch tells that it is on its way out; if it does not, it is asked for again.
                Done { again: Some(AGAIN), news: vec![News::deleted(key, &known.uid)] }
            }
            Err(error) => failed(key, &error),
        }
    }

    /// Begins what somebody evicted, if the budgets of the pod let it go.
    async fn begin_eviction(
        &self,
        key: &Key,
        known: &Known,
        view: &View,
        rules: &RuleStates,
        (phase, changes): (&str, &Changes),
    ) -> Done {
        let _turn = self.budgets.turn().await;
        let (namespace, pod) = (&*key.namespace, &*key.name);
        match self.budgets.against(&self.of.pods, key, known, phase).await {
            Ok(None) => self.write(key, known, view, changes, rules).await,
            Ok(Some(budget)) => {
                tracing::debug!(namespace, pod, budget, "an eviction waits for a disruption budget");
                Done { again: Some(LOOK), news: Vec::new() }
            }
            Err(error) => {
                tracing::warn!(%error, namespace, pod, "cannot read disruption budgets; the eviction waits");
                Done { again: Some(AGAIN), news: Vec::new() }
            }
        }
    }

    fn explain(&self, view: &View, rules: &RuleStates) -> Explanation {
        explain(view, rules, &self.of.timeouts, nanos(self.of.clock.now()))
    }
}

// === impl Overdue ===

impl Overdue {
    /// A pod has these alarms now. Says of each whether it is to be told.
    fn tell(&self, key: &Key, alarms: &[Late]) -> Vec<bool> {
        let mut all = self.all();
        let told = match alarms.is_empty() {
            true => all.remove(key),
            false => all.insert(key.clone(), alarms.to_vec()),
        };
        let told = told.unwrap_or_default();
        alarms.iter().map(|alarm| !told.contains(alarm)).collect()
    }

    fn forget(&self, key: &Key) {
        self.all().remove(key);
    }

    /// How many pods are late.
    fn number(&self) -> usize {
        self.all().len()
    }

    fn all(&self) -> std::sync::MutexGuard<'_, HashMap<Key, Vec<Late>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn failed(key: &Key, error: &kube::Error) -> Done {
    let again = match error {
        kube::Error::Api(status) if status.code == 404 => return Done::default(),
        kube::Error::Api(status) if status.code == 409 => CHANGED,
        error => {
            tracing::warn!(%error, namespace = &*key.namespace, pod = &*key.name, "cannot write a pod; it is tried again");
            AGAIN
        }
    };
    Done { again: Some(again), news: Vec::new() }
}

/// How long an operation may be in a phase.
const fn allowed(timeouts: &Timeouts, phase: Phase) -> Option<Span> {
    match phase {
        Phase::PreCheck => timeouts.pre_check,
        Phase::Preparing => timeouts.preparing,
        Phase::Operating => timeouts.operating,
        Phase::PostCheck => timeouts.post_check,
        Phase::Completing => timeouts.completing,
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_alarm_is_told_once_and_another_one_of_the_same_pod_as_well() {
        let key = Key { namespace: "shop".into(), name: "web".into() };
        let late = |id: &str, since: &str| (id.into(), Phase::Preparing, Some(since.into()));
        let overdue = Overdue::default();
        assert_eq!(overdue.tell(&key, &[late("a", "1")]), [true]);
        assert_eq!(overdue.tell(&key, &[late("a", "1")]), [false]);
        // As many as before, and not the same.
        assert_eq!(overdue.tell(&key, &[late("b", "2")]), [true]);
        assert_eq!(overdue.tell(&key, &[late("b", "2"), late("a", "3")]), [false, true]);
        assert_eq!(overdue.number(), 1);
        overdue.forget(&key);
        assert_eq!(overdue.number(), 0);
        assert!(overdue.tell(&key, &[]).is_empty() && overdue.number() == 0);
    }
}
