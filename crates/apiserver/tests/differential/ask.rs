//! One request to both servers, and what of the two answers must be the same.

use std::fmt;

use http::Method;
use serde_json::Value;

/// A request.
#[derive(Clone)]
pub(crate) struct Ask {
    pub(crate) method: Method,
    /// With the query, if there is one.
    pub(crate) path: String,
    pub(crate) content_type: &'static str,
    pub(crate) body: Option<Value>,
}

/// An answer as far as it must be the same.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Answer {
    pub(crate) code: u16,
    /// Of a refusal.
    pub(crate) reason: String,
    /// What a refusal finds wrong, `reason field`, in the order of their texts.
    pub(crate) causes: Vec<String>,
    /// Of a success. Null for a refusal.
    pub(crate) object: Value,
}

/// The code of an answer that never came, because the server closed the connection. Kubernetes does so when it panics,
/// which it does where a patch makes it compare two lists: nobody can want that.
pub(crate) const HUNG_UP: u16 = 0;

/// What the server makes itself, and no two servers alike.
const OWN: [&str; 4] = ["uid", "resourceVersion", "managedFields", "selfLink"];

/// The end of what is said about a member that only the embedded server shows.
pub(crate) const EXTRA: &str = " extra";

/// What stands for a moment that the server chose.
pub(crate) const NOW: &str = "now";

// === impl Ask ===

impl Ask {
    pub(crate) fn get(path: String) -> Ask {
        Ask { method: Method::GET, path, content_type: "", body: None }
    }

    pub(crate) fn post(path: String, body: Value) -> Ask {
        Ask { method: Method::POST, path, content_type: "application/json", body: Some(body) }
    }

    pub(crate) fn put(path: String, body: Value) -> Ask {
        Ask { method: Method::PUT, path, content_type: "application/json", body: Some(body) }
    }

    pub(crate) fn patch(path: String, content_type: &'static str, body: Value) -> Ask {
        Ask { method: Method::PATCH, path, content_type, body: Some(body) }
    }

    pub(crate) fn delete(path: String) -> Ask {
        Ask { method: Method::DELETE, path, content_type: "", body: None }
    }

    /// The same request, without consequences.
    pub(crate) fn dry(mut self) -> Ask {
        if !self.path.contains("dryRun=All") {
            self.path.push_str(if self.path.contains('?') { "&dryRun=All" } else { "?dryRun=All" });
        }
        self
    }

    /// The same request with another body.
    pub(crate) fn with_body(&self, body: Value) -> Ask {
        Ask { body: Some(body), ..self.clone() }
    }
}

impl fmt::Display for Ask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.method, self.path)?;
        match &self.body {
            Some(body) => write!(f, "\n    {}\n    {body}", self.content_type),
            None => Ok(()),
        }
    }
}

// === impl Answer ===

impl Answer {
    pub(crate) fn new(code: u16, mut body: Value) -> Answer {
        let text = |pointer| body.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
        if is_success(code) {
            normalise(&mut body);
            return Answer { code, reason: String::new(), causes: Vec::new(), object: body };
        }
        let reason = text("/reason");
        let causes = body.pointer("/details/causes").and_then(Value::as_array).into_iter().flatten();
        let mut causes: Vec<String> = causes.map(told).collect();
        causes.sort();
        causes.dedup();
        Answer { code, reason, causes, object: Value::Null }
    }

    pub(crate) fn is_success(&self) -> bool {
        is_success(self.code)
    }

    /// In a word, for comparing two differences: without places in lists.
    fn gist(&self) -> String {
        let causes: Vec<String> = self.causes.iter().map(|cause| without_places(cause)).collect();
        format!("{} {} {}", self.code, self.reason, causes.join(", ")).trim_end().to_owned()
    }
}

/// A cause as `reason field`.
fn told(cause: &Value) -> String {
    let text = |member: &str| cause[member].as_str().unwrap_or_default();
    // The real server says that a hook's service lacks its namespace when it lacks its name, and the other way round.
    let field = text("field").replace("clientConfig.service.namespace", "clientConfig.service.name");
    format!("{} {field}", text("reason"))
}

fn is_success(code: u16) -> bool {
    (200..300).contains(&code)
}

/// What differs between two answers, in a few words; nothing if they are the same.
pub(crate) fn difference(real: &Answer, embedded: &Answer) -> Option<String> {
    if real == embedded || real.code == HUNG_UP || is_known(real, embedded) {
        return None;
    }
    if real.is_success() && embedded.is_success() {
        let place = first_difference(&real.object, &embedded.object, "");
        return Some(without_places(&place.unwrap_or_else(|| "code".to_owned())));
    }
    Some(format!("real {} / embedded {}", real.gist(), embedded.gist()))
}

/// A difference that is meant to be: in Go an empty map is not the same as none, and where the real server compares what
/// may not change it says so. Nobody can see which of the two an object has.
fn is_known(real: &Answer, embedded: &Answer) -> bool {
    let is_of_go = |cause: &&String| {
        ["FieldValueForbidden data", "FieldValueForbidden binaryData"].contains(&cause.as_str())
    };
    let mut more = real.causes.iter().filter(|cause| !embedded.causes.contains(cause));
    let is_more =
        real.code == 422 && real.causes.len() > embedded.causes.len() && more.all(|cause| is_of_go(&cause));
    let shows_none = |field: &str| {
        embedded.object.get(field).is_none() || !real.causes.contains(&format!("FieldValueForbidden {field}"))
    };
    match embedded.code {
        422 => is_more && embedded.causes.iter().all(|cause| real.causes.contains(cause)),
        200 => {
            is_more && embedded.object["immutable"] == true && shows_none("data") && shows_none("binaryData")
        }
        _ => false,
    }
}

/// The place at which two values begin to differ.
fn first_difference(real: &Value, embedded: &Value, at: &str) -> Option<String> {
    match (real, embedded) {
        (Value::Object(one), Value::Object(other)) => {
            let keys = one.keys().chain(other.keys().filter(|key| !one.contains_key(*key)));
            for key in keys {
                let at = format!("{at}.{key}");
                match (one.get(key), other.get(key)) {
                    (Some(_), None) => return Some(format!("{at} missing")),
                    (None, Some(_)) => return Some(format!("{at}{EXTRA}")),
                    (Some(one), Some(other)) => {
                        if let Some(place) = first_difference(one, other, &at) {
                            return Some(place);
                        }
                    }
                    (None, None) => {}
                }
            }
            None
        }
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
            let pairs = one.iter().zip(other).enumerate();
            pairs
                .filter_map(|(place, (one, other))| first_difference(one, other, &format!("{at}[{place}]")))
                .next()
        }
        _ if real == embedded => None,
        _ => Some(at.to_owned()),
    }
}

fn without_places(text: &str) -> String {
    let mut shown = String::new();
    let mut inside = false;
    for letter in text.chars() {
        inside = inside && letter != ']';
        if !inside {
            shown.push(letter);
        }
        inside = inside || letter == '[';
    }
    shown
}

/// Removes what differs from server to server.
pub(crate) fn normalise(body: &mut Value) {
    // Where there were no hooks, or no rules of a hook, an empty list of them counts as a change there.
    if body["kind"].as_str().is_some_and(|kind| kind.ends_with("WebhookConfiguration"))
        && let Some(metadata) = body["metadata"].as_object_mut()
    {
        metadata.remove("generation");
    }
    for field in OWN {
        if let Some(metadata) = body.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.remove(field);
        }
    }
    forget_times(body);
}

/// Moments that a request names are all of one day long ago. Any other one is the server's own.
fn forget_times(value: &mut Value) {
    match value {
        Value::String(text) if is_recent(text) => *text = NOW.to_owned(),
        Value::Array(items) => items.iter_mut().for_each(forget_times),
        Value::Object(map) => map.values_mut().for_each(forget_times),
        _ => {}
    }
}

fn is_recent(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() == "2001-02-03T04:05:06Z".len()
        && bytes[4] == b'-'
        && bytes[10] == b'T'
        && bytes[19] == b'Z'
        && !text.starts_with("2001-")
}
