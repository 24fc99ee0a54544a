//! Nothing that a client can send may end the process or keep it busy.
//!
//! The first half draws schemas, rules and objects at random and only asks that an answer comes back; the second half
//! keeps the inputs that were written to hurt.

use proptest::prelude::*;
use proptest::strategy::Union;
use safepoint_schema::{Options, Schema, duplicate_fields};
use serde_json::{Map, Value, json};

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[a-c<\\\\\\[{(*+?^$ é]{0,6}".prop_map(Value::from),
    ]
}

fn json_value() -> impl Strategy<Value = Value> {
    scalar().prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec(("[a-d]|metadata|kind|spec", inner), 0..4)
                .prop_map(|entries| Value::Object(entries.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

/// Keywords with values that are often, but not always, of the right kind.
fn schema() -> impl Strategy<Value = Value> {
    let kinds = [
        "object", "object", "object", "array", "string", "string", "integer", "number", "boolean", "null", "",
    ];
    let leaf = prop::sample::select(kinds.to_vec()).prop_map(|kind| json!({"type": kind}));
    leaf.prop_recursive(4, 32, 4, |inner| {
        let named = |entries: Vec<(String, Value)>| Value::Object(entries.into_iter().collect::<Map<_, _>>());
        let flags = vec![
            "nullable",
            "x-kubernetes-preserve-unknown-fields",
            "x-kubernetes-embedded-resource",
            "x-kubernetes-int-or-string",
        ];
        let rule = "(self|oldSelf|[a-c.()\\[\\]!&|<>=+*/%?:, '0-9]){0,12}";
        let keyword = Union::new(vec![
            prop::collection::vec(("[a-d]|metadata", inner.clone()), 0..3)
                .prop_map(move |entries| ("properties", named(entries)))
                .boxed(),
            inner.clone().prop_map(|items| ("items", items)).boxed(),
            inner.clone().prop_map(|schema| ("additionalProperties", schema)).boxed(),
            prop::collection::vec(inner.clone(), 0..3).prop_map(|all| ("allOf", Value::from(all))).boxed(),
            prop::collection::vec(inner.clone(), 0..3).prop_map(|all| ("anyOf", Value::from(all))).boxed(),
            inner.clone().prop_map(|schema| ("not", schema)).boxed(),
            "[a-c(*+?\\[\\]{}^$|\\\\dw.-]{0,8}".prop_map(|pattern| ("pattern", Value::from(pattern))).boxed(),
            json_value().prop_map(|value| ("default", value)).boxed(),
            prop::collection::vec(json_value(), 0..3)
                .prop_map(|values| ("enum", Value::from(values)))
                .boxed(),
            (
                prop::sample::select(vec!["maximum", "multipleOf", "maxLength", "minItems", "format"]),
                scalar(),
            )
                .boxed(),
            prop::sample::select(flags).prop_map(|flag| (flag, json!(true))).boxed(),
            Just(("x-kubernetes-list-type", json!("map"))).boxed(),
            Just(("x-kubernetes-list-map-keys", json!(["a"]))).boxed(),
            rule.prop_map(|rule| ("x-kubernetes-validations", json!([{"rule": rule}]))).boxed(),
        ]);
        (inner, prop::collection::vec(keyword, 1..4)).prop_map(|(mut schema, keywords)| {
            if let Some(map) = schema.as_object_mut() {
                map.extend(keywords.into_iter().map(|(keyword, value)| (keyword.to_owned(), value)));
            }
            schema
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn every_schema_gets_an_answer(schema in schema(), object in json_value(), old in json_value()) {
        if let Ok(compiled) = Schema::compile(&schema) {
            let mut first = object.clone();
            let outcome = compiled.admit(&mut first, Some(&old), Options::default());
            prop_assert!(outcome.problems.iter().all(|problem| !problem.to_string().is_empty()));
            // What has been shaped once has its shape.
            let mut second = first.clone();
            compiled.admit(&mut second, Some(&old), Options::default());
            prop_assert_eq!(first, second);
        }
        let mut copy = object.clone();
        Schema::from_json_schema(&schema).admit(&mut copy, None, Options::field_validation());
        prop_assert_eq!(copy, object);
    }

    #[test]
    fn every_rule_gets_an_answer(rule in "(self|oldSelf|has|size|true|all|map|x|[.()\\[\\]{}!&|<>=+*/%?:,'\"0-9a-z \\\\\n-]){0,40}") {
        let schema = json!({"type": "object", "properties": {"x": {"type": "array", "items": {"type": "integer"},
            "x-kubernetes-validations": [{"rule": rule, "message": "m"}]}}});
        if let Ok(compiled) = Schema::compile(&schema) {
            compiled.admit(&mut json!({"x": [1, 2]}), Some(&json!({"x": [1]})), Options::default());
        }
    }

    #[test]
    fn library_functions_take_any_argument(a in any::<i64>(), b in any::<i64>(), s in "\\PC{0,12}", t in "[0-9.:/a-fxGi%-]{0,12}") {
        let calls = [
            "self.s.substring(self.a)", "self.s.substring(self.a, self.b)", "self.s.charAt(self.a)", "self.s.split(self.t, self.a)",
            "self.s.replace(self.t, self.s, self.a)", "self.s.indexOf(self.t, self.a)", "self.s.lastIndexOf(self.t, self.a)",
            "[1, 2, 3].slice(self.a, self.b)", "[[1]].flatten(self.a)", "self.s.findAll(self.t, self.a)", "self.s.find(self.s)",
            "quantity(self.t).add(self.a)", "quantity(self.s).asInteger()", "quantity(self.t).asApproximateFloat()",
            "ip(self.t).family()", "cidr(self.t).containsIP(self.t)", "cidr(self.t).masked()", "cidr(self.s).prefixLength()",
            "url(self.s).getQuery()", "url(self.t).getHostname()", "semver(self.t).major()", "semver(self.s, true).patch()",
            "format.uri().validate(self.s)", "format.datetime().validate(self.t)", "format.qualifiedName().validate(self.s)",
            "timestamp(self.a)", "timestamp(self.a) + duration(self.b)", "timestamp(self.a).getDayOfYear()", "duration(self.t)",
            "timestamp(self.a).getFullYear()", "timestamp(self.a) - timestamp(self.b)", "timestamp(self.s)", "duration(self.a).getHours()",
            "'%d %x %o %b %e %.3f %s'.format([self.a, self.b, self.a, self.b, 1.5, 2.5, self.s])", "self.s.format([self.a, self.t])",
            "lists.range(self.a % 100)", "self.a / self.b", "self.a % self.b", "-self.a", "self.a * self.b", "double(self.t)", "bytes(self.s)",
        ];
        let rules: Vec<Value> = calls.iter().map(|call| json!({"rule": format!("{call} == {call}")})).collect();
        let properties = json!({"a": {"type": "integer"}, "b": {"type": "integer"}, "s": {"type": "string"}, "t": {"type": "string"}});
        let schema = json!({"type": "object", "properties": properties, "x-kubernetes-validations": rules});
        let compiled = Schema::compile(&schema).unwrap_or_else(|problems| panic!("{problems:?}"));
        compiled.admit(&mut json!({"a": a, "b": b, "s": s, "t": t}), None, Options::default());
    }

    #[test]
    fn every_document_is_scanned(bytes in prop::collection::vec(any::<u8>(), 0..64), text in "[{}\\[\\]:,\"a0 ]{0,64}") {
        duplicate_fields(&bytes);
        duplicate_fields(text.as_bytes());
    }
}

#[test]
fn quantities_beyond_all_bounds_break_nothing() {
    for text in ["1e40", "10e2147483647", "1.5e-2147483648"] {
        for (rule, holds) in [
            ("isQuantity(self)", true),
            ("quantity(self).add(1) == quantity(self)", false),
            ("quantity(self).isGreaterThan(quantity('1n'))", false),
        ] {
            let schema = json!({"type": "string", "x-kubernetes-validations": [{"rule": rule}]});
            let schema = json!({"type": "object", "properties": {"size": schema}});
            let compiled = Schema::compile(&schema).unwrap_or_else(|problems| panic!("{problems:?}"));
            let outcome = compiled.admit(&mut json!({"size": text}), None, Options::default());
            assert_eq!(outcome.problems.is_empty(), holds, "{rule} of {text}");
        }
    }
}

fn refused(schema: &Value) -> bool {
    Schema::compile(schema).is_err()
}

#[test]
fn brackets_in_rules_do_not_reach_the_bottom_of_the_stack() {
    for rule in ["(", "[", "!", "-", "{1:", "f(", "a.all(x, ", "a ? b : ", "self.", "'", "r\"\"\""] {
        let rule = rule.repeat(20_000);
        assert!(refused(
            &json!({"type": "object", "x-kubernetes-validations": [{"rule": rule, "message": "m"}]})
        ));
    }
}

#[test]
fn expressions_that_explode_are_refused() {
    for pattern in
        ["((a{1000}){1000}){1000}", &"(".repeat(50_000), &"(a|b)*".repeat(50_000), &"[a-z]{1000}".repeat(500)]
    {
        let schema = json!({"type": "object", "properties": {"a": {"type": "string", "pattern": pattern}}});
        assert!(refused(&schema), "{} bytes", pattern.len());
    }
}

#[test]
fn a_rule_cannot_buy_more_work_by_making_its_own_expressions() {
    let schema = json!({"type": "object", "properties": {"l": {"type": "array", "items": {"type": "string"}}},
        "x-kubernetes-validations": [{"rule": "self.l.all(x, self.l.all(y, (x + y + '(a{1000}){1000}').matches(y + x)))"}]});
    let compiled = Schema::compile(&schema).unwrap();
    let list: Vec<String> = (0..3_000).map(|i| format!("(x{i}){{100}}")).collect();
    let outcome = compiled.admit(&mut json!({"l": list}), None, Options::default());
    assert_eq!(outcome.problems.len(), 1);
}

#[test]
fn many_alternatives_over_many_items_stay_linear() {
    let alternatives: Vec<Value> = (0..200).map(|i| json!({"enum": [i]})).collect();
    let schema = json!({"type": "object", "properties": {"l": {"type": "array", "items": {"type": "integer", "oneOf": alternatives}}}});
    let compiled = Schema::compile(&schema).unwrap();
    let outcome = compiled.admit(&mut json!({"l": vec![7; 2_000]}), None, Options::default());
    assert!(outcome.problems.is_empty());
    let outcome = compiled.admit(&mut json!({"l": vec![-1; 500]}), None, Options::default());
    assert_eq!(outcome.problems.len(), 1_000);
}
