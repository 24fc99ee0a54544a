//! GraceDelete: a deletion or an eviction of a pod that takes part is put off, noted on the pod, and done by the controller once
//! the pod is out of service.
//!
//! **Together with a hold.** While the pod's node holds it, the answer is that of the hold: it says who holds and why, the same wish
//! is noted, and no operation begins. When the hold is released the controller begins it. The webhook for holds (`source`) answers
//! the same; neither relies on the other, because each of them passes what it cannot tell, and they may be two hubs.
//!
//! **A refusal is known before anything is written**, so nothing that a write does, or does not do in time, lets a deletion pass.
//!
//! Who asked is noted beside the wish, so that it can be taken back for those who cannot do it themselves: a drain that was given
//! up, a Deployment that was scaled up again. The janitor does that, as for wishes that a hold has put off.

use std::sync::Arc;

use http::Request as HttpRequest;
use k8s_openapi::api::core::v1::Pod as KubePod;
use kube::Client;
use kube::api::{Api, Patch, PatchParams};
use safepoint_core::lifecycle::{Deletion, DeletionKind, DeletionVerdict, Lifecycle, Mark, TakenOn};
use serde_json::{Value, json};
use tokio::time::{Instant, timeout_at};

use super::known::Known;
use super::patch::body;
use super::words::{WISH, nanos};
use crate::clock::Clock;
use crate::pod::Pod;
use crate::seen::Seen;
use crate::source::{Asks, Ends, How, Surplus, Way, Wish, held};
use crate::webhook::{Answer, Denial, Request};

/// So often it is tried to note a wish on a pod that others write at the same time.
const ATTEMPTS: usize = 5;

/// What becomes of deletions.
pub(crate) struct Deletions {
    pub(crate) client: Client,
    pub(crate) seen: Arc<Seen>,
    pub(crate) surplus: Arc<Surplus>,
    pub(crate) clock: Clock,
    /// The hub's own namespace, where nothing is held.
    pub(crate) namespace: String,
}

// === impl Deletions ===

impl Deletions {
    /// Answers somebody who wants this pod to end. What is noted about it is noted before the deadline or not at all.
    pub(super) async fn ask(
        &self,
        request: &Request,
        how: How,
        pod: &Value,
        dry_run: bool,
        deadline: Instant,
    ) -> Answer {
        let Some(taken) = self.put_off(pod, how, dry_run) else { return Answer::Allow };
        let read = Pod::read(&request.namespace, pod);
        let options = match how {
            How::Delete => &request.options,
            How::Eviction => &request.object["deleteOptions"],
        };
        // Another pod than the one that is meant: the server will say so.
        if options["preconditions"]["uid"].as_str().is_some_and(|uid| uid != read.uid) {
            return Answer::Allow;
        }
        let (user, grace) = (&request.user_info.username, options["gracePeriodSeconds"].as_i64());
        let noted = dry_run || self.noted(pod.clone(), how, user, deadline).await;
        let way = if noted { Way::Lifecycle } else { Way::Unnoted };
        let held = self.held(&read, Ends { user, grace, how }, way);
        Answer::Deny(Box::new(held.unwrap_or_else(|| managed(&read, taken, how, noted))))
    }

    /// Notes the wish, and says whether that was done in time.
    pub(crate) async fn noted(&self, pod: Value, how: How, user: &str, deadline: Instant) -> bool {
        let name = pod["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        match timeout_at(deadline, self.note(pod, how, user)).await {
            Ok(Ok(())) => true,
            Ok(Err(error)) => {
                tracing::warn!(%error, pod = name, "cannot note that a pod is to be deleted");
                false
            }
            Err(_) => {
                tracing::warn!(pod = name, "cannot note in time that a pod is to be deleted");
                false
            }
        }
    }

    /// Whether the end of a pod is put off.
    pub(crate) fn puts_off(&self, pod: &Value, how: How) -> bool {
        self.put_off(pod, how, true).is_some()
    }

    fn put_off(&self, pod: &Value, how: How, dry_run: bool) -> Option<TakenOn> {
        let view = Known::read(pod)?.view();
        let kind = match how {
            How::Delete => DeletionKind::Delete,
            How::Eviction => DeletionKind::Evict,
        };
        let asked = Deletion { kind, dry_run };
        match Lifecycle::default().grace_delete(&view, asked, nanos(self.clock.now())) {
            DeletionVerdict::Pass => None,
            DeletionVerdict::PutOff(taken) => Some(taken),
        }
    }

    /// Writes on the pod that it is to be deleted, and who wants it.
    async fn note(&self, mut pod: Value, how: How, user: &str) -> Result<(), kube::Error> {
        let text = |pod: &Value, field: &str| pod["metadata"][field].as_str().unwrap_or_default().to_owned();
        let (namespace, name) = (text(&pod, "namespace"), text(&pod, "name"));
        let pods: Api<KubePod> = Api::namespaced(self.client.clone(), &namespace);
        let mut attempt = 1;
        loop {
            let (Some(taken), Some(known)) = (self.put_off(&pod, how, false), Known::read(&pod)) else {
                return Ok(());
            };
            let read = Pod::read(&namespace, &pod);
            let now = self.clock.now();
            let view = known.view();
            let mut after = view.clone();
            after.apply(&taken.changes);
            let label = after.marks.get(&Mark::ToDelete).map(|label| &**label);
            let wish = Wish::new(now, user.to_owned(), how).labelled(label);
            let noted = known.wish();
            // A label that somebody put on by hand is that person's, whoever else asks.
            let is_ours = noted.is_some() || !view.is_wished_gone();
            let asks = Asks { namespace: &namespace, uid: &read.uid, owner: read.owner.as_ref(), by: user };
            let turn = match noted.is_none() && is_ours {
                true => self.surplus.leave(asks).await,
                false => Some(None),
            };
            // Enough others of its ReplicaSet are to go.
            let Some(_turn) = turn else { return Ok(()) };
            let anew = is_ours && noted.is_none_or(|noted| wish.replaces(&noted));
            if taken.changes.is_empty() && !anew {
                return Ok(());
            }
            let mut change = body(&known, &view, &taken.changes, now);
            if anew {
                change["metadata"]["annotations"][WISH] = wish.write().into();
            }
            match pods.patch_metadata(&name, &PatchParams::default(), &Patch::Merge(change)).await {
                Ok(_) => {
                    tracing::info!(namespace, pod = name, by = user, "a deletion goes through the lifecycle");
                    return Ok(());
                }
                Err(kube::Error::Api(status)) if status.code == 409 && attempt < ATTEMPTS => {}
                // It is gone, or another one has its name.
                Err(kube::Error::Api(status)) if matches!(status.code, 404 | 422) => return Ok(()),
                Err(error) => return Err(error),
            }
            attempt += 1;
            match self.fetch(&namespace, &name).await? {
                Some(found) if found["metadata"]["uid"] == *read.uid => pod = found,
                _ => return Ok(()),
            }
        }
    }

    /// A pod as it is now.
    pub(crate) async fn fetch(&self, namespace: &str, name: &str) -> Result<Option<Value>, kube::Error> {
        let path = format!("/api/v1/namespaces/{namespace}/pods/{name}");
        let request = HttpRequest::get(path).body(Vec::new()).map_err(kube::Error::HttpError)?;
        match self.client.request(request).await {
            Ok(pod) => Ok(Some(pod)),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Whether the node of a pod holds it, so that its deletion has to wait.
    pub(super) fn is_held(&self, namespace: &str, pod: &Value) -> bool {
        let ends = Ends { user: "", grace: None, how: How::Delete };
        self.held(&Pod::read(namespace, pod), ends, Way::Lifecycle).is_some()
    }

    fn held(&self, pod: &Pod, ends: Ends<'_>, way: Way) -> Option<Denial> {
        if pod.namespace == self.namespace {
            return None;
        }
        held(&self.seen, &self.clock, pod, ends, way)
    }
}

/// The answer of the lifecycle. An eviction that could not be noted gets the code that clients try again after, like any other.
fn managed(pod: &Pod, taken: TakenOn, how: How, noted: bool) -> Denial {
    let TakenOn { code, text, .. } = taken;
    let (code, message) = match (noted, how) {
        (true, _) => (code, text),
        (false, How::Eviction) => (code, format!("{text}, but it could not be noted: try again")),
        (false, How::Delete) => (503, format!("{text}, but it could not be noted: try again")),
    };
    let reason = match code {
        429 => "TooManyRequests",
        503 => "ServiceUnavailable",
        _ => "Forbidden",
    };
    Denial { code, reason, message, details: json!({"kind": "pods", "name": pod.name, "uid": pod.uid}) }
}

#[cfg(test)]
mod tests;
