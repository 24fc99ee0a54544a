//! Where the volumes of a pod appear in a container: as directories or as devices.

use std::collections::{BTreeMap, BTreeSet};

use safepoint_machinery::status::{FieldError, FieldPath};
use serde_json::Value;

use super::super::check::{flag, has, part, word};
use super::super::items;
use super::Around;
use crate::fault::Problems;

pub(super) fn check(container: &Value, at: &FieldPath, around: &Around<'_>, problems: &mut Problems) {
    let mounts = places(container, "volumeMounts", "mountPath");
    let devices = places(container, "volumeDevices", "devicePath");
    check_mounts(container, &at.child("volumeMounts"), around, &devices, problems);
    check_devices(container, &at.child("volumeDevices"), around, &mounts, problems);
}

/// The last place of each volume, by its name.
fn places<'a>(container: &'a Value, list: &str, path: &str) -> BTreeMap<&'a str, &'a str> {
    items(container, list).map(|place| (word(place, "name"), word(place, path))).collect()
}

fn check_mounts(
    container: &Value,
    at: &FieldPath,
    around: &Around<'_>,
    devices: &BTreeMap<&str, &str>,
    problems: &mut Problems,
) {
    let mut seen = BTreeSet::new();
    for (index, mount) in items(container, "volumeMounts").enumerate() {
        let (name_at, path_at) = (at.index(index).child("name"), at.index(index).child("mountPath"));
        let (name, path) = (word(mount, "name"), word(mount, "mountPath"));
        if name.is_empty() {
            problems.push(FieldError::required(&name_at, ""));
        }
        if !around.volumes.contains_key(name) {
            problems.push(FieldError::not_found(&name_at, name));
        }
        if path.is_empty() {
            problems.push(FieldError::required(&path_at, ""));
        }
        if !seen.insert(path) {
            problems.push(FieldError::invalid(&path_at, path, "must be unique"));
        }
        if devices.contains_key(name) {
            problems.push(FieldError::invalid(&name_at, name, "must not already exist in volumeDevices"));
        }
        if devices.values().any(|device| *device == path) {
            let why = "must not already exist as a path in volumeDevices";
            problems.push(FieldError::invalid(&path_at, path, why));
        }
        let (sub, expression) = (word(mount, "subPath"), word(mount, "subPathExpr"));
        if !sub.is_empty() {
            check_descending(sub, &at.child("subPath"), problems);
        }
        if !expression.is_empty() {
            if !sub.is_empty() {
                let why = "subPathExpr and subPath are mutually exclusive";
                problems.push(FieldError::invalid(at.index(index).child("subPathExpr"), expression, why));
            }
            check_descending(expression, &at.child("subPathExpr"), problems);
        }
        check_sharing(mount, container, at, problems);
    }
}

/// Which mounts are seen on both sides, and which are only read. The places lack the index: that is Kubernetes' way.
fn check_sharing(mount: &Value, container: &Value, at: &FieldPath, problems: &mut Problems) {
    const MODES: [&str; 3] = ["Bidirectional", "HostToContainer", "None"];
    const DEPTHS: [&str; 3] = ["Disabled", "Enabled", "IfPossible"];
    let mode = mount.get("mountPropagation").and_then(Value::as_str);
    if let Some(mode) = mode {
        let at = at.child("mountPropagation");
        if !MODES.contains(&mode) {
            problems.push(FieldError::not_supported(&at, mode, &MODES));
        }
        if mode == "Bidirectional" && !flag(part(container, "securityContext"), "privileged") {
            let why = "Bidirectional mount propagation is available only to privileged containers";
            problems.push(FieldError::forbidden(&at, why));
        }
    }
    let at = at.child("recursiveReadOnly");
    match mount.get("recursiveReadOnly").and_then(Value::as_str) {
        None | Some("Disabled") => {}
        Some("Enabled" | "IfPossible") => {
            if !flag(mount, "readOnly") {
                problems.push(FieldError::forbidden(&at, "may only be specified when readOnly is true"));
            }
            if mode.is_some_and(|mode| mode != "None") {
                let why = "may only be specified when mountPropagation is None or not specified";
                problems.push(FieldError::forbidden(&at, why));
            }
        }
        Some(other) => problems.push(FieldError::not_supported(&at, other, &DEPTHS)),
    }
}

fn check_devices(
    container: &Value,
    at: &FieldPath,
    around: &Around<'_>,
    mounts: &BTreeMap<&str, &str>,
    problems: &mut Problems,
) {
    let (mut names, mut paths) = (BTreeSet::new(), BTreeSet::new());
    for (index, device) in items(container, "volumeDevices").enumerate() {
        let (name_at, path_at) = (at.index(index).child("name"), at.index(index).child("devicePath"));
        let (name, path) = (word(device, "name"), word(device, "devicePath"));
        if name.is_empty() {
            problems.push(FieldError::required(&name_at, ""));
        } else if !names.insert(name) {
            problems.push(FieldError::invalid(&name_at, name, "must be unique"));
        }
        match around.volumes.get(name) {
            None => problems.push(FieldError::not_found(&name_at, name)),
            Some(volume) if !has(volume, "persistentVolumeClaim") && !has(volume, "ephemeral") => {
                let why =
                    "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode";
                problems.push(FieldError::invalid(&name_at, name, why));
            }
            Some(_) => {}
        }
        if path.is_empty() {
            problems.push(FieldError::required(&path_at, ""));
        }
        if paths.contains(path) {
            problems.push(FieldError::invalid(&path_at, path, "must be unique"));
        }
        if steps_back(path) {
            problems.push(FieldError::invalid(&path_at, path, "can not contain backsteps ('..')"));
        } else {
            paths.insert(path);
        }
        if mounts.contains_key(name) {
            problems.push(FieldError::invalid(&name_at, name, "must not already exist in volumeMounts"));
        }
        if mounts.values().any(|mount| *mount == path) {
            let why = "must not already exist as a path in volumeMounts";
            problems.push(FieldError::invalid(&path_at, path, why));
        }
    }
}

/// A path that stays below where it starts, and does not look like something of the kubelet's.
pub(crate) fn check_local_path(path: &str, at: &FieldPath, problems: &mut Problems) {
    check_descending(path, at, problems);
    if path.starts_with("..") && !path.starts_with("../") {
        problems.push(FieldError::invalid(at, path, "must not start with '..'"));
    }
}

/// A path that never goes up.
pub(crate) fn check_no_backsteps(path: &str, at: &FieldPath, problems: &mut Problems) {
    if steps_back(path) {
        problems.push(FieldError::invalid(at, path, "must not contain '..'"));
    }
}

fn check_descending(path: &str, at: &FieldPath, problems: &mut Problems) {
    if path.starts_with('/') {
        problems.push(FieldError::invalid(at, path, "must be a relative path"));
    }
    check_no_backsteps(path, at, problems);
}

fn steps_back(path: &str) -> bool {
    path.split('/').any(|part| part == "..")
}
