//! The rules of PodTransitionRule, each with what it accepts and what it refuses.

use safepoint_api::PodTransitionRule;
use serde_json::{Value, json};

use crate::support::{assert_accepted, assert_every_rule_refuses, broken_rules};

const AVAILABLE: &str = "/spec/rules/0/availablePolicy";
const MAX: &str = "/spec/rules/0/availablePolicy/maxUnavailableValue";
const MIN: &str = "/spec/rules/0/availablePolicy/minAvailableValue";
const URL: &str = "/spec/rules/2/webhook/clientConfig/url";
const POLL: &str = "/spec/rules/2/webhook/clientConfig/poll";
const CA: &str = "/spec/rules/2/webhook/clientConfig/caBundle";

#[test]
fn what_people_write_for_kusionstack_is_accepted() {
    assert_accepted(
        "PodTransitionRule",
        &[
            ("a share", MAX, json!("30%")),
            ("all", MAX, json!("100%")),
            ("a number", MAX, json!(1)),
            ("nobody may go", MAX, json!(0)),
            ("only the least is said", MAX, Value::Null),
            ("only the most is said", MIN, Value::Null),
            ("no rule at all", "/spec/rules", Value::Null),
            ("no stage", "/spec/rules/1/stage", Value::Null),
            ("an empty filter", "/spec/rules/1/filter", json!({})),
            ("everybody", "/spec/selector", json!({})),
            ("plain http", URL, json!("http://127.0.0.1:8888/webhook")),
            ("no polling", POLL, Value::Null),
            ("the polling's defaults", POLL, json!({"url": "http://a.example/poll"})),
            ("no certificate", CA, Value::Null),
        ],
    );
}

#[test]
fn every_rule_refuses_what_it_is_there_for() {
    assert_every_rule_refuses(
        "PodTransitionRule",
        &[
            ("the share has no sign", MAX, json!("30")),
            ("the number is negative", MAX, json!(-1)),
            ("the least share is a word", MIN, json!("half")),
            ("no amount is said", AVAILABLE, json!({})),
            ("it is a rule about nothing", AVAILABLE, Value::Null),
            ("it is two rules in one", "/spec/rules/1/availablePolicy", json!({"minAvailableValue": 1})),
            ("nobody knows the stage", "/spec/rules/1/stage", json!("BeforeLunch")),
            ("the webhook is a file", URL, json!("file:///etc/passwd")),
            ("the results are in a file", POLL, json!({"url": "file:///etc/passwd"})),
        ],
    );
}

/// The examples of KusionStack's documentation and tests, in their form and with other words.
#[test]
fn the_forms_of_kusionstacks_own_examples_are_read() {
    let rules = |rules: Value| {
        json!({"apiVersion": "apps.kusionstack.io/v1alpha1", "kind": "PodTransitionRule",
            "metadata": {"name": "a", "labels": null, "creationTimestamp": null},
            "spec": {"rules": rules, "selector": {"matchLabels": {"app": "a"}}}, "status": {}})
    };
    for object in [
        rules(json!([{"availablePolicy": {"maxUnavailableValue": "50%"}, "name": "most"}])),
        rules(json!([{"availablePolicy": {"minAvailableValue": 3}, "name": "least"}])),
        rules(json!([{"name": "labels", "stage": "PreCheck",
            "labelCheck": {"requires": {"matchLabels": {"example.com/ok": "true"}}}}])),
        rules(json!([{"name": "ask", "stage": "PostCheck", "webhook": {"failurePolicy": "Fail",
            "clientConfig": {"url": "https://a.example", "caBundle": "Cg=="},
            "parameters": [{"key": "ip", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}]}}])),
        rules(json!([{"name": "poll", "webhook": {"clientConfig": {"url": "http://127.0.0.1:8888/ask",
            "poll": {"url": "http://127.0.0.1:8889/query", "intervalSeconds": 1, "timeoutSeconds": 60}}}}])),
    ] {
        assert!(broken_rules("PodTransitionRule", &object, None).is_empty(), "{object}");
        let read: PodTransitionRule = serde_json::from_value(object).unwrap();
        assert_eq!(read.spec.rules.len(), 1);
    }
}
