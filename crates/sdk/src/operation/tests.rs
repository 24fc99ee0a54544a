//! What is written in which situation.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};

use super::labels::{Next, Operated};
use super::{Adapter, Error, Name, Operation, Permission, Write};

const NOW: u64 = 1_800_000_000;

fn now() -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(NOW)
}

/// A pod that takes part, with these labels of the lifecycle: `operating/patcher`.
fn pod(labels: &[(&str, &str)]) -> Pod {
    let mut all = json!({"kusionstack.io/control": "true", "app": "web"});
    for (key, value) in labels {
        let (prefix, id) = key.split_once('/').unwrap();
        all[format!("{prefix}.podopslifecycle.kusionstack.io/{id}")] = json!(value);
    }
    serde_json::from_value(json!({"metadata": {"name": "web-0", "namespace": "shop", "labels": all}}))
        .unwrap()
}

fn name() -> Name {
    Name { id: "patcher".into(), kind: "update".into() }
}

fn patcher() -> Operation {
    Operation::new("patcher", "update")
}

/// What is written, with the keys as short as [`pod`] has them.
fn written(next: Result<Next, Error>) -> Value {
    match next.unwrap() {
        Next::Nothing => Value::Null,
        Next::Later => json!("later"),
        Next::Write(metadata) => {
            let text = metadata.to_string().replace(".podopslifecycle.kusionstack.io", "");
            serde_json::from_str(&text).unwrap()
        }
    }
}

fn begin(labels: &[(&str, &str)]) -> Result<Next, Error> {
    Operated::new(&pod(labels), &name(), &patcher()).begin(now())
}

const BEGUN: [(&str, &str); 2] = [("operating/patcher", "5"), ("operation-type/patcher", "update")];

#[test]
fn a_begin_names_the_id_the_type_and_the_time() {
    assert_eq!(
        written(begin(&[])),
        json!({"labels": {"operating/patcher": "1800000000000000000", "operation-type/patcher": "update"}})
    );
}

#[test]
fn what_has_begun_is_not_begun_again() {
    assert_eq!(written(begin(&BEGUN)), Value::Null);
}

#[test]
fn a_begin_that_lost_its_type_gets_it_back_and_keeps_its_time() {
    let written = written(begin(&[("operating/patcher", "5")]));
    assert_eq!(written, json!({"labels": {"operation-type/patcher": "update"}}));
}

#[test]
fn an_id_that_runs_under_another_type_is_not_retyped() {
    let labels = [("operating/patcher", "5"), ("operation-type/patcher", "scale-in")];
    let Err(error) = begin(&labels) else { panic!("it was to be refused") };
    assert!(error.to_string().contains("begin_with_cleaning_old"), "{error}");
    let finished = Operated::new(&pod(&labels), &name(), &patcher()).finish();
    assert!(matches!(finished, Err(Error::OtherType { .. })));
    let cancelled = Operated::new(&pod(&labels), &name(), &patcher()).cancel();
    assert_eq!(written(cancelled), json!({"labels": {"undo-operation-type/patcher": "scale-in"}}));
}

#[test]
fn an_operation_that_is_alone_waits_for_others_of_its_type() {
    let labels = [("operating/other", "5"), ("operation-type/other", "update")];
    let alone = patcher().alone();
    let Err(error) = Operated::new(&pod(&labels), &name(), &alone).begin(now()) else { panic!() };
    assert!(matches!(&error, Error::TypeTaken { other, .. } if other == "other") && error.is_passing());
    assert!(begin(&labels).is_ok());
}

#[test]
fn a_cancellation_that_is_left_over_does_not_cancel_the_next_begin() {
    let written = written(begin(&[("undo-operation-type/patcher", "update")]));
    assert_eq!(written["labels"]["undo-operation-type/patcher"], Value::Null);
    assert!(written["labels"].as_object().unwrap().contains_key("undo-operation-type/patcher"));
}

#[test]
fn a_begin_waits_until_what_was_cancelled_is_cleared_away() {
    let labels = [BEGUN[0], BEGUN[1], ("undo-operation-type/patcher", "update")];
    assert_eq!(written(begin(&labels)), json!("later"));
    let pod = pod(&labels);
    assert_eq!(
        Operated::new(&pod, &name(), &patcher()).permission(Duration::ZERO, now()),
        Permission::NotBegun
    );
}

#[test]
fn pods_that_nobody_would_allow_anything_on_are_refused() {
    let mut out = pod(&[]);
    out.metadata.labels.as_mut().unwrap().remove("kusionstack.io/control");
    let error = Operated::new(&out, &name(), &patcher()).begin(now()).err().unwrap();
    assert!(error.to_string().contains("kusionstack.io/control=true"), "{error}");
    let going = json!({"metadata": {"name": "web-0", "deletionTimestamp": "2026-11-15T12:00:00Z"}});
    let going: Pod = serde_json::from_value(going).unwrap();
    let begun = Operated::new(&going, &name(), &patcher()).begin(now());
    assert!(matches!(begun, Err(Error::Terminating { .. })));
}

#[test]
fn an_end_takes_off_one_label_and_a_second_end_nothing() {
    let finished =
        |labels: &[(&str, &str)]| written(Operated::new(&pod(labels), &name(), &patcher()).finish());
    let granted = [BEGUN[0], BEGUN[1], ("operate/patcher", "6")];
    assert_eq!(finished(&granted), json!({"labels": {"operating/patcher": null}}));
    assert_eq!(finished(&[granted[1], granted[2]]), Value::Null);
    assert_eq!(finished(&[("operated/patcher", "6")]), Value::Null);
}

/// Without a webhook that knows better, an id without its first label stayed where it was.
#[test]
fn an_end_before_the_permission_is_a_cancellation() {
    let finished =
        |labels: &[(&str, &str)]| written(Operated::new(&pod(labels), &name(), &patcher()).finish());
    assert_eq!(finished(&BEGUN), json!({"labels": {"undo-operation-type/patcher": "update"}}));
    assert_eq!(finished(&[BEGUN[0], BEGUN[1], ("undo-operation-type/patcher", "update")]), Value::Null);
}

#[test]
fn a_begin_does_not_take_over_the_permission_of_the_one_before() {
    let finished = [BEGUN[1], ("operate/patcher", "6")];
    assert_eq!(written(begin(&finished)), json!("later"));
    let cancelled = Operated::new(&pod(&finished), &name(), &patcher()).cancel();
    assert_eq!(written(cancelled), json!({"labels": {"undo-operation-type/patcher": "update"}}));
}

#[test]
fn what_is_not_there_is_not_cancelled() {
    let cancelled =
        |labels: &[(&str, &str)]| written(Operated::new(&pod(labels), &name(), &patcher()).cancel());
    assert_eq!(cancelled(&[]), Value::Null);
    assert_eq!(cancelled(&BEGUN), json!({"labels": {"undo-operation-type/patcher": "update"}}));
    let late = [("operated/patcher", "6"), ("done-operation-type/patcher", "update")];
    assert_eq!(cancelled(&late), json!({"labels": {"undo-operation-type/patcher": "update"}}));
}

#[test]
fn permission_comes_with_its_label_and_after_the_delay() {
    let permission = |operate: Option<&str>, delay| {
        let operate = operate.map(|value| ("operate/patcher", value));
        let labels: Vec<_> = BEGUN.into_iter().chain(operate).collect();
        Operated::new(&pod(&labels), &name(), &patcher()).permission(Duration::from_secs(delay), now())
    };
    assert_eq!(permission(None, 0), Permission::NotYet);
    let granted = format!("{}000000000", NOW - 4);
    assert_eq!(permission(Some(&granted), 0), Permission::Granted);
    assert_eq!(permission(Some(&granted), 4), Permission::Granted);
    assert_eq!(permission(Some(&granted), 10), Permission::After(Duration::from_secs(6)));
    assert_eq!(permission(Some("by hand"), 10), Permission::Granted);
    let ahead = format!("{}000000000", NOW + 100);
    assert_eq!(permission(Some(&ahead), 10), Permission::After(Duration::from_secs(10)));
    assert_eq!(permission(Some("18446744073709551615"), 10), Permission::After(Duration::from_secs(10)));
}

#[test]
fn hooks_add_to_the_same_write_and_write_nothing_that_is_so() {
    struct Hooked;
    impl Adapter for Hooked {
        fn id(&self) -> &str {
            "patcher"
        }
        fn kind(&self) -> &str {
            "update"
        }
        fn when_begin(&self, _: &Pod, write: &mut Write) {
            write.label("app", "web");
            write.annotation("example.com/by", "jane");
        }
        fn when_finish(&self, _: &Pod, write: &mut Write) {
            write.remove_annotation("example.com/by");
            write.remove_label("app");
        }
    }
    let begun = written(Operated::new(&pod(&BEGUN), &name(), &Hooked).begin(now()));
    assert_eq!(begun, json!({"annotations": {"example.com/by": "jane"}}));
    let granted = [BEGUN[0], BEGUN[1], ("operate/patcher", "6")];
    let finished = written(Operated::new(&pod(&granted), &name(), &Hooked).finish());
    assert_eq!(finished, json!({"labels": {"app": null, "operating/patcher": null}}));
}
