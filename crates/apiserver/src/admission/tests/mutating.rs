//! What mutating hooks make of an object.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use super::fixture::*;
use crate::admission::{Hooks, Warnings};

fn priority(object: &Value) -> i64 {
    object["spec"]["priority"].as_i64().unwrap()
}

/// Adds one to the priority.
fn raise(request: &Value) -> Value {
    let raised = priority(&request["object"]) + 1;
    patch(&json!([{"op": "replace", "path": "/spec/priority", "value": raised}]))
}

#[tokio::test]
async fn a_hook_changes_the_object() {
    let hub = Hub::default().answer("a", annotate("note", "hello"));
    let object = mutate(&hub, &[webhook("a")], creation()).await.unwrap();
    assert_eq!(object["metadata"]["annotations"], json!({"note": "hello"}));
}

#[tokio::test]
async fn each_hook_sees_what_the_one_before_left() {
    let hub = Hub::default().answer("a", raise).answer("b", raise);
    let object = mutate(&hub, &["a", "b"].map(webhook), creation()).await.unwrap();
    assert_eq!(priority(&object), 3);
    assert_eq!(hub.requests().iter().map(|request| priority(&request["object"])).collect::<Vec<_>>(), [1, 2]);
}

#[tokio::test]
async fn what_a_hook_changed_is_filled_in_before_the_next_sees_it() {
    let hub = Hub::default().answer("a", raise).answer("b", allow);
    let hooks = Hooks::compile(&[mutating("m", &["a", "b"].map(webhook))]);
    let mut attributes = creation();
    let default = |object: &mut Value| {
        object["spec"]["filled"] = true.into();
        Ok(())
    };
    hooks.mutate(&mut attributes, &hub.services(), &mut Warnings::default(), default).await.unwrap();
    assert_eq!(hub.requests()[1]["object"]["spec"]["filled"], true);
    assert_eq!(attributes.object.unwrap()["spec"]["filled"], true);
}

#[tokio::test]
async fn an_object_that_makes_no_sense_any_more_is_refused() {
    let hub = Hub::default().answer("a", raise);
    let hooks = Hooks::compile(&[mutating("m", &[webhook_with("a", &json!({"failurePolicy": "Ignore"}))])]);
    let default = |_: &mut Value| Err("spec must be an object".to_owned());
    let mut attributes = creation();
    let refused = hooks.mutate(&mut attributes, &hub.services(), &mut Warnings::default(), default).await;
    let message =
        "Internal error occurred: patch of admission webhook \"a.hooks.example.com\": spec must be an object";
    assert_eq!(refused.unwrap_err().message, message);
    assert_eq!(attributes.object, creation().object);
}

#[tokio::test]
async fn a_refusal_ends_the_round() {
    let hub = Hub::default().answer("a", |_| json!({"allowed": false})).answer("b", allow);
    mutate(&hub, &["a", "b"].map(webhook), creation()).await.unwrap_err();
    assert_eq!(hub.asked(), ["a"]);
}

#[tokio::test]
async fn a_hook_that_needs_it_is_asked_again_after_a_later_change() {
    let hub = Hub::default().answer("a", allow).answer("b", raise);
    let again = json!({"reinvocationPolicy": "IfNeeded"});
    mutate(&hub, &[webhook_with("a", &again), webhook("b")], creation()).await.unwrap();
    assert_eq!(hub.asked(), ["a", "b", "a"]);
    assert_eq!(priority(&hub.requests()[2]["object"]), 2);
}

#[tokio::test]
async fn a_hook_is_asked_again_only_if_it_wants_to_and_something_changed() {
    let again = json!({"reinvocationPolicy": "IfNeeded"});
    let never = json!({"reinvocationPolicy": "Never"});

    let hub = Hub::default().answer("a", allow).answer("b", raise);
    mutate(&hub, &[webhook_with("a", &never), webhook("b")], creation()).await.unwrap();
    assert_eq!(hub.asked(), ["a", "b"]);

    let hub = Hub::default().answer("a", raise).answer("b", allow);
    mutate(&hub, &[webhook_with("a", &again), webhook_with("b", &again)], creation()).await.unwrap();
    assert_eq!(hub.asked(), ["a", "b"], "what the hook changed itself is no reason");

    // A patch that leaves the object as it is changes nothing.
    let same = |_: &Value| patch(&json!([{"op": "replace", "path": "/spec/priority", "value": 1}]));
    let hub = Hub::default().answer("a", allow).answer("b", same);
    mutate(&hub, &[webhook_with("a", &again), webhook("b")], creation()).await.unwrap();
    assert_eq!(hub.asked(), ["a", "b"]);
}

#[tokio::test]
async fn there_is_no_third_round() {
    let hub = Hub::default().answer("a", raise).answer("b", raise);
    let again = json!({"reinvocationPolicy": "IfNeeded"});
    let object =
        mutate(&hub, &[webhook_with("a", &again), webhook_with("b", &again)], creation()).await.unwrap();
    // `a` has not seen what `b` did, and changes the object again, which `b` has not seen. Then it is enough, although
    // `a` could go on.
    assert_eq!(hub.asked(), ["a", "b", "a", "b"]);
    assert_eq!(priority(&object), 5);
}

#[tokio::test]
async fn a_hook_that_begins_to_match_in_the_second_round_is_not_asked() {
    let again = json!({"reinvocationPolicy": "IfNeeded"});
    let wants_label =
        json!({"reinvocationPolicy": "IfNeeded", "objectSelector": {"matchLabels": {"new": "yes"}}});
    let label = |_: &Value| patch(&json!([{"op": "add", "path": "/metadata/labels/new", "value": "yes"}]));
    let hub = Hub::default().answer("early", allow).answer("seen", allow).answer("labels", label);
    let hooks = [webhook_with("early", &wants_label), webhook_with("seen", &again), webhook("labels")];
    mutate(&hub, &hooks, creation()).await.unwrap();
    assert_eq!(hub.asked(), ["seen", "labels", "seen"]);
}

#[tokio::test]
async fn a_later_hook_is_chosen_by_the_labels_an_earlier_one_gave() {
    let label = |_: &Value| patch(&json!([{"op": "add", "path": "/metadata/labels/new", "value": "yes"}]));
    let hub = Hub::default().answer("labels", label).answer("late", allow);
    let wants_label = json!({"objectSelector": {"matchLabels": {"new": "yes"}}});
    mutate(&hub, &[webhook("labels"), webhook_with("late", &wants_label)], creation()).await.unwrap();
    assert_eq!(hub.asked(), ["labels", "late"]);
}

/// The same answer under both policies.
async fn both(
    answer: impl Fn(&Value) -> Value + Clone + Send + Sync + 'static,
) -> [Result<Value, String>; 2] {
    let ask = async |policy: &str| {
        let hub = Hub::default().answer("a", answer.clone());
        let hook = webhook_with("a", &json!({"failurePolicy": policy}));
        mutate(&hub, &[hook], creation()).await.map_err(|status| format!("{} {status}", status.code))
    };
    [ask("Fail").await, ask("Ignore").await]
}

#[tokio::test]
async fn a_patch_that_is_no_patch_is_for_the_failure_policy() {
    let failed = "500 Internal error occurred: failed calling webhook \"a.hooks.example.com\": ";
    let not_base64 = json!({"allowed": true, "patchType": "JSONPatch", "patch": "%%%"});
    let not_json = json!({"allowed": true, "patchType": "JSONPatch", "patch": "Zm9v"});
    let not_a_list = patch(&json!({"op": "add"}));
    let mut other_kind = patch(&json!([{"op": "remove", "path": "/spec"}]));
    other_kind["patchType"] = "MergePatch".into();
    let mut no_kind = patch(&json!([]));
    no_kind.as_object_mut().unwrap().remove("patchType");
    let no_patch = json!({"allowed": true, "patchType": "JSONPatch"});
    for (answer, why) in [
        (not_base64, "failed to call webhook: the answer is no AdmissionReview: response.patch: "),
        (not_json, "received undecodable patch in webhook response: "),
        (not_a_list, "received undecodable patch in webhook response: not a list of operations"),
        (other_kind, "unsupported patch type \"MergePatch\""),
        (
            no_kind,
            "received invalid webhook response: webhook returned response.patch but not response.patchType",
        ),
        (
            no_patch,
            "received invalid webhook response: webhook returned response.patchType but not response.patch",
        ),
    ] {
        let [fail, ignore] = both(move |_| answer.clone()).await;
        let message = fail.unwrap_err();
        assert!(message.starts_with(&format!("{failed}{why}")), "{message}");
        assert_eq!(Some(ignore.unwrap()), creation().object);
    }
}

#[tokio::test]
async fn a_patch_that_does_not_fit_is_refused_under_any_policy() {
    for operations in [
        json!([{"op": "remove", "path": "/spec/nothing"}]),
        json!([{"op": "explode", "path": "/spec"}]),
        json!([{"op": "test", "path": "/spec/priority", "value": 7}]),
        json!([{"op": "replace", "path": "/kind", "value": "Node"}]),
        json!([{"op": "replace", "path": "", "value": 7}]),
    ] {
        for refused in both(move |_| patch(&operations)).await {
            let message = refused.unwrap_err();
            let who = "500 Internal error occurred: patch of admission webhook \"a.hooks.example.com\": ";
            assert!(message.starts_with(who), "{message}");
        }
    }
}

#[tokio::test]
async fn an_empty_patch_is_none() {
    let [fail, ignore] = both(|_| patch(&json!([]))).await;
    assert_eq!(Some(fail.unwrap()), creation().object);
    assert_eq!(Some(ignore.unwrap()), creation().object);
}

#[tokio::test]
async fn what_is_deleted_cannot_be_changed() {
    let hub = Hub::default().answer("a", annotate("note", "hello"));
    let hook = webhook_with("a", &json!({"failurePolicy": "Ignore"}));
    let status = mutate(&hub, &[hook], deletion()).await.unwrap_err();
    let message = "Internal error occurred: admission webhook \"a.hooks.example.com\" attempted to modify the object, \
                   which is not supported for this operation";
    assert_eq!((status.code, status.message.as_str()), (500, message));
}

#[tokio::test]
async fn a_failure_that_is_ignored_leaves_the_rest_to_the_others() {
    let counter = Arc::new(AtomicUsize::new(0));
    let counted = counter.clone();
    let hub = Hub::default().text("a", "nonsense").answer("b", move |_| {
        counted.fetch_add(1, Ordering::Relaxed);
        json!({"allowed": true})
    });
    let ignoring = webhook_with("a", &json!({"failurePolicy": "Ignore"}));
    mutate(&hub, &[ignoring, webhook("b")], creation()).await.unwrap();
    assert_eq!(counter.load(Ordering::Relaxed), 1);
}
