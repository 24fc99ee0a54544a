//! Tests of the round trip; the results are those of Kubernetes 1.36.

use serde_json::json;

use super::*;

fn after(kind: &str, mut object: Value) -> Result<Value, String> {
    round_trip("", kind, &mut object)?;
    Ok(object)
}

#[test]
fn every_type_in_the_table_is_known() {
    fn names(kind: &Type) -> Option<&'static str> {
        match kind {
            Type::Pointer(inner) | Type::List(inner) | Type::Map(inner) => names(inner),
            Type::Struct(name) => Some(name),
            _ => None,
        }
    }
    for (outer, fields) in &*TABLE {
        for field in fields {
            let missing = names(&field.kind).filter(|name| !TABLE.contains_key(name));
            assert_eq!(missing, None, "{outer}.{}", field.name);
        }
    }
}

#[test]
fn what_says_nothing_is_left_out_or_written_by_its_field() {
    let node =
        json!({"status": {"phase": "", "conditions": [{"reason": ""}], "images": [{}], "volumesInUse": []}});
    let status = after("Node", node).unwrap()["status"].take();
    assert_eq!(
        status["conditions"],
        json!([{
        "type": "", "status": "", "lastHeartbeatTime": null, "lastTransitionTime": null}])
    );
    assert_eq!(status["images"], json!([{"names": null}]));
    assert_eq!(status["daemonEndpoints"], json!({"kubeletEndpoint": {"Port": 0}}));
    for field in ["phase", "volumesInUse"] {
        assert!(status.get(field).is_none(), "{field}");
    }
}

#[test]
fn a_null_in_a_map_is_a_value_that_says_nothing() {
    let made = after(
        "ConfigMap",
        json!({"metadata": {"labels": {"a": null}, "annotations": null}, "data": {"b": null}}),
    );
    assert_eq!(made, Ok(json!({"metadata": {"labels": {"a": ""}}, "data": {"b": ""}})));
}

#[test]
fn a_moment_is_in_utc_and_to_the_second() {
    let at = |text: &str| {
        after("Pod", json!({"status": {"startTime": text}})).map(|pod| pod["status"]["startTime"].clone())
    };
    for text in ["2001-02-03T04:05:06Z", "2001-02-03T06:05:06+02:00", "2001-02-03T04:05:06.5Z"] {
        assert_eq!(at(text), Ok(json!("2001-02-03T04:05:06Z")), "{text}");
    }
    for text in [
        "",
        "yesterday",
        "2001-02-03",
        "2001-02-03 04:05:06Z",
        "2001-02-03T04:05:60Z",
        "2001-13-03T04:05:06Z",
    ] {
        assert!(at(text).unwrap_err().starts_with("parsing time"), "{text}");
    }
}

#[test]
fn a_value_of_another_type_is_refused_in_the_words_of_kubernetes() {
    let error = after("Pod", json!({"spec": {"containers": [{"image": 7}]}})).unwrap_err();
    assert_eq!(
        error,
        "json: cannot unmarshal number into Go struct field Container.spec.containers.image of type string"
    );
    for wrong in
        [json!({"data": []}), json!({"data": {"a": 1}}), json!({"metadata": "x"}), json!({"immutable": "x"})]
    {
        assert!(after("ConfigMap", wrong.clone()).is_err(), "{wrong}");
    }
}

#[test]
fn unknown_fields_stay_and_directives_go() {
    let made =
        after("Secret", json!({"metadata": {"$patch": "replace", "colour": "red"}, "data": {"$patch": ""}}));
    assert_eq!(made, Ok(json!({"metadata": {"colour": "red"}, "data": {"$patch": ""}})));
}

#[test]
fn other_kinds_are_left_alone() {
    let mut thing = json!({"spec": null});
    round_trip("example.com", "Pod", &mut thing).unwrap();
    assert_eq!(thing, json!({"spec": null}));
    assert!(!knows("", "Container") && knows("events.k8s.io", "Event"));
}
