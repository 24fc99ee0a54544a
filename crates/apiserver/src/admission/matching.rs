//! Whether a hook wants to be asked about a request.

use safepoint_machinery::meta;
use safepoint_machinery::status::{Grouped, Status};
use serde_json::Value;
use tracing::warn;

use super::attributes::{Attributes, GroupVersionKind, GroupVersionResource, Operation};
use super::condition::{self, Judgement};
use super::convert::Versioned;
use super::hook::{FailurePolicy, Hook};

/// As what a hook is shown a request: as it came, or as the equivalent that one of its rules names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Invocation {
    pub(crate) kind: GroupVersionKind,
    pub(crate) resource: GroupVersionResource,
}

/// Decides whether a hook is asked; `None` if not. The error refuses the request, because it cannot be decided.
pub(crate) fn invocation(hook: &Hook, attributes: &Attributes) -> Result<Option<Invocation>, Box<Status>> {
    if !in_namespace(hook, attributes) || !is_object(hook, attributes) {
        return Ok(None);
    }
    let Some(invocation) = address(hook, attributes) else { return Ok(None) };
    if hook.conditions.is_empty() {
        return Ok(Some(invocation));
    }
    let versioned = Versioned::of(attributes, &invocation.kind);
    match condition::judge(&hook.conditions, attributes, &invocation, &versioned) {
        Judgement::Met => Ok(Some(invocation)),
        Judgement::Unmet => Ok(None),
        Judgement::Unclear(why) => match hook.on_failure {
            FailurePolicy::Ignore => {
                warn!(hook = hook.name, why, "match conditions failed, going on without the hook");
                Ok(None)
            }
            FailurePolicy::Fail => {
                warn!(hook = hook.name, why, "match conditions failed, refusing the request");
                let resource = Grouped::new(&attributes.resource.group, &attributes.resource.resource);
                Err(Box::new(Status::forbidden(resource, &attributes.name, &why)))
            }
        },
    }
}

/// Objects of the cluster are in no namespace that a selector could leave out; a Namespace is in itself.
fn in_namespace(hook: &Hook, attributes: &Attributes) -> bool {
    let is_namespace = attributes.resource.resource == "namespaces";
    if attributes.namespace.is_empty() && !is_namespace {
        return true;
    }
    // While a Namespace is written, its labels are those it will have, which an earlier hook may have changed.
    let is_written = matches!(attributes.operation, Operation::Create | Operation::Update);
    match attributes.object().filter(|_| is_namespace && is_written && attributes.subresource.is_none()) {
        Some(namespace) => hook.namespaces.matches(&meta::labels(namespace)),
        None => hook.namespaces.matches(&attributes.namespace_labels),
    }
}

/// The object as it is or as it will be: a hook must see a label come as well as go.
fn is_object(hook: &Hook, attributes: &Attributes) -> bool {
    if hook.objects.is_empty() {
        return true;
    }
    // What has no metadata (the options of a connection) has no labels that it could be without.
    let selects =
        |object: &Value| object.get("metadata").is_some() && hook.objects.matches(&meta::labels(object));
    attributes.object().is_some_and(selects) || attributes.old_object().is_some_and(selects)
}

/// The address under which a rule knows the request: its own if any rule does, else the first equivalent.
fn address(hook: &Hook, attributes: &Attributes) -> Option<Invocation> {
    let own = Invocation { kind: attributes.kind.clone(), resource: attributes.resource.clone() };
    if hook.rules.iter().any(|rule| rule.matches(attributes, &attributes.resource)) {
        return Some(own);
    }
    let others =
        attributes.equivalents.iter().filter(|other| hook.equivalent && **other != attributes.resource);
    let mut pairs = hook.rules.iter().flat_map(|rule| others.clone().map(move |other| (rule, other)));
    let (_, resource) = pairs.find(|(rule, other)| rule.matches(attributes, other))?;
    let mut kind = own.kind;
    // A kind of another group than its resource (a Scale) is the same at every address.
    if kind.group == attributes.resource.group && kind.version == attributes.resource.version {
        kind.group.clone_from(&resource.group);
        kind.version.clone_from(&resource.version);
    }
    Some(Invocation { kind, resource: resource.clone() })
}

#[cfg(test)]
mod tests;
