//! Reading `metadata` of any object.
//!
//! The getters never fail: what is missing or has the wrong type reads as absent, so that a proxy can look at objects
//! that it does not validate.

use std::collections::BTreeMap;

use serde_json::Value;

/// One entry of `metadata.ownerReferences`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnerReference<'a> {
    /// Group and version of the owner, for example `apps/v1`.
    pub api_version: &'a str,
    /// Kind of the owner.
    pub kind: &'a str,
    /// Name of the owner.
    pub name: &'a str,
    /// The owner's uid, by which it is told from an earlier object of the same name.
    pub uid: &'a str,
    /// Whether this owner manages the object.
    pub controller: bool,
    /// Whether the owner may not go before the object has gone.
    pub block_owner_deletion: bool,
}

/// The field `name` of `metadata`.
#[must_use]
pub fn field<'a>(object: &'a Value, name: &str) -> Option<&'a Value> {
    object.get("metadata")?.get(name)
}

/// The field `name` of `metadata`, if it is a string that is not empty: Kubernetes treats an empty one as not set.
#[must_use]
pub fn text<'a>(object: &'a Value, name: &str) -> Option<&'a str> {
    field(object, name)?.as_str().filter(|text| !text.is_empty())
}

/// `apiVersion`.
#[must_use]
pub fn api_version(object: &Value) -> Option<&str> {
    object.get("apiVersion")?.as_str()
}

/// `kind`.
#[must_use]
pub fn kind(object: &Value) -> Option<&str> {
    object.get("kind")?.as_str()
}

/// `metadata.name`.
#[must_use]
pub fn name(object: &Value) -> Option<&str> {
    text(object, "name")
}

/// `metadata.generateName`.
#[must_use]
pub fn generate_name(object: &Value) -> Option<&str> {
    text(object, "generateName")
}

/// `metadata.namespace`.
#[must_use]
pub fn namespace(object: &Value) -> Option<&str> {
    text(object, "namespace")
}

/// `metadata.uid`.
#[must_use]
pub fn uid(object: &Value) -> Option<&str> {
    text(object, "uid")
}

/// `metadata.resourceVersion`.
#[must_use]
pub fn resource_version(object: &Value) -> Option<&str> {
    text(object, "resourceVersion")
}

/// `metadata.generation`.
#[must_use]
pub fn generation(object: &Value) -> Option<i64> {
    field(object, "generation")?.as_i64()
}

/// `metadata.creationTimestamp`, unparsed.
#[must_use]
pub fn creation_timestamp(object: &Value) -> Option<&str> {
    text(object, "creationTimestamp")
}

/// `metadata.deletionTimestamp`, unparsed; present means that the object is on its way out.
#[must_use]
pub fn deletion_timestamp(object: &Value) -> Option<&str> {
    text(object, "deletionTimestamp")
}

/// `metadata.deletionGracePeriodSeconds`.
#[must_use]
pub fn deletion_grace_period_seconds(object: &Value) -> Option<i64> {
    field(object, "deletionGracePeriodSeconds")?.as_i64()
}

/// `metadata.labels`; entries that are not strings are left out.
#[must_use]
pub fn labels(object: &Value) -> BTreeMap<String, String> {
    strings(object, "labels")
}

/// The label `key`.
#[must_use]
pub fn label<'a>(object: &'a Value, key: &str) -> Option<&'a str> {
    field(object, "labels")?.get(key)?.as_str()
}

/// `metadata.annotations`; entries that are not strings are left out.
#[must_use]
pub fn annotations(object: &Value) -> BTreeMap<String, String> {
    strings(object, "annotations")
}

/// The annotation `key`.
#[must_use]
pub fn annotation<'a>(object: &'a Value, key: &str) -> Option<&'a str> {
    field(object, "annotations")?.get(key)?.as_str()
}

/// `metadata.finalizers`; entries that are not strings are left out.
#[must_use]
pub fn finalizers(object: &Value) -> Vec<&str> {
    list(object, "finalizers").filter_map(Value::as_str).collect()
}

/// `metadata.ownerReferences`; entries that are not objects are left out, missing texts read as empty.
#[must_use]
pub fn owner_references(object: &Value) -> Vec<OwnerReference<'_>> {
    list(object, "ownerReferences").filter(|entry| entry.is_object()).map(owner_reference).collect()
}

/// The owner that manages the object.
#[must_use]
pub fn controller(object: &Value) -> Option<OwnerReference<'_>> {
    owner_references(object).into_iter().find(|owner| owner.controller)
}

fn owner_reference(entry: &Value) -> OwnerReference<'_> {
    let text = |name: &str| entry.get(name).and_then(Value::as_str).unwrap_or_default();
    let flag = |name: &str| entry.get(name).and_then(Value::as_bool).unwrap_or_default();
    OwnerReference {
        api_version: text("apiVersion"),
        kind: text("kind"),
        name: text("name"),
        uid: text("uid"),
        controller: flag("controller"),
        block_owner_deletion: flag("blockOwnerDeletion"),
    }
}

fn list<'a>(object: &'a Value, name: &str) -> impl Iterator<Item = &'a Value> {
    field(object, name).and_then(Value::as_array).into_iter().flatten()
}

fn strings(object: &Value, name: &str) -> BTreeMap<String, String> {
    let entries = field(object, name).and_then(Value::as_object).into_iter().flatten();
    entries.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned()))).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn metadata_is_read_from_where_kubernetes_keeps_it() {
        let pod = json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {
                "name": "web-0", "namespace": "shop", "uid": "u1", "resourceVersion": "7", "generation": 3,
                "deletionTimestamp": "2026-01-01T00:00:00Z", "deletionGracePeriodSeconds": 30,
                "labels": {"app": "web"}, "annotations": {"note": "x"}, "finalizers": ["a/b", 4],
                "ownerReferences": [
                    {"apiVersion": "v1", "kind": "ConfigMap", "name": "c", "uid": "u2"},
                    {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web", "uid": "u3", "controller": true},
                    "nonsense",
                ],
            },
        });
        assert_eq!((api_version(&pod), kind(&pod)), (Some("v1"), Some("Pod")));
        assert_eq!((name(&pod), namespace(&pod)), (Some("web-0"), Some("shop")));
        assert_eq!((uid(&pod), resource_version(&pod), generation(&pod)), (Some("u1"), Some("7"), Some(3)));
        assert_eq!(deletion_timestamp(&pod), Some("2026-01-01T00:00:00Z"));
        assert_eq!(deletion_grace_period_seconds(&pod), Some(30));
        assert_eq!(labels(&pod), BTreeMap::from([("app".to_owned(), "web".to_owned())]));
        assert_eq!((label(&pod, "app"), annotation(&pod, "note")), (Some("web"), Some("x")));
        assert_eq!(finalizers(&pod), ["a/b"]);
        assert_eq!(owner_references(&pod).len(), 2);
        assert_eq!(controller(&pod).map(|owner| owner.name), Some("web"));
    }

    #[test]
    fn what_has_the_wrong_type_reads_as_absent() {
        for odd in
            [json!(null), json!([]), json!({"metadata": 1}), json!({"metadata": {"labels": [], "name": 5}})]
        {
            assert_eq!((name(&odd), namespace(&odd), generation(&odd)), (None, None, None));
            assert!(
                labels(&odd).is_empty() && finalizers(&odd).is_empty() && owner_references(&odd).is_empty()
            );
        }
    }

    #[test]
    fn an_empty_text_is_not_set() {
        let object = json!({"metadata": {"namespace": "", "generateName": "a-"}});
        assert_eq!((namespace(&object), generate_name(&object)), (None, Some("a-")));
    }
}
