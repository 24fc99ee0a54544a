//! How a manifest is read.

use serde_json::json;

use super::*;

#[test]
fn absent_and_null_are_the_same() {
    let pod = Pod::parse(
        &json!({"metadata": {"labels": null}, "spec": {"containers": [{"name": "a", "command": null}]}}),
    );
    assert!(pod.unwrap().spec.containers[0].command.is_empty());
}

#[test]
fn the_grace_is_half_a_minute_unless_said_otherwise_and_never_negative() {
    let grace = |spec: Value| Pod::parse(&json!({"spec": spec})).unwrap().grace();
    assert_eq!(grace(json!({})), Duration::from_secs(30));
    assert_eq!(grace(json!({"terminationGracePeriodSeconds": 5})), Duration::from_secs(5));
    assert_eq!(grace(json!({"terminationGracePeriodSeconds": -5})), Duration::ZERO);
}

#[test]
fn ports_are_known_by_number_by_name_and_by_number_in_text() {
    let container: Container =
        serde_json::from_value(json!({"ports": [{"name": "web", "containerPort": 8080}]})).unwrap();
    let port = |value: Value| container.port(&serde_json::from_value(value).unwrap());
    assert_eq!(port(json!(80)), Some(80));
    assert_eq!(port(json!("web")), Some(8080));
    assert_eq!(port(json!("81")), Some(81));
    assert_eq!(port(json!("none")), None);
}

#[test]
fn volumes_of_other_kinds_are_remembered_by_their_kind() {
    let volume: Volume = serde_json::from_value(json!({"name": "v", "nfs": {"server": "x"}})).unwrap();
    assert_eq!(volume.other.keys().collect::<Vec<_>>(), ["nfs"]);
}
