//! The steps together.

use serde_json::{Value, json};

use super::{Options, Schema};

fn schema() -> Schema {
    Schema::compile(&json!({"type": "object", "required": ["spec"], "properties": {
        "spec": {"type": "object", "required": ["size"], "properties": {
            "size": {"type": "integer", "minimum": 1},
            "mode": {"type": "string", "enum": ["fast", "slow"], "default": "slow"},
        }},
        "status": {"type": "object", "properties": {"ready": {"type": "integer"}}},
    }}))
    .unwrap()
}

fn object(spec: &Value) -> Value {
    json!({"apiVersion": "example.com/v1", "kind": "Foo", "metadata": {"name": "x"}, "spec": spec})
}

#[test]
fn admitting_prunes_defaults_and_validates() {
    let mut new = object(&json!({"size": 0, "sise": 1}));
    let outcome = schema().admit(&mut new, None, Options::default());
    assert_eq!(new["spec"], json!({"size": 0, "mode": "slow"}));
    assert_eq!(outcome.unknown_fields, [r#"unknown field "spec.sise""#]);
    let texts: Vec<String> = outcome.problems.iter().map(ToString::to_string).collect();
    assert_eq!(
        texts,
        ["spec.size: Invalid value: 0: spec.size in body should be greater than or equal to 1"]
    );
}

#[test]
fn steps_can_be_left_out() {
    let mut new = object(&json!({"size": 0, "sise": 1}));
    let before = new.clone();
    let options = Options { prune: false, default: false, validate: false, status_only: false };
    let outcome = schema().admit(&mut new, None, options);
    assert_eq!(new, before);
    assert_eq!(outcome.unknown_fields.len(), 1);
    assert!(outcome.problems.is_empty());
}

#[test]
fn a_change_of_the_status_is_not_asked_about_the_rest() {
    let options = Options { status_only: true, ..Options::default() };
    let mut new = json!({"apiVersion": "example.com/v1", "kind": "Foo", "metadata": {"name": "x"}, "status": {"ready": "yes"}});
    let outcome = schema().admit(&mut new, None, options);
    let texts: Vec<String> = outcome.problems.iter().map(ToString::to_string).collect();
    assert_eq!(
        texts,
        [r#"status.ready: Invalid value: "string": ready in body must be of type integer: "string""#]
    );
}

#[test]
fn metadata_that_cannot_be_decoded_ends_the_walk() {
    let mut new = object(&json!({"size": 0}));
    new["metadata"]["labels"] = json!({"a": 1});
    let outcome = schema().admit(&mut new, None, Options::default());
    assert_eq!(outcome.problems.len(), 1);
    assert_eq!(outcome.problems[0].path, "metadata.labels.a");
}

#[test]
fn an_object_deeper_than_any_document_is_refused_and_not_followed() {
    let schema = Schema::compile(&json!({"type": "object", "properties": {
        "a": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}))
    .unwrap();
    let mut object = json!(1);
    for _ in 0..50_000 {
        object = Value::Object([("a".to_owned(), Value::Array(vec![object]))].into_iter().collect());
    }
    let outcome = schema.admit(&mut object, None, Options::default());
    assert_eq!(outcome.problems.len(), 1);
    // Dropping such a value recurses as well, which is the business of whoever built it.
    std::mem::forget(object);
}

#[test]
fn a_schema_is_shared_between_threads() {
    fn shared<T: Send + Sync>(_: &T) {}
    shared(&schema());
}
