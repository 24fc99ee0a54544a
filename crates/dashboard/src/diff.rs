//! Before and after of a held change, as far as the cluster knows both.
//!
//! The cluster has what is wanted. What runs is known to the node; the cluster has it too where the old pod is still there beside
//! its successor, and the images where the pod is changed in place, from its status.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use safepoint_api::node_gate::{Change, HeldChange};
use serde_json::Value;

/// So many differences are shown.
pub(crate) const MOST: usize = 40;
/// A value is cut after so many characters.
const LONGEST: usize = 300;

/// What a change would do to a pod.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Difference {
    pub(crate) fields: Vec<Field>,
    /// How much of the truth this is.
    pub(crate) source: Source,
}

/// One field that differs.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Field {
    pub(crate) path: String,
    pub(crate) before: Option<String>,
    pub(crate) after: Option<String>,
}

/// Where before and after come from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Source {
    /// The old pod and its successor, both whole.
    BothPods,
    /// The wanted pod, and of what runs the images that its status names.
    Images,
    /// A pod that does not run yet.
    NewPod,
}

/// What a held change would do, if the cluster can tell.
pub(crate) fn difference(change: &HeldChange, all: &[HeldChange], pods: &[Pod]) -> Option<Difference> {
    let pod = |change: &HeldChange| {
        pods.iter().find(|pod| {
            pod.namespace().unwrap_or_default() == change.namespace && pod.name_any() == change.name
        })
    };
    if change.kind != "Pod" {
        return None;
    }
    match change.change {
        Change::Update => {
            let fields = images(pod(change)?);
            Some(Difference { fields, source: Source::Images })
        }
        Change::Start => {
            let new = pod(change)?;
            let is_old = |other: &&HeldChange| {
                other.change == Change::Stop
                    && other.kind == "Pod"
                    && change.workload.is_some()
                    && other.workload == change.workload
                    && other.name != change.name
            };
            Some(match all.iter().find(is_old).and_then(pod) {
                Some(old) => {
                    Difference { fields: fields(&shown(old), &shown(new)), source: Source::BothPods }
                }
                None => {
                    let spec = new.spec.iter().flat_map(|spec| &spec.containers);
                    let fields = spec.map(|container| Field {
                        path: format!("containers[{}].image", container.name),
                        before: None,
                        after: container.image.clone(),
                    });
                    Difference { fields: fields.collect(), source: Source::NewPod }
                }
            })
        }
        Change::Stop | Change::Config => None,
    }
}

/// The images that run and those that are wanted, where they differ.
fn images(pod: &Pod) -> Vec<Field> {
    let running = pod.status.iter().flat_map(|status| status.container_statuses.iter().flatten());
    let running: BTreeMap<&str, &str> = running.map(|it| (it.name.as_str(), it.image.as_str())).collect();
    let wanted = pod.spec.iter().flat_map(|spec| &spec.containers);
    let differs = wanted.filter_map(|container| {
        let (before, after) = (running.get(container.name.as_str()), container.image.as_deref());
        let same = before.is_some_and(|before| after.is_some_and(|after| is_same_image(before, after)));
        (!same).then(|| Field {
            path: format!("containers[{}].image", container.name),
            before: before.map(|before| (*before).to_owned()),
            after: after.map(str::to_owned),
        })
    });
    differs.collect()
}

/// A runtime writes the name of an image with its registry.
fn is_same_image(running: &str, wanted: &str) -> bool {
    running == wanted || running.strip_suffix(wanted).is_some_and(|registry| registry.ends_with('/'))
}

/// A pod without what differs between any two.
fn shown(pod: &Pod) -> Value {
    let mut spec = serde_json::to_value(&pod.spec).unwrap_or_default();
    if let Some(spec) = spec.as_object_mut() {
        spec.remove("nodeName");
        // Every pod has these of its own, made by its scheduler and its API server.
        for of_own in ["hostname", "tolerations"] {
            spec.remove(of_own);
        }
        let is_of_own =
            |it: &Value| it["name"].as_str().is_some_and(|name| name.starts_with("kube-api-access-"));
        if let Some(volumes) = spec.get_mut("volumes").and_then(Value::as_array_mut) {
            volumes.retain(|volume| !is_of_own(volume));
        }
        for list in ["containers", "initContainers"] {
            for container in spec.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
                if let Some(mounts) = container.get_mut("volumeMounts").and_then(Value::as_array_mut) {
                    mounts.retain(|mount| !is_of_own(mount));
                }
            }
        }
    }
    const OWN: [&str; 4] = [
        "pod-template-hash",
        "controller-revision-hash",
        "pod-template-generation",
        "statefulset.kubernetes.io/pod-name",
    ];
    let labels: BTreeMap<_, _> =
        pod.labels().iter().filter(|(key, _)| !OWN.contains(&key.as_str())).collect();
    serde_json::json!({"labels": labels, "spec": spec})
}

/// The fields in which two values differ, by path.
fn fields(before: &Value, after: &Value) -> Vec<Field> {
    let (mut old, mut new) = (BTreeMap::new(), BTreeMap::new());
    flatten("", before, &mut old);
    flatten("", after, &mut new);
    let mut all: Vec<Field> = Vec::new();
    for (path, value) in &old {
        if new.get(path) != Some(value) {
            all.push(Field {
                path: path.clone(),
                before: Some(value.clone()),
                after: new.get(path).cloned(),
            });
        }
    }
    for (path, value) in new {
        if !old.contains_key(&path) {
            all.push(Field { path, before: None, after: Some(value) });
        }
    }
    all.sort();
    all
}

fn flatten(path: &str, value: &Value, into: &mut BTreeMap<String, String>) {
    let under = |name: &str| match path {
        "" | "spec" => name.to_owned(),
        _ => format!("{path}.{name}"),
    };
    match value {
        Value::Object(object) => object.iter().for_each(|(name, value)| flatten(&under(name), value, into)),
        // Lists of things with names are compared by name: one that is put in front moves no other.
        Value::Array(list) => {
            for (number, value) in list.iter().enumerate() {
                let name = ["name", "mountPath", "containerPort"].iter().find_map(|key| match &value[key] {
                    Value::String(name) => Some(name.clone()),
                    Value::Number(number) => Some(number.to_string()),
                    _ => None,
                });
                let name = name.unwrap_or_else(|| number.to_string());
                flatten(&format!("{path}[{name}]"), value, into);
            }
        }
        Value::Null => {}
        Value::String(text) => drop(into.insert(path.to_owned(), cut(text))),
        other => drop(into.insert(path.to_owned(), other.to_string())),
    }
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod(name: &str, image: &str, more: &Value) -> Pod {
        let mut pod = json!({"metadata": {"name": name, "namespace": "shop",
            "labels": {"app": "web", "pod-template-hash": name}},
            "spec": {"nodeName": "rover-7", "containers": [{"name": "main", "image": image,
                "volumeMounts": [{"name": format!("kube-api-access-{name}"), "mountPath": "/x"}]}],
                "volumes": [{"name": format!("kube-api-access-{name}")}]}});
        pod.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        serde_json::from_value(pod).unwrap()
    }

    fn held(name: &str, change: &str) -> HeldChange {
        serde_json::from_value(json!({"kind": "Pod", "namespace": "shop", "name": name, "change": change,
            "workload": {"kind": "Deployment", "namespace": "shop", "name": "web"},
            "since": "2026-11-15T12:00:00Z", "why": "held"}))
        .unwrap()
    }

    fn field(path: &str, before: Option<&str>, after: Option<&str>) -> Field {
        Field { path: path.into(), before: before.map(Into::into), after: after.map(Into::into) }
    }

    #[test]
    fn an_upgrade_is_shown_by_the_old_pod_and_its_successor() {
        let all = [held("old", "Stop"), held("new", "Start")];
        let pods = [pod("old", "web:1", &json!({})), pod("new", "web:2", &json!({}))];
        let found = difference(&all[1], &all, &pods).unwrap();
        assert_eq!(found.source, Source::BothPods);
        assert_eq!(found.fields, [field("containers[main].image", Some("web:1"), Some("web:2"))]);
        assert_eq!(difference(&all[0], &all, &pods), None, "it is told once, at the start");
    }

    #[test]
    fn a_change_in_place_is_shown_by_the_images_that_run() {
        let status = json!({"status": {"containerStatuses": [{"name": "main", "image": "docker.io/library/web:1",
            "imageID": "", "ready": true, "restartCount": 0}]}});
        let all = [held("web", "Update")];
        let found = difference(&all[0], &all, &[pod("web", "web:2", &status)]).unwrap();
        let expected = field("containers[main].image", Some("docker.io/library/web:1"), Some("web:2"));
        assert_eq!((found.source, found.fields), (Source::Images, vec![expected]));
        let same = difference(&all[0], &all, &[pod("web", "web:1", &status)]).unwrap();
        assert!(same.fields.is_empty(), "the registry in front of a name is no difference: {same:?}");
    }

    #[test]
    fn things_in_lists_are_compared_by_name() {
        let before = json!({"env": [{"name": "B", "value": "1"}]});
        let after = json!({"env": [{"name": "A", "value": "0"}, {"name": "B", "value": "2"}]});
        assert_eq!(
            fields(&before, &after),
            [
                field("env[A].name", None, Some("A")),
                field("env[A].value", None, Some("0")),
                field("env[B].value", Some("1"), Some("2")),
            ]
        );
    }
}
