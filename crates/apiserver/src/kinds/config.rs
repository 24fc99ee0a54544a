//! The kinds that carry data for others: `ConfigMap`, `Secret`, `ServiceAccount`.
//!
//! No token is made for a `ServiceAccount` and none of its secrets is looked up: `token` answers a request for one.

#[cfg(test)]
mod tests;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use safepoint_machinery::status::{FieldError, FieldPath};
use safepoint_machinery::{meta, names};
use serde_json::{Map, Value, json};

use super::check::{drop_empty, each, flag, has, immutable, object_at, part, word};
use super::texts::unreadable_bytes;
use super::{Rules, items_mut, remove, set_default};
use crate::fault::Problems;
use crate::table::{self, Column};

/// How much one of them may hold, all values together.
const MOST_BYTES: usize = 1024 * 1024;

const FROZEN: &str = "field is immutable when `immutable` is set";

pub(crate) struct ConfigMaps;
pub(crate) struct Secrets;
pub(crate) struct ServiceAccounts;

// === impl ConfigMaps ===

impl Rules for ConfigMaps {
    fn unreadable(&self, object: &Value) -> Option<String> {
        unreadable_values(object, "binaryData")
    }

    fn default(&self, object: &mut Value) {
        for field in ["data", "binaryData", "immutable"] {
            drop_empty(object, field);
        }
    }

    fn check(&self, object: &Value, problems: &mut Problems) {
        let (at, binary_at) = (FieldPath::new("data"), FieldPath::new("binaryData"));
        let mut bytes = 0;
        for (key, value) in values(object, "data") {
            each(problems, &at.key(key), key, names::config_key(key));
            if has(part(object, "binaryData"), key) {
                let why = "duplicate of key present in binaryData";
                problems.push(FieldError::invalid(at.key(key), key.as_str(), why));
            }
            bytes += value.as_str().unwrap_or_default().len();
        }
        for (key, value) in values(object, "binaryData") {
            each(problems, &binary_at.key(key), key, names::config_key(key));
            bytes += decode(value).map_or(0, |decoded| decoded.len());
        }
        if bytes > MOST_BYTES {
            problems.push(whole_object(FieldError::too_long(FieldPath::new("data"), MOST_BYTES)));
        }
    }

    fn check_change(&self, new: &Value, old: &Value, problems: &mut Problems) {
        check_frozen(new, old, &["data", "binaryData"], problems);
    }

    fn columns(&self) -> Vec<Column> {
        vec![Column::new("Data", "string", "How many values it holds."), Column::age()]
    }

    fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        let count = values(object, "data").count() + values(object, "binaryData").count();
        vec![count.into(), table::age(object, now)]
    }
}

/// A problem that no single field has: Kubernetes writes brackets for the field.
fn whole_object(mut problem: FieldError) -> FieldError {
    problem.path = "[]".to_owned();
    problem
}

/// An object that was once frozen stays frozen, and what it holds stays what it is.
fn check_frozen(new: &Value, old: &Value, fields: &[&str], problems: &mut Problems) {
    if !flag(old, "immutable") {
        return;
    }
    if !flag(new, "immutable") {
        problems.push(FieldError::forbidden(FieldPath::new("immutable"), FROZEN));
    }
    for field in fields {
        if !values(new, field).eq(values(old, field)) {
            problems.push(FieldError::forbidden(FieldPath::new(field), FROZEN));
        }
    }
}

fn values<'a>(object: &'a Value, field: &str) -> impl Iterator<Item = (&'a String, &'a Value)> {
    object.get(field).and_then(Value::as_object).into_iter().flatten()
}

fn unreadable_values(object: &Value, field: &str) -> Option<String> {
    values(object, field).find_map(|(_, value)| unreadable_bytes(value.as_str()?))
}

fn decode(value: &Value) -> Option<Vec<u8>> {
    // A null is what Go writes for no bytes.
    STANDARD.decode(value.as_str().unwrap_or_default()).ok()
}

// === impl Secrets ===

impl Rules for Secrets {
    fn unreadable(&self, object: &Value) -> Option<String> {
        unreadable_values(object, "data")
    }

    /// Folds `stringData` into `data`: it is for writing only and wins.
    fn default(&self, object: &mut Value) {
        drop_empty(object, "type");
        set_default(object, "type", "Opaque");
        let plain = object.get("stringData").and_then(Value::as_object).cloned().unwrap_or_default();
        remove(object, "stringData");
        if !plain.is_empty()
            && let Some(data) = object_at(object, "data").and_then(Value::as_object_mut)
        {
            let encoded = |text: &Value| Value::from(STANDARD.encode(text.as_str().unwrap_or_default()));
            data.extend(plain.iter().map(|(key, text)| (key.clone(), encoded(text))));
        }
        drop_empty(object, "data");
        drop_empty(object, "immutable");
    }

    fn check(&self, object: &Value, problems: &mut Problems) {
        let at = FieldPath::new("data");
        let mut bytes = 0;
        for (key, value) in values(object, "data") {
            each(problems, &at.key(key), key, names::config_key(key));
            match decode(value) {
                Some(decoded) => bytes += decoded.len(),
                None => problems.push(FieldError::invalid(at.key(key), REDACTED, "illegal base64 data")),
            }
        }
        if bytes > MOST_BYTES {
            problems.push(FieldError::too_long(&at, MOST_BYTES));
        }
        check_type(object, &at, problems);
    }

    fn check_change(&self, new: &Value, old: &Value, problems: &mut Problems) {
        immutable(problems, &FieldPath::new("type"), part(new, "type"), part(old, "type"));
        check_frozen(new, old, &["data"], problems);
    }

    fn fields(&self) -> &'static [&'static str] {
        &["type"]
    }

    fn columns(&self) -> Vec<Column> {
        vec![
            Column::new("Type", "string", "What the values are for."),
            Column::new("Data", "string", "How many values it holds."),
            Column::age(),
        ]
    }

    fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        vec![word(object, "type").into(), values(object, "data").count().into(), table::age(object, now)]
    }
}

/// Nobody gets to see a secret because it was wrong.
const REDACTED: &str = "<secret contents redacted>";

/// What a secret must hold to be of its type.
fn check_type(object: &Value, at: &FieldPath, problems: &mut Problems) {
    const ACCOUNT: &str = "kubernetes.io/service-account.name";
    let data = part(object, "data");
    let is_there = |key: &str| data.get(key).is_some();
    let mut need = |key: &str| problems.push(FieldError::required(at.key(key), ""));
    match word(object, "type") {
        "kubernetes.io/service-account-token"
            if meta::annotation(object, ACCOUNT).unwrap_or_default().is_empty() =>
        {
            let annotations = FieldPath::new("metadata").child("annotations");
            problems.push(FieldError::required(annotations.key(ACCOUNT), ""));
        }
        "kubernetes.io/dockercfg" => check_json(data, ".dockercfg", at, problems),
        "kubernetes.io/dockerconfigjson" => check_json(data, ".dockerconfigjson", at, problems),
        "kubernetes.io/basic-auth" if !is_there("username") && !is_there("password") => {
            need("username");
            need("password");
        }
        "kubernetes.io/ssh-auth" if word(data, "ssh-privatekey").is_empty() => need("ssh-privatekey"),
        "kubernetes.io/tls" => {
            for key in ["tls.crt", "tls.key"].into_iter().filter(|key| !is_there(key)) {
                need(key);
            }
        }
        _ => {}
    }
}

fn check_json(data: &Value, key: &str, at: &FieldPath, problems: &mut Problems) {
    let Some(value) = data.get(key) else {
        problems.push(FieldError::required(at.key(key), ""));
        return;
    };
    let text = decode(value).unwrap_or_default();
    let why = match serde_json::from_slice::<Option<Map<String, Value>>>(&text) {
        Ok(_) => return,
        Err(error) if error.is_eof() => "unexpected end of JSON input".to_owned(),
        Err(error) => error.to_string(),
    };
    problems.push(FieldError::invalid(at.key(key), REDACTED, why));
}

// === impl ServiceAccounts ===

impl Rules for ServiceAccounts {
    fn default(&self, object: &mut Value) {
        for field in ["secrets", "imagePullSecrets", "automountServiceAccountToken"] {
            drop_empty(object, field);
        }
    }

    fn begin(&self, object: &mut Value) {
        // Only the name of a secret means anything: it is always in the same namespace.
        for secret in items_mut(object, "secrets") {
            *secret = match secret.get("name") {
                Some(name) => json!({ "name": name }),
                None => json!({}),
            };
        }
    }

    fn carry(&self, new: &mut Value, _old: &Value) {
        self.begin(new);
    }

    fn shows_deleted(&self) -> bool {
        true
    }
}
