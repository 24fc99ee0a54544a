//! Which hooks want which requests.

use std::collections::BTreeMap;

use serde_json::json;

use super::*;
use crate::admission::hook::{Flavour, Hooks};

/// The update of a pod in namespace `shop`, which is labelled `team=blue`.
fn update() -> Attributes {
    Attributes {
        operation: Operation::Update,
        kind: GroupVersionKind::new("", "v1", "Pod"),
        resource: GroupVersionResource::new("", "v1", "pods"),
        subresource: None,
        namespace: "shop".into(),
        name: "web".into(),
        user_info: Value::Null,
        object: Some(json!({"metadata": {"name": "web", "labels": {"app": "web"}}})),
        old_object: Some(json!({"metadata": {"name": "web", "labels": {"app": "old"}}})),
        options: None,
        dry_run: false,
        namespace_labels: BTreeMap::from([("team".to_owned(), "blue".to_owned())]),
        namespaced: true,
        equivalents: Vec::new(),
    }
}

/// The update of a node, which is in no namespace.
fn node() -> Attributes {
    let mut attributes = update();
    attributes.kind = GroupVersionKind::new("", "v1", "Node");
    attributes.resource = GroupVersionResource::new("", "v1", "nodes");
    (attributes.namespace, attributes.namespaced) = (String::new(), false);
    attributes.namespace_labels.clear();
    attributes
}

fn namespace(operation: Operation, labels: &Value) -> Attributes {
    let mut attributes = node();
    attributes.kind = GroupVersionKind::new("", "v1", "Namespace");
    attributes.resource = GroupVersionResource::new("", "v1", "namespaces");
    attributes.name = "shop".into();
    attributes.operation = operation;
    attributes.object = Some(json!({"metadata": {"name": "shop", "labels": labels}}));
    attributes.namespace_labels = update().namespace_labels;
    attributes
}

fn asks(fields: &Value, attributes: &Attributes) -> bool {
    let mut hook = json!({
        "name": "a.b.c",
        "rules": [{"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*/*"]}],
    });
    hook.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    let configuration =
        json!({"kind": "ValidatingWebhookConfiguration", "metadata": {"name": "v"}, "webhooks": [hook]});
    let hooks = Hooks::compile(&[configuration]);
    let hook = hooks.of(Flavour::Validating).next().unwrap();
    invocation(hook, attributes).unwrap().is_some()
}

fn rule(field: &str, values: Value) -> Value {
    let mut rule =
        json!({"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*/*"]});
    rule[field] = values;
    json!({"rules": [rule]})
}

#[test]
fn a_rule_names_operations() {
    for (wanted, asked) in [
        (json!(["*"]), true),
        (json!(["UPDATE"]), true),
        (json!(["CREATE", "DELETE"]), false),
        (json!([]), false),
    ] {
        assert_eq!(asks(&rule("operations", wanted.clone()), &update()), asked, "{wanted}");
    }
}

#[test]
fn a_rule_names_groups_and_versions() {
    let mut gates = update();
    gates.resource = GroupVersionResource::new("example.com", "v1", "gates");
    for (field, wanted, pods, custom) in [
        ("apiGroups", json!(["*"]), true, true),
        ("apiGroups", json!([""]), true, false),
        ("apiGroups", json!(["apps", "example.com"]), false, true),
        ("apiGroups", json!(null), false, false),
        ("apiVersions", json!(["v1"]), true, true),
        ("apiVersions", json!(["v1beta1"]), false, false),
    ] {
        assert_eq!(asks(&rule(field, wanted.clone()), &update()), pods, "{field} {wanted}");
        assert_eq!(asks(&rule(field, wanted.clone()), &gates), custom, "{field} {wanted}");
    }
}

#[test]
fn a_rule_names_resources_and_subresources() {
    let mut status = update();
    status.subresource = Some("status".into());
    let mut scale = update();
    scale.resource = GroupVersionResource::new("apps", "v1", "deployments");
    scale.subresource = Some("scale".into());
    for (wanted, expected) in [
        //                     pods   pods/status  deployments/scale
        ("*", [true, false, false]),
        ("*/*", [true, true, true]),
        ("pods", [true, false, false]),
        ("pods/*", [true, true, false]),
        ("pods/status", [false, true, false]),
        ("*/scale", [false, false, true]),
        ("deployments/scale", [false, false, true]),
        ("pod", [false, false, false]),
    ] {
        let asked = [&update(), &status, &scale]
            .map(|attributes| asks(&rule("resources", json!([wanted])), attributes));
        assert_eq!(asked, expected, "{wanted}");
    }
}

#[test]
fn a_rule_names_a_scope() {
    let namespace = namespace(Operation::Create, &json!({}));
    for (scope, expected) in [
        //                 pod    node   namespace
        (json!(null), [true, true, true]),
        (json!("*"), [true, true, true]),
        (json!("Namespaced"), [true, false, false]),
        (json!("Cluster"), [false, true, true]),
        (json!("Galactic"), [false, false, false]),
    ] {
        let asked = [&update(), &node(), &namespace]
            .map(|attributes| asks(&rule("scope", scope.clone()), attributes));
        assert_eq!(asked, expected, "{scope}");
    }
}

#[test]
fn one_rule_is_enough_and_none_is_not() {
    let nodes =
        json!({"operations": ["*"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["nodes"]});
    let pods = json!({"operations": ["*"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]});
    assert!(asks(&json!({"rules": [nodes, pods]}), &update()));
    assert!(!asks(&json!({"rules": [nodes]}), &update()));
    assert!(!asks(&json!({"rules": []}), &update()));
    assert!(!asks(&json!({"rules": null}), &update()));
}

#[test]
fn a_namespace_selector_looks_at_the_labels_of_the_namespace() {
    let blue = json!({"namespaceSelector": {"matchLabels": {"team": "blue"}}});
    let red = json!({"namespaceSelector": {"matchLabels": {"team": "red"}}});
    let unlabelled =
        json!({"namespaceSelector": {"matchExpressions": [{"key": "team", "operator": "DoesNotExist"}]}});
    assert!(asks(&json!({"namespaceSelector": {}}), &update()));
    assert!(asks(&blue, &update()));
    assert!(!asks(&red, &update()));
    assert!(!asks(&unlabelled, &update()));
    // What is in no namespace cannot be left out by one.
    assert!(asks(&red, &node()));
    // A Namespace has the labels that it will have; one that goes, or of which only a part is written, those it has.
    assert!(asks(&red, &namespace(Operation::Create, &json!({"team": "red"}))));
    assert!(!asks(&blue, &namespace(Operation::Update, &json!({"team": "red"}))));
    assert!(asks(&blue, &namespace(Operation::Delete, &json!({"team": "red"}))));
    let mut part = namespace(Operation::Update, &json!({"team": "red"}));
    part.subresource = Some("status".into());
    assert!(asks(&blue, &part));
}

#[test]
fn an_object_selector_looks_at_the_object_as_it_is_and_as_it_will_be() {
    let labelled = |value: &str| json!({"objectSelector": {"matchLabels": {"app": value}}});
    let unlabelled =
        json!({"objectSelector": {"matchExpressions": [{"key": "app", "operator": "DoesNotExist"}]}});
    assert!(asks(&json!({"objectSelector": {}}), &update()));
    assert!(asks(&labelled("web"), &update()));
    assert!(asks(&labelled("old"), &update()));
    assert!(!asks(&labelled("db"), &update()));
    assert!(!asks(&unlabelled, &update()));

    let mut deletion = update();
    deletion.operation = Operation::Delete;
    assert!(asks(&labelled("old"), &deletion));
    assert!(!asks(&labelled("web"), &deletion), "what is deleted will be nothing");

    let mut connection = update();
    connection.operation = Operation::Connect;
    (connection.object, connection.old_object) = (Some(json!({"kind": "PodExecOptions"})), None);
    assert!(!asks(&unlabelled, &connection), "what can have no labels is not without them");
    assert!(asks(&json!({}), &connection));
}

#[test]
fn the_kind_of_a_scale_is_the_same_at_every_address() {
    let mut attributes = update();
    attributes.kind = GroupVersionKind::new("autoscaling", "v1", "Scale");
    attributes.resource = GroupVersionResource::new("example.com", "v1beta1", "gates");
    attributes.subresource = Some("scale".into());
    attributes.equivalents = vec![GroupVersionResource::new("example.com", "v1", "gates")];
    let hook = json!({
        "rules": [{"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["v1"], "resources": ["gates/scale"]}],
    });
    let configuration =
        json!({"kind": "MutatingWebhookConfiguration", "metadata": {"name": "m"}, "webhooks": [hook]});
    let hooks = Hooks::compile(&[configuration]);
    let found = invocation(hooks.of(Flavour::Mutating).next().unwrap(), &attributes).unwrap().unwrap();
    assert_eq!(found.kind, attributes.kind);
    assert_eq!(found.resource, attributes.equivalents[0]);
}
