//! What was decided is written: statuses, Events, and questions to webhooks.

use std::time::Duration;

use futures::StreamExt as _;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, Patch, PatchParams};
use safepoint_api::names::kusionstack::{GROUP, VERSION};
use safepoint_api::pod_transition_rule::PodTransitionRuleStatus as Status;
use safepoint_core::Text;
use safepoint_core::lifecycle::rules::webhook::{Answer, Call};
use serde_json::{Value, json};

use super::super::known::Key;
use super::super::world::Pods;
use super::ask;
use super::client::Client;
use super::marks::{self, Mark};
use super::news::News;
use super::raw::RawRule;
use super::read::{Hook, address};
use super::set::{Acts, Calling, Object};
use super::{AGAIN, CONFLICT, status};
use crate::clock::Clock;
use crate::event::{self, Told};

/// So many pods are looked up, or written, at once.
const LOOKUPS: usize = 8;

/// Writes.
pub(crate) struct Writer<'a> {
    pub(crate) client: &'a kube::Client,
    pub(crate) pods: &'a Pods,
    pub(crate) clock: &'a Clock,
}

/// What came of it.
pub(crate) enum Done {
    /// There was nothing to be written that something waits for.
    Nothing,
    /// The object is gone, or going.
    Gone,
    /// The status is there, in this version of the object.
    Written { version: String, status: Box<Status> },
    /// The object has changed.
    Conflict,
    /// It is tried again.
    Failed,
}

// === impl Writer ===

impl Writer<'_> {
    pub(crate) async fn carry_out(&self, object: &Object, acts: Acts) -> Done {
        match (acts.status, acts.finalizers) {
            (Some((version, status)), _) => self.tell(object, &version, status).await,
            (None, Some((version, finalizers))) => self.let_go(object, &version, &finalizers).await,
            (None, None) => Done::Nothing,
        }
    }

    /// Tells what is new. Nothing waits for that.
    pub(crate) async fn events(&self, object: &Object, all: Vec<News>) {
        for news in all {
            self.event(object, news).await;
        }
    }

    /// Writes the annotation on pods, or takes it off. Returns those of which it is not known, after a while in which it makes no
    /// sense to try again.
    pub(crate) async fn mark(&self, object: &Object, marks: Vec<Mark>) -> Vec<Mark> {
        let Some(annotation) = marks::key(&object.name) else { return Vec::new() };
        let annotation = annotation.as_str();
        let mark = |mark: Mark| async move {
            let key = Key { namespace: object.namespace.clone(), name: mark.pod.clone() };
            let known = self.pods.get(&key)?;
            // On the version that was seen: of two who write at once the later one fails, and looks again.
            let change = json!({"metadata": {"uid": &*known.uid, "resourceVersion": &*known.version,
                "annotations": {annotation: &mark.value}}});
            let pods: Api<Pod> = Api::namespaced(self.client.clone(), &key.namespace);
            match pods.patch_metadata(&key.name, &PatchParams::default(), &Patch::Merge(change)).await {
                Ok(_) => None,
                Err(kube::Error::Api(status)) if status.code == 404 => None,
                Err(kube::Error::Api(status)) if status.code == 409 => Some((mark, CONFLICT)),
                Err(error) => {
                    tracing::debug!(%error, pod = &*key.name, "an annotation is not written; it is tried again");
                    Some((mark, AGAIN))
                }
            }
        };
        let written = futures::stream::iter(marks).map(mark).buffer_unordered(LOOKUPS);
        let failed: Vec<(Mark, Duration)> = written.filter_map(std::future::ready).collect().await;
        if let Some(wait) = failed.iter().map(|(_, wait)| *wait).min() {
            tokio::time::sleep(wait).await;
        }
        failed.into_iter().map(|(mark, _)| mark).collect()
    }

    async fn tell(&self, object: &Object, version: &str, status: Status) -> Done {
        let api: Api<RawRule> = Api::namespaced(self.client.clone(), &object.namespace);
        let change = json!({"metadata": {"uid": &*object.uid, "resourceVersion": version},
            "status": status::patch(&status)});
        match api.patch_status(&object.name, &PatchParams::default(), &Patch::Merge(change)).await {
            Ok(written) => Done::Written {
                version: written.metadata.resource_version.unwrap_or_default(),
                status: Box::new(status),
            },
            Err(error) => self.trouble(object, "cannot write the status of a PodTransitionRule", &error),
        }
    }

    /// Takes finalizers off an object that is being deleted.
    async fn let_go(&self, object: &Object, version: &str, finalizers: &[String]) -> Done {
        let api: Api<RawRule> = Api::namespaced(self.client.clone(), &object.namespace);
        let change =
            json!({"metadata": {"uid": &*object.uid, "resourceVersion": version, "finalizers": finalizers}});
        match api.patch_metadata(&object.name, &PatchParams::default(), &Patch::Merge(change)).await {
            Ok(_) => Done::Gone,
            Err(error) => self.trouble(object, "cannot let a PodTransitionRule go", &error),
        }
    }

    fn trouble(&self, object: &Object, what: &str, error: &kube::Error) -> Done {
        match error {
            kube::Error::Api(status) if status.code == 404 => Done::Gone,
            kube::Error::Api(status) if status.code == 409 => Done::Conflict,
            error => {
                let (namespace, name) = (&*object.namespace, &*object.name);
                tracing::warn!(%error, namespace, name, "{what}: nothing that it decides counts until that is done");
                Done::Failed
            }
        }
    }

    async fn event(&self, object: &Object, news: News) {
        let (version, kind, name, uid) = match &news.pod {
            None => {
                (format!("{GROUP}/{VERSION}"), "PodTransitionRule", object.name.clone(), object.uid.clone())
            }
            Some(pod) => {
                let key = Key { namespace: object.namespace.clone(), name: pod.clone() };
                // Of a pod that is gone there is nothing to tell.
                let Some(known) = self.pods.get(&key) else { return };
                ("v1".to_owned(), "Pod", pod.clone(), known.uid.clone())
            }
        };
        let News { reason, warning, text, name: story, .. } = news;
        let about = event::about(&version, kind, &object.namespace, &name, &uid);
        if let Err(error) =
            (Told { about, story, reason, warning, text }).tell(self.client, self.clock.now()).await
        {
            tracing::debug!(%error, reason, "an event is lost");
        }
    }

    /// Asks a webhook.
    pub(crate) async fn call(
        &self,
        client: &Client,
        object: &Object,
        calling: &Calling,
    ) -> Result<Answer, Text> {
        let hook = &calling.hook;
        match &calling.call {
            Call::Ask(pods) => {
                let pods = self.look_up(object, hook, pods.iter().cloned().collect()).await?;
                let trace = uuid::Uuid::new_v4().to_string();
                let question = ask::question(hook, &trace, &pods).to_string().into_bytes();
                let answer = client.ask(&hook.url, hook.ca.as_deref(), Some(question)).await?;
                ask::asked(&answer, hook.poll.is_some())
            }
            Call::Poll { task, .. } => {
                let poll = hook.poll.as_ref();
                let poll = poll.ok_or("the rule does not say any more where to ask (clientConfig.poll)")?;
                let url = address(&ask::poll_url(poll, task))?;
                let answer = client.ask(&url, poll.ca.as_deref(), None).await?;
                ask::polled(&answer)
            }
        }
    }

    /// The pods of a question, with what is told of them. Those that are gone have nothing to be told.
    async fn look_up(
        &self,
        object: &Object,
        hook: &Hook,
        names: Vec<Text>,
    ) -> Result<Vec<(Text, Value)>, Text> {
        if !ask::needs_pods(hook) {
            return Ok(names.into_iter().map(|name| (name, Value::Null)).collect());
        }
        let look = |name: Text| async move {
            let path = format!("/api/v1/namespaces/{}/pods/{name}", object.namespace);
            let request = http::Request::get(path).body(Vec::new());
            let request = request.map_err(|error| Text::from(error.to_string()))?;
            match self.client.request::<Value>(request).await {
                Ok(pod) => Ok((name, pod)),
                Err(kube::Error::Api(status)) if status.code == 404 => Ok((name, Value::Null)),
                Err(error) => Err(format!("pod {name} cannot be looked up: {error}").into()),
            }
        };
        let found: Vec<Result<(Text, Value), Text>> =
            futures::stream::iter(names).map(look).buffered(LOOKUPS).collect().await;
        found.into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::{Arc, Mutex};

    use http_body_util::BodyExt as _;
    use kube::client::Body;
    use kube::runtime::watcher;
    use serde::Deserialize as _;

    use super::super::super::slim::SlimPod;
    use super::*;

    /// What is written on a pod that has changed is given back; and of two who write at once only one can succeed.
    #[tokio::test(start_paused = true)]
    async fn a_mark_is_written_on_the_version_that_was_seen_and_given_back_where_it_fails() {
        let asked: Arc<Mutex<Vec<Value>>> = Arc::default();
        let heard = Arc::clone(&asked);
        let service = move |request: http::Request<Body>| {
            let heard = Arc::clone(&heard);
            async move {
                let code = match request.uri().path().rsplit('/').next() {
                    Some("changed") => 409,
                    Some("broken") => 500,
                    _ => 404,
                };
                let body = request.into_body().collect().await.unwrap().to_bytes();
                heard.lock().unwrap().push(serde_json::from_slice(&body).unwrap());
                let status = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code,
                    "message": "no", "reason": "No"});
                let body = Body::from(status.to_string().into_bytes());
                Ok::<_, Infallible>(http::Response::builder().status(code).body(body).unwrap())
            }
        };
        let client = kube::Client::new(tower::service_fn(service), "default");
        let pods = Pods::new();
        for name in ["changed", "broken", "gone"] {
            let pod =
                json!({"metadata": {"namespace": "shop", "name": name, "uid": name, "resourceVersion": "7"}});
            pods.take(watcher::Event::Apply(SlimPod::deserialize(pod).unwrap()));
        }
        let clock = Clock::wall();
        let writer = Writer { client: &client, pods: &pods, clock: &clock };
        let object = Object { namespace: "shop".into(), name: "set".into(), uid: "u1".into() };
        let mark = |pod: &str| Mark { pod: pod.into(), value: None };
        let marks = ["changed", "broken", "gone", "never-seen"].map(mark).to_vec();
        let mut failed = writer.mark(&object, marks).await;
        failed.sort_by(|one, other| one.pod.cmp(&other.pod));
        assert_eq!(failed, [mark("broken"), mark("changed")]);
        let asked = asked.lock().unwrap();
        assert_eq!(asked.len(), 3);
        assert!(asked.iter().all(|body| body["metadata"]["resourceVersion"] == "7"));
    }
}
