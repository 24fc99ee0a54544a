//! Tests of strategic merge patches that need more than data; the others are in `tests/data/strategic.json`.

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::{MAX_DEPTH, patch::merge_keys};

fn pod() -> &'static dyn Lookup {
    merge_keys::of("v1", "Pod").unwrap()
}

#[test]
fn only_an_object_is_a_patch() {
    let error = strategic(&json!({}), &json!([]), pod()).unwrap_err();
    assert_eq!(error.status().code, 400);
    assert_eq!(
        error.to_string(),
        "json: cannot unmarshal array into Go value of type map[string]interface {}"
    );
    assert_eq!(strategic(&json!({"a": 1}), &json!(null), pod()), Ok(json!({"a": 1})));
}

#[test]
fn what_is_nested_too_deeply_is_refused() {
    let mut deep = json!({});
    for _ in 0..MAX_DEPTH {
        deep = json!({"a": deep});
    }
    assert_eq!(strategic(&json!({}), &deep, pod()), Err(PatchError::TooDeep));
    assert_eq!(strategic(&deep, &json!({}), pod()), Err(PatchError::TooDeep));
}

#[test]
fn an_unknown_object_merges_and_an_unknown_list_is_replaced() {
    let object = json!({"spec": {"novelty": {"a": 1, "list": [{"name": "x"}]}}});
    let patch = json!({"spec": {"novelty": {"b": 2, "list": [{"name": "y"}]}}});
    assert_eq!(
        strategic(&object, &patch, pod()),
        Ok(json!({"spec": {"novelty": {"a": 1, "b": 2, "list": [{"name": "y"}]}}}))
    );
}

#[test]
fn custom_resources_have_no_strategic_merge() {
    for (api_version, kind) in [("example.com/v1", "Pod"), ("gateway.networking.k8s.io/v1", "Gateway")] {
        assert!(merge_keys::of(api_version, kind).is_none());
    }
    assert!(merge_keys::of("events.k8s.io/v1", "Event").is_some());
}

#[test]
fn long_lists_merge_in_a_moment() {
    // A quadratic merge would take far longer.
    let items =
        |from: usize| (from..from + 4_000).map(|i| json!({"name": i.to_string()})).collect::<Vec<_>>();
    let texts = |from: usize| (from..from + 4_000).map(|i| i.to_string()).collect::<Vec<_>>();
    let deletions: Vec<Value> =
        (0..1_000).map(|i| json!({"name": i.to_string(), "$patch": "delete"})).collect();
    let patch = [items(2_000), deletions].concat();
    let object = json!({"metadata": {"finalizers": texts(0)}, "spec": {"containers": items(0)}});
    let patch = json!({"metadata": {"finalizers": texts(2_000)}, "spec": {"containers": patch}});
    let merged = strategic(&object, &patch, pod()).unwrap();
    assert_eq!(merged["spec"]["containers"].as_array().map(Vec::len), Some(5_000));
    assert_eq!(merged["metadata"]["finalizers"].as_array().map(Vec::len), Some(6_000));
}

fn names() -> impl Strategy<Value = Vec<Value>> {
    let name = prop_oneof![Just("a"), Just("b"), Just("c"), Just("d")];
    prop::collection::btree_set(name, 0..4)
        .prop_shuffle_into()
        .prop_map(|names| names.into_iter().map(|name| json!({"name": name})).collect())
}

/// Gives the items of a set in any order.
trait ShuffleInto: Strategy + Sized {
    fn prop_shuffle_into<T>(self) -> BoxedStrategy<Vec<T>>
    where
        Self: Strategy<Value = std::collections::BTreeSet<T>> + 'static,
        T: Ord + Clone + std::fmt::Debug + 'static,
    {
        self.prop_map(|set| set.into_iter().collect::<Vec<T>>()).prop_shuffle().boxed()
    }
}

impl<S: Strategy + Sized> ShuffleInto for S {}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn a_patch_that_was_applied_changes_nothing_more(current in names(), change in names()) {
        let object = json!({"spec": {"containers": current}});
        let patch = json!({"spec": {"containers": change}});
        let once = strategic(&object, &patch, pod()).unwrap();
        let twice = strategic(&once, &patch, pod()).unwrap();
        prop_assert_eq!(once, twice);
    }

    #[test]
    fn a_set_order_is_the_order_of_what_it_lists(current in names(), order in names()) {
        let object = json!({"spec": {"containers": current}});
        let patch = json!({"spec": {"$setElementOrder/containers": order}});
        if let Ok(merged) = strategic(&object, &patch, pod()) {
            let merged = merged["spec"]["containers"].as_array().unwrap();
            let listed: Vec<&Value> = merged.iter().filter(|item| order.contains(item)).collect();
            let expected: Vec<&Value> = order.iter().filter(|item| merged.contains(item)).collect();
            prop_assert_eq!(listed, expected);
            prop_assert_eq!(merged.len(), current.len());
        } else {
            prop_assert!(current.is_empty());
        }
    }
}
