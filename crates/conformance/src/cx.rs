//! What a case works with: a namespace of its own, unique names, requests, and a place for what is to be removed.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use anyhow::{Context as _, Result};
use http::Method;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};
use uuid::Uuid;

use crate::{
    call::Call,
    reply::Reply,
    server::{LIMIT, Server},
    transcript::Transcript,
    watch::Watch,
};

/// How long to wait before asking again for something of which there is no event.
const AGAIN: Duration = Duration::from_millis(50);

/// The context of one case.
#[derive(Clone)]
pub struct Cx {
    server: Server,
    id: String,
    namespace: String,
    litter: Arc<Mutex<Vec<String>>>,
    transcript: Transcript,
}

// === impl Cx ===

impl Cx {
    /// Makes the namespace of the case `name`.
    pub(crate) async fn open(server: &Server, name: &str) -> Result<Cx> {
        let id = Uuid::new_v4().simple().to_string()[..10].to_owned();
        let namespace = format!("case-{id}");
        let body = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {
            "name": namespace, "labels": {"case": id}, "annotations": {"case": name}}});
        let cx = Cx {
            server: server.clone(),
            id,
            namespace,
            litter: Arc::default(),
            transcript: Transcript::default(),
        };
        cx.post("/api/v1/namespaces", &body).await?.code(201).context("the case got no namespace")?;
        Ok(cx)
    }

    /// Removes what the case has made outside of its namespace, and gives the path of the namespace.
    ///
    /// What cannot be removed is nobody's problem: names are never used again.
    pub(crate) async fn close(self) -> String {
        let litter = std::mem::take(&mut *self.litter.lock().unwrap_or_else(PoisonError::into_inner));
        for path in litter.into_iter().rev() {
            let _ = self.delete(path).await;
        }
        format!("/api/v1/namespaces/{}", self.namespace)
    }

    /// What has been said so far.
    pub(crate) fn transcript(&self) -> &Transcript {
        &self.transcript
    }

    /// The server that is asked.
    #[must_use]
    pub fn server(&self) -> &Server {
        &self.server
    }

    /// The namespace of this case.
    #[must_use]
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// What makes names of this case unique. It is also the value of the namespace's label `case`.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// A name that no other case uses.
    #[must_use]
    pub fn unique(&self, stem: &str) -> String {
        format!("{stem}-{}", self.id)
    }

    /// A path of the core group in this case's namespace: `pods/a?dryRun=All`.
    #[must_use]
    pub fn core(&self, rest: &str) -> String {
        format!("/api/v1/namespaces/{}/{rest}", self.namespace)
    }

    /// A path of another group in this case's namespace.
    #[must_use]
    pub fn group(&self, group_version: &str, rest: &str) -> String {
        format!("/apis/{group_version}/namespaces/{}/{rest}", self.namespace)
    }

    /// Deletes `path` when the case is over.
    pub fn remove_later(&self, path: impl Into<String>) {
        self.litter.lock().unwrap_or_else(PoisonError::into_inner).push(path.into());
    }

    /// Sends any request.
    pub async fn send(&self, call: Call) -> Result<Reply> {
        self.server.send(&call, &self.transcript).await
    }

    /// Reads.
    pub async fn get(&self, path: impl Into<String>) -> Result<Reply> {
        self.send(Call::get(path)).await
    }

    /// Creates.
    pub async fn post(&self, path: impl Into<String>, body: &Value) -> Result<Reply> {
        self.send(Call::post(path, body)).await
    }

    /// Creates, which must succeed.
    pub async fn create(&self, path: impl Into<String>, body: &Value) -> Result<Reply> {
        self.post(path, body).await?.code(201)
    }

    /// Creates something outside of namespaces that is removed after the case.
    pub async fn create_for_now(&self, path: &str, body: &Value) -> Result<Reply> {
        let reply = self.create(path, body).await?;
        self.remove_later(format!("{path}/{}", reply.text("/metadata/name")?));
        Ok(reply)
    }

    /// Replaces.
    pub async fn put(&self, path: impl Into<String>, body: &Value) -> Result<Reply> {
        self.send(Call::new(Method::PUT, path).json(body)).await
    }

    /// Patches, where `kind` is `json`, `merge`, `strategic`, or a content type.
    pub async fn patch(&self, kind: &str, path: impl Into<String>, body: &Value) -> Result<Reply> {
        let content_type = match kind {
            "json" => "application/json-patch+json",
            "merge" => "application/merge-patch+json",
            "strategic" => "application/strategic-merge-patch+json",
            other => other,
        };
        self.send(Call::new(Method::PATCH, path).content_type(content_type).json(body)).await
    }

    /// Deletes, with options in the path if any.
    pub async fn delete(&self, path: impl Into<String>) -> Result<Reply> {
        self.send(Call::new(Method::DELETE, path)).await
    }

    /// Deletes, with options in the body.
    pub async fn delete_with(&self, path: impl Into<String>, options: Value) -> Result<Reply> {
        let mut body = json!({"apiVersion": "v1", "kind": "DeleteOptions"});
        merge(&mut body, options);
        self.send(Call::new(Method::DELETE, path).json(&body)).await
    }

    /// Watches; the path says `watch=true` by itself or has it added.
    pub async fn watch(&self, path: impl Into<String>) -> Result<Watch> {
        let path = path.into();
        let sign = if path.contains('?') { '&' } else { '?' };
        self.watch_call(&Call::get(format!("{path}{sign}watch=true"))).await
    }

    /// Watches with any request.
    pub async fn watch_call(&self, call: &Call) -> Result<Watch> {
        self.server.watch(call, &self.transcript).await
    }

    /// Asks again and again until `claim` holds for the answer.
    ///
    /// This is for what a server does by itself and shows in no event, such as serving a new kind.
    pub async fn until(&self, call: Call, claim: impl Fn(&Reply) -> Result<()>) -> Result<Reply> {
        let limit = Instant::now() + LIMIT;
        loop {
            let reply = self.send(call.clone()).await?;
            match claim(&reply) {
                Ok(()) => return Ok(reply),
                Err(error) if Instant::now() > limit => return Err(error.context("this never became true")),
                Err(_) => sleep(AGAIN).await,
            }
        }
    }
}

/// Merges `patch` into `target` as a JSON merge patch does.
pub(crate) fn merge(target: &mut Value, patch: Value) {
    match patch {
        Value::Object(fields) => {
            if !target.is_object() {
                *target = json!({});
            }
            let target = target.as_object_mut().expect("it was just made one");
            for (key, value) in fields {
                if value.is_null() {
                    target.remove(&key);
                } else {
                    merge(target.entry(key).or_insert(Value::Null), value);
                }
            }
        }
        other => *target = other,
    }
}
