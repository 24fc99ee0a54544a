//! Writes, configurations and hooks that say what a test wants them to say.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use futures::future::BoxFuture;
use http::Uri;
use safepoint_machinery::status::Status;
use serde_json::{Value, json};

use crate::admission::{
    Attributes, GroupVersionKind, GroupVersionResource, Hooks, Operation, Services, Warnings,
};

/// The hub in this process: one path per hook, and a record of who was asked what.
#[derive(Clone, Default)]
pub(super) struct Hub {
    answers: Arc<Mutex<HashMap<String, Handler>>>,
    asked: Arc<Mutex<Vec<(String, Value)>>>,
}

type Handler = Arc<dyn Fn(Value) -> BoxFuture<'static, (http::StatusCode, String)> + Send + Sync>;

impl Hub {
    /// Answers at `/<name>` with a `response`, to which the uid is added, made from the `request`.
    pub(super) fn answer(self, name: &str, answer: impl Fn(&Value) -> Value + Send + Sync + 'static) -> Hub {
        self.raw(name, move |request| {
            let mut response = answer(&request);
            if response.get("uid").is_none() {
                response["uid"] = request["uid"].clone();
            }
            let body =
                json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response});
            Box::pin(async move { (http::StatusCode::OK, body.to_string()) })
        })
    }

    /// Answers at `/<name>` with any body, in its own time.
    pub(super) fn raw(
        self,
        name: &str,
        answer: impl Fn(Value) -> BoxFuture<'static, (http::StatusCode, String)> + Send + Sync + 'static,
    ) -> Hub {
        self.answers.lock().unwrap().insert(format!("/{name}"), Arc::new(answer));
        self
    }

    /// Answers at `/<name>` with these bytes.
    pub(super) fn text(self, name: &str, body: impl Into<String>) -> Hub {
        let body = body.into();
        self.raw(name, move |_| {
            let body = body.clone();
            Box::pin(async move { (http::StatusCode::OK, body) })
        })
    }

    /// Never answers at `/<name>`.
    pub(super) fn silent(self, name: &str) -> Hub {
        self.raw(name, |_| Box::pin(futures::future::pending()))
    }

    pub(super) fn router(&self) -> Router {
        Router::new().fallback(handle).with_state(self.clone())
    }

    /// The hub as the Service `system/hub`.
    pub(super) fn services(&self) -> Services {
        let services = Services::new();
        services.register("system", "hub", self.router());
        services
    }

    /// The names of the hooks that were asked, in order.
    pub(super) fn asked(&self) -> Vec<String> {
        let asked = self.asked.lock().unwrap();
        asked
            .iter()
            .map(|(uri, _)| uri.trim_start_matches('/').split('?').next().unwrap().to_owned())
            .collect()
    }

    /// The path and query of each question.
    pub(super) fn uris(&self) -> Vec<String> {
        self.asked.lock().unwrap().iter().map(|(uri, _)| uri.clone()).collect()
    }

    /// The `request` of each question.
    pub(super) fn requests(&self) -> Vec<Value> {
        self.asked.lock().unwrap().iter().map(|(_, review)| review["request"].clone()).collect()
    }

    /// The only question, whole.
    pub(super) fn question(&self) -> Value {
        let asked = self.asked.lock().unwrap();
        assert_eq!(asked.len(), 1);
        asked[0].1.clone()
    }
}

async fn handle(State(hub): State<Hub>, uri: Uri, body: Bytes) -> (http::StatusCode, String) {
    let review: Value = serde_json::from_slice(&body).unwrap();
    let handler = hub.answers.lock().unwrap().get(uri.path()).cloned();
    let request = review["request"].clone();
    hub.asked.lock().unwrap().push((uri.to_string(), review));
    match handler {
        Some(handler) => handler(request).await,
        None => (http::StatusCode::NOT_FOUND, "404 page not found".into()),
    }
}

pub(super) fn allow(_: &Value) -> Value {
    json!({"allowed": true})
}

/// Agrees and asks for a change.
pub(super) fn patch(operations: &Value) -> Value {
    json!({"allowed": true, "patchType": "JSONPatch", "patch": STANDARD.encode(operations.to_string())})
}

/// Agrees and sets an annotation.
pub(super) fn annotate(key: &'static str, value: &'static str) -> impl Fn(&Value) -> Value {
    move |_| patch(&json!([{"op": "add", "path": format!("/metadata/annotations/{key}"), "value": value}]))
}

/// A hook of the hub that wants to be asked about everything; `name` is its path, and the beginning of its name.
pub(super) fn webhook(name: &str) -> Value {
    json!({
        "name": format!("{name}.hooks.example.com"),
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "clientConfig": {"service": {"namespace": "system", "name": "hub", "path": format!("/{name}")}},
        "rules": [{"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*/*"]}],
    })
}

/// A hook like [`webhook`], with some fields as given.
pub(super) fn webhook_with(name: &str, fields: &Value) -> Value {
    let mut hook = webhook(name);
    hook.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    hook
}

pub(super) fn mutating(name: &str, webhooks: &[Value]) -> Value {
    json!({"kind": "MutatingWebhookConfiguration", "metadata": {"name": name}, "webhooks": webhooks})
}

pub(super) fn validating(name: &str, webhooks: &[Value]) -> Value {
    json!({"kind": "ValidatingWebhookConfiguration", "metadata": {"name": name}, "webhooks": webhooks})
}

/// The creation of the pod `shop/web`.
pub(super) fn creation() -> Attributes {
    Attributes {
        operation: Operation::Create,
        kind: GroupVersionKind::new("", "v1", "Pod"),
        resource: GroupVersionResource::new("", "v1", "pods"),
        subresource: None,
        namespace: "shop".into(),
        name: "web".into(),
        user_info: json!({"username": "ann", "groups": ["system:authenticated"]}),
        object: Some(json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": "web", "namespace": "shop", "labels": {"app": "web"}, "annotations": {}},
            "spec": {"priority": 1},
        })),
        old_object: None,
        options: Some(json!({"apiVersion": "meta.k8s.io/v1", "kind": "CreateOptions"})),
        dry_run: false,
        namespace_labels: [("team".to_owned(), "blue".to_owned())].into(),
        namespaced: true,
        equivalents: Vec::new(),
    }
}

/// The deletion of the pod `shop/web`.
pub(super) fn deletion() -> Attributes {
    let mut attributes = creation();
    attributes.operation = Operation::Delete;
    attributes.old_object = attributes.object.take();
    attributes.options = Some(json!({"apiVersion": "meta.k8s.io/v1", "kind": "DeleteOptions"}));
    attributes
}

/// Asks validating hooks, of one configuration, about a write.
pub(super) async fn validate(hub: &Hub, webhooks: &[Value], attributes: &Attributes) -> Result<(), Status> {
    let hooks = Hooks::compile(&[validating("v", webhooks)]);
    hooks.validate(attributes, &hub.services(), &mut Warnings::default()).await
}

/// Asks mutating hooks, of one configuration, about a write. The answer is the object that comes out.
pub(super) async fn mutate(hub: &Hub, webhooks: &[Value], attributes: Attributes) -> Result<Value, Status> {
    mutate_by(&Hooks::compile(&[mutating("m", webhooks)]), hub, attributes).await
}

pub(super) async fn mutate_by(hooks: &Hooks, hub: &Hub, mut attributes: Attributes) -> Result<Value, Status> {
    hooks.mutate(&mut attributes, &hub.services(), &mut Warnings::default(), |_| Ok(())).await?;
    Ok(attributes.object.unwrap_or_default())
}
