//! What is refused when a definition is created, in the words of an API server.

use serde_json::json;

use crate::cel::{Program, Purpose, Shape};
use crate::compile::compile;
use crate::node::{NodeId, Nodes};

fn nodes() -> (Nodes, NodeId) {
    let schema = json!({"type": "object", "properties": {
        "i": {"type": "integer"},
        "n": {"type": "number"},
        "s": {"type": "string"},
        "l": {"type": "array", "items": {"type": "integer"}},
        "m": {"type": "object", "additionalProperties": {"type": "string"}},
        "o": {"type": "object", "properties": {"x": {"type": "integer"}, "a-b": {"type": "string"}}},
        "ios": {"x-kubernetes-int-or-string": true},
        "any": {"x-kubernetes-preserve-unknown-fields": true},
        "ts": {"type": "string", "format": "date-time"},
    }});
    compile("", &schema).unwrap()
}

fn mistake(source: &str) -> Option<String> {
    let (nodes, root) = nodes();
    let error = Program::compile(&nodes, Shape::Root(root), false, Purpose::Rule, source).err()?;
    Some(error.lines().next().unwrap_or_default().to_owned())
}

#[test]
fn rules_about_declared_fields_are_accepted() {
    for source in [
        "self.i > 0 && self.n < 1.5 && self.i < self.n",
        "self.o.a__dash__b == self.m['x']",
        "self.l.all(x, x > 0) && self.m.exists(k, k == 'a')",
        "self.l.all(i, x, x > i) && self.m.transformMap(k, v, v + k) != {}",
        "type(self.ios) == int ? self.ios > 0 : self.ios.startsWith('5')",
        "self.metadata.name == 'x' && self.kind == 'Foo' && self.apiVersion != ''",
        "self.?s.orValue('') == self.m[?'x'].orValue('')",
        "self.ts > timestamp('2020-01-01T00:00:00Z') - duration('1h')",
        "[self.i, 2].max() == size(self.l.filter(x, x in [1, 2]))",
        "'%s is %d'.format([self.s, self.i]) != ''",
        "quantity('1Gi').isGreaterThan(quantity('1Mi')) && ip.isCanonical('::1')",
        "sets.contains(self.l, [1]) && format.dns1123Label().validate('a').hasValue()",
        "self.s.optMap == 'x' || true",
    ] {
        if source.contains("optMap ==") {
            assert!(mistake(source).is_some());
            continue;
        }
        assert_eq!(mistake(source), None, "{source}");
    }
}

#[test]
fn mistakes_are_named_with_their_place() {
    for (source, message) in [
        ("self.nope == 1", "1:5: undefined field 'nope'"),
        ("self.any == 1", "1:5: undefined field 'any'"),
        ("self.i.x == 1", "1:7: type 'int' does not support field selection"),
        ("nope == 1", "1:1: undeclared reference to 'nope' (in container '')"),
        ("nope(1)", "1:5: undeclared reference to 'nope' (in container '')"),
        ("self.i == 's'", "1:8: found no matching overload for '_==_' applied to '(int, string)'"),
        ("self.i == self.n", "1:8: found no matching overload for '_==_' applied to '(int, double)'"),
        ("self.s == null", "1:8: found no matching overload for '_==_' applied to '(string, null)'"),
        ("self.i + 's' == 1", "1:8: found no matching overload for '_+_' applied to '(int, string)'"),
        ("self.s.size(1) > 0", "1:12: found no matching overload for 'size' applied to 'string.(int)'"),
        ("size(self.i) > 0", "1:5: found no matching overload for 'size' applied to '(int)'"),
        ("self.i && true", "1:5: expected type 'bool' but found 'int'"),
        ("!self.i", "1:1: found no matching overload for '!_' applied to '(int)'"),
        ("self.l['a'] == 1", "1:7: found no matching overload for '_[_]' applied to '(list(int), string)'"),
        (
            "self.i.all(x, true)",
            "1:5: expression of type 'int' cannot be range of a comprehension (must be list, map, or dynamic)",
        ),
        ("self.l.all(self.i, true)", "1:16: argument must be a simple name"),
        ("[1, 's'] == []", "1:5: expected type 'int' but found 'string'"),
        ("has(self)", "1:5: invalid argument to has() macro"),
        ("true ? 1 : 's'", "1:6: found no matching overload for '_?_:_' applied to '(bool, int, string)'"),
        ("self.s.matches('(')", "1:16: invalid matches argument"),
        ("self.ts - duration('x') < self.ts", "1:20: invalid duration argument"),
        ("self.ts > timestamp('2020')", "1:21: invalid timestamp argument"),
        ("cel.bind(x, 1, x == 1)", "1:9: undeclared reference to 'bind' (in container '')"),
        ("math.greatest(1, 2) == 2", "1:14: undeclared reference to 'greatest' (in container '')"),
    ] {
        assert_eq!(mistake(source), Some(format!("ERROR: <input>:{message}")), "{source}");
    }
}

#[test]
fn a_rule_says_yes_or_no_and_a_message_is_a_text() {
    assert_eq!(mistake("self.i").as_deref(), Some("cel expression must evaluate to a bool"));
    assert_eq!(mistake("self.ios").as_deref(), Some("cel expression must evaluate to a bool"));
    let (nodes, root) = nodes();
    let message = |source| Program::compile(&nodes, Shape::Root(root), false, Purpose::Message, source);
    assert_eq!(message("1").unwrap_err(), "messageExpression must evaluate to a string");
    assert!(message("self.s + '!'").is_ok());
}

#[test]
fn old_self_is_noticed_and_may_be_optional() {
    let (nodes, root) = nodes();
    let rule =
        |optional, source| Program::compile(&nodes, Shape::Root(root), optional, Purpose::Rule, source);
    assert!(rule(false, "self == oldSelf").unwrap().uses_old_self);
    assert!(!rule(false, "self.l.all(oldSelf, oldSelf > 0)").unwrap().uses_old_self);
    assert!(rule(true, "oldSelf.hasValue()").unwrap().uses_old_self);
    assert!(rule(false, "oldSelf.hasValue()").is_err());
}
