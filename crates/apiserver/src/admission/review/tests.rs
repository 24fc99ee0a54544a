//! Questions as hooks get them, and answers as hooks give them.

use serde_json::json;

use super::*;

fn read(review: &Value, flavour: Flavour) -> Result<Answer, String> {
    answer(review.to_string().as_bytes(), "u1", flavour)
}

fn review(response: &Value) -> Value {
    json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response})
}

#[test]
fn an_answer_without_a_decision_is_a_refusal() {
    let answer = read(&review(&json!({"uid": "u1"})), Flavour::Validating).unwrap();
    assert_eq!(answer.verdict, Verdict::Denied(None));
}

#[test]
fn null_is_as_good_as_missing() {
    let nulls = json!({"uid": "u1", "allowed": true, "status": null, "patch": null, "patchType": null, "warnings": null});
    let answer = read(&review(&nulls), Flavour::Validating).unwrap();
    assert_eq!(answer, Answer { verdict: Verdict::Allowed(None), warnings: vec![] });
}

#[test]
fn what_we_do_not_know_is_not_looked_at() {
    let more = json!({"uid": "u1", "allowed": true, "auditAnnotations": {"a": "b"}, "mood": "good"});
    assert_eq!(read(&review(&more), Flavour::Mutating).unwrap().verdict, Verdict::Allowed(None));
}

#[test]
fn an_answer_must_say_what_it_is() {
    for (api_version, kind, got) in [
        (
            json!("admission.k8s.io/v1beta1"),
            json!("AdmissionReview"),
            "admission.k8s.io/v1beta1, Kind=AdmissionReview",
        ),
        (json!("v1"), json!("Pod"), "/v1, Kind=Pod"),
        (json!(null), json!(null), "/, Kind="),
    ] {
        let review =
            json!({"apiVersion": api_version, "kind": kind, "response": {"uid": "u1", "allowed": true}});
        let expected = format!(
            "received invalid webhook response: expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, \
             got {got}"
        );
        assert_eq!(read(&review, Flavour::Mutating).unwrap_err(), expected);
    }
}

#[test]
fn a_patch_needs_its_type_and_a_type_its_patch() {
    let patch = STANDARD.encode("[]");
    let why = |response: Value, flavour| {
        let mut response = response;
        response["uid"] = "u1".into();
        response["allowed"] = true.into();
        read(&review(&response), flavour).unwrap_err()
    };
    let invalid = |text: &str| format!("received invalid webhook response: {text}");
    assert_eq!(
        why(json!({"patch": patch, "patchType": ""}), Flavour::Mutating),
        invalid("webhook returned invalid response.patchType of \"\"")
    );
    assert_eq!(
        why(json!({"patchType": "JSONPatch"}), Flavour::Validating),
        invalid("validating webhook may not return response.patchType")
    );
    assert_eq!(
        why(json!({"patch": patch, "patchType": "JSONPatch"}), Flavour::Validating),
        invalid("validating webhook may not return response.patch")
    );
}
