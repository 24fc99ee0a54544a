//! What is known about a write, in the words of an admission review.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

/// What is done to the object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    /// A new object.
    Create,
    /// A change of an object, or of a part of it.
    Update,
    /// The end of an object.
    Delete,
    /// An act through a subresource that stores nothing, such as `pods/exec`.
    Connect,
}

/// A kind, fully named.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct GroupVersionKind {
    /// Empty for the core group.
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) kind: String,
}

/// A resource, fully named.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct GroupVersionResource {
    /// Empty for the core group.
    pub(crate) group: String,
    pub(crate) version: String,
    /// The plural.
    pub(crate) resource: String,
}

/// One write, as hooks see it.
#[derive(Clone, Debug)]
pub(crate) struct Attributes {
    pub(crate) operation: Operation,
    /// The kind of the object in the request. For a subresource it is the kind that is sent there, which may be of
    /// another group: `autoscaling/v1` `Scale` for `deployments/scale`.
    pub(crate) kind: GroupVersionKind,
    /// The resource in the path of the request.
    pub(crate) resource: GroupVersionResource,
    pub(crate) subresource: Option<String>,
    /// Empty for objects of the cluster.
    pub(crate) namespace: String,
    /// Empty for a new object whose name is still to be generated.
    pub(crate) name: String,
    /// `authentication.k8s.io/v1` `UserInfo`.
    pub(crate) user_info: Value,
    /// The object as it will be; of a connection what it was opened with.
    pub(crate) object: Option<Value>,
    /// The object as it is.
    pub(crate) old_object: Option<Value>,
    /// `CreateOptions`, `UpdateOptions`, `DeleteOptions`, with their `apiVersion` and `kind`.
    pub(crate) options: Option<Value>,
    pub(crate) dry_run: bool,
    /// The labels of the namespace the object is in; for a stored Namespace its own.
    pub(crate) namespace_labels: BTreeMap<String, String>,
    /// Whether objects of this resource live in a namespace.
    pub(crate) namespaced: bool,
    /// Other addresses of the same object: the other versions of a CRD, the other group of an Event. A hook with
    /// `matchPolicy: Equivalent` that names one of them is asked about this one, too.
    pub(crate) equivalents: Vec<GroupVersionResource>,
}

// === impl Operation ===

impl Operation {
    /// As rules and reviews write it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Operation::Create => "CREATE",
            Operation::Update => "UPDATE",
            Operation::Delete => "DELETE",
            Operation::Connect => "CONNECT",
        }
    }
}

// === impl GroupVersionKind ===

impl GroupVersionKind {
    pub(crate) fn new(group: &str, version: &str, kind: &str) -> Self {
        Self { group: group.into(), version: version.into(), kind: kind.into() }
    }

    /// `v1`, `apps/v1`.
    pub(crate) fn api_version(&self) -> String {
        match self.group.as_str() {
            "" => self.version.clone(),
            group => format!("{group}/{}", self.version),
        }
    }
}

// === impl GroupVersionResource ===

impl GroupVersionResource {
    pub(crate) fn new(group: &str, version: &str, resource: &str) -> Self {
        Self { group: group.into(), version: version.into(), resource: resource.into() }
    }
}

// === impl Attributes ===

impl Attributes {
    /// The object that is asked about: none for a deletion, and what the connection was opened with for a connection.
    pub(crate) fn object(&self) -> Option<&Value> {
        match self.operation {
            Operation::Delete => None,
            Operation::Connect => self.object.as_ref().or(self.options.as_ref()),
            Operation::Create | Operation::Update => self.object.as_ref(),
        }
    }

    pub(crate) fn old_object(&self) -> Option<&Value> {
        self.old_object.as_ref()
    }

    /// The options, where they are not the object.
    pub(crate) fn options(&self) -> Option<&Value> {
        self.options.as_ref().filter(|_| self.operation != Operation::Connect)
    }

    pub(crate) fn subresource(&self) -> &str {
        self.subresource.as_deref().unwrap_or_default()
    }

    pub(crate) fn is_namespace(&self) -> bool {
        self.resource.group.is_empty() && self.resource.resource == "namespaces"
    }

    /// The namespace a hook is told. A Namespace counts as being in itself.
    pub(crate) fn namespace(&self) -> &str {
        if self.is_namespace() && self.namespace.is_empty() { &self.name } else { &self.namespace }
    }

    /// Whether no hook may have a say. A hook that could veto the configuration of hooks could lock out its own repair.
    pub(crate) fn is_exempt(&self) -> bool {
        const EXEMPT: [&str; 6] = [
            "MutatingAdmissionPolicy",
            "MutatingAdmissionPolicyBinding",
            "MutatingWebhookConfiguration",
            "ValidatingAdmissionPolicy",
            "ValidatingAdmissionPolicyBinding",
            "ValidatingWebhookConfiguration",
        ];
        self.kind.group == "admissionregistration.k8s.io" && EXEMPT.contains(&self.kind.kind.as_str())
    }
}
