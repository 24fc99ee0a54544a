//! What must hold for a pod's share of the network and of the other things of its node.

use safepoint_machinery::names;
use safepoint_machinery::status::{FieldError, FieldPath};
use serde_json::Value;

use super::super::check::{each, flag, int, ip, part, word};
use super::super::items;
use crate::fault::Problems;

pub(super) fn check_host_network(spec: &Value, at: &FieldPath, problems: &mut Problems) {
    if !flag(spec, "hostNetwork") {
        return;
    }
    for (index, container) in items(spec, "containers").enumerate() {
        let at = at.child("containers").index(index).child("ports");
        for (index, port) in items(container, "ports").enumerate() {
            let number = |field: &str| int(port, field).unwrap_or_default();
            if number("hostPort") != number("containerPort") {
                let why = "must match `containerPort` when `hostNetwork` is true";
                problems.push(FieldError::invalid(
                    at.index(index).child("hostPort"),
                    number("hostPort"),
                    why,
                ));
            }
        }
    }
}

pub(super) fn check_dns(spec: &Value, at: &FieldPath, problems: &mut Problems) {
    const MOST_SERVERS: usize = 3;
    const MOST_SEARCHES: usize = 32;
    const MOST_CHARACTERS: usize = 2048;
    let config = part(spec, "dnsConfig");
    let texts = |field: &str| -> Vec<&str> { items(config, field).filter_map(Value::as_str).collect() };
    let (servers, searches) = (texts("nameservers"), texts("searches"));
    if word(spec, "dnsPolicy") == "None" && (config.is_null() || servers.is_empty()) {
        problems.push(match config.is_null() {
            true => FieldError::required(at, "must provide `dnsConfig` when `dnsPolicy` is None"),
            false => FieldError::required(
                at.child("nameservers"),
                "must provide at least one DNS nameserver when `dnsPolicy` is None",
            ),
        });
        return;
    }
    if servers.len() > MOST_SERVERS {
        let why = format!("must not have more than {MOST_SERVERS} nameservers");
        problems.push(FieldError::invalid(at.child("nameservers"), servers.clone(), why));
    }
    for (index, server) in servers.iter().enumerate() {
        ip(problems, &at.child("nameservers").index(index), server);
    }
    let at_searches = at.child("searches");
    if searches.len() > MOST_SEARCHES {
        let why = format!("must not have more than {MOST_SEARCHES} search paths");
        problems.push(FieldError::invalid(&at_searches, searches.clone(), why));
    }
    if searches.join(" ").len() > MOST_CHARACTERS {
        let why = format!(
            "must not have more than {MOST_CHARACTERS} characters (including spaces) in the search list"
        );
        problems.push(FieldError::invalid(&at_searches, searches.clone(), why));
    }
    for (index, search) in searches.iter().enumerate().filter(|(_, search)| **search != ".") {
        let search = search.strip_suffix('.').unwrap_or(search);
        // An underscore is fine here, though not at the end of a part.
        if !names::dns1123_subdomain(&plain_search(search)).is_empty() {
            let why = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' \
                       or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used \
                       for validation is '_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*')";
            problems.push(FieldError::invalid(at_searches.index(index), search, why));
        }
    }
    for (index, option) in items(config, "options").enumerate() {
        if word(option, "name").is_empty() {
            problems.push(FieldError::required(at.child("options").index(index), "must not be empty"));
        }
    }
}

/// A search path without its underscores.
fn plain_search(search: &str) -> String {
    let parts: Vec<String> =
        search.split('.').map(|part| part.strip_prefix('_').unwrap_or(part).replace('_', "-")).collect();
    parts.join(".")
}

pub(super) fn check_host_users(spec: &Value, at: &FieldPath, problems: &mut Problems) {
    if part(spec, "hostUsers").as_bool() != Some(false) {
        return;
    }
    for (field, shown) in [("hostNetwork", "hostNetwork"), ("hostPID", "HostPID"), ("hostIPC", "HostIPC")] {
        if flag(spec, field) {
            problems.push(FieldError::forbidden(at.child(shown), "when `hostUsers` is false"));
        }
    }
}

pub(super) fn check_aliases(spec: &Value, at: &FieldPath, problems: &mut Problems) {
    for (index, alias) in items(spec, "hostAliases").enumerate() {
        let at = at.index(index);
        ip(problems, &at.child("ip"), word(alias, "ip"));
        for (index, name) in
            items(alias, "hostnames").map(|name| name.as_str().unwrap_or_default()).enumerate()
        {
            each(problems, &at.child("hostnames").index(index), name, names::dns1123_subdomain(name));
        }
    }
}
