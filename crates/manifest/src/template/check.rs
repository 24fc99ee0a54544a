//! Whether a template can be a static pod. Pure.
//!
//! A kubelet runs a static pod without the API server, so it may not need anything from there: no service account, no
//! ConfigMap, no Secret, no claim. A kubelet refuses such a manifest, or runs it and cannot show it; both would be found
//! out node by node. Everything else is the kubelet's to judge.

use k8s_openapi::api::core::v1::PodSpec;
use safepoint_api::names::kubernetes::{CONFIG_HASH, CONFIG_MIRROR, CONFIG_SOURCE};
use safepoint_api::names::openyurt::STATIC_POD_HASH;
use safepoint_api::names::safepoint::static_pod::INSTALLED;
use safepoint_api::static_pod::PodTemplate;
use safepoint_api::static_pod::limits::MANIFEST_NAME;
use serde_json::{Map, Value};

use super::Problem;

/// Fields of a pod's spec that need the API server, or are the kubelet's.
const NOT_IN_A_STATIC_POD: [(&str, &str); 6] = [
    ("serviceAccountName", "a static pod has no service account"),
    ("serviceAccount", "a static pod has no service account"),
    ("imagePullSecrets", "a static pod has no Secrets: give the node's kubelet or runtime the credentials"),
    ("resourceClaims", "a static pod has no resource claims"),
    ("ephemeralContainers", "a static pod has no ephemeral containers"),
    ("nodeName", "the kubelet fills it in"),
];

/// Kinds of volumes that need the API server.
const NOT_A_VOLUME: [(&str, &str); 5] = [
    ("configMap", "a static pod has no ConfigMaps: use a hostPath"),
    ("secret", "a static pod has no Secrets: use a hostPath"),
    ("persistentVolumeClaim", "a static pod has no claims: use a hostPath"),
    ("ephemeral", "a static pod has no claims: use an emptyDir or a hostPath"),
    ("projected", "a static pod has no ConfigMaps, Secrets or tokens: use a hostPath"),
];

/// Annotations that others write.
const RESERVED: [&str; 5] = [CONFIG_MIRROR, CONFIG_HASH, CONFIG_SOURCE, STATIC_POD_HASH, INSTALLED];

struct Found(Vec<Problem>);

pub(super) fn template(template: &PodTemplate) -> Vec<Problem> {
    let mut found = Found(Vec::new());
    let spec = &template.spec;
    for (field, text) in NOT_IN_A_STATIC_POD {
        if spec.get(field).is_some_and(is_something) {
            found.at(&format!("spec.template.spec.{field}"), text);
        }
    }
    let mut seen: Vec<&str> = Vec::new();
    for (list, is_needed) in [("containers", true), ("initContainers", false)] {
        let at = format!("spec.template.spec.{list}");
        let containers = spec.get(list).and_then(Value::as_array);
        if is_needed && containers.is_none_or(Vec::is_empty) {
            found.at(&at, "must name a container");
        }
        for (index, value) in containers.into_iter().flatten().enumerate() {
            container(&mut found, &format!("{at}[{index}]"), value, &mut seen);
        }
    }
    for (index, volume) in spec.get("volumes").and_then(Value::as_array).into_iter().flatten().enumerate() {
        let at = format!("spec.template.spec.volumes[{index}]");
        for (kind, text) in NOT_A_VOLUME {
            let harmless = kind == "projected" && volume.get(kind).is_some_and(is_downward_only);
            if volume.get(kind).is_some_and(is_something) && !harmless {
                found.at(&format!("{at}.{kind}"), text);
            }
        }
    }
    for key in template.metadata.iter().flat_map(|meta| meta.annotations.keys()) {
        if RESERVED.contains(&key.as_str()) {
            found.at(
                &format!("spec.template.metadata.annotations[{key}]"),
                "must be left out: it is written by others",
            );
        }
    }
    // Only what has the wrong type is found by this: fields of a newer Kubernetes pass.
    if found.0.is_empty()
        && let Err(error) = serde_json::from_value::<PodSpec>(Value::Object(spec.clone()))
    {
        found.at("spec.template.spec", &format!("is not the spec of a pod: {error}"));
    }
    found.0
}

/// The names of the pod and of its file. The schema has the same rules; an older one may be in force.
pub(super) fn names(static_pod: &str, manifest: &str) -> Vec<Problem> {
    let mut found = Found(Vec::new());
    let is_part = |part: &str| {
        let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        !part.is_empty() && part.bytes().all(inner) && !part.starts_with('-') && !part.ends_with('-')
    };
    if static_pod.len() > 253 || !static_pod.split('.').all(is_part) {
        found.at("spec.staticPodName", "must be the name of a pod: lower case letters, digits, '-' and '.'");
    }
    let is_file = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    // OpenYurt's defect 13 was a file name that was not the node's: the task refuses where no such file is there.
    if manifest.is_empty()
        || manifest.len() > MANIFEST_NAME
        || manifest.starts_with(['.', '-'])
        || !manifest.bytes().all(is_file)
    {
        found.at(
            "spec.staticPodManifest",
            "must be a file name: letters, digits, '.', '_' and '-', without a folder",
        );
    }
    if manifest.ends_with(".yaml") {
        found.at("spec.staticPodManifest", "leave out .yaml: it is added");
    }
    found.0
}

fn container<'a>(found: &mut Found, at: &str, value: &'a Value, seen: &mut Vec<&'a str>) {
    let text = |field: &str| value.get(field).and_then(Value::as_str).unwrap_or_default();
    let name = text("name");
    if name.is_empty() {
        found.at(&format!("{at}.name"), "must be given");
    } else if seen.contains(&name) {
        found.at(&format!("{at}.name"), "is the name of another container too");
    } else {
        seen.push(name);
    }
    if text("image").is_empty() {
        found.at(&format!("{at}.image"), "must be given");
    }
    let array = |field: &str| value.get(field).and_then(Value::as_array).into_iter().flatten().enumerate();
    for (index, variable) in array("env") {
        for kind in ["configMapKeyRef", "secretKeyRef"] {
            if variable.get("valueFrom").and_then(|from| from.get(kind)).is_some_and(is_something) {
                let text = "a static pod has no ConfigMaps or Secrets: give the value itself";
                found.at(&format!("{at}.env[{index}].valueFrom.{kind}"), text);
            }
        }
    }
    for (index, source) in array("envFrom") {
        for kind in ["configMapRef", "secretRef"] {
            if source.get(kind).is_some_and(is_something) {
                let text = "a static pod has no ConfigMaps or Secrets: give the values themselves";
                found.at(&format!("{at}.envFrom[{index}].{kind}"), text);
            }
        }
    }
}

/// Whether a projected volume has nothing but what the kubelet knows by itself.
fn is_downward_only(projected: &Value) -> bool {
    let sources = projected.get("sources").and_then(Value::as_array);
    sources.is_some_and(|sources| {
        sources.iter().all(|source| {
            source.as_object().is_some_and(|kinds| kinds.keys().all(|kind| kind == "downwardAPI"))
        })
    })
}

/// Null, and an empty text, list or object, say nothing.
fn is_something(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        // A volume of a kind with all its defaults is one.
        Value::Object(Map { .. }) | Value::Bool(_) | Value::Number(_) => true,
    }
}

// === impl Found ===

impl Found {
    fn at(&mut self, field: &str, text: &str) {
        self.0.push(Problem { field: field.to_owned(), text: text.to_owned() });
    }
}
