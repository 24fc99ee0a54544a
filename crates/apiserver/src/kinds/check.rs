//! The small checks and readers that several kinds share.
//!
//! The words are those of Kubernetes: people search for them and tests match on them. A field that is missing, null or
//! of another type reads as Go's zero value, since types have been checked before any rule is asked.

use std::net::{Ipv4Addr, Ipv6Addr};

use safepoint_machinery::names;
use safepoint_machinery::status::{FieldError, FieldPath};
use serde_json::Value;

use crate::fault::Problems;

/// What Kubernetes says of a field that may never change.
pub(super) const IMMUTABLE: &str = "field is immutable";

/// What Kubernetes says of a number below zero.
pub(super) const NEGATIVE: &str = "must be greater than or equal to 0";

/// Whether a field is there and not null.
pub(super) fn has(object: &Value, field: &str) -> bool {
    object.get(field).is_some_and(|value| !value.is_null())
}

/// A number below an object.
pub(super) fn int(object: &Value, field: &str) -> Option<i64> {
    object.get(field).and_then(Value::as_i64)
}

/// A flag below an object; off if it is not there.
pub(super) fn flag(object: &Value, field: &str) -> bool {
    object.get(field).and_then(Value::as_bool).unwrap_or_default()
}

/// A text below an object; empty if it is not there.
pub(super) fn word<'a>(object: &'a Value, field: &str) -> &'a str {
    object.get(field).and_then(Value::as_str).unwrap_or_default()
}

/// A part of an object; null if it is not there.
pub(super) fn part<'a>(object: &'a Value, field: &str) -> &'a Value {
    object.get(field).unwrap_or(&Value::Null)
}

/// The entries of a map of texts.
pub(super) fn entries<'a>(object: &'a Value, field: &str) -> impl Iterator<Item = (&'a str, &'a str)> {
    let map = object.get(field).and_then(Value::as_object).into_iter().flatten();
    map.map(|(key, value)| (key.as_str(), value.as_str().unwrap_or_default()))
}

/// Removes a field that says nothing: Go leaves it out when it writes.
pub(super) fn drop_empty(object: &mut Value, field: &str) {
    let says_nothing = match object.get(field) {
        Some(Value::Null) => true,
        Some(Value::Object(map)) => map.is_empty(),
        Some(Value::Array(items)) => items.is_empty(),
        Some(Value::String(text)) => text.is_empty(),
        _ => false,
    };
    if says_nothing {
        super::remove(object, field);
    }
}

/// Makes a field an object if it is none, and hands it out.
pub(super) fn object_at<'a>(object: &'a mut Value, field: &str) -> Option<&'a mut Value> {
    let map = object.as_object_mut()?;
    let value = map.entry(field).or_insert(Value::Null);
    if value.is_null() {
        *value = Value::Object(serde_json::Map::new());
    }
    Some(value)
}

/// Sets a field of what is an object; anything else is left alone.
pub(super) fn set(object: &mut Value, field: &str, value: impl Into<Value>) {
    if let Some(map) = object.as_object_mut() {
        map.insert(field.to_owned(), value.into());
    }
}

/// One problem for each message about a name.
pub(super) fn each(problems: &mut Problems, at: &FieldPath, value: &str, messages: Vec<String>) {
    problems.extend(messages.into_iter().map(|message| FieldError::invalid(at, value, message)));
}

/// A DNS label that has to be there.
pub(super) fn needed_label(problems: &mut Problems, at: &FieldPath, value: &str) {
    match value {
        "" => problems.push(FieldError::required(at, "")),
        _ => each(problems, at, value, names::dns1123_label(value)),
    }
}

/// One of some words, which has to be there.
pub(super) fn one_of(problems: &mut Problems, at: &FieldPath, value: &str, known: &[&str]) {
    match value {
        "" => problems.push(FieldError::required(at, "")),
        _ => one_of_if_any(problems, at, value, known),
    }
}

/// One of some words, or nothing.
pub(super) fn one_of_if_any(problems: &mut Problems, at: &FieldPath, value: &str, known: &[&str]) {
    if !value.is_empty() && !known.contains(&value) {
        problems.push(FieldError::not_supported(at, value, known));
    }
}

/// A number within bounds.
pub(super) fn within(problems: &mut Problems, at: &FieldPath, value: i64, least: i64, most: i64) {
    if !(least..=most).contains(&value) {
        problems.push(FieldError::invalid(
            at,
            value,
            format!("must be between {least} and {most}, inclusive"),
        ));
    }
}

/// A number that is not below zero.
pub(super) fn not_negative(problems: &mut Problems, at: &FieldPath, value: i64) {
    if value < 0 {
        problems.push(FieldError::invalid(at, value, NEGATIVE));
    }
}

/// The number of a port.
pub(super) fn port_number(problems: &mut Problems, at: &FieldPath, port: i64) {
    within(problems, at, port, 1, 65_535);
}

/// The number or the name of a port. Nothing at all counts as the number 0.
pub(super) fn port(problems: &mut Problems, at: &FieldPath, port: &Value) {
    match port {
        Value::String(name) => each(problems, at, name, names::port_name(name)),
        _ => port_number(problems, at, port.as_i64().unwrap_or_default()),
    }
}

/// Labels that select: keys and values.
pub(super) fn labels(problems: &mut Problems, at: &FieldPath, object: &Value, field: &str) {
    for (key, value) in entries(object, field) {
        each(problems, at, key, names::qualified_name(key));
        each(problems, at, value, names::label_value(value));
    }
}

/// A field that stays what it is.
pub(super) fn immutable(problems: &mut Problems, at: &FieldPath, new: &Value, old: &Value) {
    if new != old {
        problems.push(FieldError::invalid(at, new.clone(), IMMUTABLE));
    }
}

/// The address of a machine.
pub(super) fn ip(problems: &mut Problems, at: &FieldPath, value: &str) {
    let why = match address(value) {
        Some(Address::Clean) => return,
        Some(Address::Padded) => "must not have leading 0s",
        Some(Address::Mapped) => "must not be an IPv4-mapped IPv6 address",
        None => "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)",
    };
    problems.push(FieldError::invalid(at, value, why));
}

/// A network: an address and how many of its bits count.
pub(super) fn cidr(problems: &mut Problems, at: &FieldPath, value: &str) {
    let parsed = value.split_once('/').and_then(|(base, bits)| {
        let length: u32 = bits.bytes().all(|byte| byte.is_ascii_digit()).then(|| bits.parse().ok())??;
        let most = if base.contains(':') { 128 } else { 32 };
        Some((address(base)?, base, length, bits.len() > 1 && bits.starts_with('0')))
            .filter(|(_, _, length, _)| *length <= most)
    });
    let why = match parsed {
        None => "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)",
        Some((Address::Padded, ..) | (_, _, _, true)) => "must not have leading 0s in IP or prefix length",
        Some((Address::Mapped, ..)) => "must not have an IPv4-mapped IPv6 address",
        Some((Address::Clean, base, length, false)) if has_bits_beyond(base, length) => {
            "must not have bits set beyond the prefix length"
        }
        Some((Address::Clean, ..)) => return,
    };
    problems.push(FieldError::invalid(at, value, why));
}

/// Whether a text is an address at all, in a form that Kubernetes once took.
pub(super) fn is_ip(value: &str) -> bool {
    address(value).is_some()
}

/// Whether an address is of the newer family.
pub(super) fn is_ipv6(value: &str) -> bool {
    value.contains(':')
}

/// At most two addresses, and not both of one family.
pub(super) fn is_one_of_each_family(values: &[&str]) -> bool {
    values.len() < 2 || (values.len() == 2 && has_both_families(values))
}

/// Addresses of either family.
pub(super) fn has_both_families(values: &[&str]) -> bool {
    values.iter().any(|value| is_ipv6(value)) && values.iter().any(|value| !is_ipv6(value))
}

/// What an address looks like: Kubernetes once took some that it takes no more.
#[derive(Clone, Copy)]
enum Address {
    Clean,
    /// `010.0.0.1`, which some programs read as octal.
    Padded,
    /// `::ffff:10.0.0.1`, which is of either family.
    Mapped,
}

fn address(value: &str) -> Option<Address> {
    if let Ok(address) = value.parse::<Ipv6Addr>() {
        return Some(if address.to_ipv4_mapped().is_some() { Address::Mapped } else { Address::Clean });
    }
    if value.parse::<Ipv4Addr>().is_ok() {
        return Some(Address::Clean);
    }
    let trim = |part: &str| match part.trim_start_matches('0') {
        "" if !part.is_empty() => "0".to_owned(),
        rest => rest.to_owned(),
    };
    let trimmed: Vec<String> = value.split('.').map(trim).collect();
    trimmed.join(".").parse::<Ipv4Addr>().ok().map(|_| Address::Padded)
}

fn has_bits_beyond(base: &str, length: u32) -> bool {
    if let Ok(address) = base.parse::<Ipv4Addr>() {
        return address.to_bits() & u32::MAX.checked_shr(length).unwrap_or_default() != 0;
    }
    base.parse::<Ipv6Addr>()
        .is_ok_and(|address| address.to_bits() & u128::MAX.checked_shr(length).unwrap_or_default() != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(check: fn(&mut Problems, &FieldPath, &str), value: &str) -> Vec<String> {
        let mut problems = Problems::default();
        check(&mut problems, &FieldPath::new("at"), value);
        problems.into_iter().map(|problem| problem.detail).collect()
    }

    #[test]
    fn addresses_that_mean_two_things_are_refused() {
        for good in ["10.0.0.1", "::1", "2001:DB8::1"] {
            assert!(texts(ip, good).is_empty(), "{good}");
        }
        assert_eq!(texts(ip, "010.0.0.1"), ["must not have leading 0s"]);
        assert_eq!(texts(ip, "::ffff:1.2.3.4"), ["must not be an IPv4-mapped IPv6 address"]);
        for bad in ["", "1.2.3", "x", "fe80::1%eth0", "1.2.3.400"] {
            assert!(texts(ip, bad)[0].starts_with("must be a valid IP address"), "{bad}");
        }
    }

    #[test]
    fn networks_name_no_machine() {
        for good in ["10.0.0.0/8", "0.0.0.0/0", "1.2.3.4/32", "2001:db8::/64", "::/0"] {
            assert!(texts(cidr, good).is_empty(), "{good}");
        }
        assert_eq!(texts(cidr, "10.0.0.1/8"), ["must not have bits set beyond the prefix length"]);
        assert_eq!(texts(cidr, "2001:db8::1/64"), ["must not have bits set beyond the prefix length"]);
        assert_eq!(texts(cidr, "10.0.0.0/08"), ["must not have leading 0s in IP or prefix length"]);
        assert_eq!(texts(cidr, "::ffff:1.2.3.0/120"), ["must not have an IPv4-mapped IPv6 address"]);
        for bad in ["10.0.0.0", "10.0.0.0/33", "10.0.0.0/-1", "x/8", "10.0.0.0/"] {
            assert!(texts(cidr, bad)[0].starts_with("must be a valid CIDR value"), "{bad}");
        }
    }

    #[test]
    fn a_port_that_is_not_there_is_port_zero() {
        let mut problems = Problems::default();
        port(&mut problems, &FieldPath::new("port"), &Value::Null);
        port(&mut problems, &FieldPath::new("port"), &Value::from("http"));
        let texts: Vec<String> = problems.into_iter().map(|problem| problem.to_string()).collect();
        assert_eq!(texts, ["port: Invalid value: 0: must be between 1 and 65535, inclusive"]);
    }
}
