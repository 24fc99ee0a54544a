//! Tests of selectors; texts and results are those of Kubernetes 1.36.

use std::{borrow::Cow, collections::BTreeMap};

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::status::FieldPath;

fn labels(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

fn shown(text: &str) -> String {
    match LabelSelector::parse(text) {
        Ok(selector) => selector.to_string(),
        Err(error) => format!("error: {error}"),
    }
}

#[test]
fn a_selector_is_printed_in_its_canonical_form() {
    let expected = [
        ("", ""),
        (" \t\r\n", ""),
        ("a", "a"),
        ("!a", "!a"),
        (" ! a ", "!a"),
        ("a=b", "a=b"),
        ("a == b", "a==b"),
        ("a!=b", "a!=b"),
        ("a=", "a="),
        ("a=,b", "a=,b"),
        ("z=1,a=2", "a=2,z=1"),
        ("a in (c,b,c)", "a in (b,c)"),
        ("a notin ( )", "a notin ()"),
        ("a in (,b)", "a in (,b)"),
        ("a in (b,,c)", "a in (,b,c)"),
        ("a in (b,)", "a in (,b)"),
        ("a in(in,notin)", "a in (in,notin)"),
        ("in=notin", "in=notin"),
        ("in", "in"),
        ("a>5,b<6", "a>5,b<6"),
        ("example.com/a=b", "example.com/a=b"),
    ];
    for (text, canonical) in expected {
        assert_eq!(shown(text), canonical, "{text:?}");
    }
}

#[test]
fn a_malformed_selector_is_refused_in_kubernetes_words() {
    let expected = [
        ("a,", "found '', expected: identifier after ','"),
        (",a", "found ',', expected: !, identifier, or 'end of string'"),
        ("a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"),
        ("!", "unable to parse requirement: found '', expected: identifier"),
        ("a==b=c", "found '=', expected: ',' or 'end of string'"),
        ("a in b", "unable to parse requirement: found 'b' expected: '('"),
        ("a in (b", "unable to parse requirement: found '', expected: ',' or ')'"),
        ("a in (b c)", "unable to parse requirement: found 'c', expected: ',' or ')'"),
        ("a in (=)", "unable to parse requirement: found '=', expected: ',', ')' or identifier"),
        ("a in (,=)", "unable to parse requirement: found '=', expected: ',', or identifier"),
        ("a=(", "unable to parse requirement: found '(', expected: identifier"),
        (
            "a>x",
            "unable to parse requirement: values[0]: Invalid value: \"x\": for 'Gt', 'Lt' operators, the value must \
             be an integer",
        ),
        ("/a", "unable to parse requirement: <nil>: Invalid value: \"/a\": prefix part must be non-empty"),
    ];
    for (text, message) in expected {
        assert_eq!(shown(text), format!("error: {message}"), "{text:?}");
    }
    let bad_value = shown("a=b@");
    assert!(
        bad_value
            .starts_with("error: unable to parse requirement: values[0][a]: Invalid value: \"b@\": a valid")
    );
}

#[test]
fn labels_are_matched_as_kubernetes_does() {
    let have = labels(&[("app", "web"), ("tier", ""), ("n", "7")]);
    for text in [
        "",
        "app",
        "app=web",
        "app==web",
        "app!=db",
        "missing!=x",
        "!missing",
        "tier=",
        "app in (db,web)",
        "app notin (db)",
        "missing notin (x)",
        "n>6,n<8",
        "app=web,tier",
    ] {
        assert!(LabelSelector::parse(text).unwrap().matches(&have), "{text}");
    }
    for text in [
        "app=db",
        "app!=web",
        "!app",
        "missing",
        "missing=",
        "missing in ()",
        "app in (db)",
        "app notin (web)",
        "n>7",
        "n<7",
        "app>1",
        "missing<1",
        "app=web,missing",
    ] {
        assert!(!LabelSelector::parse(text).unwrap().matches(&have), "{text}");
    }
}

#[test]
fn an_index_is_told_the_exact_value() {
    let selector = LabelSelector::parse("a=1,b in (2),c in (3,4),d!=5,e").unwrap();
    assert_eq!(selector.requires("a"), Some("1"));
    assert_eq!(selector.requires("b"), Some("2"));
    for key in ["c", "d", "e", "f"] {
        assert_eq!(selector.requires(key), None);
    }
    let fields = FieldSelector::parse("spec.nodeName=n1,metadata.name!=x").unwrap();
    assert_eq!(fields.requires("spec.nodeName"), Some("n1"));
    assert_eq!(fields.requires("metadata.name"), None);
}

#[test]
fn an_absent_object_selects_nothing_and_an_empty_one_everything() {
    let none = LabelSelector::from_object(None).unwrap();
    assert!(!none.matches(&labels(&[])) && !none.is_empty());
    assert_eq!(none, LabelSelector::from_object(Some(&json!(null))).unwrap());
    let all = LabelSelector::from_object(Some(&json!({}))).unwrap();
    assert!(all.matches(&labels(&[("a", "b")])) && all.is_empty());
}

#[test]
fn an_object_combines_labels_and_expressions() {
    let object = json!({
        "matchLabels": {"app": "web"},
        "matchExpressions": [
            {"key": "tier", "operator": "In", "values": ["b", "a"]},
            {"key": "old", "operator": "DoesNotExist"},
            {"key": "app", "operator": "Exists"},
            {"key": "zone", "operator": "NotIn", "values": ["z"]},
        ],
    });
    let selector = LabelSelector::from_object(Some(&object)).unwrap();
    assert_eq!(selector.to_string(), "app=web,app,!old,tier in (a,b),zone notin (z)");
    assert!(selector.matches(&labels(&[("app", "web"), ("tier", "a")])));
    assert!(!selector.matches(&labels(&[("app", "web"), ("tier", "a"), ("old", "")])));
}

#[test]
fn an_object_that_is_wrong_is_refused() {
    for (object, message) in [
        (
            json!({"matchExpressions": [{"key": "a", "operator": "Near"}]}),
            "\"Near\" is not a valid label selector",
        ),
        (
            json!({"matchExpressions": [{"key": "a", "operator": "In"}]}),
            "values: Invalid value: []: for 'in', 'not",
        ),
        (json!({"matchLabels": {"a": 1}}), "label selector: matchLabels must be an object of strings"),
        (json!({"matchLabels": {"a b": ""}}), "key: Invalid value: \"a b\": name part must consist of"),
    ] {
        let error = LabelSelector::from_object(Some(&object)).unwrap_err().to_string();
        assert!(error.starts_with(message), "{error}");
    }
}

#[test]
fn validation_reports_everything_that_is_wrong_with_an_object() {
    let object = json!({
        "matchLabels": {"-": "ok"},
        "matchExpressions": [
            {"key": "a", "operator": "In"},
            {"key": "a", "operator": "Exists", "values": ["v"]},
            {"key": "a", "operator": "Near", "values": ["@"]},
        ],
    });
    let errors = LabelSelector::validate_object(&object, &FieldPath::new("spec"));
    let paths: Vec<&str> = errors.iter().map(|error| error.path.as_str()).collect();
    assert_eq!(
        paths,
        [
            "spec.matchLabels",
            "spec.matchExpressions[0].values",
            "spec.matchExpressions[1].values",
            "spec.matchExpressions[2].operator",
            "spec.matchExpressions[2].values[0]",
        ]
    );
}

#[test]
fn fields_are_matched_and_a_missing_one_is_empty() {
    let fields = |name: &str| match name {
        "metadata.name" => Some(Cow::Borrowed("a,b=c\\")),
        "status.phase" => Some(Cow::Owned("Running".to_owned())),
        _ => None,
    };
    for text in [
        "",
        ",",
        "=",
        "metadata.name=a\\,b\\=c\\\\",
        "status.phase==Running",
        "status.phase!=Failed",
        "spec.nodeName=",
        "spec.nodeName!=n,status.phase=Running",
    ] {
        assert!(FieldSelector::parse(text).unwrap().matches(fields), "{text}");
    }
    for text in ["status.phase=", "spec.nodeName!=", "status.phase=Running,metadata.name=x"] {
        assert!(!FieldSelector::parse(text).unwrap().matches(fields), "{text}");
    }
}

#[test]
fn a_field_selector_is_printed_with_its_escapes() {
    for (text, canonical) in [
        ("b==2,a!=1", "a!=1,b=2"),
        ("a=\\,\\=\\\\", "a=\\,\\=\\\\"),
        (",a=1,", "a=1"),
        ("=", ""),
        ("=x", "=x"),
    ] {
        assert_eq!(FieldSelector::parse(text).unwrap().to_string(), canonical, "{text}");
    }
}

#[test]
fn a_malformed_field_selector_is_refused_in_kubernetes_words() {
    for (text, message) in [
        ("a", "invalid selector: 'a'; can't understand 'a'"),
        ("a=b,c", "invalid selector: 'a=b,c'; can't understand 'c'"),
        ("a=b=c", "invalid field selector: unescaped character in value: 61"),
        ("a=\\b", "invalid field selector: invalid escape sequence: \\b"),
        ("a=b\\", "invalid field selector: invalid escape sequence: \\"),
    ] {
        assert_eq!(FieldSelector::parse(text).unwrap_err().to_string(), message);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn a_printed_label_selector_selects_the_same(text in "[ab!=<>(), \tin0-9]{0,16}", value in "[ab01]{0,2}") {
        if let Ok(selector) = LabelSelector::parse(&text) {
            let again = LabelSelector::parse(&selector.to_string()).unwrap();
            prop_assert_eq!(again.to_string(), selector.to_string());
            for have in [labels(&[]), labels(&[("a", &value)]), labels(&[("b", &value), ("in", "")])] {
                prop_assert_eq!(again.matches(&have), selector.matches(&have));
            }
        }
    }

    #[test]
    fn a_printed_field_selector_selects_the_same(text in "[ab=!,\\\\]{0,12}", value in "[ab=,\\\\]{0,2}") {
        if let Ok(selector) = FieldSelector::parse(&text) {
            let again = FieldSelector::parse(&selector.to_string()).unwrap();
            let field = |_: &str| Some(Cow::Borrowed(value.as_str()));
            prop_assert_eq!(again.matches(field), selector.matches(field));
            prop_assert_eq!(again.requirements().len(), selector.requirements().len());
        }
    }
}
