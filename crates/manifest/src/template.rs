//! A StaticPod as a manifest: whether it can be one, and how that is written. Pure.
//!
//! Hub, agent and command line go by this. What cannot be carried out is refused by each of them in the same words, and the
//! manifest of a revision is the same text whoever has written it.

mod check;

use std::fmt;

use safepoint_api::names::openyurt::STATIC_POD_HASH;
use safepoint_api::names::safepoint::static_pod::INSTALLED;
use safepoint_api::static_pod::{PodTemplate, StaticPodSpec};
use serde_json::{Map, json};

/// What cannot be carried out, and where it stands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Problem {
    /// Such as `spec.template.spec.containers[0].image`.
    pub field: String,
    /// What is wrong with it.
    pub text: String,
}

/// Everything that keeps a spec from being a static pod.
pub fn problems(spec: &StaticPodSpec) -> Vec<Problem> {
    let mut problems = check::template(&spec.template);
    let named = spec.template.metadata.as_ref().and_then(|meta| meta.name.as_ref());
    if named.is_some_and(|name| *name != spec.static_pod_name) {
        let text = format!("must be left out or {:?}", spec.static_pod_name);
        problems.push(Problem { field: "spec.template.metadata.name".into(), text });
    }
    problems.extend(check::names(&spec.static_pod_name, &spec.static_pod_manifest));
    problems
}

/// All problems as one sentence.
pub fn sentence(problems: &[Problem]) -> String {
    problems.iter().map(Problem::to_string).collect::<Vec<_>>().join("; ")
}

/// The manifest of a static pod; `installed`, if it is for a node that the hub has brought it to.
///
/// It is written as JSON, which is YAML too: a kubelet reads YAML by an older standard than most that write it, and takes a
/// plain `on` for true.
pub fn manifest(namespace: &str, name: &str, template: &PodTemplate, installed: bool) -> String {
    let metadata = template.metadata.clone().unwrap_or_default();
    let mut annotations = metadata.annotations;
    annotations.insert(STATIC_POD_HASH.to_owned(), template.revision());
    if installed {
        annotations.insert(INSTALLED.to_owned(), "true".to_owned());
    }
    let mut meta = Map::from_iter([
        ("name".to_owned(), json!(name)),
        ("namespace".to_owned(), json!(namespace)),
        ("annotations".to_owned(), json!(annotations)),
    ]);
    if !metadata.labels.is_empty() {
        meta.insert("labels".to_owned(), json!(metadata.labels));
    }
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": template.spec});
    format!("{pod:#}\n")
}

// === impl Problem ===

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.text)
    }
}

#[cfg(test)]
mod tests;
