//! What the server serves: one [`Resource`] per group, version and plural, built-in or defined by a CRD.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use safepoint_store::{Key, Object};
use serde_json::Value;

use crate::custom::Custom;
use crate::kinds::Rules;

/// One endpoint of the API and everything that is known about its objects.
pub(crate) struct Resource {
    /// Empty for the core group.
    pub(crate) group: Arc<str>,
    pub(crate) version: Arc<str>,
    pub(crate) plural: Arc<str>,
    pub(crate) singular: Arc<str>,
    pub(crate) kind: Arc<str>,
    pub(crate) list_kind: Arc<str>,
    pub(crate) short_names: Vec<Arc<str>>,
    pub(crate) categories: Vec<Arc<str>>,
    pub(crate) namespaced: bool,
    /// Where its objects are in the store: the plural and the group, for all versions the same.
    pub(crate) collection: Arc<str>,
    pub(crate) subs: Vec<Sub>,
    /// Whether its objects are stored. Reviews are only answered.
    pub(crate) stored: bool,
    pub(crate) nature: Nature,
}

/// Where an object's rules come from.
pub(crate) enum Nature {
    /// Written in `kinds`.
    Builtin(&'static dyn Rules),
    /// Read from a CRD.
    Custom(Arc<Custom>),
}

/// A part of an object, or an act on it, with an address of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Sub {
    Status,
    Scale,
    Binding,
    Eviction,
    Token,
    Finalize,
}

// === impl Sub ===

impl Sub {
    const ALL: [(Sub, &'static str); 6] = [
        (Sub::Status, "status"),
        (Sub::Scale, "scale"),
        (Sub::Binding, "binding"),
        (Sub::Eviction, "eviction"),
        (Sub::Token, "token"),
        (Sub::Finalize, "finalize"),
    ];

    pub(crate) fn parse(name: &str) -> Option<Sub> {
        Self::ALL.iter().find(|(_, known)| *known == name).map(|(sub, _)| *sub)
    }

    pub(crate) fn name(self) -> &'static str {
        Self::ALL.iter().find(|(sub, _)| *sub == self).map_or("", |(_, name)| name)
    }
}

// === impl Resource ===

impl Resource {
    /// `v1`, `coordination.k8s.io/v1`.
    pub(crate) fn api_version(&self) -> String {
        api_version(&self.group, &self.version)
    }

    /// The name of one of its objects in the store.
    pub(crate) fn key(&self, namespace: &str, name: &str) -> Key {
        let namespace = if self.namespaced { namespace } else { "" };
        Key::new(Arc::clone(&self.collection), namespace, name)
    }

    pub(crate) fn has(&self, sub: Sub) -> bool {
        self.subs.contains(&sub)
    }

    pub(crate) fn custom(&self) -> Option<&Arc<Custom>> {
        match &self.nature {
            Nature::Custom(custom) => Some(custom),
            Nature::Builtin(_) => None,
        }
    }

    pub(crate) fn rules(&self) -> &dyn Rules {
        match &self.nature {
            Nature::Builtin(rules) => *rules,
            Nature::Custom(custom) => &**custom,
        }
    }

    /// The verbs that discovery names for the main endpoint.
    pub(crate) fn verbs(&self) -> &'static [&'static str] {
        const ALL: &[&str] =
            &["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];
        match &*self.collection {
            _ if !self.stored => &["create"],
            // Nobody should be able to delete all namespaces at once.
            "namespaces" => &["create", "delete", "get", "list", "patch", "update", "watch"],
            _ => ALL,
        }
    }

    /// Whether an object in the store can be shown as it is. One that is older than its CRD may lack new defaults.
    pub(crate) fn serves_as_stored(&self, object: &Object) -> bool {
        match &self.nature {
            Nature::Builtin(rules) => rules.serves_as_stored(),
            Nature::Custom(custom) => custom.is_storage_version() && custom.is_older_than(object.revision),
        }
    }

    /// Whether this is the version in which its objects are stored.
    pub(crate) fn is_storage_version(&self) -> bool {
        match &self.nature {
            Nature::Builtin(rules) => rules.serves_as_stored(),
            Nature::Custom(custom) => custom.is_storage_version(),
        }
    }

    /// An object as this endpoint shows it.
    pub(crate) fn to_served(&self, mut stored: Value) -> Value {
        self.rules().unpack(&mut stored);
        stored["apiVersion"] = self.api_version().into();
        stored["kind"] = (&*self.kind).into();
        stored
    }

    /// The text of an object as this endpoint shows it, where [`Resource::serves_as_stored`].
    pub(crate) fn text(&self, stored: &Bytes) -> Bytes {
        let head = self.text_head();
        if head.is_empty() {
            return stored.clone();
        }
        let mut text = BytesMut::with_capacity(head.len() + stored.len());
        text.extend_from_slice(head.as_bytes());
        text.extend_from_slice(stored.get(1..).unwrap_or_default());
        text.freeze()
    }

    /// What stands in the place of a stored object's first bracket. Objects of built-in kinds are kept without their
    /// kind, because lists show them so, and lists are put together from the texts.
    pub(crate) fn text_head(&self) -> String {
        match &self.nature {
            Nature::Builtin(_) => {
                format!("{{\"kind\":\"{}\",\"apiVersion\":\"{}\",", self.kind, self.api_version())
            }
            Nature::Custom(_) => String::new(),
        }
    }

    /// An object as the store keeps it, whatever version it was written in.
    pub(crate) fn to_stored(&self, mut served: Value) -> Value {
        self.rules().pack(&mut served);
        match self.custom() {
            Some(custom) => served["apiVersion"] = api_version(&self.group, custom.storage_version()).into(),
            None => {
                crate::kinds::remove(&mut served, "kind");
                crate::kinds::remove(&mut served, "apiVersion");
            }
        }
        served
    }
}

/// The `apiVersion` of a group and version.
pub(crate) fn api_version(group: &str, version: &str) -> String {
    if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") }
}
