//! What a pod gets that its author left out.

use serde_json::{Map, Value, json};

use super::super::check::{drop_empty, flag, int, object_at, set, word};
use super::super::containers;
use super::super::{amounts, items, items_mut, remove, set_default, volumes};

/// Lists that are written even when they are empty.
const KEPT_LISTS: [&str; 1] = ["containers"];
/// Maps, as opposed to parts whose being there says something: `emptyDir: {}`.
const MAPS: [&str; 7] =
    ["nodeSelector", "limits", "requests", "overhead", "matchLabels", "labels", "annotations"];
/// Flags that are off when they are not there. Others say something by being off.
const FLAGS: [&str; 7] = ["hostNetwork", "hostPID", "hostIPC", "stdin", "stdinOnce", "tty", "readOnly"];
/// Numbers that are zero when they are not there.
const NUMBERS: [&str; 2] = ["hostPort", "initialDelaySeconds"];
/// Texts that are empty when they are not there.
const TEXTS: [&str; 16] = [
    "hostIP",
    "subPath",
    "subPathExpr",
    "workingDir",
    "hostname",
    "subdomain",
    "nodeName",
    "serviceAccountName",
    "serviceAccount",
    "priorityClassName",
    "schedulerName",
    "restartPolicy",
    "dnsPolicy",
    "host",
    "prefix",
    "effect",
];

pub(super) fn fill(pod: &mut Value) {
    if let Some(spec) = object_at(pod, "spec") {
        tidy(spec, "");
        fill_spec(spec);
    }
    if let Some(status) = object_at(pod, "status") {
        fill_status(status);
    }
}

/// Leaves out what Go leaves out, so that a pod looks the same whoever wrote it.
fn tidy(value: &mut Value, above: &str) {
    match value {
        Value::Object(map) => {
            // What is inside comes first: a map may have held nothing but silence.
            for (key, value) in map.iter_mut() {
                tidy(value, key);
            }
            map.retain(|key, value| !is_silent(key, value, above));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| tidy(item, above)),
        _ => {}
    }
}

fn is_silent(key: &str, value: &Value, above: &str) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty() && !KEPT_LISTS.contains(&key),
        Value::Object(map) => map.is_empty() && MAPS.contains(&key),
        Value::Bool(flag) => !flag && FLAGS.contains(&key),
        Value::Number(number) => number.as_i64() == Some(0) && NUMBERS.contains(&key),
        // A value is optional in the environment, and not in the header of a request.
        Value::String(text) => {
            text.is_empty()
                && (TEXTS.contains(&key) || above == "tolerations" || (above == "env" && key == "value"))
        }
    }
}

fn fill_spec(spec: &mut Value) {
    for (field, value) in [
        ("restartPolicy", json!("Always")),
        ("dnsPolicy", json!("ClusterFirst")),
        ("schedulerName", json!("default-scheduler")),
        ("securityContext", json!({})),
        ("terminationGracePeriodSeconds", json!(30)),
        ("enableServiceLinks", json!(true)),
    ] {
        set_default(spec, field, value);
    }
    if int(spec, "terminationGracePeriodSeconds").is_some_and(|seconds| seconds < 0) {
        set(spec, "terminationGracePeriodSeconds", 1);
    }
    name_account(spec);
    for list in ["containers", "initContainers", "ephemeralContainers"] {
        items_mut(spec, list).for_each(containers::default);
    }
    if flag(spec, "hostNetwork") {
        for list in ["containers", "initContainers"] {
            items_mut(spec, list).for_each(containers::default_host_ports);
        }
    }
    containers::default_pod_resources(spec);
    amounts::write_all(spec, "overhead");
    items_mut(spec, "volumes").for_each(volumes::default);
    fill_priority(spec);
    fill_tolerations(spec);
}

/// The account has an old name and a new one; the new one wins.
fn name_account(spec: &mut Value) {
    let name = match word(spec, "serviceAccountName") {
        "" => word(spec, "serviceAccount"),
        name => name,
    }
    .to_owned();
    for field in ["serviceAccountName", "serviceAccount"] {
        if name.is_empty() {
            remove(spec, field);
        } else {
            set(spec, field, name.as_str());
        }
    }
}

/// There are no priority classes but the two that Kubernetes always has.
fn fill_priority(spec: &mut Value) {
    let priority: i64 = match word(spec, "priorityClassName") {
        "system-cluster-critical" => 2_000_000_000,
        "system-node-critical" => 2_000_001_000,
        _ => 0,
    };
    set_default(spec, "priority", priority);
    set_default(spec, "preemptionPolicy", "PreemptLowerPriority");
}

/// A pod stays for a while on a node that is not heard of.
fn fill_tolerations(spec: &mut Value) {
    const SECONDS: i64 = 300;
    let missing: Vec<&str> = ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"]
        .into_iter()
        .filter(|taint| {
            !items(spec, "tolerations").any(|toleration| {
                let (key, effect) = (word(toleration, "key"), word(toleration, "effect"));
                (key == *taint || key.is_empty()) && matches!(effect, "NoExecute" | "")
            })
        })
        .collect();
    if missing.is_empty() {
        return;
    }
    set_default(spec, "tolerations", json!([]));
    if let Some(tolerations) = spec.get_mut("tolerations").and_then(Value::as_array_mut) {
        tolerations.extend(missing.into_iter().map(|key| {
            json!({"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": SECONDS})
        }));
    }
}

fn fill_status(status: &mut Value) {
    let lists = [
        "conditions",
        "podIPs",
        "hostIPs",
        "containerStatuses",
        "initContainerStatuses",
        "ephemeralContainerStatuses",
    ];
    let texts =
        ["phase", "message", "reason", "nominatedNodeName", "hostIP", "podIP", "startTime", "qosClass"];
    for field in lists.into_iter().chain(texts) {
        drop_empty(status, field);
    }
    // The old field is the first of the new ones. Where they differ, an old kubelet is at work and means the old one.
    let first = items(status, "podIPs").next().map(|first| word(first, "ip").to_owned());
    let own = word(status, "podIP").to_owned();
    match first {
        Some(first) if own.is_empty() => set(status, "podIP", first),
        first if !own.is_empty() && first.as_ref() != Some(&own) => {
            set(status, "podIPs", json!([{ "ip": own }]));
        }
        _ => {}
    }
    for condition in items_mut(status, "conditions") {
        for field in ["lastProbeTime", "lastTransitionTime"] {
            set_default(condition, field, Value::Null);
        }
    }
    for list in ["containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses"] {
        for container in items_mut(status, list) {
            fill_container_status(container);
        }
    }
}

fn fill_container_status(status: &mut Value) {
    for field in ["state", "lastState"] {
        set_default(status, field, Value::Object(Map::new()));
        if let Some(state) = status.get_mut(field) {
            fill_state(state);
        }
    }
    set_default(status, "ready", false);
    set_default(status, "restartCount", 0);
    for field in ["name", "image", "imageID"] {
        set_default(status, field, "");
    }
    drop_empty(status, "containerID");
}

fn fill_state(state: &mut Value) {
    if let Some(running) = state.get_mut("running").filter(|running| running.is_object()) {
        set_default(running, "startedAt", Value::Null);
    }
    if let Some(ended) = state.get_mut("terminated").filter(|ended| ended.is_object()) {
        set_default(ended, "exitCode", 0);
        for field in ["startedAt", "finishedAt"] {
            set_default(ended, field, Value::Null);
        }
    }
}
