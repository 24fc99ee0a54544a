//! What validating hooks say, and what comes of it.

use std::sync::Arc;

use serde_json::json;
use tokio::sync::Barrier;

use super::fixture::*;
use crate::admission::{Hooks, Warnings};

#[tokio::test]
async fn a_hook_that_agrees_lets_the_write_pass() {
    let hub = Hub::default().answer("a", allow);
    validate(&hub, &[webhook("a")], &creation()).await.unwrap();
    assert_eq!(hub.asked(), ["a"]);
}

#[tokio::test]
async fn a_refusal_names_the_hook_and_keeps_its_words() {
    let hub = Hub::default().answer("a", |_| {
        json!({"allowed": false, "status": {"code": 403, "reason": "Forbidden", "message": "not on a Friday"}})
    });
    let status = validate(&hub, &[webhook("a")], &creation()).await.unwrap_err();
    let message = "admission webhook \"a.hooks.example.com\" denied the request: not on a Friday";
    assert_eq!(
        status.to_value(),
        json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "code": 403, "reason": "Forbidden", "message": message,
        })
    );
}

#[tokio::test]
async fn a_refusal_stands_even_if_failures_are_ignored() {
    let hub = Hub::default().answer("a", |_| json!({"allowed": false}));
    let hook = webhook_with("a", &json!({"failurePolicy": "Ignore"}));
    let status = validate(&hub, &[hook], &creation()).await.unwrap_err();
    assert_eq!(status.code, 400);
    assert!(status.message.ends_with("denied the request without explanation"), "{status}");
}

#[tokio::test]
async fn all_hooks_are_heard_and_the_first_refusal_in_order_is_told() {
    let hub = Hub::default()
        .answer("a", allow)
        .answer("b", |_| json!({"allowed": false, "status": {"message": "b"}}))
        .answer("c", |_| json!({"allowed": false, "status": {"message": "c"}}));
    let status = validate(&hub, &["a", "b", "c"].map(webhook), &creation()).await.unwrap_err();
    assert!(status.message.ends_with(": b"), "{status}");
    assert_eq!(hub.asked().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn hooks_are_asked_at_the_same_time() {
    // Neither answers before both are asked; one after the other would time out.
    let barrier = Arc::new(Barrier::new(2));
    let mut hub = Hub::default();
    for name in ["a", "b"] {
        let barrier = barrier.clone();
        hub = hub.raw(name, move |request| {
            let barrier = barrier.clone();
            Box::pin(async move {
                barrier.wait().await;
                let response = json!({"uid": request["uid"], "allowed": true});
                let review =
                    json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response});
                (http::StatusCode::OK, review.to_string())
            })
        });
    }
    validate(&hub, &["a", "b"].map(webhook), &creation()).await.unwrap();
}

#[tokio::test]
async fn warnings_are_told_whether_the_hook_agrees_or_not() {
    let hub = Hub::default()
        .answer("a", |_| json!({"allowed": true, "warnings": ["old", "older"]}))
        .answer("b", |_| json!({"allowed": false, "warnings": ["old", "oldest"]}));
    let hooks = Hooks::compile(&[validating("v", &["a", "b"].map(webhook))]);
    let mut warnings = Warnings::default();
    hooks.validate(&creation(), &hub.services(), &mut warnings).await.unwrap_err();
    assert_eq!(warnings.into_texts(), ["old", "older", "oldest"]);
}

#[tokio::test]
async fn configurations_are_asked_by_name_and_their_hooks_as_they_stand() {
    let hub = Hub::default().answer("a", allow).answer("b", allow).answer("c", allow).answer("d", allow);
    let configurations = [
        mutating("zebra", &["a"].map(webhook)),
        validating("aardvark", &["d"].map(webhook)),
        mutating("ape", &["c", "b"].map(webhook)),
    ];
    let hooks = Hooks::compile(&configurations);
    mutate_by(&hooks, &hub, creation()).await.unwrap();
    assert_eq!(hub.asked(), ["c", "b", "a"]);
}

#[tokio::test]
async fn a_match_condition_keeps_a_hook_out() {
    let hub = Hub::default().answer("a", allow);
    let hook = |expression: &str| {
        webhook_with(
            "a",
            &json!({"matchConditions": [
                {"name": "first", "expression": "request.operation == 'CREATE'"},
                {"name": "second", "expression": expression},
            ]}),
        )
    };
    validate(&hub, &[hook("object.metadata.labels.app == 'db'")], &creation()).await.unwrap();
    assert!(hub.asked().is_empty());
    validate(&hub, &[hook("object.metadata.labels.app == 'web'")], &creation()).await.unwrap();
    assert_eq!(hub.asked(), ["a"]);
}

#[tokio::test]
async fn a_match_condition_that_fails_is_for_the_failure_policy() {
    let hub = Hub::default().answer("a", allow);
    let hook = |policy: &str, expression: &str| {
        let conditions = json!([{"name": "c", "expression": expression}]);
        webhook_with("a", &json!({"failurePolicy": policy, "matchConditions": conditions}))
    };
    for (expression, error) in [
        (
            "oldObject.spec.priority == 1",
            "pods \"web\" is forbidden: expression 'oldObject.spec.priority == 1' resulted in error: no such overload",
        ),
        (
            "subject == 1",
            "pods \"web\" is forbidden: compilation error: compilation failed: undeclared reference to 'subject'",
        ),
    ] {
        let status = validate(&hub, &[hook("Fail", expression)], &creation()).await.unwrap_err();
        assert_eq!((status.code, status.message.as_str()), (403, error));
        validate(&hub, &[hook("Ignore", expression)], &creation()).await.unwrap();
    }
    assert!(hub.asked().is_empty());
}

#[tokio::test]
async fn a_false_condition_keeps_the_hook_out_whatever_the_others_are() {
    let hub = Hub::default().answer("a", allow);
    let conditions = json!([
        {"name": "broken", "expression": "object.spec.nothing == 1"},
        {"name": "false", "expression": "object.spec.priority > 1"},
    ]);
    validate(&hub, &[webhook_with("a", &json!({"matchConditions": conditions}))], &creation()).await.unwrap();
    assert!(hub.asked().is_empty());
}
