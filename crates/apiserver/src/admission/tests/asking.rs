//! What a hook is asked, and when it is not asked at all.

use serde_json::{Value, json};

use super::fixture::*;
use crate::admission::{Attributes, GroupVersionKind, GroupVersionResource, Operation};

#[tokio::test]
async fn a_creation_is_told_as_kubernetes_tells_it() {
    let hub = Hub::default().answer("a", allow);
    validate(&hub, &[webhook("a")], &creation()).await.unwrap();
    let mut question = hub.question();
    let uid = question["request"].as_object_mut().unwrap().remove("uid").unwrap();
    assert_eq!(uid.as_str().unwrap().len(), 36);
    let pods = json!({"group": "", "version": "v1", "resource": "pods"});
    let pod = json!({"group": "", "version": "v1", "kind": "Pod"});
    let expected = json!({
        "kind": "AdmissionReview",
        "apiVersion": "admission.k8s.io/v1",
        "request": {
            "kind": pod, "resource": pods, "requestKind": pod, "requestResource": pods,
            "name": "web", "namespace": "shop", "operation": "CREATE",
            "userInfo": {"username": "ann", "groups": ["system:authenticated"]},
            "object": creation().object, "oldObject": null, "dryRun": false,
            "options": {"apiVersion": "meta.k8s.io/v1", "kind": "CreateOptions"},
        },
    });
    assert_eq!(question, expected);
    assert_eq!(hub.uris(), ["/a?timeout=10s"]);
}

#[tokio::test]
async fn a_deletion_has_an_old_object_and_no_new_one() {
    let hub = Hub::default().answer("a", allow);
    validate(&hub, &[webhook("a")], &deletion()).await.unwrap();
    let request = &hub.requests()[0];
    assert_eq!(request["operation"], "DELETE");
    assert_eq!(request["object"], Value::Null);
    assert_eq!(request["oldObject"]["metadata"]["name"], "web");
    assert_eq!(request["options"]["kind"], "DeleteOptions");
}

#[tokio::test]
async fn a_connection_shows_what_it_was_opened_with_as_the_object() {
    let hub = Hub::default().answer("a", allow);
    let mut attributes = creation();
    attributes.operation = Operation::Connect;
    attributes.subresource = Some("exec".into());
    attributes.object = None;
    attributes.options = Some(json!({"apiVersion": "v1", "kind": "PodExecOptions", "command": ["sh"]}));
    validate(&hub, &[webhook("a")], &attributes).await.unwrap();
    let request = &hub.requests()[0];
    assert_eq!(request["subResource"], "exec");
    assert_eq!(request["requestSubResource"], "exec");
    assert_eq!(request["object"]["command"], json!(["sh"]));
    assert_eq!(request["options"], Value::Null);
}

#[tokio::test]
async fn a_namespace_counts_as_being_in_itself() {
    let hub = Hub::default().answer("a", allow);
    let mut attributes = creation();
    attributes.kind = GroupVersionKind::new("", "v1", "Namespace");
    attributes.resource = GroupVersionResource::new("", "v1", "namespaces");
    (attributes.namespace, attributes.namespaced) = (String::new(), false);
    validate(&hub, &[webhook("a")], &attributes).await.unwrap();
    assert_eq!(hub.requests()[0]["namespace"], "web");
}

#[tokio::test]
async fn nobody_is_asked_about_the_configuration_of_hooks() {
    let hub = Hub::default().answer("a", |_| json!({"allowed": false}));
    for kind in
        ["ValidatingWebhookConfiguration", "MutatingWebhookConfiguration", "MutatingAdmissionPolicyBinding"]
    {
        let mut attributes = creation();
        attributes.kind = GroupVersionKind::new("admissionregistration.k8s.io", "v1", kind);
        validate(&hub, &[webhook("a")], &attributes).await.unwrap();
        mutate(&hub, &[webhook("a")], attributes).await.unwrap();
    }
    assert!(hub.asked().is_empty());
}

#[tokio::test]
async fn a_hook_is_told_the_time_it_has() {
    let hub = Hub::default().answer("a", allow);
    validate(&hub, &[webhook_with("a", &json!({"timeoutSeconds": 3}))], &creation()).await.unwrap();
    assert_eq!(hub.uris(), ["/a?timeout=3s"]);
}

fn dry(mut attributes: Attributes) -> Attributes {
    attributes.dry_run = true;
    attributes
}

#[tokio::test]
async fn a_dry_run_asks_only_hooks_without_side_effects() {
    for class in ["None", "NoneOnDryRun"] {
        let hub = Hub::default().answer("a", allow);
        validate(&hub, &[webhook_with("a", &json!({"sideEffects": class}))], &dry(creation())).await.unwrap();
        assert_eq!(hub.requests()[0]["dryRun"], true);
    }
    for class in ["Some", "Unknown"] {
        // Not even with the policy that lets failures pass: the hook did not fail, it cannot be asked.
        let hook = webhook_with("a", &json!({"sideEffects": class, "failurePolicy": "Ignore"}));
        let hub = Hub::default().answer("a", allow);
        let status = validate(&hub, std::slice::from_ref(&hook), &dry(creation())).await.unwrap_err();
        assert_eq!(status.code, 400);
        assert_eq!(status.message, "admission webhook \"a.hooks.example.com\" does not support dry run");
        assert_eq!(mutate(&hub, std::slice::from_ref(&hook), dry(creation())).await.unwrap_err(), status);
        assert!(hub.asked().is_empty());
        // Without a dry run it is asked.
        validate(&hub, &[hook], &creation()).await.unwrap();
        assert_eq!(hub.asked(), ["a"]);
    }
}

/// The creation of an Event through the core group, which is also one of `events.k8s.io`.
fn event() -> Attributes {
    let mut attributes = creation();
    attributes.kind = GroupVersionKind::new("", "v1", "Event");
    attributes.resource = GroupVersionResource::new("", "v1", "events");
    attributes.equivalents = vec![
        GroupVersionResource::new("", "v1", "events"),
        GroupVersionResource::new("events.k8s.io", "v1", "events"),
    ];
    attributes.object = Some(json!({
        "apiVersion": "v1", "kind": "Event", "metadata": {"name": "e", "annotations": {}},
        "message": "hello", "involvedObject": {"name": "web"}, "type": "Normal",
    }));
    attributes
}

fn wants_new_events(name: &str, policy: &str) -> Value {
    let rule = json!({"operations": ["*"], "apiGroups": ["events.k8s.io"], "apiVersions": ["v1"], "resources": ["events"]});
    webhook_with(name, &json!({"rules": [rule], "matchPolicy": policy}))
}

#[tokio::test]
async fn an_equivalent_is_shown_as_what_the_hook_asked_for() {
    let hub = Hub::default().answer("a", allow);
    validate(&hub, &[wants_new_events("a", "Equivalent")], &event()).await.unwrap();
    let request = &hub.requests()[0];
    assert_eq!(request["kind"], json!({"group": "events.k8s.io", "version": "v1", "kind": "Event"}));
    assert_eq!(request["resource"], json!({"group": "events.k8s.io", "version": "v1", "resource": "events"}));
    assert_eq!(request["requestKind"], json!({"group": "", "version": "v1", "kind": "Event"}));
    assert_eq!(request["requestResource"], json!({"group": "", "version": "v1", "resource": "events"}));
    assert_eq!(request["object"]["apiVersion"], "events.k8s.io/v1");
    assert_eq!(request["object"]["note"], "hello");
    assert_eq!(request["object"]["regarding"]["name"], "web");
    assert_eq!(request["object"].get("message"), None);
}

#[tokio::test]
async fn a_hook_that_wants_exact_matches_is_not_asked_about_equivalents() {
    let hub = Hub::default().answer("a", allow);
    validate(&hub, &[wants_new_events("a", "Exact")], &event()).await.unwrap();
    assert!(hub.asked().is_empty());
}

#[tokio::test]
async fn a_change_to_an_equivalent_comes_back_in_the_version_of_the_request() {
    let hub =
        Hub::default().answer("a", |_| patch(&json!([{"op": "replace", "path": "/note", "value": "bye"}])));
    let object = mutate(&hub, &[wants_new_events("a", "Equivalent")], event()).await.unwrap();
    assert_eq!(object["apiVersion"], "v1");
    assert_eq!(object["message"], "bye");
    assert_eq!(object["involvedObject"]["name"], "web");
}

#[tokio::test]
async fn another_version_of_a_custom_resource_differs_in_its_api_version_only() {
    let hub = Hub::default().answer("a", allow);
    let rule = json!({"operations": ["*"], "apiGroups": ["example.com"], "apiVersions": ["v1"], "resources": ["gates"]});
    let mut attributes = creation();
    attributes.kind = GroupVersionKind::new("example.com", "v1beta1", "Gate");
    attributes.resource = GroupVersionResource::new("example.com", "v1beta1", "gates");
    attributes.equivalents = vec![GroupVersionResource::new("example.com", "v1", "gates")];
    attributes.object = Some(json!({"apiVersion": "example.com/v1beta1", "kind": "Gate", "spec": {"a": 1}}));
    attributes.old_object = attributes.object.clone();
    attributes.operation = Operation::Update;
    validate(&hub, &[webhook_with("a", &json!({"rules": [rule]}))], &attributes).await.unwrap();
    let shown = json!({"apiVersion": "example.com/v1", "kind": "Gate", "spec": {"a": 1}});
    assert_eq!(hub.requests()[0]["object"], shown);
    assert_eq!(hub.requests()[0]["oldObject"], shown);
}
