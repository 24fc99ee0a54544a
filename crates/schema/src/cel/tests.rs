//! Rules on values: what a rule sees of an object.

use serde_json::{Value, json};

use super::{CALL_LIMIT, Past, Program, Purpose, Shape, Stop};
use crate::compile::compile;

fn holds(schema: &Value, object: &Value, old: Option<&Value>, source: &str) -> Result<bool, Stop> {
    let (nodes, root) = compile("", schema).unwrap_or_else(|problems| panic!("{problems:?}"));
    let shape = Shape::Root(root);
    let program = Program::compile(&nodes, shape, false, Purpose::Rule, source);
    let program = program.unwrap_or_else(|error| panic!("{error}"));
    program.holds(&nodes, shape, object, Past::Plain(old), CALL_LIMIT).0
}

#[test]
fn fields_are_reached_by_their_escaped_names() {
    let schema = json!({"type": "object", "properties": {
        "a-b": {"type": "integer"}, "namespace": {"type": "string"}, "x__y": {"type": "string"},
        "m": {"type": "object", "additionalProperties": {"type": "integer"}},
    }});
    let object = json!({"a-b": 1, "namespace": "n", "x__y": "u", "m": {"a-b": 2, "c d": 3}});
    for source in [
        "self.a__dash__b == 1 && self.__namespace__ == 'n' && self.x__underscores__y == 'u'",
        // Keys of a map are data, not names.
        "self.m['a-b'] == 2 && self.m['c d'] == 3 && 'a-b' in self.m && !('a__dash__b' in self.m)",
        "self.m.all(k, self.m[k] > 1) && self.m.exists(k, v, k == 'c d' && v == 3)",
    ] {
        assert_eq!(holds(&schema, &object, None, source), Ok(true), "{source}");
    }
}

#[test]
fn a_null_in_a_declared_field_is_an_absent_one() {
    let schema = json!({"type": "object", "properties": {"s": {"type": "string", "nullable": true}}});
    let object = json!({"s": null});
    assert_eq!(holds(&schema, &object, None, "!has(self.s)"), Ok(true));
    assert_eq!(holds(&schema, &object, None, "self.s == 'x'"), Err(Stop::error("no such key: s")));
    assert_eq!(holds(&schema, &object, None, "self.?s.orValue('d') == 'd'"), Ok(true));
}

#[test]
fn the_order_of_sets_and_map_lists_does_not_matter() {
    let schema = json!({"type": "object", "properties": {
        "set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
        "map": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"], "items": {
            "type": "object", "required": ["k"], "properties": {"k": {"type": "string"}, "v": {"type": "integer"}}}},
        "atomic": {"type": "array", "items": {"type": "string"}},
    }});
    let one = json!({"set": ["a", "b"], "map": [{"k": "a", "v": 1}, {"k": "b"}], "atomic": ["a", "b"]});
    let two = json!({"set": ["b", "a"], "map": [{"k": "b"}, {"k": "a", "v": 1}], "atomic": ["b", "a"]});
    for (source, expected) in [
        ("self.set == oldSelf.set", true),
        ("self.map == oldSelf.map", true),
        ("self.atomic == oldSelf.atomic", false),
        ("self.set + ['b', 'c'] == ['a', 'b', 'c']", true),
        ("(self.map + oldSelf.map).size() == 2", true),
        ("self == oldSelf", false),
    ] {
        assert_eq!(holds(&schema, &one, Some(&two), source), Ok(expected), "{source}");
    }
}

#[test]
fn an_error_is_forgiven_if_another_term_decides() {
    let schema =
        json!({"type": "object", "properties": {"l": {"type": "array", "items": {"type": "integer"}}}});
    let object = json!({"l": [0, 1]});
    for (source, expected) in [
        ("1 / 0 == 1 || true", Ok(true)),
        ("1 / 0 == 1 && false", Ok(false)),
        ("1 / 0 == 1 || false", Err(Stop::error("division by zero"))),
        ("self.l.exists(x, 1 / x == 1)", Ok(true)),
        ("self.l.all(x, 1 / x == 1)", Err(Stop::error("division by zero"))),
        ("self.l.all(x, 1 / x == 2)", Ok(false)),
    ] {
        assert_eq!(holds(&schema, &object, None, source), expected, "{source}");
    }
}

#[test]
fn formats_give_strings_other_types() {
    let schema = json!({"type": "object", "properties": {
        "b": {"type": "string", "format": "byte"}, "d": {"type": "string", "format": "duration"},
        "t": {"type": "string", "format": "date-time"}, "day": {"type": "string", "format": "date"},
    }});
    let object = json!({"b": "YWJj", "d": "2 days", "t": "2020-01-02T00:00:00Z", "day": "2020-01-02"});
    let source =
        "self.b == b'abc' && self.d == duration('48h') && self.t == self.day && self.t.getFullYear() == 2020";
    assert_eq!(holds(&schema, &object, None, source), Ok(true));
}

#[test]
fn a_value_of_the_wrong_type_only_fails_when_it_is_used() {
    let schema = json!({"type": "object", "properties": {"i": {"type": "integer"}}});
    let object = json!({"i": 2.0});
    assert_eq!(holds(&schema, &object, None, "true"), Ok(true));
    let expected = Err(Stop::error("invalid data, expected int, got float64"));
    assert_eq!(holds(&schema, &object, None, "self.i == 2"), expected);
}

#[test]
fn running_out_is_not_an_error_that_another_term_could_forgive() {
    let schema =
        json!({"type": "object", "properties": {"l": {"type": "array", "items": {"type": "integer"}}}});
    let object = json!({"l": (0..2000).collect::<Vec<_>>()});
    let source = "self.l.all(a, self.l.all(b, self.l.all(c, a + b + c >= 0))) || true";
    assert_eq!(holds(&schema, &object, None, source), Err(Stop::OutOfBudget));
}
