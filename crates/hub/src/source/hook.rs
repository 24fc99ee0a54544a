//! The webhook that deletions and evictions of pods pass.

use std::sync::Arc;

use http::Request as HttpRequest;
use kube::Client;
use serde_json::Value;

use super::judge::{self, Verdict, judge};
use super::message::denial;
use super::wish::{How, Wish};
use super::wishes::{Note, Wishes};
use crate::carrying::arming;
use crate::clock::Clock;
use crate::pod::{Marks, Pod};
use crate::seen::Seen;
use crate::webhook::{Answer, Entry, Flavour, Hook, Request, Reviewing, Rule, SideEffects};

/// The validating webhook for the ends of pods.
pub(crate) struct Source {
    pub(crate) client: Client,
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
            side_effects: SideEffects::NoneOnDryRun,
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
        let (how, pod, options) = match &*request.sub_resource {
            "eviction" => {
                let options = Options::read(&request.object["deleteOptions"]);
                let Some(pod) = self.fetch(&request.namespace, &request.name).await? else {
                    return Ok(Answer::Allow);
                };
                (How::Eviction, Pod::read(&request.namespace, &pod), options)
            }
            _ => {
                let pod = Pod::read(&request.namespace, &request.old_object);
                (How::Delete, pod, Options::read(&request.options))
            }
        };
        // Another pod than the one that is meant: the server will say so.
        if options.uid.is_some_and(|uid| uid != pod.uid) {
            return Ok(Answer::Allow);
        }
        let carrier = self.carrier(&pod);
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
                let denial = denial(&pod, &causes, how);
                if !(request.dry_run || options.dry_run) {
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

    /// The workload that holds the pod's upgrades, where the pod does not say so yet and nobody else has decided.
    fn carrier(&self, pod: &Pod) -> Option<String> {
        if matches!(pod.marks, Marks::Own { .. }) || pod.marks.holds() {
            return None;
        }
        let index = self.seen.index();
        let workload = index.workload(&pod.owner.as_ref()?.uid).filter(|workload| workload.holds)?;
        Some(workload.to_string())
    }

    /// An eviction names its pod and does not show it.
    async fn fetch(&self, namespace: &str, name: &str) -> Result<Option<Value>, kube::Error> {
        let path = format!("/api/v1/namespaces/{namespace}/pods/{name}");
        let request = HttpRequest::get(path).body(Vec::new()).map_err(kube::Error::HttpError)?;
        match self.client.request(request).await {
            Ok(pod) => Ok(Some(pod)),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
            Err(error) => Err(error),
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
