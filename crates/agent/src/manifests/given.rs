//! What the cluster has for a static pod at the word of the node's owner, by the StaticPods of its namespace. Pure.
//!
//! Only what the owner decides about (`OTA`) is given. What the hub rolls out by itself has a window and an order that one
//! node does not see, and what is paused is paused for a reason.

use safepoint_api::static_pod::{StaticPodSpec, StrategyType};
use safepoint_manifest::template::{Problem, manifest, problems, sentence};
use safepoint_manifest::{FileName, Manifest, PodKey};
use serde_json::Value;

/// A manifest from the cluster, and the file that it is for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Given {
    pub(super) file: FileName,
    pub(super) text: String,
}

/// What the cluster wants in the place of what is there, or why that is nothing, as the end of a sentence.
pub(super) fn given(
    pod: &PodKey,
    objects: &[Value],
    live: &Manifest,
    staged: Option<&Manifest>,
) -> Result<Given, String> {
    let mut about: Vec<&Value> =
        objects.iter().filter(|object| object["spec"]["staticPodName"] == pod.name()).collect();
    // Of several the oldest that can be carried out counts, as it does for the hub.
    about.sort_by(|one, other| age(one).cmp(&age(other)));
    let mut broken = None;
    for object in about {
        match read(&object["spec"]) {
            Ok(spec) => return of(pod, object, &spec, live, staged),
            Err(found) => {
                let why =
                    format!("StaticPod {} cannot be carried out: {}", name(pod, object), sentence(&found));
                broken.get_or_insert(why);
            }
        }
    }
    Err(broken.unwrap_or_else(|| format!("no StaticPod of the cluster is about it: {}", bring(pod))))
}

/// What its owner can do without the cluster.
pub(super) fn bring(pod: &PodKey) -> String {
    format!("`safepoint static-pod upgrade {pod} -f FILE` takes a manifest from a file")
}

/// What one object gives.
fn of(
    pod: &PodKey,
    object: &Value,
    spec: &StaticPodSpec,
    live: &Manifest,
    staged: Option<&Manifest>,
) -> Result<Given, String> {
    let (name, revision) = (name(pod, object), spec.template.revision());
    if [Some(live), staged].into_iter().flatten().any(|known| known.revision() == Some(&revision)) {
        return Err(format!("StaticPod {name} wants what is here already, revision {revision}"));
    }
    if !text(object, "deletionTimestamp").is_empty() {
        return Err(format!("StaticPod {name} is being deleted: {}", bring(pod)));
    }
    match spec.upgrade_strategy.type_ {
        StrategyType::AdvancedRollingUpdate => {
            return Err(format!(
                "StaticPod {name} is rolled out by the hub, which decides when it is this node's turn: \
                 `safepoint static-pod status {name} --cluster` shows how far it is"
            ));
        }
        StrategyType::Ota if spec.paused => {
            return Err(format!(
                "StaticPod {name}, which wants revision {revision}, is paused: \
                 `safepoint static-pod resume {name}` ends that"
            ));
        }
        StrategyType::Ota => {}
    }
    let file = FileName::new(&spec.static_pod_manifest).map_err(|error| error.to_string())?;
    // What the hub has brought stays known as that, whatever revision it gets.
    let text = manifest(pod.namespace(), pod.name(), &spec.template, live.is_installed());
    Ok(Given { file, text })
}

fn read(spec: &Value) -> Result<StaticPodSpec, Vec<Problem>> {
    let spec: StaticPodSpec = serde_json::from_value(spec.clone())
        .map_err(|error| vec![Problem { field: "spec".into(), text: error.to_string() }])?;
    let problems = problems(&spec);
    if problems.is_empty() { Ok(spec) } else { Err(problems) }
}

/// By this the older of two objects is known. Moments of one zone and one length sort as texts.
fn age(object: &Value) -> (&str, &str) {
    (text(object, "creationTimestamp"), text(object, "uid"))
}

/// An object, as commands name it.
fn name(pod: &PodKey, object: &Value) -> String {
    format!("{}/{}", pod.namespace(), text(object, "name"))
}

fn text<'a>(object: &'a Value, field: &str) -> &'a str {
    object["metadata"][field].as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests;
