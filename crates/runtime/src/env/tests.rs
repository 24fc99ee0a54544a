//! Where variables come from.

use std::{path::Path, sync::Arc};

use serde_json::json;

use super::*;
use crate::Config;

fn configs() -> Configs {
    let config = |pairs: &[(&str, &[u8])]| {
        let data = pairs.iter().map(|(key, value)| ((*key).to_owned(), value.to_vec())).collect();
        Arc::new(Config { version: "1".into(), data })
    };
    Configs(BTreeMap::from([
        (ConfigKey::config_map("nav"), config(&[("speed", b"5"), ("bad=key", b"x")])),
        (ConfigKey::secret("key"), config(&[("token", b"s3cret"), ("binary", &[0xff])])),
    ]))
}

fn of(container: &serde_json::Value) -> Result<BTreeMap<String, String>, String> {
    let pod = Pod::parse(&json!({
        "metadata": {"labels": {"app": "nav"}, "annotations": {"a/b": "c"}},
        "spec": {"nodeName": "r2", "serviceAccountName": "sa", "containers": [container]},
    }))
    .unwrap();
    let who = Who {
        namespace: "robots",
        name: "nav-0",
        uid: "u1",
        address: IpAddr::from([10, 0, 0, 7]),
        pod: &pod,
    };
    variables(who, &pod.spec.containers[0], &configs(), Path::new("/r"))
}

#[test]
fn values_refer_to_what_stands_before_them() {
    let env = of(&json!({"env": [
        {"name": "LATE", "value": "$(B)"}, {"name": "B", "value": "b"}, {"name": "C", "value": "$(B)-$(SPEED) $$(B)"},
    ], "envFrom": [{"configMapRef": {"name": "nav"}}]}))
    .unwrap();
    assert_eq!(env["LATE"], "$(B)");
    assert_eq!(env["C"], "b-$(SPEED) $(B)");
    assert_eq!(env["speed"], "5");
}

#[test]
fn maps_and_secrets_give_variables_with_a_prefix_and_without_impossible_names() {
    let env = of(&json!({"env": [
        {"name": "TOKEN", "valueFrom": {"secretKeyRef": {"name": "key", "key": "token"}}},
        {"name": "NONE", "valueFrom": {"secretKeyRef": {"name": "key", "key": "none", "optional": true}}},
    ], "envFrom": [{"prefix": "NAV_", "configMapRef": {"name": "nav"}}, {"secretRef": {"name": "no", "optional": true}}]}))
    .unwrap();
    assert_eq!(env["NAV_speed"], "5");
    assert_eq!(env["TOKEN"], "s3cret");
    assert!(!env.contains_key("NONE") && !env.keys().any(|name| name.contains('=')));
}

#[test]
fn what_is_missing_is_named() {
    let missing =
        |source: serde_json::Value| of(&json!({"env": [{"name": "X", "valueFrom": source}]})).unwrap_err();
    assert_eq!(missing(json!({"configMapKeyRef": {"name": "no", "key": "k"}})), "configmap \"no\" not found");
    assert_eq!(
        missing(json!({"secretKeyRef": {"name": "key", "key": "k"}})),
        "couldn't find key \"k\" in secret \"key\""
    );
    assert!(missing(json!({"secretKeyRef": {"name": "key", "key": "binary"}})).contains("not text"));
    assert_eq!(
        of(&json!({"envFrom": [{"secretRef": {"name": "no"}}]})).unwrap_err(),
        "secret \"no\" not found"
    );
}

#[test]
fn fields_of_the_pod_and_of_its_resources_are_known() {
    let field = |path: &str| json!({"name": path, "valueFrom": {"fieldRef": {"fieldPath": path}}});
    let resource = |path: &str, divisor: &str| json!({"name": path, "valueFrom": {"resourceFieldRef": {"resource": path, "divisor": divisor}}});
    let env = of(&json!({"resources": {"limits": {"cpu": "250m", "memory": "64Mi"}}, "env": [
        field("metadata.name"), field("metadata.namespace"), field("metadata.uid"), field("spec.nodeName"),
        field("spec.serviceAccountName"), field("status.podIP"), field("status.hostIP"),
        field("metadata.labels['app']"), field("metadata.annotations['a/b']"), field("metadata.labels['no']"),
        resource("limits.cpu", "1m"), resource("limits.memory", "1Mi"), resource("requests.cpu", "0"),
    ]}))
    .unwrap();
    let all: Vec<&str> = [
        "metadata.name",
        "metadata.namespace",
        "metadata.uid",
        "spec.nodeName",
        "spec.serviceAccountName",
        "status.podIP",
        "status.hostIP",
        "metadata.labels['app']",
        "metadata.annotations['a/b']",
        "metadata.labels['no']",
        "limits.cpu",
        "limits.memory",
        "requests.cpu",
    ]
    .iter()
    .map(|name| env[*name].as_str())
    .collect();
    assert_eq!(
        all,
        ["nav-0", "robots", "u1", "r2", "sa", "10.0.0.7", "10.0.0.7", "nav", "c", "", "250", "64", "1"]
    );
}

#[test]
fn the_root_is_ours_to_set_whatever_the_manifest_says() {
    let env = of(
        &json!({"env": [{"name": "SAFEPOINT_ROOT", "value": ""}, {"name": "F", "value": "$(SAFEPOINT_ROOT)/etc"}]}),
    );
    assert_eq!(env.unwrap()["F"], "/r/etc");
}
