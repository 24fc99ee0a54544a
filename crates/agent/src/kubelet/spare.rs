//! What a kubelet needs to start a pod and only the cluster can say, as it last said it: the Node, the services, and tokens.
//!
//! It is used while the cluster is away and at no other time. Tokens are credentials; they are kept where the journal is,
//! which only root reads, for as long as their pod is shown.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use safepoint_core::Uid;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::collection::Name;

/// Under these names they are kept in the journal.
pub(super) const KEPT: &str = "door/";
const NODE: &str = "node";
const SERVICES: &str = "services";
const TOKEN: &str = "token/";
pub(super) const ABSENT: &str = "absent";

/// The copies.
#[derive(Debug, Default)]
pub(super) struct Spare {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    node: Option<Arc<str>>,
    services: Option<Services>,
    tokens: BTreeMap<String, Token>,
}

/// All services, cut down to what a kubelet makes variables of.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
struct Services {
    version: String,
    items: BTreeMap<String, Value>,
}

/// An answer with a token.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct Token {
    pod: String,
    content_type: String,
    body: String,
}

/// What is to be kept, by its name; none: no longer.
pub(super) type Keep = (String, Option<Vec<u8>>);

// === impl Spare ===

impl Spare {
    /// What was kept. A row that cannot be read is as good as none: it is written again when the cluster says it again.
    pub(super) fn from_kept(rows: Vec<(String, Vec<u8>)>) -> Self {
        let mut inner = Inner::default();
        for (name, value) in rows {
            match name.as_str() {
                NODE => inner.node = String::from_utf8(value).ok().map(Into::into),
                SERVICES => inner.services = serde_json::from_slice(&value).ok(),
                name => {
                    if let Some(id) = name.strip_prefix(TOKEN)
                        && let Ok(token) = serde_json::from_slice(&value)
                    {
                        inner.tokens.insert(id.to_owned(), token);
                    }
                }
            }
        }
        Self { inner: Mutex::new(inner) }
    }

    /// The Node, if the cluster has ever said it.
    pub(super) fn node(&self) -> Option<Arc<str>> {
        self.lock().node.clone()
    }

    /// The Node is this now. What is to be kept of it, if that has changed.
    pub(super) fn set_node(&self, node: &Value) -> Option<Keep> {
        let mut node = node.clone();
        if let Value::Object(metadata) = &mut node["metadata"] {
            metadata.remove("managedFields");
        }
        node["kind"] = json!("Node");
        node["apiVersion"] = json!("v1");
        let text: Arc<str> = node.to_string().into();
        let mut inner = self.lock();
        if inner.node.as_ref() == Some(&text) {
            return None;
        }
        inner.node = Some(Arc::clone(&text));
        Some((format!("{KEPT}{NODE}"), Some(text.as_bytes().to_vec())))
    }

    /// The services, as a list and as the version that it is of; none if the cluster has never said them.
    pub(super) fn services(&self) -> Option<(Vec<Value>, String)> {
        let inner = self.lock();
        let services = inner.services.as_ref()?;
        Some((services.items.values().cloned().collect(), services.version.clone()))
    }

    pub(super) fn set_services(&self, services: &[Value]) {
        let items = services.iter().map(|service| (key(service), cut(service))).collect();
        let version = services.iter().filter_map(version).max().unwrap_or(1).to_string();
        self.lock().services = Some(Services { version, items });
    }

    /// One service is this now, or is gone.
    pub(super) fn set_service(&self, service: &Value, is_there: bool) {
        let mut inner = self.lock();
        let services = inner.services.get_or_insert_default();
        match is_there {
            true => drop(services.items.insert(key(service), cut(service))),
            false => drop(services.items.remove(&key(service))),
        }
        if let Some(version) = version(service) {
            services.version = version.to_string();
        }
    }

    /// What is to be kept of the services.
    pub(super) fn services_to_keep(&self) -> Option<Keep> {
        let services = serde_json::to_vec(self.lock().services.as_ref()?).ok()?;
        Some((format!("{KEPT}{SERVICES}"), Some(services)))
    }

    /// The answer that was given to the same request before.
    pub(super) fn token(&self, path: &str, request: &[u8]) -> Option<(String, Bytes)> {
        let inner = self.lock();
        let token = inner.tokens.get(&id(path, request))?;
        Some((token.content_type.clone(), STANDARD.decode(&token.body).ok()?.into()))
    }

    /// Notes an answer with a token for a pod.
    pub(super) fn set_token(
        &self,
        pod: &Uid,
        path: &str,
        request: &[u8],
        kind: &str,
        answer: &[u8],
    ) -> Option<Keep> {
        let token =
            Token { pod: pod.to_string(), content_type: kind.to_owned(), body: STANDARD.encode(answer) };
        let row = serde_json::to_vec(&token).ok()?;
        let id = id(path, request);
        self.lock().tokens.insert(id.clone(), token);
        Some((format!("{KEPT}{TOKEN}{id}"), Some(row)))
    }

    /// Forgets the tokens of pods that are not shown any more.
    pub(super) fn forget_tokens(&self, is_shown: impl Fn(&Uid) -> bool) -> Vec<Keep> {
        let mut inner = self.lock();
        let is_gone = |token: &Token| !is_shown(&Uid::from(token.pod.as_str()));
        let gone: Vec<String> =
            inner.tokens.iter().filter(|(_, token)| is_gone(token)).map(|(id, _)| id.clone()).collect();
        for id in &gone {
            inner.tokens.remove(id);
        }
        gone.into_iter().map(|id| (format!("{KEPT}{TOKEN}{id}"), None)).collect()
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // Nothing that can panic happens under the lock.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The same request for the same pod has the same id.
fn id(path: &str, request: &[u8]) -> String {
    let mut text = String::with_capacity(32);
    for byte in &digest(&SHA256, &[path.as_bytes(), b"\n", request].concat()).as_ref()[..16] {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

fn key(service: &Value) -> String {
    let (namespace, name): Name = (text(service, "namespace"), text(service, "name"));
    format!("{namespace}/{name}")
}

fn text(object: &Value, name: &str) -> String {
    object["metadata"][name].as_str().unwrap_or_default().to_owned()
}

fn version(object: &Value) -> Option<u64> {
    object["metadata"]["resourceVersion"].as_str()?.parse().ok()
}

/// What a kubelet makes variables of.
fn cut(service: &Value) -> Value {
    let spec = &service["spec"];
    json!({"apiVersion": "v1", "kind": "Service",
        "metadata": {"namespace": service["metadata"]["namespace"], "name": service["metadata"]["name"],
            "uid": service["metadata"]["uid"], "resourceVersion": service["metadata"]["resourceVersion"]},
        "spec": {"clusterIP": spec["clusterIP"], "clusterIPs": spec["clusterIPs"], "ports": spec["ports"], "type": spec["type"],
            "externalName": spec["externalName"]}})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn service(name: &str, version: &str) -> Value {
        json!({"metadata": {"namespace": "default", "name": name, "resourceVersion": version, "annotations": {"a": "b"}},
            "spec": {"clusterIP": "10.0.0.1", "ports": [{"port": 80}], "selector": {"a": "b"}}})
    }

    /// What is kept, as it would be read back.
    fn kept(rows: impl IntoIterator<Item = Keep>) -> Spare {
        let there =
            rows.into_iter().filter_map(|(name, value)| Some((name.strip_prefix(KEPT)?.to_owned(), value?)));
        Spare::from_kept(there.collect())
    }

    #[test]
    fn what_was_kept_is_there_again() {
        let spare = Spare::default();
        let node = spare.set_node(&json!({"metadata": {"name": "rover-7", "managedFields": []}})).unwrap();
        spare.set_services(&[service("a", "7"), service("b", "9")]);
        spare.set_service(&service("b", "12"), false);
        let again = kept([node, spare.services_to_keep().unwrap()]);
        assert!(again.node().unwrap().contains("rover-7"));
        let (services, version) = again.services().unwrap();
        assert_eq!((services.len(), version.as_str()), (1, "12"));
        assert_eq!(services[0]["spec"]["clusterIP"], "10.0.0.1");
    }

    #[test]
    fn what_has_not_changed_is_not_kept_again() {
        let spare = Spare::default();
        let node = json!({"metadata": {"name": "rover-7"}});
        assert!(spare.set_node(&node).is_some());
        assert!(spare.set_node(&node).is_none());
    }

    #[test]
    fn a_token_is_for_the_same_request_alone_and_goes_with_its_pod() {
        let spare = Spare::default();
        let row =
            spare.set_token(&Uid::from("u1"), "/path", b"request", "application/json", b"answer").unwrap();
        let again = kept([row]);
        assert_eq!(
            again.token("/path", b"request"),
            Some(("application/json".into(), Bytes::from("answer")))
        );
        assert_eq!(again.token("/path", b"another"), None);
        assert_eq!(again.token("/other", b"request"), None);
        assert_eq!(again.forget_tokens(|uid| uid.as_str() == "u1"), []);
        assert_eq!(again.forget_tokens(|_| false).len(), 1);
        assert_eq!(again.token("/path", b"request"), None);
    }

    #[test]
    fn a_row_that_cannot_be_read_is_as_good_as_none() {
        let spare =
            Spare::from_kept(vec![("services".into(), b"{".to_vec()), ("token/x".into(), vec![0xff])]);
        assert!(spare.services().is_none());
    }
}
