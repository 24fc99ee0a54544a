//! The addresses of a service and their families: two fields for the first address, and up to two addresses.

use safepoint_machinery::status::{FieldError, FieldPath};
use serde_json::{Value, json};

use super::super::check::{has, has_both_families, ip, is_ipv6, one_of_if_any, part, set, word};
use super::super::{items, set_default};
use super::needs_address;
use crate::fault::Problems;

const NONE: &str = "None";
const FAMILIES: [&str; 2] = ["IPv4", "IPv6"];
const POLICIES: [&str; 3] = ["PreferDualStack", "RequireDualStack", "SingleStack"];

/// A service that is only a name: its pods are asked directly.
pub(super) fn is_headless(spec: &Value) -> bool {
    addresses(spec) == [NONE]
}

pub(super) fn default(spec: &mut Value) {
    let address = word(spec, "clusterIP").to_owned();
    if !address.is_empty() {
        set_default(spec, "clusterIPs", json!([address]));
    }
    if !needs_address(spec) {
        return;
    }
    // Without a selector nobody here knows what is behind a name: it may be of either family.
    let is_open = address == NONE && part(spec, "selector").as_object().is_none_or(serde_json::Map::is_empty);
    set_default(spec, "ipFamilyPolicy", if is_open { "RequireDualStack" } else { "SingleStack" });
    let mut families: Vec<String> = texts(spec, "ipFamilies").map(str::to_owned).collect();
    for address in addresses(spec).into_iter().take_while(|address| *address != NONE).skip(families.len()) {
        // What cannot be served is refused for its addresses, not for what follows from them.
        if !families.iter().any(|known| known == family(address)) {
            families.push(family(address).to_owned());
        }
    }
    if families.is_empty() {
        families.push("IPv4".to_owned());
    }
    if is_open && word(spec, "ipFamilyPolicy") != "SingleStack" && families.len() == 1 {
        families.push(if families[0] == "IPv4" { "IPv6" } else { "IPv4" }.to_owned());
    }
    set(spec, "ipFamilies", families);
}

/// Checks addresses, families and policy against each other.
pub(super) fn check(spec: &Value, problems: &mut Problems) {
    if !needs_address(spec) {
        return;
    }
    let at = FieldPath::new("spec");
    let (list_at, families_at) = (at.child("clusterIPs"), at.child("ipFamilies"));
    let (first, all) = (word(spec, "clusterIP"), addresses(spec));
    if first.is_empty() && !all.is_empty() {
        let why = "must be empty when `clusterIP` is not specified";
        problems.push(FieldError::invalid(&list_at, all.clone(), why));
    } else if all.first().is_some_and(|address| *address != first) {
        problems.push(FieldError::invalid(&list_at, all.clone(), "first value must match `clusterIP`"));
    }
    let families: Vec<&str> = texts(spec, "ipFamilies").collect();
    for (index, family) in families.iter().enumerate() {
        one_of_if_any(problems, &families_at.index(index), family, &FAMILIES);
        if families[..index].contains(family) {
            problems.push(FieldError::duplicate(families_at.index(index), *family));
        }
    }
    one_of_if_any(problems, &at.child("ipFamilyPolicy"), word(spec, "ipFamilyPolicy"), &POLICIES);
    let before = problems.len();
    if all.len() > 1 && all[0] == NONE {
        problems.push(FieldError::invalid(&list_at, all.clone(), "'None' must be the first and only value"));
    }
    for (index, address) in all.iter().enumerate().filter(|(index, address)| *index > 0 || **address != NONE)
    {
        ip(problems, &list_at.index(index), address);
    }
    let is_readable = problems.len() == before;
    if all.len() > 2 {
        problems.push(FieldError::invalid(&list_at, all.clone(), "may only hold up to 2 values"));
    }
    if !is_readable {
        return;
    }
    if all.len() > 1 && !has_both_families(&all) {
        let why = "may specify no more than one IP for each IP family";
        problems.push(FieldError::invalid(&list_at, all.clone(), why));
    }
    if !is_headless(spec) {
        for (index, (address, expected)) in all.iter().zip(families).enumerate() {
            if FAMILIES.contains(&expected) && family(address) != expected {
                let why = format!("expected an {expected} value as indicated by `ipFamilies[{index}]`");
                problems.push(FieldError::invalid(list_at.index(index), *address, why));
            }
        }
    }
}

/// Checks that what was given out stays: the first address and its family, as long as the service has one.
pub(super) fn check_change(new: &Value, old: &Value, problems: &mut Problems) {
    if !needs_address(new) || !needs_address(old) {
        return;
    }
    let at = FieldPath::new("spec");
    if !(is_headless(new) && is_headless(old)) {
        check_kept(
            &at.child("clusterIPs"),
            new,
            old,
            "clusterIPs",
            "primary clusterIP can not be unset",
            problems,
        );
    }
    // Here an address can also be set later, since none is given out: its family follows it.
    if !is_headless(new) && !is_headless(old) && has(old, "clusterIP") {
        check_kept(
            &at.child("ipFamilies"),
            new,
            old,
            "ipFamilies",
            "primary ipFamily can not be unset",
            problems,
        );
    }
}

fn check_kept(at: &FieldPath, new: &Value, old: &Value, field: &str, unset: &str, problems: &mut Problems) {
    let (before, after): (Vec<&str>, Vec<&str>) = (texts(old, field).collect(), texts(new, field).collect());
    if before.is_empty() {
        return;
    }
    if after.is_empty() {
        problems.push(FieldError::invalid(at.index(0), after, unset));
        return;
    }
    let compared = if before.len() == after.len() { before.len() } else { 1 };
    for index in (0..compared).filter(|index| before[*index] != after[*index]) {
        problems.push(FieldError::invalid(at.index(index), after.clone(), "may not change once set"));
    }
}

fn addresses(spec: &Value) -> Vec<&str> {
    texts(spec, "clusterIPs").collect()
}

fn texts<'a>(spec: &'a Value, field: &str) -> impl Iterator<Item = &'a str> {
    items(spec, field).map(|text| text.as_str().unwrap_or_default())
}

fn family(address: &str) -> &'static str {
    if is_ipv6(address) { "IPv6" } else { "IPv4" }
}
