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
            Some(match counterpart(change, all, Change::Stop).and_then(pod) {
                Some(old) => {
                    Difference { fields: fields(&shown(old), &shown(new)), source: Source::BothPods }
                }
                None => {
                    let fields =
                        wanted(new).map(|(path, _, image)| Field { path, before: None, after: image });
                    Difference { fields: fields.collect(), source: Source::NewPod }
                }
            })
        }
        Change::Stop | Change::Config => None,
    }
}

/// What can be said of a change whose before and after the cluster does not have.
pub(crate) fn instead(change: &HeldChange, all: &[HeldChange]) -> String {
    match (change.kind.as_str(), change.change) {
        ("StaticPod", Change::Stop) => "The static pod would end on this node.".to_owned(),
        ("StaticPod", _) => format!(
            "The manifest on the node would be put there or replaced. Before and after only the node has: \
             safepoint static-pod status {}, there.",
            change.name
        ),
        (kind, Change::Config) => format!(
            "The pods on this node that use it read what they had; then they would read what the cluster has now. \
             What they read until then only the node knows{}",
            if kind == "Secret" { ", and of a Secret nothing is shown." } else { "." }
        ),
        (_, Change::Stop) => match counterpart(change, all, Change::Start) {
            Some(start) => format!("It makes way for {}, where before and after are shown.", start.name),
            None if change.to_revision.is_some() => {
                "It would end and be replaced; what replaces it has not come to this node yet.".to_owned()
            }
            None => "It would end, and nothing is known to take its place on this node.".to_owned(),
        },
        (_, Change::Start | Change::Update) => {
            "Before and after are not shown: the pod was not read, or is not there any more.".to_owned()
        }
    }
}

/// What the stop of a pod is to the start of its successor, and the other way round.
fn counterpart<'a>(change: &HeldChange, all: &'a [HeldChange], is: Change) -> Option<&'a HeldChange> {
    let of = |other: &&HeldChange| {
        other.change == is
            && other.kind == "Pod"
            && change.workload.is_some()
            && other.workload == change.workload
            && other.name != change.name
    };
    all.iter().find(of)
}

/// The containers of a pod: where their images stand, their names, and their images.
fn wanted(pod: &Pod) -> impl Iterator<Item = (String, &str, Option<String>)> {
    let spec = || pod.spec.iter();
    let first =
        spec().flat_map(|spec| spec.init_containers.iter().flatten().map(|it| ("initContainers", it)));
    let rest = spec().flat_map(|spec| spec.containers.iter().map(|it| ("containers", it)));
    first
        .chain(rest)
        .map(|(list, it)| (format!("{list}[{}].image", it.name), it.name.as_str(), it.image.clone()))
}

/// The images that run and those that are wanted, where they differ.
fn images(pod: &Pod) -> Vec<Field> {
    let status = || pod.status.iter();
    let first = status().flat_map(|status| status.init_container_statuses.iter().flatten());
    let running = first.chain(status().flat_map(|status| status.container_statuses.iter().flatten()));
    let running: BTreeMap<&str, &str> = running.map(|it| (it.name.as_str(), it.image.as_str())).collect();
    let differs = wanted(pod).filter_map(|(path, name, after)| {
        let before = running.get(name);
        let same =
            before.is_some_and(|before| after.as_deref().is_some_and(|after| is_same_image(before, after)));
        (!same).then(|| Field { path, before: before.map(|before| (*before).to_owned()), after })
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
    fn an_init_container_has_an_image_too() {
        let more = json!({"spec": {"initContainers": [{"name": "first", "image": "first:2"}],
                "containers": [{"name": "main", "image": "web:1"}]},
            "status": {"initContainerStatuses": [{"name": "first", "image": "first:1", "imageID": "", "ready": true, "restartCount": 0}],
                "containerStatuses": [{"name": "main", "image": "web:1", "imageID": "", "ready": true, "restartCount": 0}]}});
        let all = [held("web", "Update")];
        let found = difference(&all[0], &all, &[pod("web", "", &more)]).unwrap();
        assert_eq!(found.fields, [field("initContainers[first].image", Some("first:1"), Some("first:2"))]);
    }

    #[test]
    fn of_every_change_something_is_said_that_is_so() {
        let said = |kind: &str, change: &str, to: Option<&str>| {
            let change =
                HeldChange { kind: kind.into(), to_revision: to.map(Into::into), ..held("old", change) };
            instead(&change, std::slice::from_ref(&change))
        };
        assert!(said("ConfigMap", "Config", None).ends_with("only the node knows."));
        assert!(said("Secret", "Config", None).ends_with("of a Secret nothing is shown."));
        assert!(said("StaticPod", "Update", None).contains("safepoint static-pod status old"));
        assert_eq!(said("StaticPod", "Stop", None), "The static pod would end on this node.");
        assert!(said("Pod", "Stop", None).contains("nothing is known to take its place"));
        assert!(said("Pod", "Stop", Some("b")).contains("be replaced"));
        assert!(said("Pod", "Update", None).starts_with("Before and after are not shown"));
        let all = [held("old", "Stop"), held("new", "Start")];
        assert_eq!(instead(&all[0], &all), "It makes way for new, where before and after are shown.");
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
