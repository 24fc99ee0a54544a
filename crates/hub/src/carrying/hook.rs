//! New pods are born with the annotation of their workload.

use safepoint_api::names::{kubeedge, safepoint};
use serde_json::{Value, json};

use super::decide::{Act, annotations, decide};
use super::owners::Owners;
use crate::pod::Pod;
use crate::webhook::{Answer, Entry, Flavour, Hook, PATIENCE, Request, Reviewing, Rule, SideEffects};

/// The mutating webhook for new pods.
pub(crate) struct Carry {
    pub(crate) owners: Owners,
}

// === impl Carry ===

impl Hook for Carry {
    fn entry(&self) -> Entry {
        Entry {
            name: "carry.safepoint.dev",
            path: "/carry",
            flavour: Flavour::Mutating,
            rules: vec![Rule::core("pods", &["CREATE"])],
            labels: &[],
            condition: None,
            side_effects: SideEffects::None,
            patience: PATIENCE,
        }
    }

    fn review<'a>(&'a self, request: &'a Request) -> Reviewing<'a> {
        Box::pin(async move {
            let pod = Pod::read(&request.namespace, &request.object);
            let workload = match &pod.owner {
                Some(owner) => self.owners.workload(&request.namespace, owner).await,
                None => None,
            };
            match decide(&pod.marks, pod.ending, workload.as_ref()) {
                Some(act @ Act::Arm { .. }) => Answer::Patch(patch(&request.object, &act)),
                // A template that carries our mark would make pods that nobody takes it off.
                Some(act @ Act::Disarm) => Answer::Patch(patch(&request.object, &act)),
                None => Answer::Allow,
            }
        })
    }
}

/// The same change as a JSON patch, which needs the map to be there.
fn patch(pod: &Value, act: &Act) -> Vec<Value> {
    let present = pod.pointer("/metadata/annotations").and_then(Value::as_object);
    let mut operations = Vec::new();
    if present.is_none() {
        operations.push(json!({"op": "add", "path": "/metadata/annotations", "value": {}}));
    }
    let wanted = annotations(act);
    for key in [kubeedge::HOLD_UPGRADE, safepoint::HOLD_CARRIED] {
        let path = format!("/metadata/annotations/{}", key.replace('~', "~0").replace('/', "~1"));
        let is_there = present.is_some_and(|present| present.contains_key(key));
        match &wanted[key] {
            Value::Null if is_there => operations.push(json!({"op": "remove", "path": path})),
            Value::Null => {}
            value => operations.push(json!({"op": "add", "path": path, "value": value})),
        }
    }
    operations
}

#[cfg(test)]
mod tests {
    use safepoint_machinery::patch::json as apply;

    use super::*;

    fn patched(pod: &Value, act: &Act) -> Value {
        apply(pod, &Value::Array(patch(pod, act))).unwrap()["metadata"]["annotations"].clone()
    }

    #[test]
    fn the_annotations_are_put_on_whatever_the_pod_has() {
        let armed = json!({"edge.kubeedge.io/hold-upgrade": "true", "safepoint.dev/hold-carried-from": "Deployment/web"});
        let act = Act::Arm { from: "Deployment/web".into() };
        for pod in [json!({"metadata": {}}), json!({"metadata": {"annotations": {}}})] {
            assert_eq!(patched(&pod, &act), armed, "{pod}");
        }
        let pod = json!({"metadata": {"annotations": {"note": "kept"}}});
        assert_eq!(patched(&pod, &act)["note"], "kept");
    }

    #[test]
    fn what_was_never_there_is_not_taken_off() {
        let pod =
            json!({"metadata": {"annotations": {"safepoint.dev/hold-carried-from": "x", "note": "kept"}}});
        assert_eq!(patched(&pod, &Act::Disarm), json!({"note": "kept"}));
    }
}
