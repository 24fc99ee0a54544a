//! The line between a dashboard and its cluster, which may be cut, and on which rights may be missing that the embedded API gives
//! everybody whom it gives any.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};

use axum::body::Body as Answer;
use futures::StreamExt;
use http::{Request, Response};
use http_body_util::{BodyExt, BodyStream, StreamBody};
use kube::Client;
use kube::client::Body;
use serde_json::Value;
use tokio::sync::watch;

#[derive(Clone)]
pub(super) struct Line {
    is_cut: watch::Sender<bool>,
    is_dead: watch::Sender<bool>,
    forbidden: Arc<Mutex<HashSet<&'static str>>>,
}

impl Line {
    pub(super) fn new() -> Self {
        Self {
            is_cut: watch::Sender::new(false),
            is_dead: watch::Sender::new(false),
            forbidden: Arc::default(),
        }
    }

    /// Nothing passes any more, and what was under way ends; or it passes again.
    pub(super) fn cut(&self, is_cut: bool) {
        self.is_cut.send_replace(is_cut);
    }

    /// Nothing that is asked from now on is answered, and nobody says so.
    pub(super) fn kill(&self) {
        self.is_dead.send_replace(true);
    }

    /// From now on nobody may change this NodeGate, nor all of them.
    pub(super) fn forbid(&self, gate: &'static str) {
        self.forbidden.lock().unwrap().insert(gate);
    }

    /// A client behind this line.
    pub(super) fn through(&self, client: Client) -> Client {
        let line = self.clone();
        let call = move |request: Request<Body>| {
            let (line, client) = (line.clone(), client.clone());
            async move { line.pass(&client, request).await }
        };
        Client::new(tower::service_fn(call), "default")
    }

    async fn pass(self, client: &Client, request: Request<Body>) -> Result<Response<Answer>, kube::Error> {
        let mut is_cut = self.is_cut.subscribe();
        if *is_cut.borrow_and_update() {
            return Err(kube::Error::Service("the line is cut".into()));
        }
        if *self.is_dead.borrow() {
            return std::future::pending().await;
        }
        let (parts, body) = request.into_parts();
        let bytes = body.collect().await?.to_bytes();
        let is_review = parts.uri.path().ends_with("/selfsubjectaccessreviews");
        let response = client.send(Request::from_parts(parts, Body::from(bytes.to_vec()))).await?;
        let (parts, body) = response.into_parts();
        if is_review {
            let mut answer: Value = serde_json::from_slice(&body.collect().await?.to_bytes()).unwrap();
            if self.forbids(&answer["spec"]["resourceAttributes"]) {
                answer["status"]["allowed"] = false.into();
            }
            let mut response = Response::new(Answer::from(serde_json::to_vec(&answer).unwrap()));
            *response.status_mut() = parts.status;
            return Ok(response);
        }
        let ends = async move { drop(is_cut.wait_for(|is_cut| *is_cut).await) };
        let body = StreamBody::new(BodyStream::new(body).take_until(Box::pin(ends)));
        Ok(Response::from_parts(parts, Answer::new(body)))
    }

    fn forbids(&self, asked: &Value) -> bool {
        let forbidden = self.forbidden.lock().unwrap();
        let name = asked["name"].as_str().unwrap_or_default();
        asked["resource"] == "nodegates"
            && asked["verb"] == "patch"
            && !forbidden.is_empty()
            && (name.is_empty() || forbidden.contains(name))
    }
}
