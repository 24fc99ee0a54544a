//! Pods and workloads as people type them: `web-1`, `shop/web-1`, `deployment/web`, `sts/db#2`.

use safepoint_api::{PodRef, WorkloadRef};

use crate::problem::Problem;

/// Something that can be named.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Named {
    Pod(PodRef),
    Workload(WorkloadRef),
}

/// The kinds of workloads, with the short names of kubectl.
const KINDS: [(&str, &[&str]); 7] = [
    ("Deployment", &["deployment", "deployments", "deploy"]),
    ("DaemonSet", &["daemonset", "daemonsets", "ds"]),
    ("StatefulSet", &["statefulset", "statefulsets", "sts"]),
    ("ReplicaSet", &["replicaset", "replicasets", "rs"]),
    ("Job", &["job", "jobs"]),
    ("StaticPod", &["staticpod", "staticpods"]),
    ("Pod", &["pod", "pods", "po"]),
];

/// A pod: `NAME` or `NAMESPACE/NAME`.
pub(crate) fn pod(text: &str, namespace: Option<&str>) -> Result<PodRef, Problem> {
    let (space, name) = match text.split_once('/') {
        Some((space, name)) => (Some(space), name),
        None => (None, text),
    };
    if let (Some(space), Some(namespace)) = (space, namespace)
        && space != namespace
    {
        return Err(Problem::usage(format!("{text} is not in namespace {namespace}: say it once")));
    }
    let namespace = space.or(namespace).unwrap_or("default");
    if name.is_empty() || namespace.is_empty() || name.contains('/') {
        return Err(Problem::usage(format!(
            "{text:?} is not the name of a pod: write NAME or NAMESPACE/NAME"
        )));
    }
    Ok(PodRef { namespace: namespace.to_owned(), name: name.to_owned() })
}

/// A workload: `KIND/NAME`; `sts/NAME#2` is one replica of a StatefulSet.
pub(crate) fn workload(text: &str, namespace: Option<&str>) -> Result<WorkloadRef, Problem> {
    let unreadable =
        || Problem::usage(format!("{text:?} is not a workload: write KIND/NAME, such as deployment/web"));
    let (kind, name) = text.split_once('/').ok_or_else(unreadable)?;
    let (name, ordinal) = match name.split_once('#') {
        Some((name, ordinal)) => (name, Some(ordinal.parse().map_err(|_| unreadable())?)),
        None => (name, None),
    };
    if kind.is_empty() || name.is_empty() || name.contains('/') {
        return Err(unreadable());
    }
    let namespace = namespace.unwrap_or("default").to_owned();
    // A kind that is not in the table is that of somebody's own controller, and is meant as it is written.
    let kind = known(kind).unwrap_or(kind).to_owned();
    Ok(WorkloadRef { kind, namespace, name: name.to_owned(), ordinal })
}

/// `KIND/NAME` is a workload, everything else a pod.
pub(crate) fn named(text: &str, namespace: Option<&str>) -> Result<Named, Problem> {
    let kind = text.split_once('/').and_then(|(kind, _)| known(kind));
    match kind {
        Some("Pod") => {
            let (_, name) = text.split_once('/').unwrap_or_default();
            pod(name, namespace).map(Named::Pod)
        }
        Some(_) => workload(text, namespace).map(Named::Workload),
        None => pod(text, namespace).map(Named::Pod),
    }
}

fn known(kind: &str) -> Option<&'static str> {
    let lower = kind.to_lowercase();
    KINDS.iter().find(|(_, names)| names.contains(&&*lower)).map(|(kind, _)| *kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(namespace: &str, name: &str) -> Named {
        Named::Pod(PodRef { namespace: namespace.into(), name: name.into() })
    }

    fn of(kind: &str, namespace: &str, name: &str, ordinal: Option<i32>) -> Named {
        let (kind, namespace, name) = (kind.into(), namespace.into(), name.into());
        Named::Workload(WorkloadRef { kind, namespace, name, ordinal })
    }

    #[test]
    fn what_people_type_is_understood() {
        for (text, namespace, meant) in [
            ("web-1", None, at("default", "web-1")),
            ("web-1", Some("shop"), at("shop", "web-1")),
            ("shop/web-1", None, at("shop", "web-1")),
            ("pod/web-1", Some("shop"), at("shop", "web-1")),
            ("deploy/web", Some("shop"), of("Deployment", "shop", "web", None)),
            ("DaemonSet/cam", None, of("DaemonSet", "default", "cam", None)),
            ("sts/db#2", None, of("StatefulSet", "default", "db", Some(2))),
        ] {
            assert_eq!(named(text, namespace), Ok(meant), "{text}");
        }
        assert_eq!(workload("CollaSet/c", None).unwrap().kind, "CollaSet");
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        for (text, namespace) in
            [("", None), ("a/b/c", None), ("shop/web", Some("robot")), ("/x", None), ("sts/db#x", None)]
        {
            assert!(named(text, namespace).is_err(), "{text}");
        }
        assert!(workload("web", None).is_err());
    }
}
