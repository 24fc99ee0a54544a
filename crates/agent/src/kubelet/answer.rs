//! The answers to the kubelet's requests.
//!
//! Whatever shows pods, ConfigMaps or Secrets is answered from the front. What the kubelet writes goes to the cluster, and
//! what the cluster answers to it is masked. While the cluster is away nothing that is written is acknowledged.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use http::{HeaderValue, Request, Response, StatusCode, header};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use safepoint_core::{Event, Key, Uid};
use safepoint_machinery::patch::{self, merge_keys};
use safepoint_machinery::status::Reason;
use safepoint_relay::{Body, NoAnswer, Upstream, full, pass, status};
use serde_json::{Value, json};

use super::front::{Facts, Front, Shelf};
use super::mask;
use super::protobuf;
use super::route::{Read, Route, Select};
use super::said::{Said, Word};
use super::spare::Spare;
use super::stream;
use crate::keeper::Desk;
use crate::seen::SeenPods;

/// More than a kubelet ever writes about one pod.
const LARGEST: usize = 4 << 20;

/// What is needed to answer.
pub(super) struct Counter {
    pub(super) node: String,
    pub(super) upstream: Upstream,
    pub(super) desk: Desk,
    pub(super) front: Arc<Front>,
    pub(super) said: Arc<Said>,
    pub(super) spare: Arc<Spare>,
    pub(super) seen: Arc<SeenPods>,
}

/// Whether something is the gate's to show.
enum Judged {
    Yes,
    /// It is between the kubelet and the cluster, such as the Secret of a volume.
    No,
    /// It is, and nobody knows yet what it is.
    Unknown,
}

// === impl Counter ===

impl Counter {
    pub(super) async fn answer(&self, request: Request<Incoming>) -> Response<Body> {
        let uri = request.uri();
        let route = Route::of(&self.node, request.method(), uri.path(), uri.query().unwrap_or_default());
        match route {
            Route::Pods { .. }
            | Route::Configs { .. }
            | Route::Config(_)
            | Route::Pod(_)
            | Route::PodStatus(_)
            | Route::PodEnd(_)
                if self.front.is_closed() =>
            {
                status(503, Reason::ServiceUnavailable, self.front.closed().unwrap_or_default())
            }
            Route::Pods { of, read } => self.collection(Shelf::Pods, of, &read),
            Route::Configs { kind, of, read } => match self.judged(&of.key(kind)) {
                Judged::Yes => self.collection(Shelf::of(kind), of, &read),
                Judged::No => pass(&self.upstream, request).await,
                Judged::Unknown => unknown(),
            },
            Route::Config(key) => match self.judged(&key) {
                Judged::Yes => self.config(&key),
                Judged::No => pass(&self.upstream, request).await,
                Judged::Unknown => unknown(),
            },
            Route::Pod(key) => self.pod(&key, request).await,
            Route::PodStatus(key) => self.pod_status(&key, request).await,
            Route::PodEnd(key) => self.pod_end(&key, request).await,
            Route::Nodes(read) => self.or_spare(request, |spare| nodes(spare, &read)).await,
            Route::Node => {
                self.or_spare(request, |spare| Some(json_text(spare.node()?.as_bytes().to_vec()))).await
            }
            Route::Services(read) => self.or_spare(request, |spare| services(spare, &read)).await,
            Route::Token => self.token(request).await,
            Route::Refused(why) => status(403, Reason::Forbidden, why),
            Route::Other => pass(&self.upstream, request).await,
        }
    }

    /// Whether what is shown of a ConfigMap or Secret is the gate's business, and whether it can be said.
    fn judged(&self, key: &Key) -> Judged {
        match self.front.is_judged(key) {
            None => Judged::No,
            Some(true) => Judged::Yes,
            // A pod that is shown uses it, and the gate has not heard of it: that it is not there has to be certain, because
            // a pod may start without it then.
            Some(false) if self.seen.is_absent(key) => Judged::Yes,
            Some(false) => Judged::Unknown,
        }
    }

    fn collection(&self, shelf: Shelf, of: Select, read: &Read) -> Response<Body> {
        match read {
            Read::List => self.front.shelf(shelf, |collection| {
                let mut list = format!(
                    "{{\"kind\":\"{}List\",\"apiVersion\":\"v1\",\"metadata\":{{\"resourceVersion\":\"{}\"}},\"items\":[",
                    shelf.kind(),
                    collection.newest()
                )
                .into_bytes();
                for (index, item) in collection.all(&of).enumerate() {
                    if index > 0 {
                        list.push(b',');
                    }
                    list.extend_from_slice(item);
                }
                list.extend_from_slice(b"]}");
                json_text(list)
            }),
            Read::Watch(watch) => stream::answer(&self.front, shelf, of, watch).unwrap_or_else(|| {
                status(410, Reason::Expired, "this version is not of now: list again")
            }),
        }
    }

    fn config(&self, key: &Key) -> Response<Body> {
        let name = (key.namespace.to_string(), key.name.to_string());
        let found = self.front.shelf(Shelf::of(key.kind), |collection| collection.get(&name).cloned());
        found.map_or_else(|| not_found(key), |json| json_text(json.to_vec()))
    }

    /// One pod, as the cluster has it, masked.
    async fn pod(&self, key: &Key, request: Request<Incoming>) -> Response<Body> {
        let facts = self.front.facts(key);
        if let Some(facts) = facts.as_ref().filter(|facts| facts.is_private) {
            return self.shown(key, facts);
        }
        match (self.ask(request, None).await, &facts) {
            // Gone from the cluster, and not from here.
            (Ok((StatusCode::FORBIDDEN | StatusCode::NOT_FOUND, _)), Some(facts)) => self.shown(key, facts),
            (Ok((code, answer)), facts) => self.masked(key, facts.as_ref(), code, answer),
            (Err(NoAnswer::Unreachable(_)), Some(facts)) => self.shown(key, facts),
            (Err(no_answer), _) => no_answer.to_response(),
        }
    }

    async fn pod_status(&self, key: &Key, request: Request<Incoming>) -> Response<Body> {
        let (request, body) = match read(request).await {
            Ok(read) => read,
            Err(refusal) => return refusal,
        };
        let change: Value = serde_json::from_slice(&body).unwrap_or_default();
        let uid = change["metadata"]["uid"].as_str().map(Uid::from);
        let facts = self.front.facts(key).filter(|facts| uid.as_ref().is_none_or(|uid| *uid == facts.uid));
        if let Some(facts) = &facts
            && let Err(refusal) = self.remember(key, facts, &change).await
        {
            return refusal;
        }
        if let Some(facts) = facts.as_ref().filter(|facts| facts.is_private) {
            return self.shown(key, facts);
        }
        match self.ask(request, Some(body)).await {
            Ok((code, answer)) => self.masked(key, facts.as_ref(), code, answer),
            Err(no_answer) => {
                // It is not acknowledged, and says all the same how the pod is.
                if let (NoAnswer::Unreachable(_), Some(facts)) = (&no_answer, &facts)
                    && let Ok(status) = self.changed(key, facts, &change)
                {
                    self.said.set_untold(&facts.uid, status);
                }
                no_answer.to_response()
            }
        }
    }

    /// Remembers what nobody else would: how a pod does that the cluster has no object for, and that one is over.
    async fn remember(&self, key: &Key, facts: &Facts, change: &Value) -> Result<(), Response<Body>> {
        let _turn = self.said.turn().await;
        let word = self.said.word(&facts.uid);
        let is_over = word.is_over || mask::is_over(&change["status"]);
        if !facts.is_private && is_over == word.is_over {
            return Ok(());
        }
        let changed = self.changed(key, facts, change);
        let said = changed.map_err(|error| status(422, Reason::Invalid, error.to_string()))?;
        let word = Word { is_over, status: Some(said), ..word };
        // Before the cluster hears it: after a crash nobody could tell whose word it was.
        let kept = self.desk.keep(vec![word.row(&facts.uid)]).await;
        kept.map_err(|error| status(503, Reason::ServiceUnavailable, error.to_string()))?;
        self.said.set(&facts.uid, word);
        Ok(())
    }

    /// The status of a pod with this change.
    fn changed(&self, key: &Key, facts: &Facts, change: &Value) -> Result<Arc<str>, patch::PatchError> {
        let before = self.last(key, facts);
        let rules = merge_keys::of("v1", "Pod").expect("pods are known to the patch rules");
        let after = patch::strategic(&before, &json!({"status": change["status"]}), rules)?;
        Ok(after["status"].to_string().into())
    }

    /// The end of a pod, by the kubelet's own word.
    async fn pod_end(&self, key: &Key, request: Request<Incoming>) -> Response<Body> {
        let (request, body) = match read(request).await {
            Ok(read) => read,
            Err(refusal) => return refusal,
        };
        let uid = protobuf::uid_to_delete(&body);
        let facts = self.front.facts(key).filter(|facts| uid.as_ref() == Some(&facts.uid));
        let Some(facts) = facts else {
            // A mirror pod, or one that nobody here knows of.
            return self
                .ask(request, Some(body))
                .await
                .map_or_else(|no_answer| no_answer.to_response(), answered);
        };
        if facts.end.is_none() {
            let message = format!("the end of {key} is held: this node has not been told to end it");
            return status(409, Reason::Conflict, message);
        }
        let answer = match facts.is_private {
            true => json_text(ended(key, &facts.uid).to_string().into_bytes()),
            false => match self.ask(request, Some(body)).await {
                // Gone, or another one by now: either way this one has ended.
                Ok((StatusCode::NOT_FOUND | StatusCode::CONFLICT | StatusCode::FORBIDDEN, _)) => {
                    json_text(ended(key, &facts.uid).to_string().into_bytes())
                }
                Ok((code, answer)) if code.is_success() => answered((code, answer)),
                Ok(refused) => return answered(refused),
                Err(no_answer) => return no_answer.to_response(),
            },
        };
        // It is not said a second time, so it has to be on disk before the kubelet hears that it was heard.
        let event = Event::Ended { key: key.clone(), uid: facts.uid };
        let kept = match self.desk.bring(event, Vec::new()).await {
            Ok(()) => self.desk.keep(Vec::new()).await,
            Err(error) => Err(error),
        };
        kept.map_or_else(|error| status(503, Reason::ServiceUnavailable, error.to_string()), |()| answer)
    }

    async fn token(&self, request: Request<Incoming>) -> Response<Body> {
        let path = request.uri().path().to_owned();
        let (request, body) = match read(request).await {
            Ok(read) => read,
            Err(refusal) => return refusal,
        };
        let pod = protobuf::pod_of_token(&body).filter(|pod| self.front.has(pod));
        match self.upstream.send(with_body(request, body.clone())).await {
            Ok(answer) if answer.status() == StatusCode::CREATED => {
                let (head, answer) = answer.into_parts();
                let Ok(answer) = collect(answer).await else {
                    return status(502, Reason::Unknown, "the answer of the cluster broke off");
                };
                let kind = head.headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
                let is_plain = !head.headers.contains_key(header::CONTENT_ENCODING);
                if let (Some(pod), Some(kind), true) = (pod, kind, is_plain)
                    && let Some(row) = self.spare.set_token(&pod, &path, &body, kind, &answer)
                    && self.desk.keep(vec![row]).await.is_err()
                {
                    tracing::debug!("a token is not kept: the gate is being restarted");
                }
                Response::from_parts(head, full(answer))
            }
            Ok(answer) => answer,
            Err(NoAnswer::Unreachable(why)) => match self.spare.token(&path, &body) {
                Some((kind, answer)) => {
                    let mut response = Response::new(full(answer));
                    *response.status_mut() = StatusCode::CREATED;
                    if let Ok(kind) = HeaderValue::from_str(&kind) {
                        response.headers_mut().insert(header::CONTENT_TYPE, kind);
                    }
                    response
                }
                None => NoAnswer::Unreachable(why).to_response(),
            },
            Err(no_answer) => no_answer.to_response(),
        }
    }

    /// Passes a request on; while the cluster is away, what it said last.
    async fn or_spare(
        &self,
        request: Request<Incoming>,
        spare: impl FnOnce(&Spare) -> Option<Response<Body>>,
    ) -> Response<Body> {
        match safepoint_relay::try_pass(&self.upstream, request).await {
            Ok(answer) => answer,
            Err(no_answer) => spare(&self.spare).unwrap_or_else(|| no_answer.to_response()),
        }
    }

    /// Sends a request in a form whose answer can be read.
    async fn ask(
        &self,
        request: Request<impl Sized>,
        body: Option<Bytes>,
    ) -> Result<(StatusCode, Bytes), NoAnswer> {
        let (mut head, _) = request.into_parts();
        head.headers.insert(header::ACCEPT, HeaderValue::from_static("application/json"));
        head.headers.remove(header::ACCEPT_ENCODING);
        let request = with_body(Request::from_parts(head, ()), body.unwrap_or_default());
        let answer = self.upstream.send(request).await?;
        let code = answer.status();
        match collect(answer.into_body()).await {
            Ok(answer) => Ok((code, answer)),
            Err(why) => Err(NoAnswer::Unreachable(why)),
        }
    }

    /// An answer of the cluster about a pod, as the kubelet may see it.
    fn masked(&self, key: &Key, facts: Option<&Facts>, code: StatusCode, answer: Bytes) -> Response<Body> {
        if !code.is_success() {
            return answered((code, answer));
        }
        let Ok(pod) = serde_json::from_slice::<Value>(&answer) else {
            return status(502, Reason::Unknown, "the answer of the cluster cannot be read");
        };
        let uid = pod["metadata"]["uid"].as_str().unwrap_or_default();
        match facts {
            Some(facts) if facts.uid.as_str() == uid => {
                // With the phase as it is: a kubelet ends nothing for it here, and writes its own over that of another.
                let mut shown = facts.with_status(Some(&pod["status"]));
                shown["metadata"]["resourceVersion"] = pod["metadata"]["resourceVersion"].clone();
                json_text(shown.to_string().into_bytes())
            }
            // Another one has the name by now; this one is kept.
            Some(facts) => self.shown(key, facts),
            None if is_mirror(&pod) => answered((code, answer)),
            None => not_found(key),
        }
    }

    /// A pod as it is shown.
    fn shown(&self, key: &Key, facts: &Facts) -> Response<Body> {
        json_text(self.last(key, facts).to_string().into_bytes())
    }

    fn last(&self, key: &Key, facts: &Facts) -> Value {
        let name = (key.namespace.to_string(), key.name.to_string());
        let json = self.front.shelf(Shelf::Pods, |collection| collection.get(&name).cloned());
        let shown = json.and_then(|json| serde_json::from_slice::<Value>(&json).ok());
        let is_it = |pod: &Value| pod["metadata"]["uid"] == facts.uid.as_str();
        let mut pod = shown.filter(is_it).unwrap_or_else(|| facts.with_status(None));
        // What the kubelet has said since is not shown yet.
        let own = || self.said.word(&facts.uid).status.filter(|_| facts.is_private);
        let said = self.said.untold(&facts.uid).or_else(own);
        if let Some(status) = said.and_then(|text| serde_json::from_str(&text).ok()) {
            pod["status"] = status;
        }
        pod
    }
}

fn unknown() -> Response<Body> {
    status(503, Reason::ServiceUnavailable, "the cluster has not said yet what this is")
}

fn is_mirror(pod: &Value) -> bool {
    !pod["metadata"]["annotations"][safepoint_api::names::kubernetes::CONFIG_MIRROR].is_null()
}

/// What an API server says when something has been deleted.
fn ended(key: &Key, uid: &Uid) -> Value {
    json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success",
        "details": {"name": &*key.name, "kind": "pods", "uid": uid.as_str()}})
}

fn not_found(key: &Key) -> Response<Body> {
    let plural = match Shelf::of(key.kind) {
        Shelf::Pods => "pods",
        Shelf::ConfigMaps => "configmaps",
        Shelf::Secrets => "secrets",
    };
    status(404, Reason::NotFound, format!("{plural} {:?} not found", &*key.name))
}

/// The Node as a list of one, while the cluster is away.
fn nodes(spare: &Spare, read: &Read) -> Option<Response<Body>> {
    let node: Value = serde_json::from_str(&spare.node()?).ok()?;
    let version = node["metadata"]["resourceVersion"].as_str().unwrap_or("1").to_owned();
    Some(spare_collection("Node", &[node], &version, read))
}

fn services(spare: &Spare, read: &Read) -> Option<Response<Body>> {
    let (services, version) = spare.services()?;
    Some(spare_collection("Service", &services, &version, read))
}

/// A list; a watch is refused, so that who wants to watch lists first and comes back.
fn spare_collection(kind: &str, items: &[Value], version: &str, read: &Read) -> Response<Body> {
    match read {
        Read::List => {
            let list = json!({"kind": format!("{kind}List"), "apiVersion": "v1",
                "metadata": {"resourceVersion": version}, "items": items});
            json_text(list.to_string().into_bytes())
        }
        Read::Watch(_) => {
            status(503, Reason::ServiceUnavailable, "the cluster is away: nothing new is known")
        }
    }
}

fn json_text(json: Vec<u8>) -> Response<Body> {
    answered((StatusCode::OK, json.into()))
}

fn answered((code, json): (StatusCode, Bytes)) -> Response<Body> {
    let mut response = Response::new(full(json));
    *response.status_mut() = code;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// Takes the body of a request off it.
async fn read(request: Request<Incoming>) -> Result<(Request<()>, Bytes), Response<Body>> {
    let (mut head, body) = request.into_parts();
    for hop in [header::CONTENT_LENGTH, header::TRANSFER_ENCODING, header::CONNECTION, header::HOST] {
        head.headers.remove(hop);
    }
    match collect(body).await {
        Ok(body) => Ok((Request::from_parts(head, ()), body)),
        Err(why) => Err(status(400, Reason::BadRequest, why)),
    }
}

fn with_body(request: Request<()>, body: Bytes) -> Request<Body> {
    let (mut head, ()) = request.into_parts();
    head.headers.remove(header::HOST);
    head.version = http::Version::default();
    Request::from_parts(head, full(body))
}

async fn collect<B>(mut body: B) -> Result<Bytes, String>
where
    B: http_body::Body<Data = Bytes> + Unpin,
    B::Error: std::fmt::Display,
{
    let mut bytes = BytesMut::new();
    while let Some(frame) = body.frame().await {
        if let Ok(data) = frame.map_err(|error| error.to_string())?.into_data() {
            bytes.extend_from_slice(&data);
        }
        if bytes.len() > LARGEST {
            return Err(format!("it is larger than {} MiB", LARGEST >> 20));
        }
    }
    Ok(bytes.freeze())
}
