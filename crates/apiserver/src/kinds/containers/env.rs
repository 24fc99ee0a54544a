//! The environment of a container, and the fields of its own pod that it may read.

use safepoint_machinery::names;
use safepoint_machinery::status::{FieldError, FieldPath};
use serde_json::Value;

use super::super::check::{each, has, needed_label, part, word};
use super::super::{amounts, items, items_mut, set_default};
use super::check_no_backsteps;
use crate::fault::Problems;

/// The fields that a variable may take its value from.
const FIELDS: [&str; 9] = [
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
];
/// The fields that Kubernetes can name at all, for variables or for files.
const KNOWN: [&str; 14] = [
    "metadata.annotations",
    "metadata.labels",
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.restartPolicy",
    "spec.serviceAccountName",
    "spec.schedulerName",
    "status.phase",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
];
const RESOURCES: [&str; 6] = [
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
];
const UNITS: [&str; 13] = ["1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei"];

pub(super) fn default(container: &mut Value) {
    for variable in items_mut(container, "env") {
        let Some(source) = variable.get_mut("valueFrom") else { continue };
        default_field(source);
        default_resource_field(source);
        if let Some(file) = source.get_mut("fileKeyRef") {
            set_default(file, "optional", false);
        }
    }
}

/// Fills in the version of a field of the pod.
pub(crate) fn default_field(source: &mut Value) {
    if let Some(field) = source.get_mut("fieldRef") {
        super::super::check::drop_empty(field, "apiVersion");
        set_default(field, "apiVersion", "v1");
    }
}

/// Fills in the unit of an amount: zero stands for one.
pub(crate) fn default_resource_field(source: &mut Value) {
    if let Some(field) = source.get_mut("resourceFieldRef") {
        amounts::write(field, "divisor");
        set_default(field, "divisor", "0");
    }
}

pub(super) fn check(container: &Value, at: &FieldPath, problems: &mut Problems) {
    let env_at = at.child("env");
    for (index, variable) in items(container, "env").enumerate() {
        let at = env_at.index(index);
        match word(variable, "name") {
            "" => problems.push(FieldError::required(at.child("name"), "")),
            name => each(problems, &at.child("name"), name, variable_name(name)),
        }
        check_source(variable, &at.child("valueFrom"), problems);
    }
    let from_at = at.child("envFrom");
    for (index, source) in items(container, "envFrom").enumerate() {
        let at = from_at.index(index);
        let prefix = word(source, "prefix");
        each(problems, &at.child("prefix"), prefix, variable_name(prefix));
        let mut count = 0;
        for field in ["configMapRef", "secretRef"].into_iter().filter(|field| has(source, field)) {
            count += 1;
            let at = at.child(field).child("name");
            match word(part(source, field), "name") {
                "" => problems.push(FieldError::required(&at, "")),
                name => each(problems, &at, name, names::dns1123_subdomain(&names::as_prefix(name))),
            }
        }
        let why = match count {
            0 => "must specify one of: `configMapRef` or `secretRef`",
            1 => continue,
            _ => "may not have more than one field specified at a time",
        };
        problems.push(FieldError::invalid(&from_at, "", why));
    }
}

/// Any name will do that a process can have in its environment.
fn variable_name(name: &str) -> Vec<String> {
    if name.chars().all(|c| matches!(c, ' '..='~') && c != '=') {
        return Vec::new();
    }
    vec![
        "a valid environment variable name must consist only of printable ASCII characters other than '='"
            .to_owned(),
    ]
}

fn check_source(variable: &Value, at: &FieldPath, problems: &mut Problems) {
    let Some(source) = variable.get("valueFrom").filter(|source| !source.is_null()) else { return };
    let mut count = 0;
    let mut source_of = |field: &str| {
        let source = source.get(field).filter(|source| !source.is_null());
        count += usize::from(source.is_some());
        source.map(|source| (source, at.child(field)))
    };
    if let Some((field, at)) = source_of("fieldRef") {
        check_field(field, &FIELDS, &at, problems);
    }
    if let Some((field, at)) = source_of("resourceFieldRef") {
        check_resource_field(field, false, &at, problems);
    }
    for kind in ["configMapKeyRef", "secretKeyRef"] {
        if let Some((key, at)) = source_of(kind) {
            check_key(key, &at, problems);
        }
    }
    if let Some((file, at)) = source_of("fileKeyRef") {
        check_file(file, &at, problems);
    }
    let why = match count {
        0 => {
            "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"
        }
        _ if !word(variable, "value").is_empty() => "may not be specified when `value` is not empty",
        1 => return,
        _ => "may not have more than one field specified at a time",
    };
    problems.push(FieldError::invalid(at, "", why));
}

fn check_key(key: &Value, at: &FieldPath, problems: &mut Problems) {
    let name = word(key, "name");
    each(problems, &at.child("name"), name, names::dns1123_subdomain(name));
    match word(key, "key") {
        "" => problems.push(FieldError::required(at.child("key"), "")),
        key => each(problems, &at.child("key"), key, names::config_key(key)),
    }
}

fn check_file(file: &Value, at: &FieldPath, problems: &mut Problems) {
    match word(file, "key") {
        "" => problems.push(FieldError::required(at.child("key"), "")),
        key => each(problems, &at.child("key"), key, variable_name(key)),
    }
    needed_label(problems, &at.child("volumeName"), word(file, "volumeName"));
    match word(file, "path") {
        "" => problems.push(FieldError::required(at.child("path"), "")),
        path => check_no_backsteps(path, &at.child("path"), problems),
    }
}

/// Checks a reference to a field of the pod.
pub(crate) fn check_field(field: &Value, readable: &[&str], at: &FieldPath, problems: &mut Problems) {
    let (version, path) = (word(field, "apiVersion"), word(field, "fieldPath"));
    for (name, text) in [("apiVersion", version), ("fieldPath", path)] {
        if text.is_empty() {
            problems.push(FieldError::required(at.child(name), ""));
            return;
        }
    }
    let path_at = at.child("fieldPath");
    let mut refuse = |why: String| {
        problems.push(FieldError::invalid(&path_at, path, format!("error converting fieldPath: {why}")));
    };
    if version != "v1" {
        return refuse(format!("unsupported pod version: {version}"));
    }
    let entry =
        path.strip_suffix("']").and_then(|path| path.split_once("['")).filter(|(map, _)| !map.is_empty());
    match entry {
        Some(("metadata.annotations", key)) => {
            let key = key.to_lowercase();
            each(problems, at, &key, names::qualified_name(&key));
        }
        Some(("metadata.labels", key)) => each(problems, at, key, names::qualified_name(key)),
        Some(_) => refuse(format!("field label does not support subscript: {path}")),
        None if path == "spec.host" || KNOWN.contains(&path) => {
            let path = if path == "spec.host" { "spec.nodeName" } else { path };
            if !readable.contains(&path) {
                problems.push(FieldError::not_supported(&path_at, path, readable));
            }
        }
        None => refuse(format!("field label not supported: {path}")),
    }
}

/// Checks a reference to what a container may use.
pub(crate) fn check_resource_field(field: &Value, is_file: bool, at: &FieldPath, problems: &mut Problems) {
    let resource = word(field, "resource");
    let is_huge =
        ["limits.hugepages-", "requests.hugepages-"].iter().any(|prefix| resource.starts_with(prefix));
    if is_file && word(field, "containerName").is_empty() {
        problems.push(FieldError::required(at.child("containerName"), ""));
    } else if resource.is_empty() {
        problems.push(FieldError::required(at.child("resource"), ""));
    } else if !RESOURCES.contains(&resource) && !is_huge {
        problems.push(FieldError::not_supported(at.child("resource"), resource, &RESOURCES));
    }
    let Some(divisor) = amounts::read(part(field, "divisor")).filter(|divisor| !divisor.is_zero()) else {
        return;
    };
    let divisor = divisor.to_string();
    let (units, kind): (&[&str], &str) = match resource {
        "limits.cpu" | "requests.cpu" => (&["1m", "1"], "cpu"),
        "limits.memory" | "requests.memory" => (&UNITS, "memory"),
        "limits.ephemeral-storage" | "requests.ephemeral-storage" => (&UNITS, "local ephemeral storage"),
        _ if is_huge => (&UNITS, "hugepages"),
        _ => return,
    };
    if !units.contains(&divisor.as_str()) {
        let listed = if kind == "cpu" { "1m and 1".to_owned() } else { units.join(", ") };
        let why = format!("only divisor's values {listed} are supported with the {kind} resource");
        problems.push(FieldError::invalid(at.child("divisor"), resource, why));
    }
}
