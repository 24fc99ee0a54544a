//! What configuration may hold, and what a frozen one refuses.

use safepoint_machinery::status::FieldError;
use serde_json::{Value, json};

use super::*;

fn problems(rules: &dyn Rules, object: &Value) -> Vec<String> {
    let mut problems = Problems::default();
    rules.check(object, &mut problems);
    problems.iter().map(FieldError::to_string).collect()
}

fn change(rules: &dyn Rules, new: &Value, old: &Value) -> Vec<String> {
    let mut problems = Problems::default();
    rules.check_change(new, old, &mut problems);
    problems.iter().map(FieldError::to_string).collect()
}

fn defaulted(rules: &dyn Rules, mut object: Value) -> Value {
    rules.default(&mut object);
    object
}

#[test]
fn a_key_is_in_one_of_both_maps() {
    let map = json!({"data": {"a": "x", "b": ""}, "binaryData": {"a": "eA==", "b c": "eA=="}});
    let found = problems(&ConfigMaps, &map);
    assert_eq!(found[0], r#"data[a]: Invalid value: "a": duplicate of key present in binaryData"#);
    assert!(
        found[1].starts_with(r#"binaryData[b c]: Invalid value: "b c": a valid config key"#),
        "{found:?}"
    );
    assert_eq!(found.len(), 2);
}

#[test]
fn all_values_together_have_a_limit() {
    let fits = json!({"data": {"a": "x".repeat(MOST_BYTES)}});
    assert!(problems(&ConfigMaps, &fits).is_empty());
    let over = json!({"data": {"a": "x".repeat(MOST_BYTES)}, "binaryData": {"b": "eA=="}});
    assert_eq!(problems(&ConfigMaps, &over), ["[]: Too long: may not be more than 1048576 bytes"]);
    let secret = json!({"data": {"a": STANDARD.encode("x".repeat(MOST_BYTES + 1))}});
    assert_eq!(problems(&Secrets, &secret), ["data: Too long: may not be more than 1048576 bytes"]);
}

#[test]
fn what_is_frozen_stays() {
    let old = json!({"data": {"a": "1"}, "immutable": true});
    assert!(change(&ConfigMaps, &old, &old).is_empty());
    let thawed = json!({"data": {"a": "2"}, "binaryData": {"b": "eA=="}});
    assert_eq!(
        change(&ConfigMaps, &thawed, &old),
        [
            "immutable: Forbidden: field is immutable when `immutable` is set",
            "data: Forbidden: field is immutable when `immutable` is set",
            "binaryData: Forbidden: field is immutable when `immutable` is set",
        ]
    );
    assert!(change(&ConfigMaps, &thawed, &json!({"data": {"a": "1"}})).is_empty());
}

#[test]
fn an_empty_map_is_left_out() {
    assert_eq!(defaulted(&ConfigMaps, json!({"data": {}, "binaryData": null})), json!({}));
}

#[test]
fn plain_texts_of_a_secret_win_and_are_not_kept() {
    let secret = json!({"data": {"a": "eA==", "b": "eQ=="}, "stringData": {"a": "new", "c": ""}});
    assert_eq!(
        defaulted(&Secrets, secret),
        json!({"type": "Opaque", "data": {"a": "bmV3", "b": "eQ==", "c": ""}})
    );
    assert_eq!(defaulted(&Secrets, json!({"type": "x", "stringData": {}})), json!({"type": "x"}));
}

#[test]
fn a_secret_keeps_its_type() {
    assert_eq!(
        change(&Secrets, &json!({"type": "b"}), &json!({"type": "a"})),
        [r#"type: Invalid value: "b": field is immutable"#]
    );
}

#[test]
fn a_type_says_which_keys_are_needed() {
    let needs = |kind: &str, data: Value| {
        problems(&Secrets, &json!({"type": format!("kubernetes.io/{kind}"), "data": data}))
    };
    assert_eq!(needs("tls", json!({})), ["data[tls.crt]: Required value", "data[tls.key]: Required value"]);
    assert_eq!(needs("basic-auth", json!({})).len(), 2);
    assert!(needs("basic-auth", json!({"password": ""})).is_empty());
    assert_eq!(needs("ssh-auth", json!({"ssh-privatekey": ""})), ["data[ssh-privatekey]: Required value"]);
    assert_eq!(needs("dockercfg", json!({})), ["data[.dockercfg]: Required value"]);
    assert!(needs("dockerconfigjson", json!({".dockerconfigjson": STANDARD.encode("{}")})).is_empty());
    assert_eq!(
        needs("dockerconfigjson", json!({".dockerconfigjson": ""})),
        [
            "data[.dockerconfigjson]: Invalid value: \"<secret contents redacted>\": unexpected end of JSON input"
        ]
    );
    assert_eq!(
        needs("service-account-token", json!({})),
        ["metadata.annotations[kubernetes.io/service-account.name]: Required value"]
    );
}

#[test]
fn a_value_that_is_no_base64_is_not_shown() {
    let found = problems(&Secrets, &json!({"data": {"a": "hunter2!"}}));
    assert_eq!(found, [r#"data[a]: Invalid value: "<secret contents redacted>": illegal base64 data"#]);
    let complaint = Secrets.unreadable(&json!({"data": {"a": "hunter2!"}}));
    assert_eq!(complaint.as_deref(), Some("illegal base64 data at input byte 7"));
}

#[test]
fn an_account_names_its_secrets_and_nothing_else() {
    let mut account = json!({"secrets": [{"name": "a", "kind": "Secret"}], "imagePullSecrets": []});
    ServiceAccounts.default(&mut account);
    ServiceAccounts.begin(&mut account);
    assert_eq!(account, json!({"secrets": [{"name": "a"}]}));
}
