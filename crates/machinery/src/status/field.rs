//! What is wrong with single fields of an object, in Kubernetes' words.

use std::fmt;

use serde_json::Value;

use super::Cause;
use crate::go::{self, quote};

/// Where a field is, for example `spec.containers[0].image`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct FieldPath(String);

/// The kind of a mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FieldErrorKind {
    /// Something that is referred to does not exist.
    NotFound,
    /// A value is missing.
    Required,
    /// A value is there twice.
    Duplicate,
    /// A value is malformed.
    Invalid,
    /// A value is none of the known ones.
    NotSupported,
    /// A value is not allowed here.
    Forbidden,
    /// A text is too long.
    TooLong,
    /// A list has too many items.
    TooMany,
    /// We are at fault.
    Internal,
    /// A value has the wrong type.
    TypeInvalid,
}

/// One mistake in one field.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldError {
    /// What kind of mistake it is.
    pub kind: FieldErrorKind,
    /// Where it is.
    pub path: String,
    /// The value that is wrong; `None` leaves it out of the text.
    pub value: Option<Value>,
    /// What would be right; may be empty.
    pub detail: String,
}

/// All mistakes of an object, in the order in which they were found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FieldErrors(Vec<FieldError>);

// === impl FieldPath ===

impl FieldPath {
    /// A path that starts with the field `name`.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self(name.to_owned())
    }

    /// The field `name` of what is here.
    #[must_use]
    pub fn child(&self, name: &str) -> Self {
        if self.0.is_empty() { Self(name.to_owned()) } else { Self(format!("{}.{name}", self.0)) }
    }

    /// The item `index` of the list that is here.
    #[must_use]
    pub fn index(&self, index: usize) -> Self {
        Self(format!("{}[{index}]", self.0))
    }

    /// The entry `key` of the map that is here.
    #[must_use]
    pub fn key(&self, key: &str) -> Self {
        Self(format!("{}[{key}]", self.0))
    }

    /// The path as a text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&Self> for FieldPath {
    fn from(path: &Self) -> Self {
        path.clone()
    }
}

impl From<String> for FieldPath {
    fn from(path: String) -> Self {
        Self(path)
    }
}

impl From<&str> for FieldPath {
    fn from(path: &str) -> Self {
        Self::new(path)
    }
}

impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

// === impl FieldErrorKind ===

impl FieldErrorKind {
    /// The reason of the cause, as programs read it.
    #[must_use]
    pub fn reason(self) -> &'static str {
        match self {
            Self::NotFound => "FieldValueNotFound",
            Self::Required => "FieldValueRequired",
            Self::Duplicate => "FieldValueDuplicate",
            Self::Invalid => "FieldValueInvalid",
            Self::NotSupported => "FieldValueNotSupported",
            Self::Forbidden => "FieldValueForbidden",
            Self::TooLong => "FieldValueTooLong",
            Self::TooMany => "FieldValueTooMany",
            Self::Internal => "InternalError",
            Self::TypeInvalid => "FieldValueTypeInvalid",
        }
    }

    fn title(self) -> &'static str {
        match self {
            Self::NotFound => "Not found",
            Self::Required => "Required value",
            Self::Duplicate => "Duplicate value",
            Self::Invalid | Self::TypeInvalid => "Invalid value",
            Self::NotSupported => "Unsupported value",
            Self::Forbidden => "Forbidden",
            Self::TooLong => "Too long",
            Self::TooMany => "Too many",
            Self::Internal => "Internal error",
        }
    }

    fn shows_its_value(self) -> bool {
        !matches!(self, Self::Required | Self::Forbidden | Self::TooLong | Self::Internal)
    }
}

// === impl FieldError ===

impl FieldError {
    /// A value is missing; `detail` may be empty.
    #[must_use]
    pub fn required(path: impl Into<FieldPath>, detail: impl Into<String>) -> Self {
        Self::new(FieldErrorKind::Required, path, None, detail)
    }

    /// A value is malformed.
    #[must_use]
    pub fn invalid(path: impl Into<FieldPath>, value: impl Into<Value>, detail: impl Into<String>) -> Self {
        Self::new(FieldErrorKind::Invalid, path, Some(value.into()), detail)
    }

    /// A value has the wrong type.
    #[must_use]
    pub fn type_invalid(
        path: impl Into<FieldPath>,
        value: impl Into<Value>,
        detail: impl Into<String>,
    ) -> Self {
        Self::new(FieldErrorKind::TypeInvalid, path, Some(value.into()), detail)
    }

    /// A value is none of the known ones.
    #[must_use]
    pub fn not_supported(
        path: impl Into<FieldPath>,
        value: impl Into<Value>,
        supported: &[impl AsRef<str>],
    ) -> Self {
        let detail = if supported.is_empty() {
            String::new()
        } else {
            let quoted: Vec<String> = supported.iter().map(|value| quote(value.as_ref())).collect();
            format!("supported values: {}", quoted.join(", "))
        };
        Self::new(FieldErrorKind::NotSupported, path, Some(value.into()), detail)
    }

    /// A value is not allowed here.
    #[must_use]
    pub fn forbidden(path: impl Into<FieldPath>, detail: impl Into<String>) -> Self {
        Self::new(FieldErrorKind::Forbidden, path, None, detail)
    }

    /// A value is there twice.
    #[must_use]
    pub fn duplicate(path: impl Into<FieldPath>, value: impl Into<Value>) -> Self {
        Self::new(FieldErrorKind::Duplicate, path, Some(value.into()), "")
    }

    /// Something that is referred to does not exist.
    #[must_use]
    pub fn not_found(path: impl Into<FieldPath>, value: impl Into<Value>) -> Self {
        Self::new(FieldErrorKind::NotFound, path, Some(value.into()), "")
    }

    /// A text has more than `limit` bytes.
    #[must_use]
    pub fn too_long(path: impl Into<FieldPath>, limit: usize) -> Self {
        let detail = format!("may not be more than {limit} {}", plural(limit, "byte"));
        Self::new(FieldErrorKind::TooLong, path, None, detail)
    }

    /// A list has `actual` items, which is more than `limit`.
    #[must_use]
    pub fn too_many(path: impl Into<FieldPath>, actual: usize, limit: usize) -> Self {
        let detail = format!("must have at most {limit} {}", plural(limit, "item"));
        Self::new(FieldErrorKind::TooMany, path, Some(actual.into()), detail)
    }

    /// We are at fault.
    #[must_use]
    pub fn internal(path: impl Into<FieldPath>, why: impl Into<String>) -> Self {
        Self::new(FieldErrorKind::Internal, path, None, why)
    }

    /// The mistake without the field: `Invalid value: "x": detail`.
    #[must_use]
    pub fn body(&self) -> String {
        let mut text = self.kind.title().to_owned();
        if let Some(value) = self.value.as_ref().filter(|_| self.kind.shows_its_value()) {
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
        kind: FieldErrorKind,
        path: impl Into<FieldPath>,
        value: Option<Value>,
        detail: impl Into<String>,
    ) -> Self {
        // Kubernetes prints a path that was never started as Go prints a nil pointer.
        let path = Some(path.into().0).filter(|path| !path.is_empty()).unwrap_or_else(|| "<nil>".to_owned());
        Self { kind, path, value, detail: detail.into() }
    }
}

impl std::error::Error for FieldError {}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.body())
    }
}

fn plural(count: usize, word: &str) -> String {
    if count == 1 { word.to_owned() } else { format!("{word}s") }
}

// === impl FieldErrors ===

impl FieldErrors {
    /// No mistakes yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds one.
    pub fn push(&mut self, error: FieldError) {
        self.0.push(error);
    }

    /// Adds one `Invalid` for each message, as the functions of [`crate::names`] return them.
    pub fn invalid_each(&mut self, path: &FieldPath, value: &str, messages: Vec<String>) {
        self.0.extend(messages.into_iter().map(|message| FieldError::invalid(path, value, message)));
    }

    /// Whether the object is good.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The mistakes, in the order in which they were found.
    pub fn iter(&self) -> std::slice::Iter<'_, FieldError> {
        self.0.iter()
    }

    /// The object if it has no mistakes, and else its mistakes.
    ///
    /// # Errors
    /// With itself, if there is at least one.
    pub fn into_result(self) -> Result<(), Self> {
        if self.is_empty() { Ok(()) } else { Err(self) }
    }

    pub(super) fn causes(&self) -> Vec<Cause> {
        let cause = |error: &FieldError| Cause {
            reason: error.kind.reason().to_owned(),
            message: error.body(),
            field: error.path.clone(),
        };
        self.0.iter().map(cause).collect()
    }
}

impl std::error::Error for FieldErrors {}

/// One mistake stands alone, several are in brackets, and what is said twice is printed once.
impl fmt::Display for FieldErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut texts: Vec<String> = vec![];
        let mut seen = std::collections::HashSet::new();
        for error in &self.0 {
            let text = error.to_string();
            if seen.insert(text.clone()) {
                texts.push(text);
            }
        }
        match texts.as_slice() {
            [] => Ok(()),
            [text] => f.write_str(text),
            _ => write!(f, "[{}]", texts.join(", ")),
        }
    }
}

impl Extend<FieldError> for FieldErrors {
    fn extend<T: IntoIterator<Item = FieldError>>(&mut self, errors: T) {
        self.0.extend(errors);
    }
}

impl FromIterator<FieldError> for FieldErrors {
    fn from_iter<T: IntoIterator<Item = FieldError>>(errors: T) -> Self {
        Self(errors.into_iter().collect())
    }
}

impl IntoIterator for FieldErrors {
    type Item = FieldError;
    type IntoIter = std::vec::IntoIter<FieldError>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a> IntoIterator for &'a FieldErrors {
    type Item = &'a FieldError;
    type IntoIter = std::slice::Iter<'a, FieldError>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}
