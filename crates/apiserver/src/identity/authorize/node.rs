//! What a node may do.
//!
//! The rules are those of Kubernetes' node authorizer, for the resources that this API serves: a stolen kubeconfig of a
//! node shows what runs on that node, and no more. Where a rule depends on another object it is asked for as a fact;
//! where it depends on the body, `restrict` has the last word.

use crate::identity::authorize::{Attributes, Decision, Facts, Used, deny};

const READ: [&str; 3] = ["get", "list", "watch"];

/// Where the nodes' heartbeats are.
const LEASES: &str = "kube-node-lease";

/// Decides whether the node may do this.
pub(super) fn authorize(node: &str, asked: &Attributes<'_>, facts: &dyn Facts) -> Decision {
    let request = Request { node, asked, facts };
    match (asked.group, asked.resource) {
        ("", "nodes") => request.own_node(),
        ("coordination.k8s.io", "leases") => request.own_lease(),
        ("safepoint.dev", "nodegates") => request.own_gate(),
        // Which of them is about a static pod of this node is not known before they are read.
        ("safepoint.dev", "staticpods") => request.only(&["list"]),
        ("", "pods") => request.pods(),
        ("", "configmaps") => request.used(Used::ConfigMap, &READ),
        ("", "secrets") => request.used(Used::Secret, &READ),
        ("", "persistentvolumeclaims") => request.used(Used::PersistentVolumeClaim, &["get"]),
        ("", "serviceaccounts") => request.service_accounts(),
        // They become environment variables of the node's pods.
        ("", "services") => request.only(&READ),
        ("" | "events.k8s.io", "events") => request.only(&["create", "update", "patch"]),
        // By these a kubelet decides who may use its own API.
        ("authentication.k8s.io", "tokenreviews") => request.only(&["create"]),
        ("authorization.k8s.io", "subjectaccessreviews" | "localsubjectaccessreviews") => {
            request.only(&["create"])
        }
        _ => deny("nodes may not use this resource"),
    }
}

struct Request<'a> {
    node: &'a str,
    asked: &'a Attributes<'a>,
    facts: &'a dyn Facts,
}

// === impl Request ===

impl Request<'_> {
    fn own_node(&self) -> Decision {
        match (self.asked.subresource, self.asked.verb) {
            // The name is in the body.
            ("", "create") => Decision::Allow,
            ("", "get" | "list" | "watch" | "update" | "patch") | ("status", "update" | "patch") => {
                self.own("Node")
            }
            _ => deny("a node may only read, create and update its own Node"),
        }
    }

    fn own_lease(&self) -> Decision {
        match (self.asked.subresource, self.asked.verb) {
            _ if self.asked.namespace != LEASES => {
                deny(format!("a node may only use its Lease in the namespace {LEASES:?}"))
            }
            ("", "create") => Decision::Allow,
            // A list or a watch is not what a kubelet does, not even of its own.
            ("", "get" | "update" | "patch" | "delete") => self.own("Lease"),
            _ => deny("a node may only get, create, update, patch and delete its own Lease"),
        }
    }

    /// What the gate shall do is for people to write, what it does for the node.
    fn own_gate(&self) -> Decision {
        match (self.asked.subresource, self.asked.verb) {
            ("", "get" | "list" | "watch") | ("status", "get" | "update" | "patch") => self.own("NodeGate"),
            _ => deny("a node may only read its own NodeGate and write the status of it"),
        }
    }

    fn pods(&self) -> Decision {
        let Attributes { subresource, verb, .. } = *self.asked;
        match (subresource, verb) {
            ("", "list" | "watch") if self.selects("spec.nodeName") => Decision::Allow,
            ("", "list" | "watch") if self.name().is_none() => deny(
                "a node may only list and watch pods with the field selector spec.nodeName set to itself",
            ),
            // A pod that is gone is no longer known to have been here.
            ("", "get" | "list" | "watch") => self.bound_pod(false),
            // Mirror pods.
            ("", "create") => Decision::Allow,
            // What is gone is answered with 404, which a kubelet understands as done; 403 it tries again and again.
            ("", "delete") | ("status", "update" | "patch") | ("eviction", "create") => self.bound_pod(true),
            _ => deny(
                "a node may only read, delete and evict its own pods, report their status, and create mirror pods",
            ),
        }
    }

    fn bound_pod(&self, or_gone: bool) -> Decision {
        let Attributes { namespace, .. } = *self.asked;
        let bound = self.name().filter(|_| !namespace.is_empty()).is_some_and(|name| {
            match self.facts.pod_node(namespace, name) {
                Some(bound) => bound == self.node,
                None => or_gone,
            }
        });
        self.related(bound)
    }

    fn used(&self, used: Used, verbs: &[&str]) -> Decision {
        let Attributes { subresource, verb, namespace, .. } = *self.asked;
        if !subresource.is_empty() || !verbs.contains(&verb) {
            return deny("a node may only read what its pods use, by name");
        }
        let Some(name) = self.name().filter(|_| !namespace.is_empty()) else {
            return deny("a node may only read single objects of this kind, by namespace and name");
        };
        self.related(self.facts.node_uses(self.node, used, namespace, name))
    }

    fn service_accounts(&self) -> Decision {
        let Attributes { subresource, verb, namespace, name, .. } = *self.asked;
        match (subresource, verb) {
            ("", "get") | ("token", "create") if !namespace.is_empty() && !name.is_empty() => {
                self.related(self.facts.node_uses(self.node, Used::ServiceAccount, namespace, name))
            }
            _ => deny("a node may only get the service accounts of its pods, and create tokens for them"),
        }
    }

    fn only(&self, verbs: &[&str]) -> Decision {
        if self.asked.subresource.is_empty() && verbs.contains(&self.asked.verb) {
            return Decision::Allow;
        }
        deny(format!("a node may only {} this resource", verbs.join(", ")))
    }

    fn own(&self, kind: &str) -> Decision {
        if self.name() == Some(self.node) {
            return Decision::Allow;
        }
        deny(format!("node {:?} may only use its own {kind}, by name", self.node))
    }

    fn related(&self, related: bool) -> Decision {
        if related {
            return Decision::Allow;
        }
        deny(format!("no relationship found between node {:?} and this object", self.node))
    }

    /// The one object that is asked for. A list or a watch names it in its field selector.
    fn name(&self) -> Option<&str> {
        let Attributes { verb, name, fields, .. } = *self.asked;
        let selected = || fields.iter().find(|(field, _)| *field == "metadata.name").map(|(_, name)| *name);
        let name = if matches!(verb, "list" | "watch") && name.is_empty() { selected()? } else { name };
        (!name.is_empty()).then_some(name)
    }

    fn selects(&self, field: &str) -> bool {
        self.asked.fields.contains(&(field, self.node))
    }
}
