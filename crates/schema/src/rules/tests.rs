//! Rules on objects and their past.

use serde_json::{Value, json};

use crate::{Options, Schema};

fn schema(spec: Value) -> Schema {
    let mut all = json!({"type": "object", "properties": {}});
    all["properties"]["spec"] = spec;
    Schema::compile(&all).unwrap_or_else(|problems| panic!("{problems:?}"))
}

fn check(schema: &Schema, spec: Value, old: Option<Value>) -> Vec<String> {
    let wrap = |spec: Value| json!({"apiVersion": "example.com/v1", "kind": "Foo", "metadata": {"name": "x"}, "spec": spec});
    let old = old.map(wrap);
    let outcome = schema.admit(&mut wrap(spec), old.as_ref(), Options::default());
    outcome.problems.iter().map(ToString::to_string).collect()
}

fn replicas(rule: &Value) -> Schema {
    schema(json!({"type": "object", "x-kubernetes-validations": [rule], "properties": {
        "min": {"type": "integer"}, "max": {"type": "integer"}, "m": {"type": "object", "additionalProperties": {"type": "string"}},
    }}))
}

#[test]
fn a_broken_rule_says_its_message() {
    let broken = json!({"min": 2, "max": 1});
    let text = |rule: Value| check(&replicas(&rule), broken.clone(), None);
    let rule = "self.min <= self.max";
    assert_eq!(text(json!({"rule": rule})), ["spec: Invalid value: failed rule: self.min <= self.max"]);
    assert_eq!(
        text(json!({"rule": rule, "message": " min too large "})),
        ["spec: Invalid value: min too large"]
    );
    let expression = "'%d is more than %d'.format([self.min, self.max])";
    assert_eq!(
        text(json!({"rule": rule, "message": "m", "messageExpression": expression})),
        ["spec: Invalid value: 2 is more than 1"]
    );
    // An expression that gives nothing usable leaves the word to the message.
    for expression in ["self.m['x']", "''", "'a\\nb'"] {
        let texts = text(json!({"rule": rule, "message": "m", "messageExpression": expression}));
        assert_eq!(texts, ["spec: Invalid value: m"]);
    }
    assert!(check(&replicas(&json!({"rule": rule})), json!({"min": 1, "max": 2}), None).is_empty());
}

#[test]
fn reason_and_place_are_the_rules_to_choose() {
    let broken = json!({"min": 2, "max": 1});
    let text = |reason: &str, path: &str| {
        let rule =
            json!({"rule": "self.min <= self.max", "message": "m", "reason": reason, "fieldPath": path});
        check(&replicas(&rule), broken.clone(), None)
    };
    assert_eq!(text("FieldValueForbidden", ".min"), ["spec.min: Forbidden: m"]);
    assert_eq!(text("FieldValueRequired", ".m['a.b']"), ["spec.m[a.b]: Required value: m"]);
    assert_eq!(text("FieldValueDuplicate", ".max"), ["spec.max: Duplicate value"]);
    assert_eq!(text("FieldValueInvalid", ".max"), ["spec.max: Invalid value: m"]);
}

#[test]
fn scalars_are_shown_and_errors_name_the_type() {
    let schema = schema(json!({"type": "object", "properties": {
        "s": {"type": "string", "x-kubernetes-validations": [{"rule": "self.startsWith('a')"}]},
        "i": {"type": "integer", "x-kubernetes-validations": [{"rule": "1 / self > 0"}]},
    }}));
    assert_eq!(
        check(&schema, json!({"s": "b", "i": 0}), None),
        [
            r#"spec.i: Invalid value: "integer": division by zero evaluating rule: 1 / self > 0"#,
            r#"spec.s: Invalid value: "b": failed rule: self.startsWith('a')"#,
        ]
    );
}

#[test]
fn rules_about_the_past_need_one() {
    let schema = schema(json!({"type": "object", "properties": {
        "fixed": {"type": "string", "x-kubernetes-validations": [{"rule": "self == oldSelf", "message": "is immutable"}]},
        "once": {"type": "string", "x-kubernetes-validations": [
            {"rule": "!oldSelf.hasValue() || self == oldSelf.value()", "message": "set once", "optionalOldSelf": true}]},
    }}));
    assert!(check(&schema, json!({"fixed": "a", "once": "a"}), None).is_empty());
    assert!(check(&schema, json!({"fixed": "a"}), Some(json!({}))).is_empty());
    assert_eq!(
        check(&schema, json!({"fixed": "b", "once": "b"}), Some(json!({"fixed": "a", "once": "a"}))),
        [r#"spec.fixed: Invalid value: "b": is immutable"#, r#"spec.once: Invalid value: "b": set once"#]
    );
}

#[test]
fn items_of_a_map_list_find_their_past_by_key() {
    let schema = schema(json!({"type": "object", "properties": {
        "list": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"], "items": {
            "type": "object", "required": ["k"], "properties": {"k": {"type": "string"}, "v": {"type": "integer"}},
            "x-kubernetes-validations": [{"rule": "self.v >= oldSelf.v", "message": "must not shrink"}]}},
    }}));
    let old = json!({"list": [{"k": "a", "v": 1}, {"k": "b", "v": 5}]});
    // Reordered and extended: by index this would compare 5 with 1 and 1 with 5.
    let new = json!({"list": [{"k": "c", "v": 0}, {"k": "b", "v": 5}, {"k": "a", "v": 1}]});
    assert!(check(&schema, new, Some(old.clone())).is_empty());
    let new = json!({"list": [{"k": "b", "v": 4}, {"k": "a", "v": 1}]});
    assert_eq!(check(&schema, new, Some(old)), ["spec.list[0]: Invalid value: must not shrink"]);
}

#[test]
fn a_rule_broken_before_is_forgiven_while_its_value_stays() {
    let schema = schema(json!({"type": "object", "properties": {
        "o": {"type": "object", "properties": {"a": {"type": "integer"}}, "x-kubernetes-validations": [{"rule": "self.a > 0"}]},
        "l": {"type": "array", "items": {"type": "integer", "x-kubernetes-validations": [{"rule": "self > 0"}]}},
        "other": {"type": "string"},
    }}));
    let old = json!({"o": {"a": 0}, "l": [0], "other": "x"});
    assert!(check(&schema, json!({"o": {"a": 0}, "l": [0], "other": "y"}), Some(old.clone())).is_empty());
    assert_eq!(
        check(&schema, json!({"o": {"a": -1}, "l": [0, 1]}), Some(old)),
        [
            r#"spec.l[0]: Invalid value: 0: failed rule: self > 0"#,
            "spec.o: Invalid value: failed rule: self.a > 0"
        ]
    );
}

#[test]
fn rules_are_not_asked_about_what_they_cannot_understand() {
    let schema =
        schema(json!({"type": "object", "required": ["a"], "properties": {"a": {"type": "integer"}},
        "x-kubernetes-validations": [{"rule": "self.a > 0"}]}));
    assert_eq!(
        check(&schema, json!({}), None),
        [
            "spec.a: Required value",
            "<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct \
             the existing errors to complete validation",
        ]
    );
}

#[test]
fn the_budget_of_an_object_ends_all_its_rules() {
    let list = json!({"type": "array", "items": {"type": "integer"}});
    let expensive = schema(json!({"type": "object", "properties": {"l": list}, "x-kubernetes-validations": [
        {"rule": "self.l.all(a, self.l.all(b, a + b >= 0))", "message": "m"}, {"rule": "false"}]}));
    let spec = json!({"l": (0..600).collect::<Vec<_>>()});
    assert_eq!(
        check(&expensive, spec.clone(), None),
        [
            r#"spec: Invalid value: "object": 'operation cancelled: actual cost limit exceeded': no further validation rules will be run due to call cost exceeds limit for rule: m"#
        ]
    );
    let rule = json!({"rule": "self.l.all(a, self.l.slice(0, 100).all(b, a + b >= 0))"});
    let many = schema(
        json!({"type": "object", "properties": {"l": list}, "x-kubernetes-validations": vec![rule; 40]}),
    );
    let problems = check(&many, spec, None);
    assert_eq!(
        problems,
        [
            r#"spec: Invalid value: "object": validation failed due to running out of cost budget, no further validation rules will be run"#
        ]
    );
}

#[test]
fn a_rule_at_the_root_sees_the_name() {
    let schema = Schema::compile(&json!({"type": "object", "x-kubernetes-validations": [
        {"rule": "self.metadata.name.startsWith('a')", "message": "bad name"}]}))
    .unwrap();
    let mut object = json!({"apiVersion": "example.com/v1", "kind": "Foo", "metadata": {"name": "b"}});
    let outcome = schema.admit(&mut object, None, Options::default());
    assert_eq!(outcome.problems[0].to_string(), "<nil>: Invalid value: bad name");
}
