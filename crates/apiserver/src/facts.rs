//! What identity must know about the objects: which node a pod is on, what the pods of a node use, who is still there.

use safepoint_store::{Key, Scope};
use serde_json::Value;

use crate::api::Api;
use crate::identity::{Facts, Object, Used, references};

/// The store, as authorization sees it.
pub(crate) struct Objects<'a>(&'a Api);

impl Facts for Objects<'_> {
    fn pod_node(&self, namespace: &str, name: &str) -> Option<String> {
        let pod = self.0.0.store.get(&Key::new("pods", namespace, name))?;
        Some(pod.tags.field("spec.nodeName").to_owned())
    }

    /// Looks at the pods of the node, which are indexed: there are at most some hundred of them.
    fn node_uses(&self, node: &str, used: Used, namespace: &str, name: &str) -> bool {
        let scope = Scope::collection("pods").namespace(namespace).field("spec.nodeName", node);
        self.0.0.store.list(&scope, None, usize::MAX).objects.iter().any(|pod| {
            let pod: Value = serde_json::from_slice(&pod.json).unwrap_or_default();
            references(&pod).iter().any(|(kind, at, what)| *kind == used && at == namespace && what == name)
        })
    }

    fn uid(&self, object: Object, namespace: &str, name: &str) -> Option<String> {
        let key = match object {
            Object::ServiceAccount => Key::new("serviceaccounts", namespace, name),
            Object::Pod => Key::new("pods", namespace, name),
            Object::Node => Key::new("nodes", "", name),
        };
        Some(self.0.0.store.get(&key)?.tags.uid.clone())
    }
}

impl Api {
    pub(crate) fn facts(&self) -> Objects<'_> {
        Objects(self)
    }
}
