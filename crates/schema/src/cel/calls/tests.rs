//! What functions give.

use serde_json::json;

use crate::cel::{CALL_LIMIT, Past, Program, Purpose, Shape, Stop};
use crate::compile::compile;

fn holds(source: &str) -> Result<bool, Stop> {
    let (nodes, root) = compile("", &json!({"type": "object"})).unwrap();
    let program = Program::compile(&nodes, Shape::Root(root), false, Purpose::Rule, source);
    let program = program.unwrap_or_else(|error| panic!("{error}"));
    program.holds(&nodes, Shape::Root(root), &json!({}), Past::Plain(None), CALL_LIMIT).0
}

fn all_hold(sources: &[&str]) {
    for source in sources {
        assert_eq!(holds(source), Ok(true), "{source}");
    }
}

fn error(source: &str) -> String {
    match holds(source) {
        Err(Stop::Error(message)) => message,
        other => panic!("{source}: {other:?}"),
    }
}

#[test]
fn text_is_counted_in_characters() {
    all_hold(&[
        "size('é€') == 2 && 'é€'.size() == 2",
        "'tacocat'.charAt(3) == 'o' && 'é'.charAt(1) == ''",
        "'tacocat'.indexOf('ac') == 1 && 'tacocat'.indexOf('none') == -1 && 'tacocat'.indexOf('a', 3) == 5",
        "'tacocat'.lastIndexOf('at') == 5 && 'ab'.lastIndexOf('') == 2 && 'a'.lastIndexOf('abc') == -1",
        "'TacoCÆt'.lowerAscii() == 'tacocÆt' && 'tacoCæt'.upperAscii() == 'TACOCæT'",
        "'hello hello'.replace('he', 'we') == 'wello wello' && 'hello hello'.replace('he', 'we', 1) == 'wello hello'",
        "'ab'.replace('', '-') == '-a-b-' && 'ab'.replace('a', 'b', 0) == 'ab'",
        "'a b c'.split(' ') == ['a', 'b', 'c'] && 'a b c'.split(' ', 2) == ['a', 'b c'] && 'ab'.split('') == ['a', 'b']",
        "'a b'.split(' ', 0) == [] && ''.split('') == []",
        "'tacocat'.substring(4) == 'cat' && 'tacocat'.substring(0, 4) == 'taco'",
        "'  \\ttrim\\n '.trim() == 'trim'",
        "['x', 'y'].join() == 'xy' && ['x', 'y'].join('-') == 'x-y' && [].join('-') == ''",
        r#"strings.quote('a"\n') == '"a\\"\\n"'"#,
        "'abc123'.find('[0-9]+') == '123' && 'ab'.find('x') == '' && '1a2'.findAll('[0-9]') == ['1', '2']",
        "'1a2b3'.findAll('[0-9]', 2) == ['1', '2'] && matches('abc', '^a') && !'abc'.matches('b$')",
    ]);
    assert_eq!(error("'a'.substring(2) == ''"), "index out of range: 2");
    assert_eq!(error("'abc'.substring(2, 1) == ''"), "invalid substring range. start: 2, end: 1");
    assert_eq!(error("'a'.indexOf('a', -1) == 0"), "index out of range: -1");
    assert_eq!(error("'a'.matches('(' + '')"), "error parsing regexp: (");
}

#[test]
fn formatting_is_that_of_the_library_of_go() {
    all_hold(&[
        "'%s %d %x %X %b %o %b%%'.format(['a', 3, 255, 'J', 5, -8, true]) == 'a 3 ff 4A 101 -10 1%'",
        "'%.2f %f %e'.format([1234567.8, -0.5, 12.5]) == '1,234,567.80 -0.500000 1.250000×10⁰¹'",
        "'%s %s %s'.format([1.5, 1000000.0, null]) == '1.5 1e+06 null'",
        r#"'%s %s'.format([['a', 'b"'], {'b': [1.5], 'a': [2.0]}]) == '["a", "b\\""] {"a":[2.000000], "b":[1.500000]}'"#,
        "'%s %s'.format([duration('90s'), [duration('90s')]]) == '90s [duration(\"90s\")]'",
        "'%s'.format([type(1)]) == 'int'",
    ]);
    assert_eq!(
        error("'%d'.format(['a']) == ''"),
        "error during formatting: decimal clause can only be used on integers, was given string"
    );
    assert_eq!(error("'%s %s'.format(['a']) == ''"), "index 1 out of range");
    assert_eq!(
        error("'%y'.format(['a']) == ''"),
        "could not parse formatting clause: unrecognized formatting clause \"y\""
    );
    assert_eq!(
        error("'%.999f'.format([1.0]) == ''"),
        "could not parse formatting clause: error while parsing precision"
    );
}

#[test]
fn lists_have_their_functions() {
    all_hold(&[
        "[1, 2].isSorted() && !['b', 'a'].isSorted() && [].isSorted()",
        "[1, 2].sum() == 3 && [0.5, 1.0].sum() == 1.5 && [duration('1s')].sum() == duration('1s')",
        "[2, 1, 3].min() == 1 && ['a', 'c'].max() == 'c'",
        "[1, 2, 1].indexOf(1) == 0 && [1, 2, 1].lastIndexOf(1) == 2 && [1].indexOf(7) == -1",
        "[1, 2, 3].slice(1, 2) == [2] && [[1], [2, 3]].flatten() == [1, 2, 3] && [[[1]], [[2]]].flatten(2) == [1, 2]",
        "[3, 1, 2].sort() == [1, 2, 3] && ['bb', 'a'].sortBy(x, x.size()) == ['a', 'bb']",
        "[1, 2, 1].distinct() == [1, 2] && [1, 2].reverse() == [2, 1] && lists.range(3) == [0, 1, 2]",
        "[1].first().value() == 1 && [].last() == optional.none() && [optional.of(1), optional.none()].unwrapOpt() == [1]",
        "sets.contains([1, 2], [1]) && sets.equivalent([1, 1], [1]) && sets.intersects([1], [1, 2]) && !sets.intersects([1], [])",
        "[1, 2].map(x, x * 2) == [2, 4] && [1, 2].filter(x, x > 1) == [2] && [1, 2].map(x, x > 1, x) == [2]",
        "[1, 2].exists_one(x, x == 1) && [5, 6].transformList(i, x, i) == [0, 1]",
        "{'a': 1}.transformMap(k, v, v + 1) == {'a': 2} && {'a': 'b'}.transformMapEntry(k, v, {v: k}) == {'b': 'a'}",
        "[1, 1.0 == dyn(1) ? 1 : 0].distinct() == [1]",
    ]);
    assert_eq!(error("[].min() == 1"), "min called on empty list");
    assert_eq!(error("[1][3] == 1"), "index out of bounds: 3");
    assert_eq!(error("[1].slice(0, 2) == []"), "cannot slice(0, 2), list is length 1");
}

#[test]
fn values_are_converted() {
    all_hold(&[
        "int('3') == 3 && int(3.9) == 3 && int(timestamp('1970-01-01T00:00:05Z')) == 5 && uint(3) == 3u",
        "double('1.5') == 1.5 && string(1.5) == '1.5' && string(1000000.0) == '1e+06' && string(true) == 'true'",
        "string(duration('90s')) == '90s' && string(duration('1.5s')) == '1.5s' && string(duration('-1ms')) == '-0.001s'",
        "string(timestamp('2020-01-01T02:00:00+02:00')) == '2020-01-01T00:00:00Z'",
        "bytes('abc') == b'abc' && string(b'abc') == 'abc' && size(b'abc') == 3",
        "bool('true') && type(1) == int && type('a') == string && type([]) == list && type(type(1)) == type",
        "type(timestamp('2020-01-01T00:00:00Z')) == google.protobuf.Timestamp && type(null) == null_type",
        "optional.ofNonZeroValue(0) == optional.none() && optional.of(1).or(optional.of(2)).value() == 1",
    ]);
    assert_eq!(error("int('x') == 1"), "type conversion error from 'string' to 'int'");
    assert_eq!(error("int(1e30) == 1"), "integer overflow");
    assert_eq!(error("9223372036854775807 + 1 == 0"), "integer overflow");
    assert_eq!(error("1 / 0 == 0"), "division by zero");
    assert_eq!(error("optional.none().value() == 1"), "optional.none() dereference");
}

#[test]
fn time_is_read_in_utc() {
    all_hold(&[
        "timestamp('2020-02-29T23:30:00-02:00').getDayOfMonth() == 0 && timestamp('2020-02-29T23:30:00-02:00').getMonth() == 2",
        "timestamp('2020-01-01T00:00:00Z') + duration('24h') == timestamp('2020-01-02T00:00:00Z')",
        "timestamp('2020-01-02T00:00:00Z') - timestamp('2020-01-01T00:00:00Z') == duration('24h')",
        "timestamp(0) < timestamp('1970-01-01T00:00:01Z') && duration('90m').getHours() == 1",
    ]);
}

#[test]
fn the_libraries_of_kubernetes_are_there() {
    all_hold(&[
        "quantity('1Gi').add(quantity('1Gi')) == quantity('2Gi') && quantity('50k').asInteger() == 50000 && !isQuantity('x')",
        "ip('10.0.0.1').family() == 4 && cidr('10.0.0.0/8').containsIP('10.1.1.1') && cidr('10.0.0.0/8').prefixLength() == 8",
        "url('https://a.b:80/p?q=1').getHost() == 'a.b:80' && url('https://a.b/p?q=1').getQuery() == {'q': ['1']} && isURL('/x')",
        "semver('1.2.3').isLessThan(semver('1.10.0')) && semver('1.2.3').minor() == 2",
        "!format.dns1123Label().validate('a').hasValue() && format.named('dns1123Label').value().validate('A_').hasValue() && !format.named('x').hasValue()",
    ]);
}

#[test]
fn what_would_take_the_memory_is_paid_for_first() {
    // Each level quadruples the text of the one around it.
    let opened: String =
        (1..=14).map(|i| format!("[a{0} + a{0} + a{0} + a{0}].map(a{1}, ", i - 1, i)).collect();
    let doubling = format!("['x'].all(a0, {opened}a14{}.size() == 1)", ")[0]".repeat(14));
    for source in [
        "lists.range(9223372036854775807).size() == 0",
        "'aaaaaaaaaa'.replace('', 'b').replace('', 'c').replace('', 'd').replace('', 'e') == '' || \
         [1].map(a, lists.range(900).map(b, 'xxxxxxxxxxxxxxxxxxxx').join('yyyyyyyyyyyyyyyyyyyy'))[0].replace('', \
         lists.range(900).map(b, 'xxxxxxxxxxxxxxxxxxxx').join('')) == ''",
        &doubling,
        "lists.range(300).all(a, lists.range(300).all(b, lists.range(300).all(c, a + b + c >= 0)))",
    ] {
        assert_eq!(holds(source), Err(Stop::OutOfBudget), "{source}");
    }
}
