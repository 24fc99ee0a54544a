//! What is written: objects of which a part could not pass for the whole.
//!
//! Every state of every object has a number, a text that follows from the number, and a sum over both.

use std::hash::{DefaultHasher, Hash, Hasher};

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use super::random::Random;

/// The two kinds of objects: one that is all data, and one with rules of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Kind {
    ConfigMap,
    Pod,
}

/// One state of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Content {
    /// No two states of any object have the same.
    pub(crate) number: u64,
    text: String,
}

// === impl Kind ===

impl Kind {
    pub(crate) const ALL: [Kind; 2] = [Kind::ConfigMap, Kind::Pod];

    pub(crate) fn collection(self) -> &'static str {
        match self {
            Kind::ConfigMap => "/api/v1/namespaces/default/configmaps",
            Kind::Pod => "/api/v1/namespaces/default/pods",
        }
    }

    pub(crate) fn path(self, name: &str) -> String {
        format!("{}/{name}", self.collection())
    }

    /// Where the content is.
    fn place(self) -> &'static str {
        match self {
            Kind::ConfigMap => "/data",
            Kind::Pod => "/metadata/annotations",
        }
    }

    /// An object to create.
    pub(crate) fn object(self, name: &str, content: &Content) -> Value {
        let fields = content.fields();
        match self {
            Kind::ConfigMap => json!({ "metadata": { "name": name }, "data": fields }),
            Kind::Pod => json!({
                "metadata": { "name": name, "annotations": fields },
                "spec": { "containers": [{ "name": "main", "image": "example.com/main:1" }] },
            }),
        }
    }

    /// The same object with another content.
    pub(crate) fn with(self, mut object: Value, content: &Content) -> Result<Value> {
        *object.pointer_mut(self.place()).context("no content to replace")? = content.fields();
        Ok(object)
    }

    /// A merge patch, which is a strategic one as well.
    pub(crate) fn merge_patch(self, content: &Content) -> Value {
        match self {
            Kind::ConfigMap => json!({ "data": content.fields() }),
            Kind::Pod => json!({ "metadata": { "annotations": content.fields() } }),
        }
    }

    pub(crate) fn json_patch(self, content: &Content) -> Value {
        json!([{ "op": "replace", "path": self.place(), "value": content.fields() }])
    }
}

// === impl Content ===

impl Content {
    /// Mostly small, at times larger than a page of any file, rarely larger than many.
    pub(crate) fn new(number: u64) -> Content {
        let mut random = Random::new(number, &[]);
        let longest = match random.below(20) {
            0 => 50_000,
            1..4 => 6_000,
            _ => 300,
        };
        let length = random.below(longest);
        let letters = (0..length / 8).flat_map(|_| random.next().to_le_bytes());
        Content { number, text: letters.map(|byte| char::from(b'a' + byte % 16)).collect() }
    }

    fn fields(&self) -> Value {
        json!({ "number": self.number.to_string(), "text": self.text, "sum": self.sum() })
    }

    fn sum(&self) -> String {
        let mut hasher = DefaultHasher::new();
        (self.number, &self.text).hash(&mut hasher);
        format!("{:016x}", hasher.finish())
    }

    /// Reads the content of an object that anybody was shown. It is whole, or it is an error.
    pub(crate) fn of(kind: Kind, object: &Value) -> Result<Content> {
        let fields = object.pointer(kind.place()).with_context(|| format!("no content in {object}"))?;
        let text = |name: &str| {
            fields.get(name).and_then(Value::as_str).with_context(|| format!("no {name} in {object}"))
        };
        let content = Content { number: text("number")?.parse()?, text: text("text")?.to_owned() };
        ensure!(text("sum")? == content.sum(), "half of a write is visible: {object}");
        Ok(content)
    }
}

pub(crate) fn name_of(object: &Value) -> Result<&str> {
    object.pointer("/metadata/name").and_then(Value::as_str).with_context(|| format!("no name in {object}"))
}

pub(crate) fn revision_of(object: &Value) -> Result<u64> {
    let revision = object.pointer("/metadata/resourceVersion").and_then(Value::as_str);
    Ok(revision.with_context(|| format!("no revision in {object}"))?.parse()?)
}

/// An object as it is in a list, which names the type once and for all.
pub(crate) fn without_type(mut object: Value) -> Value {
    if let Some(fields) = object.as_object_mut() {
        fields.remove("kind");
        fields.remove("apiVersion");
    }
    object
}
