//! `admission.k8s.io/v1` `AdmissionReview`: what the API server asks, and what it is answered.
//!
//! Objects stay JSON. What the hub does not know of them is neither lost nor looked at, and a change goes back as a patch.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::{Map, Value, json};

const API_VERSION: &str = "admission.k8s.io/v1";
const KIND: &str = "AdmissionReview";

/// What the API server asks.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct Request {
    /// The question's name, which the answer repeats.
    pub uid: String,
    /// `CREATE`, `UPDATE`, `DELETE` or `CONNECT`.
    pub operation: String,
    /// The part of the object that the request is about, such as `eviction`; empty for the whole.
    pub sub_resource: String,
    /// The object's name; empty where the server has not made one up yet, and where a collection is deleted.
    pub name: String,
    /// The object's namespace.
    pub namespace: String,
    /// Who asks.
    pub user_info: UserInfo,
    /// Whether nothing is to come of it.
    pub dry_run: bool,
    /// The object as it would be; null for a deletion.
    pub object: Value,
    /// The object as it is; null for a creation.
    pub old_object: Value,
    /// The options of the request, such as its `DeleteOptions`.
    pub options: Value,
}

/// Who asks.
#[derive(Clone, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct UserInfo {
    /// The user's name.
    pub username: String,
    /// The groups that the user is in.
    pub groups: Vec<String>,
}

/// What a hook answers.
#[derive(Clone, PartialEq, Debug)]
pub enum Answer {
    /// It may pass.
    Allow,
    /// It may pass, and the client is told something.
    Warn(String),
    /// It may pass with these changes: the operations of a JSON patch (RFC 6902). For mutating hooks only.
    Patch(Vec<Value>),
    /// It may not pass.
    Deny(Box<Denial>),
}

/// Why something may not pass.
#[derive(Clone, PartialEq, Debug)]
pub struct Denial {
    /// The HTTP status code that the client gets, 400 or more.
    pub code: u16,
    /// One word, such as `Conflict`: a `Status.reason` of Kubernetes.
    pub reason: &'static str,
    /// A sentence.
    pub message: String,
    /// The same for programs: a `Status.details` of Kubernetes.
    pub details: Value,
}

/// Why a question cannot be answered.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unreadable {
    #[error("the body is no AdmissionReview: {0}")]
    Json(#[from] serde_json::Error),
    #[error("the body is {api_version:?} {kind:?}; only {API_VERSION} {KIND} is understood")]
    Kind { api_version: String, kind: String },
    #[error("the review has no request")]
    Empty,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Review {
    api_version: String,
    kind: String,
    request: Option<Request>,
}

// === impl Request ===

impl Request {
    pub(crate) fn read(body: &[u8]) -> Result<Self, Unreadable> {
        let Review { api_version, kind, request } = serde_json::from_slice(body)?;
        if api_version != API_VERSION || kind != KIND {
            return Err(Unreadable::Kind { api_version, kind });
        }
        request.ok_or(Unreadable::Empty)
    }
}

// === impl Answer ===

impl Answer {
    /// The review that goes back.
    pub(crate) fn write(self, uid: &str) -> Value {
        let mut response = Map::from_iter([("uid".to_owned(), json!(uid))]);
        response.insert("allowed".to_owned(), json!(!matches!(self, Self::Deny(_))));
        match self {
            Self::Allow => {}
            Self::Warn(warning) => drop(response.insert("warnings".to_owned(), json!([warning]))),
            // The server refuses a patch that is empty.
            Self::Patch(operations) if operations.is_empty() => {}
            Self::Patch(operations) => {
                let patch = STANDARD.encode(Value::Array(operations).to_string());
                response.insert("patchType".to_owned(), json!("JSONPatch"));
                response.insert("patch".to_owned(), json!(patch));
            }
            Self::Deny(denial) => {
                let Denial { code, reason, message, details } = *denial;
                let status = json!({"status": "Failure", "code": code, "reason": reason, "message": message,
                    "details": details});
                response.insert("status".to_owned(), status);
            }
        }
        json!({"apiVersion": API_VERSION, "kind": KIND, "response": response})
    }

    /// One word for it, for counting.
    pub(crate) const fn word(&self) -> &'static str {
        match self {
            Self::Allow => "allowed",
            Self::Warn(_) => "warned",
            Self::Patch(_) => "patched",
            Self::Deny(_) => "denied",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_read_with_all_that_it_carries() {
        let body = json!({"apiVersion": API_VERSION, "kind": KIND, "request": {
            "uid": "q1", "operation": "DELETE", "namespace": "shop", "name": "a", "dryRun": true,
            "userInfo": {"username": "jane", "groups": ["ops"], "extra": {"x": ["y"]}},
            "object": null, "oldObject": {"metadata": {"name": "a"}, "unknown": 7},
            "options": {"gracePeriodSeconds": 0}, "newInNextYear": {}}});
        let request = Request::read(body.to_string().as_bytes()).unwrap();
        assert_eq!((&*request.uid, &*request.user_info.username, request.dry_run), ("q1", "jane", true));
        assert_eq!(request.old_object["unknown"], 7);
        assert_eq!(request.options["gracePeriodSeconds"], 0);
        assert!(request.object.is_null() && request.sub_resource.is_empty());
    }

    #[test]
    fn what_is_no_question_is_refused_in_words() {
        let said = |body: &str| Request::read(body.as_bytes()).unwrap_err().to_string();
        assert!(said("hello").starts_with("the body is no AdmissionReview"));
        assert!(
            said(r#"{"apiVersion": "admission.k8s.io/v1beta1", "kind": "AdmissionReview"}"#)
                .contains("v1beta1")
        );
        let empty = json!({"apiVersion": API_VERSION, "kind": KIND}).to_string();
        assert_eq!(said(&empty), "the review has no request");
    }

    #[test]
    fn an_answer_repeats_the_questions_name() {
        for answer in [Answer::Allow, Answer::Warn("mind".into()), Answer::Patch(vec![])] {
            let review = answer.write("q1");
            assert_eq!(review["response"]["uid"], "q1");
            assert_eq!(review["response"]["allowed"], true);
            assert!(review["response"].get("patch").is_none());
        }
    }

    #[test]
    fn a_refusal_carries_code_reason_and_details() {
        let denial = Denial {
            code: 429,
            reason: "TooManyRequests",
            message: "no".into(),
            details: json!({"name": "a"}),
        };
        let response = &Answer::Deny(Box::new(denial)).write("q1")["response"];
        assert_eq!(response["allowed"], false);
        assert_eq!(response["status"]["code"], 429);
        assert_eq!(response["status"]["reason"], "TooManyRequests");
        assert_eq!(response["status"]["details"]["name"], "a");
    }

    #[test]
    fn a_patch_is_base64_of_its_operations() {
        let operations = vec![json!({"op": "add", "path": "/a", "value": 1})];
        let response = &Answer::Patch(operations.clone()).write("q1")["response"];
        assert_eq!(response["patchType"], "JSONPatch");
        let bytes = STANDARD.decode(response["patch"].as_str().unwrap()).unwrap();
        assert_eq!(serde_json::from_slice::<Vec<Value>>(&bytes).unwrap(), operations);
    }
}
