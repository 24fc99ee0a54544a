//! A volume that shows several sources in one directory.

use std::collections::BTreeSet;

use safepoint_machinery::status::{FieldError, FieldPath};
use serde_json::Value;

use super::super::check::{has, int, part, word};
use super::super::containers::check_local_path;
use super::super::{items, items_mut, set_default};
use super::{check_field_file, check_file, check_mode, default_files};
use crate::fault::Problems;

const CLASHES: &str = "conflicting duplicate paths";

pub(super) fn default(volume: &mut Value) {
    set_default(volume, "sources", Value::Null);
    for source in items_mut(volume, "sources") {
        if let Some(token) = source.get_mut("serviceAccountToken") {
            // An hour.
            set_default(token, "expirationSeconds", 3600);
        }
        if let Some(fields) = source.get_mut("downwardAPI") {
            default_files(fields);
        }
    }
}

pub(super) fn check(volume: &Value, at: &FieldPath, problems: &mut Problems) {
    check_mode(volume, "defaultMode", at, problems);
    let mut paths: BTreeSet<&str> = BTreeSet::new();
    for (index, source) in items(volume, "sources").enumerate() {
        let source_at = at.child("sources").index(index);
        let mut count = 0;
        for kind in ["secret", "configMap"].into_iter().filter(|kind| has(source, kind)) {
            count += 1;
            check_keys(part(source, kind), &source_at.child(kind), at, &mut paths, problems);
        }
        if has(source, "downwardAPI") {
            count += 1;
            let place = source_at.child("downwardAPI");
            for file in items(part(source, "downwardAPI"), "items") {
                check_field_file(file, &place, problems);
                claim(&mut paths, word(file, "path"), word(file, "path"), at, problems);
            }
        }
        if has(source, "serviceAccountToken") {
            count += 1;
            check_token(
                part(source, "serviceAccountToken"),
                &source_at.child("serviceAccountToken"),
                at,
                problems,
            );
        }
        count +=
            ["clusterTrustBundle", "podCertificate"].into_iter().filter(|kind| has(source, kind)).count();
        if count > 1 {
            problems.push(FieldError::forbidden(
                &source_at,
                "may not specify more than 1 volume type per source",
            ));
        }
    }
}

fn check_keys<'a>(
    source: &'a Value,
    at: &FieldPath,
    volume_at: &FieldPath,
    paths: &mut BTreeSet<&'a str>,
    problems: &mut Problems,
) {
    let name = word(source, "name");
    if name.is_empty() {
        problems.push(FieldError::required(at.child("name"), ""));
    }
    for (index, file) in items(source, "items").enumerate() {
        check_file(file, &at.child("items").index(index), problems);
        claim(paths, word(file, "path"), name, volume_at, problems);
    }
}

/// No two sources show the same file.
fn claim<'a>(
    paths: &mut BTreeSet<&'a str>,
    path: &'a str,
    shown: &str,
    at: &FieldPath,
    problems: &mut Problems,
) {
    if !path.is_empty() && !paths.insert(path) {
        problems.push(FieldError::invalid(at, shown, CLASHES));
    }
}

fn check_token(token: &Value, at: &FieldPath, volume_at: &FieldPath, problems: &mut Problems) {
    let seconds = int(token, "expirationSeconds").unwrap_or_default();
    let seconds_at = at.child("expirationSeconds");
    if seconds < 600 {
        let why = "may not specify a duration less than 10 minutes";
        problems.push(FieldError::invalid(&seconds_at, seconds, why));
    }
    if seconds > 1 << 32 {
        let why = "may not specify a duration larger than 2^32 seconds";
        problems.push(FieldError::invalid(&seconds_at, seconds, why));
    }
    let path_at = volume_at.child("path");
    match word(token, "path") {
        "" => problems.push(FieldError::required(&path_at, "")),
        path => check_local_path(path, &path_at, problems),
    }
}
