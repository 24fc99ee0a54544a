//! The public cases of the reference implementation, restated as data. Each says whether the outcome is the same.

use std::collections::BTreeSet;

use safepoint_core::lifecycle::{
    Deletion, DeletionKind, DeletionVerdict, Label, Lifecycle, OperationId, check,
};
use serde_json::Value;

use crate::support::{NOW, UPDATE, list, short, view_of};

fn cases(text: &str, same: usize) -> Vec<Value> {
    let cases: Vec<Value> = serde_json::from_str(text).expect("cases are JSON");
    for case in &cases {
        let different = case["mark"] == "deliberately different";
        assert!(different || case["mark"] == "same", "{case}");
        assert_eq!(different, case.get("why").is_some(), "a difference has a reason: {case}");
    }
    assert_eq!(cases.iter().filter(|case| case["mark"] == "same").count(), same);
    cases
}

fn name(case: &Value) -> &str {
    case["name"].as_str().expect("a case has a name")
}

#[test]
fn a_write_is_completed_as_the_reference_does_it() {
    for case in cases(include_str!("cases/mutations.json"), 16) {
        let view = view_of(&case["pod"], &list(&case, "new"));
        let old = case.get("old").map(|_| view_of(&case["pod"], &list(&case, "old")));
        let changes = Lifecycle::default().admit(&view, old.as_ref(), UPDATE, NOW).unwrap();
        let mut after = view.clone();
        after.apply(&changes);
        let then: BTreeSet<String> = list(&case, "then").into_iter().collect();
        assert_eq!(short(&after), then, "{}", name(&case));
    }
}

#[test]
fn labels_that_contradict_each_other_are_refused_with_the_texts_that_clients_know() {
    for case in cases(include_str!("cases/checks.json"), 9) {
        let view = view_of(&Value::Null, &list(&case, "labels"));
        let refused = check(&view, None).err().map(|refusal| refusal.to_string());
        assert_eq!(refused.as_deref(), case.get("refused").and_then(Value::as_str), "{}", name(&case));
    }
}

#[test]
fn an_operation_acts_when_the_pod_is_out_of_service() {
    let labels: Vec<String> =
        ["operating/1", "operation-type/1=update", "pre-checked/1", "operation-permission/update"]
            .map(str::to_owned)
            .to_vec();
    for case in cases(include_str!("cases/readiness.json"), 5) {
        let mut view = view_of(&case["pod"], &labels);
        let changes = Lifecycle::default().admit(&view, None, UPDATE, NOW).unwrap();
        view.apply(&changes);
        let acts = view.operations[&OperationId::from("1")].has(Label::Operate);
        assert_eq!(acts, case["acts"].as_bool().unwrap(), "{}", name(&case));
    }
}

#[test]
fn a_deletion_passes_or_is_put_off() {
    for case in cases(include_str!("cases/deletions.json"), 5) {
        let mut view = view_of(&case["pod"], &list(&case, "labels"));
        let kind = if case.get("evict").is_some() { DeletionKind::Evict } else { DeletionKind::Delete };
        let deletion = Deletion { kind, dry_run: case.get("dry").is_some() };
        match Lifecycle::default().grace_delete(&view, deletion, NOW) {
            DeletionVerdict::Pass => assert_eq!(case["passes"], true, "{}", name(&case)),
            DeletionVerdict::PutOff(taken) => {
                assert_eq!(case["passes"], false, "{}", name(&case));
                assert_eq!(taken.text, case["text"].as_str().unwrap(), "{}", name(&case));
                let code = case.get("code").and_then(Value::as_u64).unwrap_or(403);
                assert_eq!(u64::from(taken.code), code, "{}", name(&case));
                view.apply(&taken.changes);
                let then: BTreeSet<String> = list(&case, "then").into_iter().collect();
                assert_eq!(short(&view), then, "{}", name(&case));
            }
        }
    }
}
