//! Tests of merge patches.

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::{MAX_DEPTH, patch::PatchError};

fn merged(object: &Value, patch: &Value) -> Value {
    merge(object, patch).unwrap()
}

#[test]
fn objects_merge_and_everything_else_is_replaced() {
    let object = json!({"a": {"b": 1, "c": 2}, "list": [1, 2], "text": "x"});
    let patch = json!({"a": {"b": 5}, "list": [3], "text": {"now": "object"}});
    assert_eq!(
        merged(&object, &patch),
        json!({"a": {"b": 5, "c": 2}, "list": [3], "text": {"now": "object"}})
    );
}

#[test]
fn a_null_deletes_and_may_miss() {
    assert_eq!(
        merged(&json!({"a": 1, "b": {"c": 1}}), &json!({"a": null, "b": {"c": null}, "z": null})),
        json!({"b": {}})
    );
}

#[test]
fn nulls_in_new_values_are_dropped_inside_lists_too() {
    let patch = json!({"new": {"a": null, "b": [{"c": null, "d": 1}, null]}, "text": [{"e": null}]});
    assert_eq!(merged(&json!({"text": "x"}), &patch), json!({"new": {"b": [{"d": 1}, null]}, "text": [{}]}));
}

#[test]
fn a_list_in_the_place_of_an_object_keeps_its_nulls() {
    assert_eq!(merged(&json!({"a": {}}), &json!({"a": [{"b": null}]})), json!({"a": [{"b": null}]}));
}

#[test]
fn only_an_object_is_a_patch() {
    for (patch, text) in [
        (json!(null), "Invalid JSON Patch"),
        (
            json!([]),
            "error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}",
        ),
        (
            json!("x"),
            "error decoding patch: json: cannot unmarshal string into Go value of type map[string]interface {}",
        ),
    ] {
        let error = merge(&json!({}), &patch).unwrap_err();
        assert_eq!(error, PatchError::Malformed(text.to_owned()));
        assert_eq!((error.status().code, error.status().message), (400, text.to_owned()));
    }
}

#[test]
fn what_is_nested_too_deeply_is_refused() {
    let mut deep = json!({});
    for _ in 0..MAX_DEPTH {
        deep = json!({"a": deep});
    }
    assert_eq!(merge(&json!({}), &deep), Err(PatchError::TooDeep));
    assert_eq!(merge(&deep, &json!({})), Err(PatchError::TooDeep));
}

fn any_object() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![Just(json!(null)), Just(json!(1)), Just(json!("x"))];
    let value = leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::btree_map("[abc]", inner, 0..3)
                .prop_map(|map| Value::from(Map::from_iter(map))),
        ]
    });
    prop::collection::btree_map("[abc]", value, 0..3).prop_map(|map| Value::from(Map::from_iter(map)))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn a_patch_that_was_applied_changes_nothing_more(object in any_object(), patch in any_object()) {
        // Except that a list keeps the nulls of its items when it replaces an object, and loses them the second time.
        let once = merge(&object, &patch).unwrap();
        let twice = merge(&once, &patch).unwrap();
        prop_assert_eq!(merge(&twice, &patch).unwrap(), twice);
    }
}
