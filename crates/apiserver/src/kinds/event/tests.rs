//! One event under two names, and what a new one must say.

use super::*;

fn texts(check: impl Fn(&mut Problems)) -> Vec<String> {
    let mut problems = Problems::default();
    check(&mut problems);
    problems.iter().map(FieldError::to_string).collect()
}

fn reported() -> Value {
    json!({
        "metadata": {"name": "a", "namespace": "default"}, "eventTime": "2026-01-01T00:00:00.000000Z",
        "reportingController": "example.dev/agent", "reportingInstance": "agent-1", "action": "Hold",
        "reason": "Held", "type": "Normal", "note": "held",
        "regarding": {"kind": "Pod", "name": "web", "namespace": "default"},
    })
}

#[test]
fn the_two_forms_are_one_object() {
    let mut event = reported();
    NewEvents.default(&mut event);
    let mut stored = event.clone();
    NewEvents.pack(&mut stored);
    assert_eq!(
        stored,
        json!({
            "apiVersion": "v1", "metadata": {"name": "a", "namespace": "default"},
            "eventTime": "2026-01-01T00:00:00.000000Z", "reportingComponent": "example.dev/agent",
            "reportingInstance": "agent-1", "action": "Hold", "reason": "Held", "type": "Normal", "message": "held",
            "involvedObject": {"kind": "Pod", "name": "web", "namespace": "default"}, "source": {},
            "firstTimestamp": null, "lastTimestamp": null,
        })
    );
    NewEvents.unpack(&mut stored);
    event["apiVersion"] = "v1".into();
    assert_eq!(stored, event);
}

#[test]
fn an_old_event_shows_its_deprecated_fields() {
    let mut event = json!({"message": "m", "count": 3, "source": {"component": "kubelet"}});
    CoreEvents.default(&mut event);
    NewEvents.unpack(&mut event);
    assert_eq!(
        event,
        json!({
            "note": "m", "deprecatedCount": 3, "deprecatedSource": {"component": "kubelet"}, "regarding": {},
            "deprecatedFirstTimestamp": null, "deprecatedLastTimestamp": null, "eventTime": null,
        })
    );
}

#[test]
fn an_event_is_in_the_namespace_of_its_object() {
    let event = |place: &str, about: &str| {
        let event = json!({"metadata": {"namespace": place}, "involvedObject": {"namespace": about}});
        texts(|problems| CoreEvents.check(&event, problems))
    };
    assert!(event("a", "a").is_empty());
    assert!(event("default", "").is_empty());
    assert_eq!(
        event("a", "b"),
        [r#"involvedObject.namespace: Invalid value: "b": does not match event.namespace"#]
    );
    assert_eq!(event("a", "").len(), 1);
}

#[test]
fn a_new_event_says_who_reports_it_and_when() {
    assert!(texts(|problems| NewEvents.check(&reported(), problems)).is_empty());
    assert!(texts(|problems| NewEvents.check_new(&reported(), problems)).is_empty());
    let bare = json!({"metadata": {"namespace": "default"}, "deprecatedCount": 1, "series": {"count": 1}});
    assert_eq!(
        texts(|problems| NewEvents.check_new(&bare, problems)),
        [
            r#"series.count: Invalid value: "": should be at least 2"#,
            "series.lastObservedTime: Required value",
            "eventTime: Required value",
            r#"type: Invalid value: "": has invalid value: "#,
            r#"count: Invalid value: "": needs to be unset"#,
        ]
    );
    let mut anonymous = reported();
    anonymous["reportingController"] = Value::Null;
    anonymous["note"] = "x".repeat(1025).into();
    let found = texts(|problems| NewEvents.check(&anonymous, problems));
    assert_eq!(found[0], "reportingController: Required value");
    assert_eq!(found.last().unwrap(), r#"message: Invalid value: "": can have at most 1024 characters"#);
}

#[test]
fn only_the_series_of_an_event_goes_on() {
    let mut new = reported();
    new["series"] = json!({"count": 2, "lastObservedTime": "2026-01-01T00:00:01.000000Z"});
    assert!(texts(|problems| NewEvents.check_change(&new, &reported(), problems)).is_empty());
    new["reason"] = "Other".into();
    assert_eq!(
        texts(|problems| NewEvents.check_change(&new, &reported(), problems)),
        [r#"reason: Invalid value: "Other": field is immutable"#]
    );
}

#[test]
fn a_row_starts_with_when_it_was_last_seen() {
    let now: Timestamp = "2026-01-01T00:02:00Z".parse().unwrap();
    let cells = NewEvents.cells(&reported(), now);
    assert_eq!(
        cells,
        [
            json!("2m"),
            json!("Normal"),
            json!("Held"),
            json!("pod/web"),
            json!(""),
            json!("example.dev/agent, agent-1"),
            json!("held"),
            json!("2m"),
            json!(1),
            json!("a"),
        ]
    );
    assert_eq!(NewEvents.columns().len(), cells.len());
}

#[test]
fn an_event_comes_from_its_component_or_its_reporter() {
    assert_eq!(CoreEvents.field(&json!({"source": {"component": "a"}}), "source").as_deref(), Some("a"));
    assert_eq!(CoreEvents.field(&json!({"reportingComponent": "b"}), "source").as_deref(), Some("b"));
    assert_eq!(CoreEvents.field(&json!({}), "reason"), None);
    assert_eq!(NewEvents.stored_field("regarding.name"), "involvedObject.name");
}
