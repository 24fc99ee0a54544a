//! Which pods are a workload's, by their names: what has happened to pods that are gone is known by their names only.

use safepoint_api::WorkloadRef;

use crate::view::log::Told;

/// The letters of the endings that Kubernetes makes up, which spell no words.
const MADE_UP: &str = "bcdfghjklmnpqrstvwxz2456789";
/// How many of them.
const LONG: usize = 5;

/// Whether something was told of a pod that is named as the pods of this workload are.
pub(crate) fn is_named_as(of: &WorkloadRef, told: &Told) -> bool {
    if told.kind != "Pod" || told.namespace != of.namespace {
        return false;
    }
    if of.kind == "Pod" {
        return told.name == of.name;
    }
    let Some(ending) = told.name.strip_prefix(&of.name).and_then(|rest| rest.strip_prefix('-')) else {
        return false;
    };
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match (of.kind.as_str(), of.ordinal) {
        // Its mirror pod has the name of the node at its end.
        ("StaticPod", _) => told.node.as_deref() == Some(ending),
        (_, Some(ordinal)) => ending == ordinal.to_string(),
        ("StatefulSet", None) => is_number(ending),
        ("ReplicaSet" | "DaemonSet" | "ReplicationController", None) => is_made_up(ending, LONG),
        ("Deployment", None) => ending
            .split_once('-')
            .is_some_and(|(template, own)| is_made_up(template, template.len()) && is_made_up(own, LONG)),
        // `NAME-TIME-abcde` of a CronJob, `NAME-INDEX-abcde` of a Job, and whatever others do.
        _ => is_made_up(ending.rsplit('-').next().unwrap_or_default(), LONG),
    }
}

fn is_made_up(text: &str, long: usize) -> bool {
    !text.is_empty() && text.len() == long && text.chars().all(|letter| MADE_UP.contains(letter))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(name: &str) -> Told {
        let event = serde_json::json!({"metadata": {}, "involvedObject": {"kind": "Pod", "namespace": "shop", "name": name},
            "source": {"host": "rover-7"}});
        Told::of(serde_json::from_value(event).unwrap())
    }

    fn is(kind: &str, ordinal: Option<i32>, pod: &str) -> bool {
        let of = WorkloadRef { kind: kind.into(), namespace: "shop".into(), name: "web".into(), ordinal };
        is_named_as(&of, &told(pod))
    }

    #[test]
    fn pods_are_known_by_the_names_that_their_controllers_give_them() {
        for (kind, ordinal, own, other) in [
            ("Pod", None, "web", "web-2"),
            ("Deployment", None, "web-7d4b9c8f6d-x2x4z", "web-admin-7d4b9c8f6d-x2x4z"),
            ("Deployment", None, "web-5f-bcdfg", "web-x2x4z"),
            ("ReplicaSet", None, "web-x2x4z", "web-7d4b9c8f6d-x2x4z"),
            ("DaemonSet", None, "web-x2x4z", "web-admin"),
            ("StatefulSet", None, "web-12", "web-x2x4z"),
            ("StatefulSet", Some(1), "web-1", "web-11"),
            ("StaticPod", None, "web-rover-7", "web-rover-8"),
            ("CronJob", None, "web-29384756-x2x4z", "web-29384756"),
        ] {
            assert!(is(kind, ordinal, own), "{own} is of the {kind}");
            assert!(!is(kind, ordinal, other), "{other} is not of the {kind}");
        }
    }

    #[test]
    fn a_pod_of_another_namespace_and_what_is_no_pod_is_not_of_it() {
        let of =
            WorkloadRef { kind: "Pod".into(), namespace: "shop".into(), name: "web".into(), ordinal: None };
        assert!(is_named_as(&of, &told("web")));
        assert!(!is_named_as(&of, &Told { namespace: "other".into(), ..told("web") }));
        assert!(!is_named_as(&of, &Told { kind: "ConfigMap".into(), ..told("web") }));
    }
}
