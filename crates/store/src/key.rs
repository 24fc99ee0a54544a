//! What an object is called, and which objects a reader means.
//!
//! Names are opaque here: whether `pods` exists, has namespaces or allows a name is the API's to decide.

use std::fmt;
use std::sync::Arc;

use crate::object::Object;

/// The name of an object, unique in the store. Ordered by collection, then namespace, then name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// The kind of objects it is one of, such as `pods` or `nodegates.safepoint.dev`.
    pub collection: Arc<str>,
    /// The namespace, empty for what belongs to the cluster.
    pub namespace: Arc<str>,
    /// The name within collection and namespace.
    pub name: Arc<str>,
}

/// Which objects are listed or watched: all of a collection, narrowed by whatever else is given.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Scope {
    /// The collection.
    pub collection: Arc<str>,
    /// Only this namespace.
    pub namespace: Option<Arc<str>>,
    /// Only this name, in whichever namespaces are meant.
    pub name: Option<Arc<str>>,
    /// Only objects whose field (see [`Tags::fields`](crate::Tags)) has this value: `(field, value)`.
    pub field: Option<(Arc<str>, Arc<str>)>,
}

// === impl Key ===

impl Key {
    /// The key of an object in a namespace, or of the cluster if the namespace is empty.
    pub fn new(
        collection: impl Into<Arc<str>>,
        namespace: impl Into<Arc<str>>,
        name: impl Into<Arc<str>>,
    ) -> Self {
        Self { collection: collection.into(), namespace: namespace.into(), name: name.into() }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { collection, namespace, name } = self;
        if namespace.is_empty() {
            write!(f, "{collection}/{name}")
        } else {
            write!(f, "{collection}/{namespace}/{name}")
        }
    }
}

// === impl Scope ===

impl Scope {
    /// Everything in a collection.
    pub fn collection(collection: impl Into<Arc<str>>) -> Self {
        Self { collection: collection.into(), namespace: None, name: None, field: None }
    }

    /// The same, in this namespace only.
    #[must_use]
    pub fn namespace(self, namespace: impl Into<Arc<str>>) -> Self {
        Self { namespace: Some(namespace.into()), ..self }
    }

    /// The same, of this name only.
    #[must_use]
    pub fn name(self, name: impl Into<Arc<str>>) -> Self {
        Self { name: Some(name.into()), ..self }
    }

    /// The same, with this value of the field only.
    #[must_use]
    pub fn field(self, field: impl Into<Arc<str>>, value: impl Into<Arc<str>>) -> Self {
        Self { field: Some((field.into(), value.into())), ..self }
    }

    /// Whether the object is meant, by its key and by its field.
    pub fn matches(&self, object: &Object) -> bool {
        self.covers(&object.key)
            && self.field.as_ref().is_none_or(|(field, value)| object.tags.field(field) == &**value)
    }

    /// Whether an object of this key could be meant, whatever its fields say.
    pub(crate) fn covers(&self, key: &Key) -> bool {
        self.collection == key.collection
            && self.namespace.as_ref().is_none_or(|namespace| *namespace == key.namespace)
            && self.name.as_ref().is_none_or(|name| *name == key.name)
    }
}
