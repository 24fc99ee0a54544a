//! Pruning and defaulting.

use serde_json::{Value, json};

use super::{Found, Steps, apply};
use crate::compile::compile;

fn shape(schema: &Value, object: &Value) -> (Value, Found) {
    let (nodes, root) = compile("", schema).unwrap_or_else(|problems| panic!("{problems:?}"));
    let mut object = object.clone();
    let found = apply(&nodes, root, &mut object, Steps { prune: true, default: true });
    (object, found)
}

#[test]
fn unknown_fields_are_removed_and_named() {
    let schema = json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
        "list": {"type": "array", "items": {"type": "object", "properties": {"a": {"type": "integer"}}}},
        "map": {"type": "object", "additionalProperties": {"type": "object", "properties": {"a": {"type": "integer"}}}},
        "open": {"type": "object", "additionalProperties": true},
    }}}});
    let object = json!({
        "apiVersion": "v1", "kind": "Foo", "metadata": {"name": "x", "nope": 1}, "zzz": 1,
        "spec": {"foo": {"a": 1}, "list": [{"a": 1, "b": 2}], "map": {"k": {"a": 1, "b": 2}}, "open": {"k": {"b": 1}, "s": 1}},
    });
    let (object, found) = shape(&schema, &object);
    assert_eq!(
        object,
        json!({
            "apiVersion": "v1", "kind": "Foo", "metadata": {"name": "x"},
            "spec": {"list": [{"a": 1}], "map": {"k": {"a": 1}}, "open": {"k": {}, "s": 1}},
        })
    );
    assert_eq!(
        found.unknown,
        ["metadata.nope", "spec.foo", "spec.list[0].b", "spec.map.k.b", "spec.open.k.b", "zzz"]
    );
}

#[test]
fn preserved_fields_stay_until_a_schema_speaks_again() {
    let schema = json!({"type": "object", "properties": {"spec": {
        "type": "object", "x-kubernetes-preserve-unknown-fields": true,
        "properties": {"inner": {"type": "object", "properties": {"a": {"type": "integer"}}}},
    }}});
    let (object, found) = shape(&schema, &json!({"spec": {"x": {"y": 1}, "inner": {"a": 1, "b": 2}}}));
    assert_eq!(object, json!({"spec": {"x": {"y": 1}, "inner": {"a": 1}}}));
    assert_eq!(found.unknown, ["spec.inner.b"]);
}

#[test]
fn an_embedded_resource_keeps_what_belongs_to_the_server() {
    let schema = json!({"type": "object", "properties": {"spec": {
        "type": "object", "x-kubernetes-embedded-resource": true, "properties": {"a": {"type": "integer"}},
    }}});
    let object = json!({"spec": {"apiVersion": "v1", "kind": "Pod", "a": 1, "b": 2, "metadata": {
        "name": "x", "labels": {}, "creationTimestamp": null, "foo": 1, "ownerReferences": [{"uid": "u", "bar": 1}]}}});
    let (object, found) = shape(&schema, &object);
    assert_eq!(
        object,
        json!({"spec": {"apiVersion": "v1", "kind": "Pod", "a": 1,
            "metadata": {"name": "x", "ownerReferences": [{"uid": "u"}]}}})
    );
    assert_eq!(found.unknown, ["spec.b", "spec.metadata.foo", "spec.metadata.ownerReferences[0].bar"]);
    let (_, found) = shape(&schema, &json!({"spec": {"apiVersion": 1, "metadata": {"labels": {"a": 1}}}}));
    let texts: Vec<String> = found.problems.iter().map(ToString::to_string).collect();
    assert_eq!(
        texts,
        [
            "spec.apiVersion: Invalid value: 1: must be a string",
            r#"spec.metadata.labels.a: Invalid value: "integer": spec.metadata.labels.a in body must be of type string: "integer""#,
        ]
    );
}

#[test]
fn defaults_fill_in_at_every_level_that_exists() {
    let schema = json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
        "a": {"type": "integer", "default": 1},
        "o": {"type": "object", "default": {}, "properties": {"b": {"type": "string", "default": "x"}}},
        "p": {"type": "object", "properties": {"b": {"type": "string", "default": "x"}}},
        "l": {"type": "array", "items": {"type": "object", "properties": {"c": {"type": "integer", "default": 2}}}},
        "m": {"type": "object", "additionalProperties": {"type": "object", "properties": {"c": {"type": "integer", "default": 3}}}},
    }}}});
    let (object, _) = shape(&schema, &json!({"spec": {"l": [{}, {"c": 9}], "m": {"k": {}}}}));
    assert_eq!(
        object,
        json!({"spec": {"a": 1, "o": {"b": "x"}, "l": [{"c": 2}, {"c": 9}], "m": {"k": {"c": 3}}}})
    );
    assert_eq!(shape(&schema, &json!({})).0, json!({}));
}

#[test]
fn a_null_that_may_not_be_there_is_dropped_or_defaulted() {
    let schema = json!({"type": "object", "properties": {
        "plain": {"type": "string"},
        "defaulted": {"type": "string", "default": "d"},
        "nullable": {"type": "string", "nullable": true},
        "both": {"type": "string", "nullable": true, "default": "d"},
        "list": {"type": "array", "items": {"type": "string"}},
        "map": {"type": "object", "additionalProperties": {"type": "string"}},
    }});
    let object = json!({"plain": null, "defaulted": null, "nullable": null, "both": null, "list": [null], "map": {"a": null}});
    assert_eq!(
        shape(&schema, &object).0,
        json!({"defaulted": "d", "nullable": null, "both": null, "list": [null], "map": {}})
    );
}

#[test]
fn a_default_in_a_map_is_pruned_before_it_is_used() {
    let schema = json!({"type": "object", "properties": {"m": {"type": "object", "additionalProperties": {
        "type": "object", "properties": {"o": {"type": "object", "additionalProperties": true, "default": {"a": {"b": 1}}}}}}}});
    assert_eq!(shape(&schema, &json!({"m": {"k": {}}})).0, json!({"m": {"k": {"o": {"a": {}}}}}));
}
