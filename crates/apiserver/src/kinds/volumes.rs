//! The volumes of a pod: what is filled in, and what must hold.
//!
//! The sources that a single machine has are checked as Kubernetes checks them. Those of clouds and storage systems
//! are kept as they are: nobody here could mount them, and who can will look.

mod projected;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use safepoint_machinery::meta;
use safepoint_machinery::status::{FieldError, FieldPath};
use serde_json::{Value, json};

use super::check::{drop_empty, has, int, needed_label, one_of, one_of_if_any, part, set, word};
use super::containers::{
    check_field, check_local_path, check_no_backsteps, check_resource_field, default_field,
    default_resource_field, pull_policy,
};
use super::{amounts, items, items_mut, set_default};
use crate::fault::Problems;

/// The mode of files whose volume does not name one: 0644.
const FILE_MODE: i64 = 0o644;
const MODE_TEXT: &str = "must be a number between 0 and 0777 (octal), both inclusive";

/// All sources, in the order in which Kubernetes looks for them.
const SOURCES: [&str; 30] = [
    "emptyDir",
    "hostPath",
    "gitRepo",
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "secret",
    "nfs",
    "iscsi",
    "glusterfs",
    "flocker",
    "persistentVolumeClaim",
    "rbd",
    "cinder",
    "cephfs",
    "quobyte",
    "downwardAPI",
    "fc",
    "flexVolume",
    "configMap",
    "azureFile",
    "vsphereVolume",
    "photonPersistentDisk",
    "portworxVolume",
    "azureDisk",
    "storageos",
    "projected",
    "scaleIO",
    "csi",
    "ephemeral",
    "image",
];

/// The fields of a pod that a file may show.
const FIELDS: [&str; 5] =
    ["metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid"];

const HOST_PATH_TYPES: [&str; 8] =
    ["", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket"];

// === defaults ===

/// Fills in what was left out of a volume.
pub(super) fn default(volume: &mut Value) {
    if !SOURCES.iter().any(|source| has(volume, source)) {
        set(volume, "emptyDir", json!({}));
    }
    for source in ["secret", "configMap", "downwardAPI", "projected"] {
        if let Some(files) = volume.get_mut(source) {
            set_default(files, "defaultMode", FILE_MODE);
        }
    }
    if let Some(empty) = volume.get_mut("emptyDir") {
        drop_empty(empty, "medium");
        amounts::write(empty, "sizeLimit");
    }
    if let Some(path) = volume.get_mut("hostPath") {
        set_default(path, "type", "");
    }
    if let Some(image) = volume.get_mut("image") {
        let policy = pull_policy(word(image, "reference"));
        drop_empty(image, "pullPolicy");
        set_default(image, "pullPolicy", policy);
    }
    if let Some(fields) = volume.get_mut("downwardAPI") {
        default_files(fields);
    }
    if let Some(projected) = volume.get_mut("projected") {
        projected::default(projected);
    }
}

fn default_files(fields: &mut Value) {
    for file in items_mut(fields, "items") {
        default_field(file);
        default_resource_field(file);
    }
}

// === rules ===

/// Checks the volumes of a pod, and returns those that are good by name.
pub(super) fn check<'a>(
    pod: &'a Value,
    at: &FieldPath,
    problems: &mut Problems,
) -> BTreeMap<&'a str, &'a Value> {
    let spec = part(pod, "spec");
    let claims: Vec<String> = items(spec, "volumes")
        .filter(|volume| has(volume, "ephemeral"))
        .filter_map(|volume| Some(format!("{}-{}", meta::name(pod)?, word(volume, "name"))))
        .collect();
    let mut good = BTreeMap::new();
    for (index, volume) in items(spec, "volumes").enumerate() {
        let at = at.index(index);
        let before = problems.len();
        check_source(volume, &at, problems);
        let name = word(volume, "name");
        needed_label(problems, &at.child("name"), name);
        if good.contains_key(name) {
            problems.push(FieldError::duplicate(at.child("name"), name));
        }
        if problems.len() == before {
            good.insert(name, volume);
        }
        let claim = word(part(volume, "persistentVolumeClaim"), "claimName");
        if claims.iter().any(|made| made == claim) {
            let why = "must not reference a PVC that gets created for an ephemeral volume";
            let at = at.child("persistentVolumeClaim").child("claimName");
            problems.push(FieldError::invalid(&at, claim, why));
        }
    }
    good
}

fn check_source(volume: &Value, at: &FieldPath, problems: &mut Problems) {
    let mut found = SOURCES.iter().filter(|source| has(volume, source));
    let Some(source) = found.next() else {
        problems.push(FieldError::required(at, "must specify a volume type"));
        return;
    };
    let others: Vec<&&str> = found.collect();
    check_one(source, part(volume, source), &at.child(source), problems);
    for other in others {
        // Kubernetes has a typo here, and tools match on fields.
        let named = if *other == "downwardAPI" { "downwarAPI" } else { other };
        problems.push(FieldError::forbidden(at.child(named), "may not specify more than 1 volume type"));
    }
}

fn check_one(source: &str, volume: &Value, at: &FieldPath, problems: &mut Problems) {
    let mut need = |field: &str| {
        let is_missing = word(volume, field).is_empty();
        if is_missing {
            problems.push(FieldError::required(at.child(field), ""));
        }
        !is_missing
    };
    match source {
        "emptyDir" => {
            let size = amounts::read(part(volume, "sizeLimit"));
            if size.is_some_and(|size| size.is_negative()) {
                let why = "SizeLimit field must be a valid resource quantity";
                problems.push(FieldError::forbidden(at.child("sizeLimit"), why));
            }
        }
        "hostPath" if need("path") => {
            check_no_backsteps(word(volume, "path"), &at.child("path"), problems);
            let kind = word(volume, "type");
            one_of_if_any(problems, &at.child("type"), kind, &HOST_PATH_TYPES);
        }
        "secret" => {
            need("secretName");
            check_files(volume, at, problems);
        }
        "configMap" => {
            need("name");
            check_files(volume, at, problems);
        }
        "persistentVolumeClaim" => {
            need("claimName");
        }
        "nfs" => {
            need("server");
            need("path");
            let path = word(volume, "path");
            if !path.starts_with('/') {
                problems.push(FieldError::invalid(at.child("path"), path, "must be an absolute path"));
            }
        }
        "downwardAPI" => {
            check_mode(volume, "defaultMode", at, problems);
            // The place of a problem is the volume, not the file: that is how Kubernetes says it.
            items(volume, "items").for_each(|file| check_field_file(file, at, problems));
        }
        "projected" => projected::check(volume, at, problems),
        "image" => {
            need("reference");
            let policy = word(volume, "pullPolicy");
            one_of(problems, &at.child("pullPolicy"), policy, &["Always", "IfNotPresent", "Never"]);
        }
        "ephemeral" if !has(volume, "volumeClaimTemplate") => {
            problems.push(FieldError::required(at.child("volumeClaimTemplate"), ""));
        }
        _ => {}
    }
}

fn check_mode(object: &Value, field: &str, at: &FieldPath, problems: &mut Problems) {
    if let Some(mode) = int(object, field).filter(|mode| !(0..=0o777).contains(mode)) {
        problems.push(FieldError::invalid(at.child(field), mode, MODE_TEXT));
    }
}

fn check_files(volume: &Value, at: &FieldPath, problems: &mut Problems) {
    check_mode(volume, "defaultMode", at, problems);
    for (index, file) in items(volume, "items").enumerate() {
        check_file(file, &at.child("items").index(index), problems);
    }
}

/// A key and the file that it becomes.
fn check_file(file: &Value, at: &FieldPath, problems: &mut Problems) {
    for field in ["key", "path"] {
        if word(file, field).is_empty() {
            problems.push(FieldError::required(at.child(field), ""));
        }
    }
    check_local_path(word(file, "path"), &at.child("path"), problems);
    check_mode(file, "mode", at, problems);
}

/// A file that shows a field of the pod.
fn check_field_file(file: &Value, at: &FieldPath, problems: &mut Problems) {
    let path = word(file, "path");
    if path.is_empty() {
        problems.push(FieldError::required(at.child("path"), ""));
    }
    check_local_path(path, &at.child("path"), problems);
    match (has(file, "fieldRef"), has(file, "resourceFieldRef")) {
        (true, also) => {
            check_field(part(file, "fieldRef"), &FIELDS, &at.child("fieldRef"), problems);
            if also {
                let why = "fieldRef and resourceFieldRef can not be specified simultaneously";
                problems.push(FieldError::invalid(at, "resource", why));
            }
        }
        (false, true) => {
            check_resource_field(
                part(file, "resourceFieldRef"),
                true,
                &at.child("resourceFieldRef"),
                problems,
            );
        }
        (false, false) => {
            problems.push(FieldError::required(at, "one of fieldRef and resourceFieldRef is required"));
        }
    }
    check_mode(file, "mode", at, problems);
}
