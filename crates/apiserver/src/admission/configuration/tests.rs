//! Configurations as people write them, right and wrong.

use serde_json::json;

use super::*;

const KIND: &str = "ValidatingWebhookConfiguration";

/// A hook with which nothing is wrong.
fn good() -> Value {
    json!({
        "name": "a.example.com",
        "admissionReviewVersions": ["v1", "v1beta1"],
        "sideEffects": "None",
        "clientConfig": {"url": "https://example.com/hook"},
        "rules": [{"operations": ["CREATE"], "apiGroups": ["a"], "apiVersions": ["v1"], "resources": ["b", "b/status"]}],
    })
}

fn told(hooks: &[Value], kind: &str) -> Vec<String> {
    let mut configuration = json!({"kind": kind, "metadata": {"name": "c"}, "webhooks": hooks});
    default_configuration(&mut configuration);
    validate_configuration(&configuration, kind).iter().map(ToString::to_string).collect()
}

/// What is told about a good hook in which one field is another.
fn wrong(pointer: &str, value: Value) -> Vec<String> {
    let mut hook = good();
    let (parent, field) = pointer.rsplit_once('/').unwrap();
    let parent = hook.pointer_mut(parent).unwrap().as_object_mut().unwrap();
    match value {
        Value::Null => parent.remove(field),
        value => parent.insert(field.to_owned(), value),
    };
    told(&[hook], "MutatingWebhookConfiguration")
}

#[test]
fn what_is_left_out_is_filled_in() {
    let mut configuration = json!({"kind": "MutatingWebhookConfiguration", "webhooks": [{
        "rules": [{}, {"scope": "Cluster"}],
        "clientConfig": {"service": {"name": "a", "port": null}},
    }]});
    default_configuration(&mut configuration);
    let filled = json!({
        "failurePolicy": "Fail", "matchPolicy": "Equivalent", "namespaceSelector": {}, "objectSelector": {},
        "timeoutSeconds": 10, "reinvocationPolicy": "Never",
        "rules": [{"scope": "*"}, {"scope": "Cluster"}],
        "clientConfig": {"service": {"name": "a", "port": 443}},
    });
    assert_eq!(configuration["webhooks"][0], filled);
    let before = configuration.clone();
    default_configuration(&mut configuration);
    assert_eq!(configuration, before, "and what is there stays");
}

#[test]
fn a_validating_hook_knows_no_reinvocation() {
    let mut configuration = json!({"kind": KIND, "webhooks": [{}]});
    default_configuration(&mut configuration);
    assert_eq!(configuration["webhooks"][0].get("reinvocationPolicy"), None);
}

#[test]
fn nonsense_is_left_for_the_check() {
    for hooks in
        [json!(null), json!("all"), json!([1, "two", null]), json!([{"rules": 1, "clientConfig": "x"}])]
    {
        let mut configuration = json!({"kind": KIND, "webhooks": hooks});
        default_configuration(&mut configuration);
        let errors = validate_configuration(&configuration, KIND);
        assert_eq!(errors.is_empty(), configuration["webhooks"].is_null(), "{configuration}");
    }
}

#[test]
fn a_good_hook_is_accepted() {
    assert_eq!(told(&[good()], KIND), [""; 0]);
    assert_eq!(told(&[], KIND), [""; 0]);
    assert_eq!(wrong("/clientConfig", json!({"service": {"namespace": "n", "name": "s"}})), [""; 0]);
    assert_eq!(wrong("/rules", json!(null)), [""; 0]);
}

#[test]
fn a_hook_has_a_full_name_of_its_own() {
    let required = ["webhooks[0].name: Required value"];
    assert_eq!(wrong("/name", json!(null)), required);
    assert_eq!(wrong("/name", json!("")), required);
    let short = "should be a domain with at least three segments separated by dots";
    assert_eq!(
        wrong("/name", json!("k8s.io")),
        [format!("webhooks[0].name: Invalid value: \"k8s.io\": {short}")]
    );
    assert!(
        wrong("/name", json!("A.b.c"))[0]
            .starts_with("webhooks[0].name: Invalid value: \"A.b.c\": a lowercase RFC")
    );
    assert_eq!(told(&[good(), good()], KIND), ["webhooks[1].name: Duplicate value: \"a.example.com\""]);
}

#[test]
fn a_hook_says_which_reviews_it_takes() {
    let path = "webhooks[0].admissionReviewVersions";
    assert_eq!(
        wrong("/admissionReviewVersions", json!(null)),
        [format!("{path}: Required value: must specify one of v1")]
    );
    assert_eq!(
        wrong("/admissionReviewVersions", json!(["v1beta1"])),
        [format!("{path}: Invalid value: [\"v1beta1\"]: must include at least one of v1")]
    );
    assert_eq!(
        wrong("/admissionReviewVersions", json!(["v1", "v1"])),
        [format!("{path}[1]: Invalid value: \"v1\": duplicate version")]
    );
    assert!(
        wrong("/admissionReviewVersions", json!(["v1", "1"]))[0]
            .starts_with(&format!("{path}[1]: Invalid value: \"1\""))
    );
}

#[test]
fn values_of_closed_sets_are_checked() {
    let unsupported = |field: &str, values: &str| {
        vec![format!("webhooks[0].{field}: Unsupported value: \"other\": supported values: {values}")]
    };
    let other = || json!("other");
    assert_eq!(wrong("/failurePolicy", other()), unsupported("failurePolicy", "\"Fail\", \"Ignore\""));
    assert_eq!(wrong("/matchPolicy", other()), unsupported("matchPolicy", "\"Equivalent\", \"Exact\""));
    assert_eq!(
        wrong("/reinvocationPolicy", other()),
        unsupported("reinvocationPolicy", "\"IfNeeded\", \"Never\"")
    );
    assert_eq!(wrong("/sideEffects", other()), unsupported("sideEffects", "\"None\", \"NoneOnDryRun\""));
    assert_eq!(
        wrong("/rules/0/scope", other()),
        unsupported("rules[0].scope", "\"*\", \"Cluster\", \"Namespaced\"")
    );
    assert_eq!(
        wrong("/sideEffects", json!(null)),
        ["webhooks[0].sideEffects: Required value: must specify one of None, NoneOnDryRun"]
    );
}

#[test]
fn a_timeout_is_between_one_and_thirty_seconds() {
    for seconds in [0, 31, -1] {
        let detail = "the timeout value must be between 1 and 30 seconds";
        let expected = format!("webhooks[0].timeoutSeconds: Invalid value: {seconds}: {detail}");
        assert_eq!(wrong("/timeoutSeconds", json!(seconds)), [expected]);
    }
    assert_eq!(wrong("/timeoutSeconds", json!(30)), [""; 0]);
    assert_eq!(
        wrong("/timeoutSeconds", json!("1m")),
        ["webhooks[0].timeoutSeconds: Invalid value: \"1m\": must be an integer"]
    );
}

#[test]
fn a_rule_names_something_and_nothing_twice() {
    let rules = "webhooks[0].rules[0]";
    for field in ["operations", "apiGroups", "apiVersions", "resources"] {
        assert_eq!(
            wrong(&format!("/rules/0/{field}"), json!([])),
            [format!("{rules}.{field}: Required value")]
        );
    }
    for (field, values, told) in [
        (
            "operations",
            json!(["*", "CREATE"]),
            "operations: Invalid value: [\"*\",\"CREATE\"]: if '*' is present, must not specify other operations",
        ),
        (
            "operations",
            json!(["EAT"]),
            "operations[0]: Unsupported value: \"EAT\": supported values: \"*\", \"CONNECT\", \"CREATE\", \"DELETE\", \"UPDATE\"",
        ),
        (
            "apiGroups",
            json!(["a", "*"]),
            "apiGroups: Invalid value: [\"a\",\"*\"]: if '*' is present, must not specify other API groups",
        ),
        (
            "apiVersions",
            json!(["v1", "*"]),
            "apiVersions: Invalid value: [\"v1\",\"*\"]: if '*' is present, must not specify other API versions",
        ),
        ("apiVersions", json!(["v1", ""]), "apiVersions[1]: Required value"),
        ("resources", json!(["a", ""]), "resources[1]: Required value"),
        (
            "resources",
            json!(["a/*", "a/x"]),
            "resources[1]: Invalid value: \"a/x\": if 'a/*' is present, must not specify a/x",
        ),
        (
            "resources",
            json!(["*/x", "a/x"]),
            "resources[1]: Invalid value: \"a/x\": if '*/x' is present, must not specify a/x",
        ),
        (
            "resources",
            json!(["*/*", "a"]),
            "resources: Invalid value: [\"*/*\",\"a\"]: if '*/*' is present, must not specify other resources",
        ),
        (
            "resources",
            json!(["*", "a"]),
            "resources: Invalid value: [\"*\",\"a\"]: if '*' is present, must not specify other resources without subresources",
        ),
    ] {
        assert_eq!(wrong(&format!("/rules/0/{field}"), values), [format!("{rules}.{told}")]);
    }
    for accepted in
        [json!(["*/*"]), json!(["*", "*/*"].as_slice()[..1]), json!(["a", "a/x", "*/y"]), json!(["a", "*"])]
    {
        assert_eq!(wrong("/rules/0/resources", accepted), [""; 0]);
    }
}

#[test]
fn a_hook_is_at_a_url_or_a_service() {
    let both = json!({"url": "https://a/b", "service": {"namespace": "n", "name": "s"}});
    for config in [json!({}), both] {
        let told = ["webhooks[0].clientConfig: Required value: exactly one of url or service is required"];
        assert_eq!(wrong("/clientConfig", config), told);
    }
    let form = "; desired format: https://host[/path]";
    let url = "webhooks[0].clientConfig.url: ";
    for (address, told) in [
        ("http://a", vec![format!("Invalid value: \"http\": 'https' is the only allowed URL scheme{form}")]),
        ("https:///x", vec![format!("Invalid value: \"\": host must be specified{form}")]),
        (
            "https://me@a/x",
            vec!["Invalid value: \"me\": user information is not permitted in the URL".into()],
        ),
        ("https://a/x#y", vec!["Invalid value: \"y\": fragments are not permitted in the URL".into()]),
        (
            "https://a/x?y=z",
            vec!["Invalid value: \"y=z\": query parameters are not permitted in the URL".into()],
        ),
        (
            "",
            vec![
                format!("Invalid value: \"\": 'https' is the only allowed URL scheme{form}"),
                format!("Invalid value: \"\": host must be specified{form}"),
            ],
        ),
    ] {
        let expected: Vec<String> = told.iter().map(|told| format!("{url}{told}")).collect();
        assert_eq!(wrong("/clientConfig", json!({"url": address})), expected, "{address}");
    }
    let unparsable = wrong("/clientConfig", json!({"url": "https://a:b"}));
    assert!(
        unparsable[0].starts_with(&format!("{url}Required value: url must be a valid URL: ")),
        "{unparsable:?}"
    );
    assert!(unparsable[0].ends_with(form), "{unparsable:?}");
}

#[test]
fn a_service_is_named_in_full() {
    let service = |fields: Value| {
        let mut service = json!({"namespace": "n", "name": "s"});
        service.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        wrong("/clientConfig", json!({"service": service}))
    };
    let at = "webhooks[0].clientConfig.service.";
    assert_eq!(service(json!({"name": ""})), [format!("{at}name: Required value")]);
    assert_eq!(service(json!({"namespace": null})), [format!("{at}namespace: Required value")]);
    let range = "port is not valid: must be between 1 and 65535, inclusive";
    assert_eq!(service(json!({"port": 0})), [format!("{at}port: Invalid value: 0: {range}")]);
    for (path, told) in [("//", "segment[0] may not be empty"), ("/a//b", "segment[1] may not be empty")] {
        assert_eq!(service(json!({"path": path})), [format!("{at}path: Invalid value: \"{path}\": {told}")]);
    }
    assert_eq!(
        service(json!({"path": "a"})),
        [format!("{at}path: Invalid value: \"a\": must start with a '/'")]
    );
    assert!(
        service(json!({"path": "/A"}))[0]
            .starts_with(&format!("{at}path: Invalid value: \"/A\": segment[0]: a lower"))
    );
    for path in ["", "/", "/a/b-c/", "/a.b"] {
        assert_eq!(service(json!({"path": path})), [""; 0]);
    }
}

#[test]
fn a_bundle_is_base64() {
    let told = wrong("/clientConfig", json!({"url": "https://a", "caBundle": "-----BEGIN"}));
    assert!(
        told[0]
            .starts_with("webhooks[0].clientConfig.caBundle: Invalid value: \"-----BEGIN\": must be base64")
    );
}

#[test]
fn selectors_are_checked() {
    let requirement = |operator: &str| json!({"matchExpressions": [{"key": "a", "operator": operator}]});
    assert_eq!(
        wrong("/objectSelector", requirement("Is")),
        [
            "webhooks[0].objectSelector.matchExpressions[0].operator: Invalid value: \"Is\": not a valid selector operator"
        ]
    );
    assert_eq!(
        wrong("/namespaceSelector", requirement("In")),
        ["webhooks[0].namespaceSelector.matchExpressions[0].values: Required value: \
          must be specified when `operator` is 'In' or 'NotIn'"]
    );
    let told = wrong("/objectSelector", json!({"matchLabels": {"a b": "c"}}));
    assert!(
        told[0].starts_with("webhooks[0].objectSelector.matchLabels: Invalid value: \"a b\": name part must")
    );
    assert_eq!(wrong("/objectSelector", json!({"matchLabels": "a=b"})).len(), 1);
}

#[test]
fn match_conditions_compile_and_have_names_of_their_own() {
    let condition = |name: &str, expression: &str| json!({"name": name, "expression": expression});
    let at = "webhooks[0].matchConditions";
    assert_eq!(
        wrong("/matchConditions", json!([condition("a", "true"), condition("b", " object.x == 1 ")])),
        [""; 0]
    );
    assert_eq!(
        wrong("/matchConditions", json!([condition("", " ")])),
        [format!("{at}[0].expression: Required value"), format!("{at}[0].name: Required value")]
    );
    assert_eq!(
        wrong("/matchConditions", json!([condition("a", "true"), condition("a", "true")])),
        [format!("{at}[1].name: Duplicate value: \"a\"")]
    );
    assert_eq!(
        wrong("/matchConditions", json!([condition("a", "x == 1")])),
        [format!(
            "{at}[0].expression: Invalid value: \"x == 1\": compilation failed: undeclared reference to 'x'"
        )]
    );
    let many: Vec<Value> = (0..65).map(|i| condition(&format!("c{i}"), "true")).collect();
    assert_eq!(
        wrong("/matchConditions", json!(many)),
        [format!("{at}: Too many: 65: must have at most 64 items")]
    );
}
