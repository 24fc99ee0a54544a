//! Built-in kinds, by the schemas of their Rust types.

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use serde_json::{Value, json};

use crate::{Options, Outcome, Schema};

fn deployment() -> Schema {
    Schema::from_json_schema(schemars::schema_for!(Deployment).as_value())
}

fn admit(schema: &Schema, object: &Value) -> Outcome {
    let mut copy = object.clone();
    let outcome = schema.admit(&mut copy, None, Options::field_validation());
    assert_eq!(copy, *object, "a built-in object is not changed");
    outcome
}

fn texts(outcome: &Outcome) -> Vec<String> {
    outcome.problems.iter().map(ToString::to_string).collect()
}

#[test]
fn a_valid_deployment_has_nothing_unknown() {
    let object = json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "x", "labels": {"a": "b"}, "creationTimestamp": null, "managedFields": [{"fieldsV1": {"f:spec": {}}}]},
        "spec": {"replicas": 1, "selector": {"matchLabels": {"a": "b"}}, "template": {"spec": {"containers": [{
            "name": "c", "image": "i", "ports": [{"containerPort": 80}],
            "resources": {"limits": {"cpu": 1, "memory": "1Gi", "x/y": 0.5}},
            "livenessProbe": {"httpGet": {"port": "http"}, "initialDelaySeconds": 3},
        }]}}, "strategy": {"rollingUpdate": {"maxSurge": "25%", "maxUnavailable": 1}}},
    });
    assert_eq!(admit(&deployment(), &object), Outcome::default());
}

#[test]
fn unknown_fields_are_named_with_their_path() {
    let object = json!({"spec": {"replica": 1, "template": {"spec": {"containers": [{"name": "c"}, {"img": "i"}]}}}, "foo": {"a": 1}});
    let outcome = admit(&deployment(), &object);
    assert_eq!(
        outcome.unknown_fields,
        [
            r#"unknown field "foo""#,
            r#"unknown field "spec.replica""#,
            r#"unknown field "spec.template.spec.containers[1].img""#,
        ]
    );
}

#[test]
fn wrong_types_are_named() {
    let object = json!({"metadata": {"labels": {"a": 1}}, "spec": {"replicas": "3", "paused": "no", "minReadySeconds": 1.5,
        "revisionHistoryLimit": 3_000_000_000_i64, "template": []}});
    assert_eq!(
        texts(&admit(&deployment(), &object)),
        [
            r#"metadata.labels.a: Invalid value: "integer": metadata.labels.a in body must be of type string: "integer""#,
            r#"spec.minReadySeconds: Invalid value: "number": spec.minReadySeconds in body must be of type int32: "number""#,
            r#"spec.paused: Invalid value: "string": spec.paused in body must be of type boolean: "string""#,
            r#"spec.replicas: Invalid value: "string": spec.replicas in body must be of type int32: "string""#,
            r#"spec.revisionHistoryLimit: Invalid value: "integer": spec.revisionHistoryLimit in body must be of type int32: "integer""#,
            r#"spec.template: Invalid value: "array": spec.template in body must be of type object: "array""#,
        ]
    );
    assert_eq!(
        texts(&admit(&deployment(), &json!([]))),
        [r#"<nil>: Invalid value: "array":  in body must be of type object: "array""#]
    );
}

#[test]
fn a_schema_that_mentions_itself_is_followed_as_deep_as_the_object() {
    let schema = Schema::from_json_schema(schemars::schema_for!(CustomResourceDefinition).as_value());
    let object = |inner: Value| {
        json!({"spec": {"versions": [{"name": "v1", "schema": {"openAPIV3Schema": {
            "type": "object", "properties": {"a": {"type": "array", "items": inner}, "b": {"additionalProperties": true}},
            "default": {"anything": ["goes"]}, "enum": [1, "a", null]}}}]}})
    };
    assert_eq!(
        admit(&schema, &object(json!({"type": "string", "x-kubernetes-validations": [{"rule": "true"}]}))),
        Outcome::default()
    );
    let outcome = admit(&schema, &object(json!({"typ": "string", "not": {"allOf": [{"maxLength": "3"}]}})));
    assert_eq!(
        outcome.unknown_fields,
        [r#"unknown field "spec.versions[0].schema.openAPIV3Schema.properties.a.items.typ""#]
    );
    assert_eq!(
        outcome.problems[0].path,
        "spec.versions[0].schema.openAPIV3Schema.properties.a.items.not.allOf[0].maxLength"
    );
}

#[test]
fn what_is_not_understood_accepts_everything() {
    for schema in [
        json!(true),
        json!({"$ref": "#/nowhere"}),
        json!({"type": 7}),
        json!({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}}),
    ] {
        let outcome = admit(&Schema::from_json_schema(&schema), &json!({"a": [1, {"b": null}]}));
        assert_eq!(outcome.unknown_fields.len() + outcome.problems.len(), outcome.problems.len(), "{schema}");
    }
}
