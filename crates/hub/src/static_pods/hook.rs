//! The webhook that StaticPods pass: what cannot be carried out is refused before it is stored.
//!
//! Only the new object is looked at, and only if its spec is new. What is stored already may have been let through by an older
//! hub, and must be possible to delete and to mend (OpenYurt's defect 17 re-validated the old one).

use safepoint_api::names::safepoint::{GROUP, VERSION};
use safepoint_api::static_pod::StaticPodSpec;
use serde_json::{Value, json};

use super::wanted::{Problem, Wanted, sentence};
use crate::webhook::{Answer, Denial, Entry, Flavour, Hook, PATIENCE, Request, Reviewing, Rule, SideEffects};

/// The validating webhook for StaticPods.
pub(crate) struct Check;

// === impl Check ===

impl Hook for Check {
    fn entry(&self) -> Entry {
        Entry {
            name: "static-pods.safepoint.dev",
            path: "/static-pods",
            flavour: Flavour::Validating,
            rules: vec![Rule {
                group: GROUP,
                version: VERSION,
                resource: "staticpods",
                operations: &["CREATE", "UPDATE"],
            }],
            labels: &[],
            condition: None,
            side_effects: SideEffects::None,
            patience: PATIENCE,
        }
    }

    fn review<'a>(&'a self, request: &'a Request) -> Reviewing<'a> {
        Box::pin(async move { review(request) })
    }
}

fn review(request: &Request) -> Answer {
    let is_leaving = !request.object["metadata"]["deletionTimestamp"].is_null();
    if is_leaving || request.object["spec"] == request.old_object["spec"] {
        return Answer::Allow;
    }
    let problems = match serde_json::from_value::<StaticPodSpec>(request.object["spec"].clone()) {
        Ok(spec) => Wanted::read(&spec).err().unwrap_or_default(),
        Err(error) => vec![Problem { field: "spec".into(), text: error.to_string() }],
    };
    if problems.is_empty() { Answer::Allow } else { Answer::Deny(Box::new(denial(request, &problems))) }
}

fn denial(request: &Request, problems: &[Problem]) -> Denial {
    let causes: Vec<Value> = problems
        .iter()
        .map(
            |problem| json!({"reason": "FieldValueInvalid", "field": problem.field, "message": problem.text}),
        )
        .collect();
    Denial {
        code: 422,
        reason: "Invalid",
        message: sentence(problems),
        details: json!({"name": request.name, "group": GROUP, "kind": "staticpods", "causes": causes}),
    }
}

#[cfg(test)]
#[allow(clippy::needless_pass_by_value, reason = "a JSON text reads best where it is passed")]
mod tests {
    use super::*;

    fn asked(new: Value, old: Value) -> Request {
        let body = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
            "request": {"uid": "q", "operation": "UPDATE", "name": "proxy", "object": new, "oldObject": old}});
        Request::read(body.to_string().as_bytes()).unwrap()
    }

    fn object(image: &str) -> Value {
        json!({"metadata": {"name": "proxy"}, "spec": {"staticPodName": "proxy", "staticPodManifest": "proxy",
            "template": {"spec": {"serviceAccountName": if image == "bad" { "x" } else { "" },
                "containers": [{"name": "main", "image": image}]}}}})
    }

    #[test]
    fn a_refusal_names_every_field() {
        let Answer::Deny(denial) = review(&asked(object("bad"), Value::Null)) else {
            panic!("it is refused")
        };
        assert_eq!((denial.code, denial.reason), (422, "Invalid"));
        assert_eq!(denial.details["causes"][0]["field"], "spec.template.spec.serviceAccountName");
        assert!(denial.message.starts_with("spec.template.spec.serviceAccountName: "));
        assert_eq!(review(&asked(object("good"), Value::Null)), Answer::Allow);
    }

    /// OpenYurt's defect 17: an update was refused because of the object that it mended.
    #[test]
    fn what_is_stored_is_not_judged_again() {
        assert_eq!(review(&asked(object("good"), object("bad"))), Answer::Allow);
        let mut labelled = object("bad");
        labelled["metadata"]["labels"] = json!({"a": "b"});
        assert_eq!(review(&asked(labelled, object("bad"))), Answer::Allow);
        let mut leaving = object("bad");
        leaving["metadata"]["deletionTimestamp"] = json!("2026-11-15T00:00:00Z");
        assert_eq!(review(&asked(leaving, object("good"))), Answer::Allow);
    }
}
