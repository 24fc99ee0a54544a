//! Words that the tests read in.

use std::future::Future;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

use serde_json::{Value, json};

use crate::*;

/// Pods have a node, which is indexed, and a phase, which is not.
pub(super) fn options() -> Options {
    Options { tags, indexed: &[("pods", "spec.nodeName")], ..Options::default() }
}

fn tags(key: &Key, value: &Value) -> Tags {
    let mut tags = Tags::of_metadata(key, value);
    for (field, pointer) in [("spec.nodeName", "/spec/nodeName"), ("status.phase", "/status/phase")] {
        if let Some(value) = value.pointer(pointer).and_then(Value::as_str) {
            tags.fields.insert(field.into(), value.to_owned());
        }
    }
    tags
}

pub(super) fn pod(name: &str) -> Key {
    Key::new("pods", "default", name)
}

pub(super) fn pods() -> Scope {
    Scope::collection("pods")
}

pub(super) fn on_node(node: &str) -> Value {
    json!({ "spec": { "nodeName": node } })
}

pub(super) fn on(node: &str) -> Scope {
    pods().field("spec.nodeName", node)
}

/// What the object says beside its revision.
pub(super) fn content(object: &Object) -> Value {
    let mut value: Value = serde_json::from_slice(&object.json).unwrap();
    let metadata = value["metadata"].as_object_mut().unwrap();
    assert_eq!(metadata.remove("resourceVersion").unwrap(), json!(object.revision.to_string()));
    if metadata.is_empty() {
        value.as_object_mut().unwrap().remove("metadata");
    }
    value
}

pub(super) fn names(listing: &Listing) -> Vec<&str> {
    listing.objects.iter().map(|object| &*object.key.name).collect()
}

/// Everything that waits in the watch.
pub(super) fn drain(watch: &mut Watch) -> Vec<Event> {
    std::iter::from_fn(|| watch.try_next()).map(Result::unwrap).collect()
}

/// Starts a future: what it does without waiting is done when this returns.
pub(super) fn start<'a, T>(
    future: impl Future<Output = T> + Send + 'a,
) -> Pin<Box<dyn Future<Output = T> + Send + 'a>> {
    let mut future = Box::pin(future);
    assert!(future.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    future
}

/// Runs a future to its end on this thread.
pub(super) fn wait<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

/// Whether the future is still waiting.
pub(super) fn is_waiting<T>(future: impl Future<Output = T>) -> bool {
    matches!(pin!(future).poll(&mut Context::from_waker(Waker::noop())), Poll::Pending)
}
