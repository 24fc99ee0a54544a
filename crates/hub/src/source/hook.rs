//! The webhook that deletions and evictions of pods pass.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::Value;
use tokio::time::Instant;

use super::held::carrier;
use super::judge::{self, Verdict, judge};
use super::message::{Way, denial};
use super::wish::{How, Wish};
use super::wishes::{Note, Wishes};
use crate::carrying::arming;
use crate::clock::Clock;
use crate::lifecycle::Deletions;
use crate::pod::Pod;
use crate::seen::Seen;
use crate::webhook::{Answer, Entry, Flavour, Hook, NOTING, PATIENCE, Request, Reviewing, Rule, SideEffects};

/// The validating webhook for the ends of pods.
pub(crate) struct Source {
    pub(crate) deletions: Arc<Deletions>,
    /// Whether pods that take part in the lifecycle end through it.
    pub(crate) grace_delete: bool,
    pub(crate) seen: Arc<Seen>,
    pub(crate) wishes: Arc<Wishes>,
    pub(crate) clock: Clock,
    /// The hub's own namespace. Nothing there is ever put off: a hub must not stand in its own way.
    pub(crate) namespace: String,
}

/// What of the options of a deletion matters.
struct Options {
    grace: Option<i64>,
    dry_run: bool,
    uid: Option<String>,
}

// === impl Source ===

impl Hook for Source {
    fn entry(&self) -> Entry {
        Entry {
            name: "hold.safepoint.dev",
            path: "/hold",
            flavour: Flavour::Validating,
            rules: vec![Rule::core("pods", &["DELETE"]), Rule::core("pods/eviction", &["CREATE"])],
            labels: &[],
            condition: None,
            side_effects: SideEffects::NoneOnDryRun,
            patience: PATIENCE,
        }
    }

    fn review<'a>(&'a self, request: &'a Request) -> Reviewing<'a> {
        Box::pin(async move {
            match self.decide(request).await {
                Ok(answer) => answer,
                Err(error) => {
                    tracing::warn!(%error, "cannot tell whether a hold covers a pod; its end passes");
                    Answer::Warn("Safepoint could not tell whether a hold covers this pod".to_owned())
                }
            }
        })
    }
}

impl Source {
    async fn decide(&self, request: &Request) -> Result<Answer, kube::Error> {
        if request.namespace == self.namespace {
            return Ok(Answer::Allow);
        }
        let deadline = Instant::now() + NOTING;
        let (how, object, options) = match &*request.sub_resource {
            "eviction" => {
                let options = Options::read(&request.object["deleteOptions"]);
                // An eviction names its pod and does not show it.
                let Some(pod) = self.deletions.fetch(&request.namespace, &request.name).await? else {
                    return Ok(Answer::Allow);
                };
                (How::Eviction, Cow::Owned(pod), options)
            }
            _ => (How::Delete, Cow::Borrowed(&request.old_object), Options::read(&request.options)),
        };
        let pod = Pod::read(&request.namespace, &object);
        // Another pod than the one that is meant: the server will say so.
        if options.uid.is_some_and(|uid| uid != pod.uid) {
            return Ok(Answer::Allow);
        }
        let carrier = carrier(&self.seen, &pod);
        let asked = judge::Request {
            user: &request.user_info.username,
            grace: options.grace,
            now: self.clock.now(),
            workload_holds: carrier.is_some(),
        };
        let gate = pod.node.as_deref().and_then(|node| self.seen.gates().get(node));
        match judge(&pod, gate.as_deref(), &asked) {
            Verdict::Allow(why) => {
                tracing::debug!(namespace = pod.namespace, pod = pod.name, ?why, "a pod may end");
                Ok(Answer::Allow)
            }
            Verdict::Defer(causes) => {
                let is_dry = request.dry_run || options.dry_run;
                if self.grace_delete && self.deletions.puts_off(&object, how) {
                    let user = &request.user_info.username;
                    let noted =
                        is_dry || self.deletions.noted(object.into_owned(), how, user, deadline).await;
                    let way = if noted { Way::Lifecycle } else { Way::Unnoted };
                    return Ok(Answer::Deny(Box::new(denial(&pod, &causes, how, way))));
                }
                let denial = denial(&pod, &causes, how, Way::Node);
                if !is_dry {
                    let by = request.user_info.username.clone();
                    self.wishes.note(Note {
                        wish: Wish::new(asked.now, by, how),
                        known: pod.wish,
                        namespace: pod.namespace,
                        name: pod.name,
                        uid: pod.uid,
                        owner: pod.owner,
                        arming: carrier.map(|from| arming(&from)),
                    });
                }
                Ok(Answer::Deny(Box::new(denial)))
            }
        }
    }
}

// === impl Options ===

impl Options {
    fn read(options: &Value) -> Self {
        Self {
            grace: options["gracePeriodSeconds"].as_i64(),
            dry_run: options["dryRun"].as_array().is_some_and(|all| !all.is_empty()),
            uid: options["preconditions"]["uid"].as_str().map(str::to_owned),
        }
    }
}
