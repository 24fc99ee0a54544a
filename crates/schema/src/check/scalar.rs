//! Types, texts and enumerations.

use safepoint_machinery::FieldError;
use safepoint_machinery::go::{self, Num};
use serde_json::Value;

use super::{Checker, Complaint, Report};
use crate::format::Format;
use crate::node::{Checks, Node, Types};
use crate::path::Path;
use crate::problem;

/// The type of a value and the format that goes with it in texts.
fn described(value: &Value) -> (Types, &'static str, &'static str) {
    match value {
        Value::Null => (Types::NONE, "null", ""),
        Value::Bool(_) => (Types::BOOLEAN, "boolean", ""),
        Value::Number(number) => match Num::of(number) {
            Num::Int(_) => (Types::INTEGER, "integer", "int64"),
            Num::Float(_) => (Types::NUMBER, "number", "float64"),
        },
        Value::String(_) => (Types::STRING, "string", ""),
        Value::Array(_) => (Types::ARRAY, "array", ""),
        Value::Object(_) => (Types::OBJECT, "object", ""),
    }
}

/// Whether a float stands for a whole number that every JSON reader keeps exact.
pub(super) fn is_whole(float: f64) -> bool {
    const LIMIT: f64 = 9_007_199_254_740_991.0;
    const EPSILON: f64 = 1e-9;
    if !(-LIMIT..=LIMIT).contains(&float) {
        return false;
    }
    // Go measures the distance to the number cut off after the point, with a tolerance for rounding.
    float == float.trunc() || (float > 1.0 && (float - float.trunc()) / (float + float.trunc()) < EPSILON)
}

impl Checker<'_> {
    /// The complaint about a value of the wrong type.
    pub(super) fn type_of(&self, node: &Node, value: &Value, path: &Path<'_>) -> Option<Complaint> {
        let (given, given_name, given_format) = described(value);
        if value.is_null() {
            if node.types.is_empty() || node.nullable {
                return None;
            }
            return Some(self.wrong_type(path, &node.types.text(), given_name));
        }
        let format = node.checks.as_deref().and_then(|checks| checks.format.as_ref());
        let whole_float = match value {
            Value::Number(number) => matches!(Num::of(number), Num::Float(float) if is_whole(float)),
            _ => false,
        };
        let fits = node.types.contains(given)
            || (whole_float && node.types.contains(Types::INTEGER))
            || (given == Types::INTEGER && node.types.contains(Types::NUMBER));
        match format {
            Some((format, name)) => {
                let text_or_list = matches!(value, Value::String(_) | Value::Array(_));
                if !text_or_list && !fits && given_format != &**name {
                    return Some(self.wrong_type(path, name, given_format));
                }
                // Texts are left to their format, and so are lists: the API server mistakes them for bytes.
                if text_or_list
                    && !node.types.contains(Types::INTEGER.union(Types::NUMBER))
                    && !format.is_numeric()
                {
                    return None;
                }
            }
            None if node.types.is_empty() => return None,
            None => {}
        }
        if fits || node.types.is_empty() {
            return None;
        }
        Some(self.wrong_type(path, &node.types.text(), given_name))
    }

    fn wrong_type(&self, path: &Path<'_>, wanted: &str, given: &str) -> Complaint {
        let sentence = format!("{} in body must be of type {wanted}: {}", path.dotted(), go::quote(given));
        self.complain(path, sentence, |path, text| FieldError::type_invalid(path, given, text))
    }

    pub(super) fn text(&self, checks: &Checks, text: &str, path: &Path<'_>, report: &mut Report) {
        if let Some(complaint) = self.length(checks, text, path).or_else(|| self.pattern(checks, text, path))
        {
            report.complaints.push(complaint);
        }
        let Some((format, name)) = checks.format.as_ref().filter(|(format, _)| !format.is_numeric()) else {
            return;
        };
        report.passed += 1;
        if !format.accepts(text) {
            let sentence = format!("{} in body must be of type {name}: {}", path.dotted(), go::quote(text));
            report.complaints.push(
                self.complain(path, sentence, |path, detail| FieldError::type_invalid(path, text, detail)),
            );
        }
    }

    fn length(&self, checks: &Checks, text: &str, path: &Path<'_>) -> Option<Complaint> {
        if checks.max_length.is_none() && checks.min_length.is_none() {
            return None;
        }
        let length = super::count(text.chars().count());
        if let Some(max) = checks.max_length.filter(|max| length > *max) {
            let sentence = format!("{} in body should be at most {max} chars long", path.dotted());
            return Some(self.complain(path, sentence, |path, _| problem::too_long(path, max)));
        }
        let min = checks.min_length.filter(|min| length < *min)?;
        let sentence = format!("{} in body should be at least {min} chars long", path.dotted());
        Some(self.complain(path, sentence, |path, detail| FieldError::invalid(path, text, detail)))
    }

    fn pattern(&self, checks: &Checks, text: &str, path: &Path<'_>) -> Option<Complaint> {
        let (source, _) = checks.pattern.as_ref().filter(|(_, regex)| !regex.is_match(text))?;
        let sentence = format!("{} in body should match '{source}'", path.dotted());
        Some(self.complain(path, sentence, |path, detail| FieldError::invalid(path, text, detail)))
    }

    pub(super) fn enumerated(&self, checks: &Checks, value: &Value, path: &Path<'_>) -> Option<Complaint> {
        let allowed = &checks.one_of_values;
        if allowed.is_empty() || allowed.iter().any(|allowed| is_one(value, allowed)) {
            return None;
        }
        let texts: Vec<String> = allowed
            .iter()
            .map(|allowed| match allowed {
                Value::String(text) => text.clone(),
                other => go::json(other),
            })
            .collect();
        let sentence = format!("{} in body should be one of {}", path.dotted(), go::list(allowed));
        Some(self.complain(path, sentence, |path, _| FieldError::not_supported(path, value.clone(), &texts)))
    }
}

/// Numbers are converted to the type of the enumerated one before they are compared, fractions cut off.
fn is_one(value: &Value, allowed: &Value) -> bool {
    match (value, allowed) {
        (Value::Null, _) => false,
        (Value::Number(value), Value::Number(allowed)) => match (Num::of(value), Num::of(allowed)) {
            (Num::Int(value), Num::Int(allowed)) => value == allowed,
            #[expect(clippy::cast_possible_truncation, reason = "that is the conversion")]
            (Num::Float(value), Num::Int(allowed)) => value as i64 == allowed,
            (value, Num::Float(allowed)) => value.as_f64() == allowed,
        },
        (value, allowed) => value == allowed,
    }
}

/// The number format of a node whose type is unambiguous.
pub(super) fn number_format(node: &Node) -> Option<Format> {
    let (format, _) = node.checks.as_deref()?.format.as_ref()?;
    format.is_numeric().then_some(*format)
}
