//! What is wrong with a schema or with an object, in the shape of a Kubernetes field error.
//!
//! Clients match on these texts (kubectl prints them, controllers grep them), so [`Problem`] keeps the four parts that
//! a `Status` cause needs and renders the sentence exactly as an API server does.

use std::fmt;

use serde_json::Value;

use crate::go;

/// Path of a problem that belongs to the object as a whole. The API server prints its absent path like this.
pub(crate) const NO_PATH: &str = "<nil>";

/// Which rule was broken. [`ProblemKind::reason`] is the machine readable name in a `Status` cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ProblemKind {
    /// A value is missing.
    Required,
    /// A value is present and wrong.
    Invalid,
    /// A value has the wrong JSON type or does not parse as its format.
    TypeInvalid,
    /// A value that must be unique occurs twice.
    Duplicate,
    /// A value is not one of those enumerated.
    NotSupported,
    /// A value must not be set here.
    Forbidden,
    /// A string is too long.
    TooLong,
    /// A list or map has too many entries.
    TooMany,
    /// The server could not finish the check.
    Internal,
}

impl ProblemKind {
    /// The `reason` of a `Status` cause.
    pub fn reason(self) -> &'static str {
        match self {
            Self::Required => "FieldValueRequired",
            Self::Invalid => "FieldValueInvalid",
            Self::TypeInvalid => "FieldValueTypeInvalid",
            Self::Duplicate => "FieldValueDuplicate",
            Self::NotSupported => "FieldValueNotSupported",
            Self::Forbidden => "FieldValueForbidden",
            Self::TooLong => "FieldValueTooLong",
            Self::TooMany => "FieldValueTooMany",
            Self::Internal => "InternalError",
        }
    }

    fn title(self) -> &'static str {
        match self {
            Self::Required => "Required value",
            Self::Invalid | Self::TypeInvalid => "Invalid value",
            Self::Duplicate => "Duplicate value",
            Self::NotSupported => "Unsupported value",
            Self::Forbidden => "Forbidden",
            Self::TooLong => "Too long",
            Self::TooMany => "Too many",
            Self::Internal => "Internal error",
        }
    }

    /// Whether the rendered sentence names the offending value.
    fn shows_value(self) -> bool {
        matches!(
            self,
            Self::Invalid | Self::TypeInvalid | Self::Duplicate | Self::NotSupported | Self::TooMany
        )
    }

    /// Whether CEL rules can no longer be trusted to see the types they were compiled for.
    pub(crate) fn blocks_rules(self) -> bool {
        matches!(
            self,
            Self::NotSupported | Self::Required | Self::TooLong | Self::TooMany | Self::TypeInvalid
        )
    }
}

/// One thing that is wrong, and where.
///
/// ```
/// use safepoint_schema::{Problem, ProblemKind};
///
/// let problem = Problem {
///     kind: ProblemKind::TypeInvalid,
///     path: "spec.replicas".into(),
///     value: Some("string".into()),
///     detail: "spec.replicas in body must be of type integer: \"string\"".into(),
/// };
/// assert_eq!(
///     problem.to_string(),
///     "spec.replicas: Invalid value: \"string\": spec.replicas in body must be of type integer: \"string\""
/// );
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    /// Which rule was broken.
    pub kind: ProblemKind,
    /// The field, as in `spec.containers[0].name`; `<nil>` for the object as a whole.
    pub path: String,
    /// The offending value; `None` leaves it out of the sentence.
    pub value: Option<Value>,
    /// What would have been right. May be empty.
    pub detail: String,
}

// === impl Problem ===

impl Problem {
    /// The sentence without the path, as it appears in the `message` of a `Status` cause.
    pub fn body(&self) -> String {
        let mut text = self.kind.title().to_owned();
        if let Some(value) = self.value.as_ref().filter(|_| self.kind.shows_value()) {
            text.push_str(": ");
            text.push_str(&go::value(value));
        }
        if !self.detail.is_empty() {
            text.push_str(": ");
            text.push_str(&self.detail);
        }
        text
    }

    fn new(
        kind: ProblemKind,
        path: impl Into<String>,
        value: Option<Value>,
        detail: impl Into<String>,
    ) -> Self {
        Self { kind, path: path.into(), value, detail: detail.into() }
    }

    pub(crate) fn required(path: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::new(ProblemKind::Required, path, None, detail)
    }

    pub(crate) fn forbidden(path: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::new(ProblemKind::Forbidden, path, None, detail)
    }

    pub(crate) fn invalid(
        path: impl Into<String>,
        value: impl Into<Value>,
        detail: impl Into<String>,
    ) -> Self {
        Self::new(ProblemKind::Invalid, path, Some(value.into()), detail)
    }

    /// Invalid, but the value is too large to be worth repeating.
    pub(crate) fn invalid_omitted(path: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::new(ProblemKind::Invalid, path, None, detail)
    }

    pub(crate) fn type_invalid(
        path: impl Into<String>,
        value: impl Into<Value>,
        detail: impl Into<String>,
    ) -> Self {
        Self::new(ProblemKind::TypeInvalid, path, Some(value.into()), detail)
    }

    pub(crate) fn duplicate(path: impl Into<String>, value: Option<Value>) -> Self {
        Self::new(ProblemKind::Duplicate, path, value, "")
    }

    pub(crate) fn not_supported(
        path: impl Into<String>,
        value: impl Into<Value>,
        supported: &[impl AsRef<str>],
    ) -> Self {
        let quoted: Vec<String> = supported.iter().map(|text| go::quote(text.as_ref())).collect();
        let detail = match quoted.is_empty() {
            true => String::new(),
            false => format!("supported values: {}", quoted.join(", ")),
        };
        Self::new(ProblemKind::NotSupported, path, Some(value.into()), detail)
    }

    pub(crate) fn too_long(path: impl Into<String>, max: i64) -> Self {
        let detail = match max {
            1 => "may not be more than 1 byte".to_owned(),
            max if max < 0 => "value is too long".to_owned(),
            max => format!("may not be more than {max} bytes"),
        };
        Self::new(ProblemKind::TooLong, path, None, detail)
    }

    pub(crate) fn too_many(path: impl Into<String>, actual: usize, max: i64) -> Self {
        let detail = match max {
            1 => "must have at most 1 item".to_owned(),
            max if max < 0 => "has too many items".to_owned(),
            max => format!("must have at most {max} items"),
        };
        Self::new(ProblemKind::TooMany, path, Some(actual.into()), detail)
    }

    pub(crate) fn internal(path: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::new(ProblemKind::Internal, path, None, detail)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {}", self.path, self.body())
    }
}

impl std::error::Error for Problem {}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_sentence_is_that_of_an_api_server() {
        let text = |problem: Problem| problem.to_string();
        assert_eq!(text(Problem::required("spec.x", "")), "spec.x: Required value");
        assert_eq!(
            text(Problem::not_supported("spec.x", "c", &["a", "b"])),
            r#"spec.x: Unsupported value: "c": supported values: "a", "b""#
        );
        assert_eq!(text(Problem::too_long("spec.x", 5)), "spec.x: Too long: may not be more than 5 bytes");
        assert_eq!(text(Problem::too_many("spec.x", 3, 1)), "spec.x: Too many: 3: must have at most 1 item");
        assert_eq!(
            text(Problem::duplicate("spec.l[1]", Some(json!({"name": "a"})))),
            r#"spec.l[1]: Duplicate value: {"name":"a"}"#
        );
        assert_eq!(text(Problem::invalid("x", json!(null), "bad")), "x: Invalid value: null: bad");
    }
}
