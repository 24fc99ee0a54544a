//! What keeps an answer away, and what the failure policy makes of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Router;
use axum::response::IntoResponse;
use http::StatusCode;
use http::header::RETRY_AFTER;
use serde_json::{Value, json};

use super::fixture::*;
use crate::admission::{Hooks, Services, Warnings};

const FAILED: &str = "Internal error occurred: failed calling webhook \"a.hooks.example.com\": ";

/// A hook fails in this way: it is refused under one policy and passes under the other.
async fn fails(hub: &Hub, fields: &Value) -> String {
    fails_by(&hub.services(), fields).await
}

async fn fails_by(services: &Services, fields: &Value) -> String {
    let ask = async |policy: &str| {
        let mut hook = webhook_with("a", fields);
        hook["failurePolicy"] = policy.into();
        let hooks = Hooks::compile(&[validating("v", &[hook])]);
        hooks.validate(&creation(), services, &mut Warnings::default()).await
    };
    assert_eq!(ask("Ignore").await, Ok(()));
    let status = ask("Fail").await.unwrap_err();
    assert_eq!(status.code, 500);
    assert_eq!(status.to_value()["reason"], "InternalError");
    status.message.strip_prefix(FAILED).unwrap_or_else(|| panic!("{status}")).to_owned()
}

#[tokio::test(start_paused = true)]
async fn a_hook_that_does_not_answer_in_time_has_failed() {
    let hub = Hub::default().silent("a");
    let why = fails(&hub, &json!({"timeoutSeconds": 2})).await;
    let expected =
        "failed to call webhook: Post \"https://hub.system.svc:443/a?timeout=2s\": context deadline exceeded";
    assert_eq!(why, expected);
}

#[tokio::test(start_paused = true)]
async fn a_hook_has_ten_seconds_and_never_more_than_thirty() {
    let hub = Hub::default().silent("a");
    for (fields, limit) in
        [(json!({}), 10), (json!({"timeoutSeconds": 1}), 1), (json!({"timeoutSeconds": 3600}), 30)]
    {
        let before = tokio::time::Instant::now();
        let hook = webhook_with("a", &fields);
        validate(&hub, &[hook], &creation()).await.unwrap_err();
        assert_eq!(before.elapsed().as_secs(), limit);
    }
}

#[tokio::test]
async fn an_answer_to_another_question_is_none() {
    let hub = Hub::default().answer("a", |_| json!({"allowed": true, "uid": "x"}));
    let why = fails(&hub, &json!({})).await;
    assert!(why.starts_with("received invalid webhook response: expected response.uid=\""), "{why}");
    assert!(why.ends_with(", got \"x\""), "{why}");
}

#[tokio::test]
async fn an_answer_that_is_no_review_is_none() {
    let unreadable = "failed to call webhook: the answer is no AdmissionReview: ";
    for (body, expected) in [
        ("nonsense", unreadable),
        ("[]", unreadable),
        (r#"{"response": {"allowed": "yes"}}"#, unreadable),
        ("", "failed to call webhook: 0-length response with status code: 200"),
        ("{}", "received invalid webhook response: webhook response was absent"),
    ] {
        let why = fails(&Hub::default().text("a", body), &json!({})).await;
        assert!(why.starts_with(expected), "{body}: {why}");
    }
}

#[tokio::test]
async fn a_validating_hook_must_not_ask_for_changes() {
    let hub = Hub::default().answer("a", annotate("note", "hello"));
    let why = fails(&hub, &json!({})).await;
    assert_eq!(why, "received invalid webhook response: validating webhook may not return response.patch");
}

#[tokio::test]
async fn an_answer_that_is_too_large_is_not_read_to_the_end() {
    let hub = Hub::default().text("a", " ".repeat(3 * 1024 * 1024 + 1));
    let why = fails(&hub, &json!({})).await;
    assert_eq!(why, "failed to call webhook: the answer is larger than 3145728 bytes");
}

#[tokio::test]
async fn an_error_of_the_server_is_told() {
    let why = fails(&Hub::default(), &json!({})).await;
    assert_eq!(why, "failed to call webhook: the server answered 404 Not Found: \"404 page not found\"");
}

#[tokio::test]
async fn a_handler_that_panics_fails_alone() {
    let hub = Hub::default().raw("a", |_| panic!("a bug"));
    let why = fails(&hub, &json!({})).await;
    assert!(why.ends_with(": the handler panicked"), "{why}");
}

#[tokio::test(start_paused = true)]
async fn a_hook_that_asks_for_a_moment_gets_it() {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = asked.clone();
    let hub = Hub::default().answer("a", allow);
    let inner = hub.router();
    let busy = move |request: axum::extract::Request| {
        let (inner, is_first) = (inner.clone(), count.fetch_add(1, Ordering::Relaxed) == 0);
        async move {
            if is_first {
                return (StatusCode::SERVICE_UNAVAILABLE, [(RETRY_AFTER, "2")], "busy").into_response();
            }
            tower::ServiceExt::oneshot(inner, request).await.into_response()
        }
    };
    let services = Services::new();
    services.register("system", "hub", Router::new().fallback(busy));
    let hooks = Hooks::compile(&[validating("v", &[webhook("a")])]);
    hooks.validate(&creation(), &services, &mut Warnings::default()).await.unwrap();
    assert_eq!(asked.load(Ordering::Relaxed), 2);
}

#[tokio::test]
async fn a_service_that_nobody_answers_for_says_so() {
    let why = fails_by(&Services::new(), &json!({})).await;
    let expected = "failed to call webhook: Post \"https://hub.system.svc:443/a?timeout=10s\": service \"hub\" not found: \
                    nothing in this process answers for it in namespace \"system\", and there is no cluster network to \
                    look further; use clientConfig.url";
    assert_eq!(why, expected);
}

#[tokio::test]
async fn a_service_that_was_removed_answers_no_more() {
    let hub = Hub::default().answer("a", allow);
    let services = hub.services();
    services.clone().remove("system", "hub");
    assert!(fails_by(&services, &json!({})).await.contains("not found"));
}

#[tokio::test]
async fn a_hook_that_speaks_another_version_only_is_not_asked() {
    let hub = Hub::default().answer("a", allow);
    let why = fails(&hub, &json!({"admissionReviewVersions": ["v1beta1"]})).await;
    let expected =
        "could not create admission objects: webhook does not accept known AdmissionReview versions (v1)";
    assert_eq!(why, expected);
    assert!(hub.asked().is_empty());
}

#[tokio::test]
async fn a_hook_that_cannot_be_compiled_counts_as_out_of_reach() {
    let hub = Hub::default().answer("a", allow);
    let url = |extra: Value| {
        let mut config = json!({"url": "https://127.0.0.1:1/a"});
        config.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        json!({"clientConfig": config})
    };
    for (fields, why) in [
        (url(json!({})), "clientConfig.url needs a caBundle"),
        (url(json!({"caBundle": "%"})), "caBundle is not base64: "),
        (url(json!({"caBundle": "Zm9v"})), "unable to load root certificates: "),
        (json!({"clientConfig": {"url": "http://127.0.0.1/a"}}), "cannot use \"http://127.0.0.1/a\""),
        (json!({"clientConfig": {}}), "webhook configuration must have either service or URL"),
        (json!({"rules": "all"}), "rules cannot be read: "),
        (
            json!({"objectSelector": {"matchExpressions": [{"key": "a", "operator": "Is"}]}}),
            "objectSelector cannot be used: ",
        ),
    ] {
        let told = fails(&hub, &fields).await;
        assert!(told.starts_with(&format!("could not get REST client: {why}")), "{told}");
    }
    assert!(hub.asked().is_empty());
}

#[tokio::test]
async fn an_unreachable_hook_that_does_not_match_is_in_nobody_s_way() {
    let hub = Hub::default();
    let nodes =
        json!({"operations": ["*"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["nodes"]});
    let hook = webhook_with("a", &json!({"clientConfig": {}, "rules": [nodes]}));
    validate(&hub, &[hook], &creation()).await.unwrap();
}
