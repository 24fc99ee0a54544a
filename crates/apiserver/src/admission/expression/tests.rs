//! Expressions that are accepted, refused, and survive hostile input.

use serde_json::json;

use super::*;

fn run(source: &str) -> Result<bool, String> {
    let expression = Expression::compile(source)?;
    let object = json!({
        "metadata": {"name": "web", "namespace": "shop", "labels": {"app": "web", "example.com/tier": "front"}},
        "spec": {"replicas": 3, "share": 0.5, "containers": [{"image": "a/b"}, {"image": "a/c"}]},
    });
    let request =
        json!({"operation": "UPDATE", "dryRun": false, "userInfo": {"username": "ann", "groups": ["x"]}});
    let variables = vec![
        ("object", to_cel(&object)),
        ("oldObject", Value::Null),
        ("request", to_cel(&request)),
        ("namespaceObject", Value::Null),
    ];
    evaluate(std::iter::once(&expression), variables).unwrap().remove(0)
}

#[test]
fn an_expression_sees_the_object_and_the_request() {
    for source in [
        "true",
        "object.metadata.namespace == 'shop'",
        "object.metadata.labels['example.com/tier'] == 'front'",
        "object.spec.replicas > 2 && object.spec.share < 1.0",
        "object.spec.containers.all(c, c.image.startsWith('a/'))",
        "size(object.spec.containers) == 2",
        "has(object.spec.replicas) && !has(object.spec.paused)",
        "!(request.userInfo.username in ['bob'])",
        "request.userInfo.groups.exists(group, group == 'x')",
        "oldObject == null && namespaceObject == null",
        "!request.dryRun",
        "quantity('1Gi').isGreaterThan(quantity('1Mi'))",
        "sets.contains(['a', 'b'], ['a'])",
        "dyn(object).spec.replicas == 3",
        "object.metadata.name.matches('^w')",
        "[1, 2].map(x, x * 2).exists(y, y == 4)",
    ] {
        assert_eq!(run(source), Ok(true), "{source}");
    }
    assert_eq!(run("request.dryRun"), Ok(false));
    assert_eq!(run("object.spec.replicas == 4"), Ok(false));
}

#[test]
fn a_field_of_what_has_none_is_an_error_and_not_false() {
    for source in [
        "oldObject.spec.replicas == 3",
        "oldObject.spec.replicas != object.spec.replicas",
        "object.spec.replicas.many == 1",
        "object.spec.nothing == 1",
    ] {
        assert!(run(source).is_err(), "{source}: {:?}", run(source));
    }
    assert_eq!(run("has(oldObject.spec)"), Ok(false));
}

#[test]
fn what_can_never_work_does_not_compile() {
    for (source, why) in [
        ("object.spec.replicas >", "compilation failed: ERROR: "),
        ("subject.name == 'x'", "compilation failed: undeclared reference to 'subject'"),
        ("self == 1", "compilation failed: undeclared reference to 'self'"),
        ("[1].all(x, y == 1)", "compilation failed: undeclared reference to 'y'"),
        ("[1].all(x, true) && x == 1", "compilation failed: undeclared reference to 'x'"),
        ("frobnicate(object)", "compilation failed: undeclared reference to 'frobnicate'"),
        ("object.frobnicate()", "compilation failed: undeclared reference to 'frobnicate'"),
        ("cel.bind(x, 1, x == 1)", "compilation failed: undeclared reference to 'cel'"),
        ("authorizer.group('').allowed()", "compilation failed: undeclared reference to 'authorizer'"),
        ("Pod{} == object", "compilation failed: undeclared reference to 'Pod'"),
        ("object.?spec.orValue(1) == 1", "compilation failed: ERROR: "),
        ("'text'", "must evaluate to bool but got string"),
        ("1", "must evaluate to bool but got int"),
        ("object", "must evaluate to bool but got dyn"),
        ("object.spec.paused", "must evaluate to bool but got dyn"),
        ("object.spec.containers[0]", "must evaluate to bool but got dyn"),
        ("size(object.spec.containers)", "must evaluate to bool but got int"),
        ("[true]", "must evaluate to bool but got list(dyn)"),
    ] {
        let told = Expression::compile(source).expect_err(source);
        assert!(told.starts_with(why), "{source}: {told}");
    }
}

#[test]
fn an_error_does_not_repeat_what_is_in_the_object() {
    for (source, why) in [
        ("object.metadata < 1", "no such overload"),
        ("object.metadata + 1 == 2", "no such overload"),
        ("object.spec.replicas / 0 == 1", "division by zero"),
        ("object.spec.containers[7] == 1", "index out of bounds"),
        ("object.spec.nothing == 1", "no such key: nothing"),
        ("quantity(object.metadata.name).sign() == 1", "quantity cannot be called with these arguments"),
    ] {
        assert_eq!(run(source), Err(why.to_owned()), "{source}");
    }
}

#[test]
fn a_result_that_is_no_boolean_is_an_error() {
    assert_eq!(run("true ? object.spec.replicas : false"), Err("must evaluate to bool".into()));
}

#[test]
fn nothing_a_user_can_write_overflows_the_stack() {
    let nested =
        |open: &str, inner: &str, close: &str, n| format!("{}{inner}{}", open.repeat(n), close.repeat(n));
    for n in [10, 90, 250, 1_000, 100_000] {
        for source in [
            nested("(", "true", ")", n),
            nested("!(", "true", ")", n),
            nested("[", "", "]", n),
            nested("[", "", "", n),
            nested("[1].all(x, ", "true", ")", n),
            nested("{1:", "1", "}", n),
            nested("!", "true", "", n),
            nested("true ? true : ", "true", "", n),
            nested("1 + ", "1", "", n),
            nested("true && ", "true", "", n),
            nested("true == ", "true", "", n),
            nested("", "object", ".a", n),
            nested("", "object", "[0]", n),
            nested("", "object", ".size()", n),
        ] {
            // Whether it is accepted does not matter, coming back does.
            let _ = run(&source);
        }
    }
}
