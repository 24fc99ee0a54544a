//! What an operation controller says about itself.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use serde_json::{Map, Value};

/// Who operates, and what it does. [`Operation`] is one for those who have nothing more to say.
///
/// ```
/// use k8s_openapi::api::core::v1::Pod;
/// use safepoint_sdk::operation::{Adapter, Write};
///
/// struct Replace;
///
/// impl Adapter for Replace {
///     fn id(&self) -> &str {
///         "replacer"
///     }
///
///     fn kind(&self) -> &str {
///         "replace"
///     }
///
///     fn when_begin(&self, _pod: &Pod, write: &mut Write) {
///         // Told in the same write: this operation ends in the pod's deletion.
///         write.label("podopslifecycle.kusionstack.io/preparing-to-delete", "1");
///     }
/// }
/// ```
pub trait Adapter: Send + Sync {
    /// Under which name it operates. There is one operation under an id on a pod at a time.
    fn id(&self) -> &str;

    /// What it does, such as `update`: the *type* of the operation. Permission is given by type.
    fn kind(&self) -> &str;

    /// Whether it begins although an operation of the same type, under another id, is on the pod.
    fn allow_multi_type(&self) -> bool {
        true
    }

    /// What else is to be written when it begins. Also called where it has begun already: say what should be there.
    fn when_begin(&self, pod: &Pod, write: &mut Write) {
        let _ = (pod, write);
    }

    /// What else is to be written when it finishes. Also called where it has finished already.
    fn when_finish(&self, pod: &Pod, write: &mut Write) {
        let _ = (pod, write);
    }
}

/// An adapter for operations that consist of an id and a type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Operation {
    id: String,
    kind: String,
    allow_multi_type: bool,
    deletes: bool,
}

/// Labels and annotations that go with a write. There is nothing else in it, so nothing else of the pod can be lost.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Write {
    labels: BTreeMap<String, Option<String>>,
    annotations: BTreeMap<String, Option<String>>,
}

// === impl Operation ===

impl Operation {
    /// An operation of this type under this id.
    pub fn new(id: impl Into<String>, kind: impl Into<String>) -> Self {
        Self { id: id.into(), kind: kind.into(), allow_multi_type: true, deletes: false }
    }

    /// Does not begin while an operation of the same type, under another id, is on the pod.
    #[must_use]
    pub const fn alone(mut self) -> Self {
        self.allow_multi_type = false;
        self
    }

    /// Says that the operation ends in the deletion of the pod. Where deletions are put off until the lifecycle allows them,
    /// this lets the operation's own one pass.
    #[must_use]
    pub const fn deleting(mut self) -> Self {
        self.deletes = true;
        self
    }
}

impl Adapter for Operation {
    fn id(&self) -> &str {
        &self.id
    }

    fn kind(&self) -> &str {
        &self.kind
    }

    fn allow_multi_type(&self) -> bool {
        self.allow_multi_type
    }

    fn when_begin(&self, pod: &Pod, write: &mut Write) {
        use safepoint_api::names::kusionstack::PREPARING_TO_DELETE;
        if self.deletes && !pod.labels().contains_key(PREPARING_TO_DELETE) {
            write.label(PREPARING_TO_DELETE, super::labels::nanos(super::now()));
        }
    }
}

// === impl Write ===

impl Write {
    /// Sets a label.
    pub fn label(&mut self, key: impl Into<String>, value: impl Into<String>) {
        self.labels.insert(key.into(), Some(value.into()));
    }

    /// Takes a label off.
    pub fn remove_label(&mut self, key: impl Into<String>) {
        self.labels.insert(key.into(), None);
    }

    /// Sets an annotation.
    pub fn annotation(&mut self, key: impl Into<String>, value: impl Into<String>) {
        self.annotations.insert(key.into(), Some(value.into()));
    }

    /// Takes an annotation off.
    pub fn remove_annotation(&mut self, key: impl Into<String>) {
        self.annotations.insert(key.into(), None);
    }

    /// What of it is not so yet, as a merge patch of the metadata. `None`: all of it is.
    pub(super) fn against(self, pod: &Pod) -> Option<Value> {
        let rest = |wanted: BTreeMap<String, Option<String>>, there: &BTreeMap<String, String>| {
            let missing = wanted.into_iter().filter(|(key, value)| there.get(key) != value.as_ref());
            missing.map(|(key, value)| (key, Value::from(value))).collect::<Map<_, _>>()
        };
        let labels = rest(self.labels, pod.labels());
        let annotations = rest(self.annotations, pod.annotations());
        let mut metadata = Map::new();
        for (field, changes) in [("labels", labels), ("annotations", annotations)] {
            if !changes.is_empty() {
                metadata.insert(field.to_owned(), changes.into());
            }
        }
        (!metadata.is_empty()).then(|| metadata.into())
    }
}
