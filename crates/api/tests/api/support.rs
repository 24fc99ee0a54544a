//! Plays the API server: applies the defaults of a schema, then evaluates its rules.

use std::collections::BTreeSet;

use kube::core::cel::Validator;
use serde_json::Value;

/// A rule, by the field that it stands at and its text. List indices are left out.
pub(crate) type Rule = (String, String);

/// A change to the example of a kind: what it means, where it is, and the value there; null takes the field out.
pub(crate) type Case = (&'static str, &'static str, Value);

/// The example of a kind, as people would write it.
pub(crate) fn example(kind: &str) -> Value {
    let text = match kind {
        "NodeGate" => include_str!("fixtures/nodegate.yaml"),
        "PodTransitionRule" => include_str!("fixtures/podtransitionrule.yaml"),
        "StaticPod" => include_str!("fixtures/staticpod.yaml"),
        _ => panic!("there is no example of a {kind}"),
    };
    serde_saphyr::from_str(text).unwrap()
}

/// The schema of a kind.
pub(crate) fn schema(kind: &str) -> Value {
    let crd = safepoint_api::crds().into_iter().find(|crd| crd.spec.names.kind == kind).unwrap();
    serde_json::to_value(crd.spec.versions[0].schema.as_ref().unwrap().open_api_v3_schema.as_ref().unwrap())
        .unwrap()
}

/// The rules that an object breaks; `old` is what it was before an update.
pub(crate) fn broken_rules(kind: &str, object: &Value, old: Option<&Value>) -> BTreeSet<Rule> {
    let result = Validator::new().validate_with_defaults(&schema(kind), object, old);
    let errors = result.err().map(kube::core::cel::ValidationErrors::into_vec).unwrap_or_default();
    errors
        .into_iter()
        .map(|error| {
            let fields = error.field_path.split('.').map(|field| field.split('[').next().unwrap_or_default());
            (fields.collect::<Vec<_>>().join("."), error.rule)
        })
        .collect()
}

/// Every rule of a kind, found in its schema.
pub(crate) fn all_rules(kind: &str) -> BTreeSet<Rule> {
    let mut rules = BTreeSet::new();
    walk(&schema(kind), "", &mut |path, node| {
        for rule in node["x-kubernetes-validations"].as_array().into_iter().flatten() {
            rules.insert((path.to_owned(), rule["rule"].as_str().unwrap().to_owned()));
        }
    });
    rules
}

/// Visits a schema and every schema inside it. The items of a list have the path of the list.
pub(crate) fn walk(node: &Value, path: &str, visit: &mut dyn FnMut(&str, &Value)) {
    visit(path, node);
    for (name, child) in node["properties"].as_object().into_iter().flatten() {
        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        walk(child, &path, visit);
    }
    for child in [&node["items"], &node["additionalProperties"]] {
        if child.is_object() {
            walk(child, path, visit);
        }
    }
}

/// Sets a field, or takes it out.
pub(crate) fn set(object: &mut Value, pointer: &str, value: &Value) {
    let (parent, field) = pointer.rsplit_once('/').unwrap();
    let parent = object.pointer_mut(parent).unwrap().as_object_mut().unwrap();
    if value.is_null() {
        parent.remove(field)
    } else {
        parent.insert(field.to_owned(), value.clone())
    };
}

/// Checks that the example is accepted with each of the changes.
pub(crate) fn assert_accepted(kind: &str, cases: &[Case]) {
    for (story, pointer, value) in cases {
        let mut object = example(kind);
        set(&mut object, pointer, value);
        assert_eq!(broken_rules(kind, &object, None), BTreeSet::new(), "{story}");
    }
}

/// Checks that every rule of a kind refuses something: the example, updated with each of the changes, breaks rules, and
/// no rule is left that no change breaks.
pub(crate) fn assert_every_rule_refuses(kind: &str, cases: &[Case]) {
    let mut unbroken = all_rules(kind);
    let old = example(kind);
    for (story, pointer, value) in cases {
        let mut object = old.clone();
        set(&mut object, pointer, value);
        let broken = broken_rules(kind, &object, Some(&old));
        assert!(!broken.is_empty(), "accepted although {story}");
        unbroken.retain(|rule| !broken.contains(rule));
    }
    assert_eq!(unbroken, BTreeSet::new(), "these rules refuse nothing in any case");
}
