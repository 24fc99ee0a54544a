//! What containers and pods ask for and may use, and the quality of service that follows.

use std::collections::{BTreeMap, BTreeSet};

use safepoint_machinery::names;
use safepoint_machinery::quantity::Quantity;
use safepoint_machinery::status::{FieldError, FieldPath};
use serde_json::{Map, Value};

use super::super::check::{drop_empty, each, object_at, part, word};
use super::super::{amounts, items};
use super::is_sidecar;
use crate::fault::Problems;

/// What is not asked for is asked for up to the limit.
pub(super) fn default(container: &mut Value) {
    let Some(resources) = container.get_mut("resources") else { return };
    for field in ["limits", "requests"] {
        amounts::write_all(resources, field);
    }
    fill_requests(resources, |_| true);
    for field in ["limits", "requests", "claims"] {
        drop_empty(resources, field);
    }
}

fn fill_requests(resources: &mut Value, wanted: impl Fn(&str) -> bool) {
    let Some(limits) = resources.get("limits").and_then(Value::as_object).cloned() else { return };
    if let Some(requests) = object_at(resources, "requests").and_then(Value::as_object_mut) {
        for (name, limit) in limits.into_iter().filter(|(name, _)| wanted(name)) {
            requests.entry(name).or_insert(limit);
        }
    }
}

/// The same for what a pod asks for as a whole, which is at least what its containers ask for together.
pub(crate) fn default_pod(spec: &mut Value) {
    let asked = together(spec, "requests");
    let Some(resources) = spec.get_mut("resources").filter(|resources| resources.is_object()) else { return };
    for field in ["limits", "requests"] {
        amounts::write_all(resources, field);
    }
    if part(resources, "limits").as_object().is_some_and(|limits| !limits.is_empty()) {
        if let Some(requests) = object_at(resources, "requests").and_then(Value::as_object_mut) {
            for (name, milli) in asked.iter().filter(|(name, _)| matches!(name.as_str(), "cpu" | "memory")) {
                requests.entry(name.clone()).or_insert_with(|| written(*milli));
            }
        }
        fill_requests(resources, |name| matches!(name, "cpu" | "memory") || amounts::is_huge_page(name));
    }
    for field in ["limits", "requests"] {
        drop_empty(resources, field);
    }
}

fn written(milli: i128) -> Value {
    format!("{milli}m").parse::<Quantity>().map_or(Value::Null, |amount| rewritten(&amount).into())
}

/// The shortest text of an amount of thousandths: `2`, not `2000m`.
fn rewritten(amount: &Quantity) -> String {
    match (amount.milli_value(), amount.value()) {
        (Some(milli), Some(whole)) if milli % 1000 == 0 => whole.to_string(),
        _ => amount.to_string(),
    }
}

/// What the containers of a pod need together, in thousandths: all that run at a time, or the hungriest that runs first.
fn together(spec: &Value, field: &str) -> BTreeMap<String, i128> {
    fn amounts_of(container: &Value, field: &str) -> BTreeMap<String, i128> {
        let amounts = amounts::each_of(part(container, "resources"), field);
        amounts.filter_map(|(name, amount)| Some((name.to_owned(), amount.milli_value()?))).collect()
    }
    let mut running: BTreeMap<String, i128> = BTreeMap::new();
    let add = |sum: &mut BTreeMap<String, i128>, more: BTreeMap<String, i128>| {
        for (name, milli) in more {
            *sum.entry(name).or_default() += milli;
        }
    };
    for container in items(spec, "containers") {
        add(&mut running, amounts_of(container, field));
    }
    let (mut sidecars, mut hungriest) = (BTreeMap::new(), BTreeMap::<String, i128>::new());
    for container in items(spec, "initContainers") {
        let own = amounts_of(container, field);
        let mut now = sidecars.clone();
        add(&mut now, own.clone());
        if is_sidecar(container) {
            add(&mut running, own);
            sidecars = now.clone();
        }
        for (name, milli) in now {
            let most = hungriest.entry(name).or_default();
            *most = (*most).max(milli);
        }
    }
    for (name, milli) in hungriest {
        let most = running.entry(name).or_default();
        *most = (*most).max(milli);
    }
    running
}

// === rules ===

/// Checks what a container asks for and may use.
pub(super) fn check(resources: &Value, at: &FieldPath, claims: &BTreeSet<&str>, problems: &mut Problems) {
    check_lists(resources, at, amounts::check_container_name, problems);
    check_claims(resources, &at.child("claims"), claims, problems);
}

/// Checks what a pod asks for as a whole.
pub(crate) fn check_pod(spec: &Value, at: &FieldPath, problems: &mut Problems) {
    let resources = part(spec, "resources");
    if resources.is_null() {
        return;
    }
    if !part(resources, "claims").is_null() {
        problems.push(FieldError::forbidden(
            at.child("claims"),
            "claims may not be set for Resources at pod-level",
        ));
    }
    check_lists(resources, at, amounts::check_pod_name, problems);
    for (name, milli) in together(spec, "requests") {
        let own = amounts::read(part(part(resources, "requests"), &name));
        if let Some(own) = own.filter(|own| own.milli_value().is_some_and(|own| own < milli)) {
            let needed = written(milli);
            let needed = needed.as_str().unwrap_or_default();
            let why = format!("must be greater than or equal to aggregate container requests of {needed}");
            problems.push(FieldError::invalid(at.child("requests").key(&name), own.to_string(), why));
        }
    }
    for (index, container) in items(spec, "containers").enumerate() {
        for (name, limit) in amounts::each_of(part(container, "resources"), "limits") {
            let Some(most) = amounts::read(part(part(resources, "limits"), name)) else { continue };
            if limit > most {
                let at = at.child("containers").index(index).key(name).child("limits");
                let why = format!("must be less than or equal to pod limits of {most}");
                problems.push(FieldError::invalid(&at, limit.to_string(), why));
            }
        }
    }
}

fn check_lists(
    resources: &Value,
    at: &FieldPath,
    check_name: fn(&mut Problems, &FieldPath, &str),
    problems: &mut Problems,
) {
    let nothing = Map::new();
    let list = |field: &str| part(resources, field).as_object().unwrap_or(&nothing);
    let (limits, requests) = (list("limits"), list("requests"));
    for (field, list) in [("limits", limits), ("requests", requests)] {
        let list_at = at.child(field);
        for (name, value) in list {
            let key_at = list_at.key(name);
            check_name(problems, &key_at, name);
            amounts::check(problems, &key_at, name, value);
            if field == "requests" {
                check_against_limit(name, value, limits.get(name), at, problems);
            }
            if amounts::is_huge_page(name)
                && let Some(amount) =
                    amounts::read(value).filter(|amount| !amounts::is_whole_pages(name, amount))
            {
                let why = format!("{amount} is not positive integer multiple of {name}");
                problems.push(FieldError::invalid(&key_at, amount.to_string(), why));
            }
        }
    }
    let has_any = |wanted: fn(&str) -> bool| limits.keys().chain(requests.keys()).any(|name| wanted(name));
    if has_any(amounts::is_huge_page) && !has_any(|name| matches!(name, "cpu" | "memory")) {
        problems.push(FieldError::forbidden(at, "HugePages require cpu or memory"));
    }
}

fn check_against_limit(
    name: &str,
    value: &Value,
    limit: Option<&Value>,
    at: &FieldPath,
    problems: &mut Problems,
) {
    let requests_at = at.child("requests");
    let Some(limit) = limit else {
        if !amounts::can_overcommit(name) {
            let why = "Limit must be set for non overcommitable resources";
            problems.push(FieldError::required(at.child("limits"), why));
        }
        return;
    };
    let (Some(amount), Some(limit)) = (amounts::read(value), amounts::read(limit)) else { return };
    if amount != limit && !amounts::can_overcommit(name) {
        let why = format!("must be equal to {name} limit of {limit}");
        problems.push(FieldError::invalid(&requests_at, amount.to_string(), why));
    } else if amount > limit {
        let why = format!("must be less than or equal to {name} limit of {limit}");
        problems.push(FieldError::invalid(&requests_at, amount.to_string(), why));
    }
}

fn check_claims(resources: &Value, at: &FieldPath, known: &BTreeSet<&str>, problems: &mut Problems) {
    let mut seen: BTreeSet<String> = BTreeSet::new();
    for (index, claim) in items(resources, "claims").enumerate() {
        let at = at.index(index);
        let (name, request) = (word(claim, "name"), word(claim, "request"));
        if name.is_empty() {
            problems.push(FieldError::required(&at, ""));
            continue;
        }
        each(
            problems,
            &at.child("request"),
            request,
            match request {
                "" => Vec::new(),
                _ => names::dns1123_label(request),
            },
        );
        let key = if request.is_empty() { name.to_owned() } else { format!("{name}/{request}") };
        let prefix = format!("{name}/");
        let overlaps = request.is_empty() && seen.iter().any(|other| other.starts_with(&prefix));
        if seen.contains(name) || overlaps {
            problems.push(FieldError::duplicate(&at, name));
        } else if seen.contains(&key) {
            problems.push(FieldError::duplicate(&at, key.as_str()));
        }
        seen.insert(key);
        if !known.contains(name) {
            let mut problem = FieldError::not_found(&at, name);
            problem.detail = "must be one of the names in pod.spec.resourceClaims".to_owned();
            problem.detail.push_str(&match known.is_empty() {
                true => " which is empty".to_owned(),
                false => format!(": {}", known.iter().copied().collect::<Vec<_>>().join(", ")),
            });
            problems.push(problem);
        }
    }
}

// === quality of service ===

/// Who goes first when a node runs out: `Guaranteed` last, `BestEffort` first.
pub(crate) fn quality(spec: &Value) -> &'static str {
    let own = part(spec, "resources");
    let all: Vec<&Value> = if own.is_object() {
        vec![own]
    } else {
        items(spec, "containers")
            .chain(items(spec, "initContainers"))
            .map(|one| part(one, "resources"))
            .collect()
    };
    let (mut requests, mut limits): (BTreeMap<&str, i128>, BTreeMap<&str, i128>) = Default::default();
    let mut is_limited = true;
    for resources in &all {
        let mut limited = 0;
        for (field, sum) in [("requests", &mut requests), ("limits", &mut limits)] {
            for (name, amount) in amounts::each_of(resources, field) {
                let milli = amount.milli_value().unwrap_or_default();
                if matches!(name, "cpu" | "memory") && milli > 0 {
                    *sum.entry(name).or_default() += milli;
                    limited += usize::from(field == "limits");
                }
            }
        }
        is_limited &= limited == 2;
    }
    if requests.is_empty() && limits.is_empty() {
        "BestEffort"
    } else if is_limited && requests == limits {
        "Guaranteed"
    } else {
        "Burstable"
    }
}
