//! The sentences of the schema validator.

use serde_json::{Value, json};

use super::{list_types, update, value};
use crate::compile::compile;
use crate::path::Base;

/// The problems of `{"x": value}` with `x` described by `schema`.
fn problems(schema: &Value, x: &Value) -> Vec<String> {
    let (nodes, root) = compile("", &json!({"type": "object", "properties": {"x": schema}})).unwrap();
    value(&nodes, root, &json!({"x": x}), Base(None)).iter().map(ToString::to_string).collect()
}

fn problem(schema: &Value, x: &Value) -> String {
    let all = problems(schema, x);
    assert_eq!(all.len(), 1, "{all:?}");
    all.into_iter().next().unwrap()
}

#[test]
fn types_are_named() {
    for (schema, x, text) in [
        (
            json!({"type": "integer"}),
            json!("3"),
            r#"x: Invalid value: "string": x in body must be of type integer: "string""#,
        ),
        (
            json!({"type": "string"}),
            json!(3),
            r#"x: Invalid value: "integer": x in body must be of type string: "integer""#,
        ),
        (
            json!({"type": "string"}),
            json!(null),
            r#"x: Invalid value: "null": x in body must be of type string: "null""#,
        ),
        (
            json!({"type": "object"}),
            json!([]),
            r#"x: Invalid value: "array": x in body must be of type object: "array""#,
        ),
        (
            json!({"x-kubernetes-int-or-string": true}),
            json!(true),
            r#"x: Invalid value: "boolean": x in body must be of type integer,string: "boolean""#,
        ),
        (
            json!({"type": "string", "format": "date-time"}),
            json!(1),
            r#"x: Invalid value: "int64": x in body must be of type date-time: "int64""#,
        ),
        (
            json!({"type": "string", "format": "date"}),
            json!("soon"),
            r#"x: Invalid value: "soon": x in body must be of type date: "soon""#,
        ),
    ] {
        assert_eq!(problem(&schema, &x), text);
    }
    assert!(problems(&json!({"type": "integer"}), &json!(2.0)).is_empty());
    assert!(problems(&json!({"type": "number"}), &json!(2)).is_empty());
    assert!(problems(&json!({"type": "string", "nullable": true}), &json!(null)).is_empty());
}

#[test]
fn bounds_are_named() {
    for (schema, x, text) in [
        (
            json!({"type": "integer", "maximum": 3}),
            json!(4),
            "x: Invalid value: 4: x in body should be less than or equal to 3",
        ),
        (
            json!({"type": "number", "minimum": 1.5, "exclusiveMinimum": true}),
            json!(1.5),
            "x: Invalid value: 1.5: x in body should be greater than 1.5",
        ),
        (
            json!({"type": "integer", "multipleOf": 3}),
            json!(4),
            "x: Invalid value: 4: x in body should be a multiple of 3",
        ),
        (
            json!({"type": "string", "maxLength": 2}),
            json!("äöü"),
            "x: Too long: may not be more than 2 bytes",
        ),
        (
            json!({"type": "string", "minLength": 2}),
            json!("ä"),
            r#"x: Invalid value: "ä": x in body should be at least 2 chars long"#,
        ),
        (
            json!({"type": "string", "pattern": "^[a-z]+$"}),
            json!("A"),
            r#"x: Invalid value: "A": x in body should match '^[a-z]+$'"#,
        ),
        (
            json!({"type": "string", "enum": ["a", "b"]}),
            json!("c"),
            r#"x: Unsupported value: "c": supported values: "a", "b""#,
        ),
        (
            json!({"type": "array", "maxItems": 1, "items": {"type": "integer"}}),
            json!([1, 2]),
            "x: Too many: 2: must have at most 1 item",
        ),
        (
            json!({"type": "array", "minItems": 1, "items": {"type": "integer"}}),
            json!([]),
            "x: Invalid value: 0: x in body should have at least 1 items",
        ),
        (
            json!({"type": "object", "maxProperties": 0, "x-kubernetes-preserve-unknown-fields": true}),
            json!({"a": 1}),
            "x: Too many: 1: must have at most 0 items",
        ),
        (json!({"type": "object", "required": ["a"]}), json!({}), "x.a: Required value"),
        (
            json!({"type": "object", "additionalProperties": false}),
            json!({"a": 1}),
            r#"x: Invalid value: "a": x.a in body is a forbidden property"#,
        ),
        (
            json!({"type": "integer", "format": "int32"}),
            json!(2_147_483_648_i64),
            r#"<nil>: Invalid value: "": Checked value must be of type integer with format int32 in x"#,
        ),
    ] {
        assert_eq!(problem(&schema, &x), text);
    }
    assert!(problems(&json!({"type": "string", "maxLength": 3}), &json!("äöü")).is_empty());
    assert!(problems(&json!({"type": "number", "enum": [1, 2]}), &json!(2.0)).is_empty());
}

#[test]
fn of_alternatives_the_one_that_came_furthest_is_reported() {
    let schema = json!({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}, "oneOf": [
        {"required": ["a"], "properties": {"a": {"minLength": 2}}},
        {"required": ["b"]},
    ]});
    assert_eq!(
        problems(&schema, &json!({"a": "x"})),
        [
            r#"<nil>: Invalid value: "": "x" must validate one and only one schema (oneOf). Found none valid"#,
            r#"x.a: Invalid value: "x": x.a in body should be at least 2 chars long"#,
        ]
    );
    assert_eq!(
        problems(&schema, &json!({"a": "xx", "b": ""})),
        [
            r#"<nil>: Invalid value: "": "x" must validate one and only one schema (oneOf). Found 2 valid alternatives"#
        ]
    );
    let schema =
        json!({"type": "string", "not": {"enum": ["a"]}, "anyOf": [{"enum": ["b"]}, {"enum": ["c"]}]});
    assert_eq!(
        problems(&schema, &json!("a")),
        [
            r#"<nil>: Invalid value: "": "x" must validate at least one schema (anyOf)"#,
            r#"x: Unsupported value: "a": supported values: "b""#,
            r#"<nil>: Invalid value: "": "x" must not validate the schema (not)"#,
        ]
    );
    let schema = json!({"type": "integer", "allOf": [{"minimum": 2}, {"maximum": 0}]});
    assert!(problems(&schema, &json!(1)).contains(
        &r#"<nil>: Invalid value: "": "x" must validate all the schemas (allOf). None validated"#.to_owned()
    ));
}

#[test]
fn paths_lead_through_lists_and_maps() {
    let schema =
        json!({"type": "object", "additionalProperties": {"type": "array", "items": {"type": "integer"}}});
    assert_eq!(
        problem(&schema, &json!({"k": [1, "b"]})),
        r#"x.k[1]: Invalid value: "string": x.k[1] in body must be of type integer: "string""#
    );
}

#[test]
fn what_did_not_change_is_not_reported() {
    let schema = json!({"type": "object", "properties": {
        "a": {"type": "string", "maxLength": 1},
        "list": {"type": "array", "items": {"type": "string", "maxLength": 1}},
        "map": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"], "items": {
            "type": "object", "required": ["k"],
            "properties": {"k": {"type": "string"}, "v": {"type": "string", "maxLength": 1}}}},
    }});
    let (nodes, root) = compile("", &schema).unwrap();
    let check = |new: &Value, old: &Value| -> Vec<String> {
        update(&nodes, root, new, Some(old), Base(None)).into_iter().map(|problem| problem.path).collect()
    };
    let old = json!({"a": "long", "list": ["long"], "map": [{"k": "1", "v": "long"}, {"k": "2"}]});
    assert!(check(&old, &old).is_empty());
    // A field is compared by name, an item of a map list by its key, an item of any other list not at all.
    let new = json!({"a": "longer", "list": ["long", "x"], "map": [{"k": "2", "v": "long"}, {"k": "1", "v": "long"}]});
    assert_eq!(check(&new, &old), ["a", "list[0]", "map[0].v"]);
}

#[test]
fn items_that_repeat_are_named_once() {
    let schema = json!({"type": "object", "properties": {
        "set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
        "map": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["a", "b"], "items": {
            "type": "object", "required": ["a"],
            "properties": {"a": {"type": "string"}, "b": {"type": "integer", "default": 0}}}},
    }});
    let (nodes, root) = compile("", &schema).unwrap();
    let object = json!({"set": ["x", "y", "x", "x"], "map": [{"a": "1", "b": 0}, {"a": "1", "b": 1}, {"a": "1", "b": 0}]});
    let texts: Vec<String> = list_types(&nodes, root, &object).iter().map(ToString::to_string).collect();
    assert_eq!(texts, [r#"map[2]: Duplicate value: {"a":"1","b":0}"#, r#"set[2]: Duplicate value: "x""#]);
}
