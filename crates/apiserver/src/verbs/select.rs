//! Which objects a request means: label and field selectors, and how they narrow what the store is asked for.

use std::collections::BTreeMap;
use std::sync::Arc;

use safepoint_machinery::meta;
use safepoint_machinery::selector::{FieldSelector, LabelSelector};
use safepoint_machinery::status::Status;
use safepoint_store::{Key, Object, Scope, Tags};
use serde_json::Value;

use super::Call;
use crate::fault;
use crate::http::Query;
use crate::kinds;
use crate::resource::Resource;

/// The objects that a list, watch or collective deletion is about.
pub(crate) struct Selection {
    pub(crate) scope: Scope,
    labels: LabelSelector,
    fields: FieldSelector,
    resource: Arc<Resource>,
}

impl Selection {
    pub(crate) fn of(call: &Call) -> Result<Selection, Status> {
        let bad = |error: String| fault::bad_request(error);
        let labels = LabelSelector::parse(call.query.get("labelSelector").unwrap_or_default())
            .map_err(|error| bad(error.to_string()))?;
        let fields = FieldSelector::parse(call.query.get("fieldSelector").unwrap_or_default())
            .map_err(|error| bad(error.to_string()))?;
        for requirement in fields.requirements() {
            let field = requirement.field.as_str();
            let known = field == "metadata.name"
                || (field == "metadata.namespace" && call.resource.namespaced)
                || call.resource.rules().fields().contains(&field)
                || call.resource.custom().is_some_and(|custom| custom.selects(field));
            if !known {
                // Two texts for one mistake, as in Kubernetes.
                return Err(bad(
                    if call.resource.rules().fields().is_empty() && call.resource.custom().is_none() {
                        format!(
                            "{field:?} is not a known field selector: only \"metadata.name\", \"metadata.namespace\""
                        )
                    } else {
                        format!("field label not supported: {field}")
                    },
                ));
            }
        }
        let mut scope = Scope::collection(Arc::clone(&call.resource.collection));
        if !call.namespace.is_empty() {
            scope = scope.namespace(call.namespace.as_str());
        }
        // A watch or a get of one object may come as a name in the path or in the selector.
        if !call.name.is_empty() {
            scope = scope.name(call.name.as_str());
        } else if let Some(name) = fields.requires("metadata.name") {
            scope = scope.name(name);
        }
        if &*call.resource.collection == "pods"
            && let Some(node) = fields.requires("spec.nodeName")
        {
            scope = scope.field("spec.nodeName", node);
        }
        Ok(Selection { scope, labels, fields, resource: Arc::clone(&call.resource) })
    }

    /// Whether there is more to match than the scope.
    pub(crate) fn is_narrow(&self) -> bool {
        !self.labels.is_empty() || !self.fields.is_empty()
    }

    pub(crate) fn matches(&self, object: &Object) -> bool {
        self.scope.matches(object)
            && self.labels.matches(&object.tags.labels)
            && self.fields.matches(|field| Some(self.value(object, field).into()))
    }

    fn value(&self, object: &Object, field: &str) -> String {
        match field {
            "metadata.name" => object.key.name.to_string(),
            "metadata.namespace" => object.key.namespace.to_string(),
            _ => match self.resource.custom() {
                // Selectable fields of custom resources are few and rarely asked for: they are read from the text.
                Some(_) => serde_json::from_slice(&object.json)
                    .map(|value: Value| text_at(&value, field))
                    .unwrap_or_default(),
                None => object.tags.field(&self.resource.rules().stored_field(field)).to_owned(),
            },
        }
    }
}

/// The fields that a request fixes to one value, for the authorizer.
pub(crate) fn exact_fields(query: &Query) -> BTreeMap<String, String> {
    let Ok(fields) = FieldSelector::parse(query.get("fieldSelector").unwrap_or_default()) else {
        return BTreeMap::new();
    };
    let names: Vec<String> =
        fields.requirements().iter().map(|requirement| requirement.field.clone()).collect();
    names.into_iter().filter_map(|name| Some((name.clone(), fields.requires(&name)?.to_owned()))).collect()
}

/// The field that lists the owners of an object, for the controllers: `uid,uid`.
pub(crate) const OWNERS: &str = "owners";

/// The field of an object that is being deleted: its finalizers, each after a comma.
pub(crate) const ENDING: &str = "ending";

/// What the store keeps beside an object's text.
pub(crate) fn tags(key: &Key, object: &Value) -> Tags {
    let mut tags = Tags::of_metadata(key, object);
    let rules = kinds::of_collection(&key.collection);
    for field in rules.fields() {
        let value = rules.field(object, field).unwrap_or_else(|| text_at(object, field));
        if !value.is_empty() {
            tags.fields.insert(Arc::from(*field), value);
        }
    }
    let owners: Vec<&str> = meta::owner_references(object).iter().map(|owner| owner.uid).collect();
    if !owners.is_empty() {
        tags.fields.insert(Arc::from(OWNERS), owners.join(","));
    }
    if meta::deletion_timestamp(object).is_some() {
        tags.fields.insert(Arc::from(ENDING), format!(",{}", meta::finalizers(object).join(",")));
    }
    tags
}

/// A field as a selector sees it.
fn text_at(object: &Value, path: &str) -> String {
    let mut value = object;
    for part in path.split('.').filter(|part| !part.is_empty()) {
        match value.get(part) {
            Some(inner) => value = inner,
            None => return String::new(),
        }
    }
    match value {
        Value::String(text) => text.clone(),
        Value::Bool(flag) => flag.to_string(),
        Value::Number(number) => number.to_string(),
        _ => String::new(),
    }
}
