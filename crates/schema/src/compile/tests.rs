//! Why a definition is refused, in the words of an API server.

use serde_json::{Value, json};

use super::compile;

fn problems(schema: &Value) -> Vec<String> {
    match compile("s", schema) {
        Ok(_) => Vec::new(),
        Err(problems) => problems.iter().map(ToString::to_string).collect(),
    }
}

/// The problems of a schema for the property `x`.
fn property(schema: &Value) -> Vec<String> {
    let all = problems(&json!({"type": "object", "properties": {"x": schema}}));
    all.iter().map(|text| text.replace("s.properties[x]", "x")).collect()
}

#[test]
fn every_value_needs_a_type() {
    assert_eq!(problems(&json!({})), ["s.type: Required value: must not be empty at the root"]);
    assert_eq!(
        problems(&json!({"type": "string"})),
        [r#"s.type: Invalid value: "string": must be object at the root"#]
    );
    assert_eq!(
        property(&json!({})),
        ["x.type: Required value: must not be empty for specified object fields"]
    );
    assert_eq!(
        property(&json!({"type": "array", "items": {}})),
        ["x.items.type: Required value: must not be empty for specified array items"]
    );
    assert_eq!(property(&json!({"type": "array"})), ["x.items: Required value: must be specified"]);
    assert!(property(&json!({"x-kubernetes-preserve-unknown-fields": true})).is_empty());
    assert!(property(&json!({"x-kubernetes-int-or-string": true})).is_empty());
    assert_eq!(
        property(&json!({"type": "text"})),
        [
            r#"x.type: Unsupported value: "text": supported values: "array", "boolean", "integer", "number", "object", "string""#
        ]
    );
}

#[test]
fn logic_may_restrict_but_not_define() {
    assert_eq!(
        property(
            &json!({"type": "string", "allOf": [{"type": "string", "description": "d", "default": "a", "minLength": 1}]})
        ),
        [
            "x.allOf[0].default: Forbidden: must be undefined to be structural",
            "x.allOf[0].description: Forbidden: must be empty to be structural",
            "x.allOf[0].type: Forbidden: must be empty to be structural",
        ]
    );
    assert_eq!(
        problems(&json!({"type": "object", "anyOf": [{"properties": {"a": {"minLength": 1}}}]})),
        ["s.properties[a]: Required value: because it is defined in s.anyOf[0].properties[a]"]
    );
    let int_or_string = json!([{"type": "integer"}, {"type": "string"}]);
    assert!(property(&json!({"x-kubernetes-int-or-string": true, "anyOf": int_or_string})).is_empty());
    assert!(property(&json!({"x-kubernetes-int-or-string": true, "allOf": [{"anyOf": int_or_string}, {"minLength": 1}]})).is_empty());
}

#[test]
fn keywords_without_a_meaning_here_are_refused() {
    assert_eq!(
        property(&json!({"$ref": "#/x", "type": "string"})),
        ["x.$ref: Forbidden: $ref is not supported"]
    );
    assert_eq!(
        property(
            &json!({"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": false})
        ),
        ["x.additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive"]
    );
    assert_eq!(
        property(&json!({"type": "array", "items": {"type": "string"}, "uniqueItems": true})),
        [
            "x.uniqueItems: Forbidden: uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        ]
    );
    assert_eq!(
        problems(&json!({"type": "object", "nullable": true, "additionalProperties": {"type": "string"}})),
        [
            "s.nullable: Forbidden: nullable cannot be true at the root",
            "s.additionalProperties: Forbidden: must not be used at the root",
        ]
    );
    assert_eq!(
        property(&json!({"type": "object", "x-kubernetes-preserve-unknown-fields": false})),
        ["x.x-kubernetes-preserve-unknown-fields: Invalid value: false: must be true or undefined"]
    );
    assert_eq!(
        property(&json!({"type": "string", "pattern": "("})),
        [r#"x.pattern: Invalid value: "(": must be a valid regular expression, but isn't: unclosed group"#]
    );
    assert_eq!(
        property(&json!({"type": "string", "maxLength": "3"})),
        [r#"x.maxLength: Invalid value: "3": must be an integer"#]
    );
}

#[test]
fn lists_that_tell_items_apart_must_be_able_to() {
    let list = |list: Value, items: Value| {
        let mut schema = json!({"type": "array", "items": items});
        schema.as_object_mut().unwrap().extend(list.as_object().unwrap().clone());
        property(&schema)
    };
    let map = json!({"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]});
    assert_eq!(
        list(json!({"x-kubernetes-list-type": "map"}), json!({"type": "string"})),
        [
            "x.x-kubernetes-list-map-keys: Required value: must not be empty if x-kubernetes-list-type is map",
            r#"x.items.type: Invalid value: "string": must be object if parent array's x-kubernetes-list-type is map"#,
        ]
    );
    assert_eq!(
        list(map.clone(), json!({"type": "object"})),
        [
            r#"x.x-kubernetes-list-map-keys: Invalid value: ["k"]: entries must all be names of item properties"#
        ]
    );
    assert_eq!(
        list(map.clone(), json!({"type": "object", "properties": {"k": {"type": "string"}}})),
        [
            "x.items.properties[k].default: Required value: this property is in x-kubernetes-list-map-keys, so it must have a \
          default or be a required property"
        ]
    );
    assert!(
        list(map, json!({"type": "object", "required": ["k"], "properties": {"k": {"type": "string"}}}))
            .is_empty()
    );
    assert_eq!(
        list(json!({"x-kubernetes-list-type": "set"}), json!({"type": "object"})),
        [
            "x.items.x-kubernetes-map-type: Invalid value: null: must be atomic as item of a list with x-kubernetes-list-type=set"
        ]
    );
    assert_eq!(
        list(json!({"x-kubernetes-list-type": "bag"}), json!({"type": "string"})),
        [r#"x.x-kubernetes-list-type: Unsupported value: "bag": supported values: "atomic", "set", "map""#]
    );
}

#[test]
fn the_metadata_belongs_to_the_server() {
    let metadata = |schema: Value| problems(&json!({"type": "object", "properties": {"metadata": schema}}));
    assert!(
        metadata(json!({"type": "object", "properties": {"name": {"type": "string", "maxLength": 5}}}))
            .is_empty()
    );
    let refused = "s.properties[metadata]: Forbidden: must not specify anything other than name and generateName, but \
                   metadata is implicitly specified";
    assert_eq!(metadata(json!({"type": "object", "properties": {"labels": {"type": "object"}}})), [refused]);
    assert_eq!(metadata(json!({"type": "object", "description": "d"})), [refused]);
    assert_eq!(
        metadata(json!({"type": "object", "default": {}})),
        ["s.properties[metadata].default: Forbidden: must not be set in top-level metadata"]
    );
}

#[test]
fn defaults_must_be_valid_and_known() {
    assert_eq!(
        property(&json!({"type": "integer", "default": "a"})),
        [r#"x.default: Invalid value: "string":  in body must be of type integer: "string""#]
    );
    assert_eq!(
        property(
            &json!({"type": "object", "properties": {"a": {"type": "integer", "maximum": 1}}, "default": {"a": 2, "b": 1}})
        ),
        [
            r#"x.default: Invalid value: {"a":2,"b":1}: must not have unknown fields"#,
            "x.default.a: Invalid value: 2: a in body should be less than or equal to 1",
        ]
    );
    let rule = json!([{"rule": "self != 'bad'", "message": "not that"}]);
    assert_eq!(
        property(&json!({"type": "string", "default": "bad", "x-kubernetes-validations": rule})),
        [r#"x.default: Invalid value: "bad": not that"#]
    );
}

#[test]
fn rules_must_compile_and_make_sense() {
    let rule = |rule: Value| property(&json!({"type": "integer", "x-kubernetes-validations": [rule]}));
    let shown = |text: &str| {
        text.split(": ").last().unwrap_or_default().lines().next().unwrap_or_default().to_owned()
    };
    assert!(rule(json!({"rule": "self > 0"}))[..].is_empty());
    assert_eq!(
        rule(json!({"rule": "self > 'a'"})).iter().map(|text| shown(text)).collect::<Vec<_>>(),
        ["found no matching overload for '_>_' applied to '(int, string)'"]
    );
    assert_eq!(
        rule(json!({"rule": " "})),
        ["x.x-kubernetes-validations[0].rule: Required value: rule is not specified"]
    );
    assert_eq!(
        rule(json!({"rule": "self > 0", "message": "a\nb"})),
        [r#"x.x-kubernetes-validations[0].message: Invalid value: "a\nb": must not contain line breaks"#]
    );
    assert_eq!(
        rule(json!({"rule": "self\n> 0"})),
        [
            "x.x-kubernetes-validations[0].message: Required value: message must be specified if rule contains line breaks"
        ]
    );
    assert_eq!(
        rule(json!({"rule": "self > 0", "reason": "Because"})),
        [
            r#"x.x-kubernetes-validations[0].reason: Unsupported value: "Because": supported values: "FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired""#
        ]
    );
    assert_eq!(
        rule(json!({"rule": "self > 0", "fieldPath": ".nope"})),
        [r#"x.x-kubernetes-validations[0].fieldPath: Invalid value: ".nope": must be a valid path"#]
    );
    assert_eq!(
        rule(json!({"rule": "self > 0", "optionalOldSelf": true})),
        [
            "x.x-kubernetes-validations[0].optionalOldSelf: Invalid value: true: may not be set if oldSelf is not used in rule"
        ]
    );
    let items = json!({"type": "array", "items": {"type": "integer", "x-kubernetes-validations": [{"rule": "self == oldSelf"}]}});
    assert_eq!(
        property(&items),
        [
            r#"x.items.x-kubernetes-validations[0].rule: Invalid value: "self == oldSelf": oldSelf cannot be used on the uncorrelatable portion of the schema within x"#
        ]
    );
}

#[test]
fn field_paths_lead_through_properties_and_maps() {
    let schema = |path: &str| {
        json!({"type": "object", "x-kubernetes-validations": [{"rule": "true", "fieldPath": path}], "properties": {
            "a-b": {"type": "object", "properties": {"c": {"type": "string"}}},
            "m": {"type": "object", "additionalProperties": {"type": "string"}},
        }})
    };
    for path in [".a-b.c", "['a-b'].c", ".m['x y']", ".m.x", r".m['it\'s']"] {
        assert!(property(&schema(path)).is_empty(), "{path}");
    }
    for path in ["a", ".a-b.d", ".m.x.y", ".", "['a-b'", ".a-b[0]"] {
        assert_eq!(property(&schema(path)).len(), 1, "{path}");
    }
}

#[test]
fn a_schema_that_nests_too_deep_is_refused() {
    let mut schema = json!({"type": "string"});
    for _ in 0..100 {
        schema = json!({"type": "object", "properties": {"a": schema}});
    }
    assert!(problems(&schema)[0].ends_with("Forbidden: must not nest deeper than 64 schemas"));
}
