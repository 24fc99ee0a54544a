//! The few field errors that only schemas know.

use safepoint_machinery::status::{FieldError, FieldErrorKind};
use serde_json::Value;

/// Path of a problem that belongs to the object as a whole. The API server prints its absent path like this.
pub(crate) const NO_PATH: &str = "<nil>";

/// Invalid, but the value is too large to be worth repeating.
pub(crate) fn invalid_omitted(path: String, detail: String) -> FieldError {
    FieldError { kind: FieldErrorKind::Invalid, path, value: None, detail }
}

/// There twice; what, only if that is known.
pub(crate) fn duplicate(path: String, value: Option<Value>) -> FieldError {
    FieldError { kind: FieldErrorKind::Duplicate, path, value, detail: String::new() }
}

/// A text is longer than a schema allows. A limit below zero allows none, and has no number worth telling.
pub(crate) fn too_long(path: String, max: i64) -> FieldError {
    let mut error = FieldError::too_long(path, usize::try_from(max).unwrap_or_default());
    if max < 0 {
        "value is too long".clone_into(&mut error.detail);
    }
    error
}

/// A list or map has more entries than a schema allows. As with texts, a limit below zero is not told.
pub(crate) fn too_many(path: String, actual: usize, max: i64) -> FieldError {
    let mut error = FieldError::too_many(path, actual, usize::try_from(max).unwrap_or_default());
    if max < 0 {
        "has too many items".clone_into(&mut error.detail);
    }
    error
}

/// Whether CEL rules can no longer be trusted to see the types they were compiled for.
pub(crate) const fn blocks_rules(kind: FieldErrorKind) -> bool {
    matches!(
        kind,
        FieldErrorKind::NotSupported
            | FieldErrorKind::Required
            | FieldErrorKind::TooLong
            | FieldErrorKind::TooMany
            | FieldErrorKind::TypeInvalid
    )
}
