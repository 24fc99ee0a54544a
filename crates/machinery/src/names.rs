//! Which names Kubernetes accepts, and what it says about the others.
//!
//! Every function returns the list of messages about a name; an empty list means that the name is good. The texts are
//! facts of the wire: they reach people through `kubectl` and tests match on them. Kubernetes has two spellings of the
//! length message, `characters` for the names of objects and `bytes` for the parts of labels; both are kept.

#[cfg(test)]
mod tests;

use std::borrow::Cow;

const LABEL_FMT: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const SUBDOMAIN_FMT: &str = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";
const LABEL_1035_FMT: &str = "[a-z]([-a-z0-9]*[a-z0-9])?";
const LABEL_KEY_FMT: &str = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
const LABEL_VALUE_FMT: &str = "(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?";
const CONFIG_KEY_FMT: &str = "[-._a-zA-Z0-9]+";

const LABEL_TEXT: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', \
    and must start and end with an alphanumeric character";
const SUBDOMAIN_TEXT: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, \
    '-' or '.', and must start and end with an alphanumeric character";
const LABEL_1035_TEXT: &str = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', \
    start with an alphabetic character, and end with an alphanumeric character";
const LABEL_KEY_TEXT: &str = "must consist of alphanumeric characters, '-', '_' or '.', \
    and must start and end with an alphanumeric character";
const LABEL_VALUE_TEXT: &str = "a valid label must be an empty string or consist of alphanumeric characters, \
    '-', '_' or '.', and must start and end with an alphanumeric character";
const CONFIG_KEY_TEXT: &str = "a valid config key must consist of alphanumeric characters, '-', '_' or '.'";

/// A DNS label (RFC 1123): names of namespaces, containers and volumes.
#[must_use]
pub fn dns1123_label(name: &str) -> Vec<String> {
    let mut messages = too_long(name, 63, "characters");
    if !is_label(name) {
        // The only way to be a subdomain and no label is to have dots.
        messages.push(if is_subdomain(name) {
            "must not contain dots".to_owned()
        } else {
            pattern(LABEL_TEXT, LABEL_FMT, &["my-name", "123-abc"])
        });
    }
    messages
}

/// A DNS subdomain (RFC 1123): the names of most objects.
#[must_use]
pub fn dns1123_subdomain(name: &str) -> Vec<String> {
    subdomain(name, "characters")
}

/// A DNS label (RFC 1035), which may not start with a digit: the names of services.
#[must_use]
pub fn dns1035_label(name: &str) -> Vec<String> {
    let mut messages = too_long(name, 63, "characters");
    if !(is_label(name) && name.starts_with(|c: char| c.is_ascii_lowercase())) {
        messages.push(pattern(LABEL_1035_TEXT, LABEL_1035_FMT, &["my-name", "abc-123"]));
    }
    messages
}

/// A qualified name, with or without a prefix: label keys, finalizers, resource names.
#[must_use]
pub fn qualified_name(name: &str) -> Vec<String> {
    let key_pattern = || pattern(LABEL_KEY_TEXT, LABEL_KEY_FMT, &["MyName", "my.name", "123-abc"]);
    let mut messages = vec![];
    let mut parts = name.split('/');
    let part = match (parts.next().unwrap_or_default(), parts.next(), parts.next()) {
        (part, None, _) => part,
        (prefix, Some(part), None) => {
            if prefix.is_empty() {
                messages.push("prefix part must be non-empty".to_owned());
            } else {
                messages.extend(subdomain(prefix, "bytes").iter().map(|text| format!("prefix part {text}")));
            }
            part
        }
        (_, Some(_), Some(_)) => {
            return vec![format!(
                "a valid label key {} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')",
                key_pattern()
            )];
        }
    };
    if part.is_empty() {
        messages.push("name part must be non-empty".to_owned());
    } else {
        messages.extend(too_long(part, 63, "bytes").iter().map(|text| format!("name part {text}")));
    }
    if !is_label_key(part) {
        messages.push(format!("name part {}", key_pattern()));
    }
    messages
}

/// The key of an annotation: a qualified name that may have capitals in its prefix.
#[must_use]
pub fn annotation_key(key: &str) -> Vec<String> {
    qualified_name(&key.to_lowercase())
}

/// The value of a label.
#[must_use]
pub fn label_value(value: &str) -> Vec<String> {
    let mut messages = too_long(value, 63, "bytes");
    if !(value.is_empty() || is_label_key(value)) {
        messages.push(pattern(LABEL_VALUE_TEXT, LABEL_VALUE_FMT, &["MyValue", "my_value", "12345"]));
    }
    messages
}

/// A name that can be a segment of a path: the least that any name has to be.
#[must_use]
pub fn path_segment(name: &str) -> Vec<String> {
    match name {
        "." | ".." => vec![format!("may not be '{name}'")],
        _ => path_segment_prefix(name),
    }
}

/// The beginning of a name that can be a segment of a path.
#[must_use]
pub fn path_segment_prefix(name: &str) -> Vec<String> {
    ['/', '%'].iter().filter(|c| name.contains(**c)).map(|c| format!("may not contain '{c}'")).collect()
}

/// A key of a `ConfigMap` or a `Secret`.
#[must_use]
pub fn config_key(key: &str) -> Vec<String> {
    let mut messages = too_long(key, 253, "characters");
    let good = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_');
    if key.is_empty() || !key.chars().all(good) {
        messages.push(pattern(CONFIG_KEY_TEXT, CONFIG_KEY_FMT, &["key.name", "KEY_NAME", "key-name"]));
    }
    match key {
        "." | ".." => messages.push(format!("must not be '{key}'")),
        _ if key.starts_with("..") => messages.push("must not start with '..'".to_owned()),
        _ => {}
    }
    messages
}

/// The name of a container's port.
#[must_use]
pub fn port_name(name: &str) -> Vec<String> {
    let mut messages = too_long(name, 15, "characters");
    let mut check = |bad: bool, text: &str| {
        if bad {
            messages.push(text.to_owned());
        }
    };
    let good = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    check(
        name.is_empty() || !name.chars().all(good),
        "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)",
    );
    check(!name.contains(|c: char| c.is_ascii_lowercase()), "must contain at least one letter (a-z)");
    check(name.contains("--"), "must not contain consecutive hyphens");
    check(name.starts_with('-') || name.ends_with('-'), "must not begin or end with a hyphen");
    messages
}

/// What to check instead of a `generateName`: it may end in a dash, since something will follow it.
///
/// Kubernetes replaces the last two characters, so that the answer is one shorter than the name; a name of two
/// characters becomes one letter. That is what it checks, and so do we.
#[must_use]
pub fn as_prefix(name: &str) -> Cow<'_, str> {
    match name.strip_suffix('-') {
        Some(stem) if !stem.is_empty() => {
            let mut masked = stem.to_owned();
            masked.pop();
            masked.push('a');
            Cow::Owned(masked)
        }
        _ => Cow::Borrowed(name),
    }
}

fn subdomain(name: &str, unit: &str) -> Vec<String> {
    let mut messages = too_long(name, 253, unit);
    if !is_subdomain(name) {
        messages.push(pattern(SUBDOMAIN_TEXT, SUBDOMAIN_FMT, &["example.com"]));
    }
    messages
}

fn too_long(name: &str, limit: usize, unit: &str) -> Vec<String> {
    // Kubernetes counts bytes, whatever it calls them.
    if name.len() > limit { vec![format!("must be no more than {limit} {unit}")] } else { vec![] }
}

fn pattern(text: &str, regex: &str, examples: &[&str]) -> String {
    let examples: Vec<String> = examples.iter().map(|example| format!("'{example}', ")).collect();
    format!("{text} (e.g. {}regex used for validation is '{regex}')", examples.join(" or "))
}

fn is_label(name: &str) -> bool {
    let edge = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    name.starts_with(edge) && name.ends_with(edge) && name.chars().all(|c| edge(c) || c == '-')
}

fn is_subdomain(name: &str) -> bool {
    name.split('.').all(is_label)
}

fn is_label_key(name: &str) -> bool {
    let edge = |c: char| c.is_ascii_alphanumeric();
    let inner = |c: char| edge(c) || matches!(c, '-' | '_' | '.');
    name.starts_with(edge) && name.ends_with(edge) && name.chars().all(inner)
}
