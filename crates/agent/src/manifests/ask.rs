//! Nothing lies ready for a static pod, or what does has failed: the cluster is asked once, and what it gives is laid ready
//! as if the hub had brought it.
//!
//! Nobody waits for the cluster but who has asked. Where it gives nothing, what has failed is the owner's to try again; what
//! the cluster has taken back is not, as long as it can be reached.

use std::collections::BTreeSet;
use std::pin::Pin;
use std::time::Duration;

use safepoint_api::local::{Failure, PutMode};
use safepoint_api::names::safepoint::{GROUP, VERSION};
use safepoint_core::Key;
use safepoint_manifest::{Code, Outcome, PodKey};
use safepoint_supervisor::Fault;
use serde_json::Value;
use tokio::sync::oneshot;

use super::Working;
use super::board::{Granted, refused};
use super::given::{bring, given};
use super::read::key_of;
use super::wish::missing;
use crate::cluster::{CallError, Cluster, Query, Resource};
use crate::link::LinkState;
use crate::seen::NOTHING_TO_UPGRADE;

/// So long the owner waits for the cluster. A list of one namespace takes less, and a link that takes longer is none.
const PATIENCE: Duration = Duration::from_secs(10);

/// What the cluster has said, and who wanted to know.
pub(super) struct Asked {
    pod: PodKey,
    reply: oneshot::Sender<Granted>,
    /// The StaticPods of the pod's namespace, or why they are not known.
    answer: Result<Vec<Value>, String>,
}

/// The future of one.
pub(super) type AskJob = Pin<Box<dyn Future<Output = Asked> + Send>>;

// === impl Working ===

impl Working<'_> {
    /// Begins to ask the cluster what it wants of a static pod.
    pub(super) fn ask(&self, pod: PodKey, reply: oneshot::Sender<Granted>) {
        let (cluster, link) = (self.cluster.clone(), self.link.now());
        self.asks.push(Box::pin(async move {
            let answer = static_pods(&cluster, link, &pod).await;
            Asked { pod, reply, answer }
        }));
    }

    /// The cluster has answered, or has not.
    pub(super) async fn asked(&mut self, asked: Asked) -> Result<(), Fault> {
        let Asked { pod, reply, answer } = asked;
        self.scan().await?;
        // Somebody may have brought something meanwhile.
        let staged = self.staged(&pod);
        let Some(live) = self.live.get(&key_of(&pod)) else {
            return self.answer(Err(refused(&missing(&pod))), reply).await;
        };
        let lies_ready = staged.as_ref().ok().map(|read| &read.manifest);
        let given = answer.and_then(|objects| given(&pod, &objects, &live.manifest, lies_ready));
        let granted = match (given, staged) {
            (Ok(given), _) => {
                tracing::info!(%pod, "the cluster wants something else: laying it ready");
                return self.put(&pod, Some(given.file), &given.text, PutMode::Stage, reply).await;
            }
            (Err(why), Ok(read)) if self.is_taken_back(&read.key, read.version.revision.as_str()) => {
                let revision = &read.version.revision;
                let message = format!("the cluster has taken back revision {revision} of {pod}, and {why}");
                Err(Box::new(Failure::new(409, NOTHING_TO_UPGRADE, message)))
            }
            (Err(_), Ok(read)) => self.want_held(&read, false).await.map(Ok)?,
            (Err(why), Err(outcome)) if outcome.code == Code::NothingStaged => {
                let message = format!("{}, and {why}", outcome.message);
                Err(refused(&Outcome { message, ..outcome }))
            }
            (Err(_), Err(outcome)) => Err(refused(&outcome)),
        };
        self.answer(granted, reply).await
    }

    /// Whether the cluster says that what lies ready is not to be applied. Without the cluster nobody says anything, and what
    /// lies ready is the owner's.
    pub(super) fn is_taken_back(&self, key: &Key, revision: &str) -> bool {
        let mirror = Key::pod(&key.namespace, &format!("{}-{}", key.name, self.node.to_ascii_lowercase()));
        self.link.now().connected && self.seen.is_listed() && self.seen.is_taken_back(&mirror, revision)
    }

    /// Everything that lies ready and is not to be applied.
    pub(super) fn taken_back(&self) -> BTreeSet<Key> {
        let taken = self.staged.iter().filter(|(key, it)| self.is_taken_back(key, &it.revision));
        taken.map(|(key, _)| key.clone()).collect()
    }
}

/// The StaticPods of a pod's namespace, or why they are not known, as the end of a sentence.
async fn static_pods(cluster: &Cluster, link: LinkState, pod: &PodKey) -> Result<Vec<Value>, String> {
    let away = |why: String| format!("{why}: ask again later; {}", bring(pod));
    if !link.connected {
        return Err(away(link.message.unwrap_or_else(|| "the cluster has not been reached yet".to_owned())));
    }
    let collection = Resource::of_group_in(GROUP, VERSION, pod.namespace(), "staticpods");
    let query = Query::default();
    match tokio::time::timeout(PATIENCE, cluster.list(&collection, &query)).await {
        Ok(Ok(list)) => Ok(list.items),
        // Nobody has defined them.
        Ok(Err(CallError::Refused { code: 404, .. })) => Ok(Vec::new()),
        Ok(Err(CallError::Refused { code: 403, message, .. })) => Err(format!(
            "the cluster does not let this node list StaticPods: apply deploy/agent/rbac.yaml ({message})"
        )),
        Ok(Err(error)) => Err(away(error.to_string())),
        Err(_) => Err(away(format!("the cluster has not answered within {} s", PATIENCE.as_secs()))),
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use http::{Request, Response};
    use http_body_util::{BodyExt, Full};

    use super::*;
    use crate::cluster::Answering;

    /// What is said of a cluster that answers so, or not at all.
    async fn said(code: u16, body: &'static str) -> Result<Vec<Value>, String> {
        let cluster = Cluster::new(move |request: Request<Full<Bytes>>| -> Answering {
            assert_eq!(request.uri().path(), "/apis/safepoint.dev/v1alpha1/namespaces/edge/staticpods");
            let body = Full::new(Bytes::from(body)).map_err(|never| match never {}).boxed_unsync();
            let answer = Response::builder().status(code.max(200)).body(body).map_err(Into::into);
            Box::pin(async move { if code == 0 { std::future::pending().await } else { answer } })
        });
        let link = LinkState { connected: true, ..LinkState::default() };
        static_pods(&cluster, link, &PodKey::new("edge", "nginx").unwrap()).await
    }

    #[tokio::test(start_paused = true)]
    async fn a_cluster_that_does_not_answer_keeps_nobody_waiting() {
        let why = said(0, "").await.unwrap_err();
        assert!(why.contains("has not answered within 10 s: ask again later"), "{why}");
    }

    #[tokio::test]
    async fn a_cluster_that_knows_no_static_pods_has_none_and_one_that_forbids_says_how_to_allow_it() {
        assert_eq!(said(404, "{}").await, Ok(Vec::new()));
        let why = said(403, r#"{"message": "staticpods is forbidden"}"#).await.unwrap_err();
        assert!(why.contains("apply deploy/agent/rbac.yaml (staticpods is forbidden)"), "{why}");
    }
}
