//! Who may do what.
//!
//! Pure: the same user, request and facts always give the same decision. There is no RBAC. The admin may do everything,
//! a node what its kubelet and its agent need (`node`), and everybody may find out what is served and who they are.
//! What a body says is not known here: what it may say is decided in `restrict`, and both have to agree.

use super::user::{AUTHENTICATED, MASTERS, User, service_account};

pub(crate) use super::references::Used;

mod node;

/// What is asked for, as far as it can be told from the request line.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Attributes<'a> {
    /// `get`, `list`, `watch`, `create`, `update`, `patch`, `delete` or `deletecollection`; for what is no resource,
    /// the HTTP method in lower case.
    pub(crate) verb: &'a str,
    /// Empty for the core group.
    pub(crate) group: &'a str,
    /// The plural. Empty for what is no resource.
    pub(crate) resource: &'a str,
    pub(crate) subresource: &'a str,
    pub(crate) namespace: &'a str,
    /// Empty where the request names no object, as a `create` does not.
    pub(crate) name: &'a str,
    /// Of what is no resource, without the query.
    pub(crate) path: &'a str,
    /// The field selector's requirements of the form `field=value`. All of them hold for what is answered, so each may
    /// be relied upon; other requirements (`!=`) are left out.
    pub(crate) fields: &'a [(&'a str, &'a str)],
}

/// What is known about the objects that are stored.
pub(crate) trait Facts {
    /// The node to which a pod is bound: nothing if there is no such pod, an empty name if it is bound to none yet.
    fn pod_node(&self, namespace: &str, name: &str) -> Option<String>;

    /// Whether a pod that is bound to the node uses the object, see [`references`](super::references()).
    fn node_uses(&self, node: &str, used: Used, namespace: &str, name: &str) -> bool;

    /// The uid of an object, or nothing if there is no such object.
    fn uid(&self, object: Object, namespace: &str, name: &str) -> Option<String>;
}

/// Objects that a token can be bound to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Object {
    ServiceAccount,
    Pod,
    Node,
}

/// Whether a request is answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    Allow,
    /// Why not, to be appended to the sentence that names user, verb and resource. Says nothing about objects that
    /// the user may not see.
    Deny(String),
}

/// Decides whether the user may do this.
pub(crate) fn authorize(user: &User, asked: &Attributes<'_>, facts: &dyn Facts) -> Decision {
    if user.is_in(MASTERS) {
        Decision::Allow
    } else if !user.is_in(AUTHENTICATED) {
        deny("only authenticated users may use this API")
    } else if everybody_may(asked) {
        Decision::Allow
    } else if let Some(node) = user.node() {
        node::authorize(node, asked, facts)
    } else if service_account(&user.name).is_some() {
        deny("this API has no RBAC: a service account may only find out what is served and who it is")
    } else {
        deny("this API has no RBAC: only members of system:masters and nodes may use its resources")
    }
}

/// Finding out what is served, and who one is oneself.
fn everybody_may(asked: &Attributes<'_>) -> bool {
    if asked.resource.is_empty() {
        return matches!(asked.verb, "get" | "head") && is_discovery(asked.path);
    }
    let review = match asked.group {
        "authorization.k8s.io" => {
            ["selfsubjectaccessreviews", "selfsubjectrulesreviews"].contains(&asked.resource)
        }
        "authentication.k8s.io" => asked.resource == "selfsubjectreviews",
        _ => false,
    };
    review && asked.verb == "create" && asked.subresource.is_empty()
}

fn is_discovery(path: &str) -> bool {
    let under = |root| path.strip_prefix(root).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    matches!(path, "/version" | "/version/" | "/healthz" | "/livez" | "/readyz")
        || ["/api", "/apis", "/openapi"].into_iter().any(under)
}

fn deny(reason: impl Into<String>) -> Decision {
    Decision::Deny(reason.into())
}

#[cfg(test)]
mod tests;
