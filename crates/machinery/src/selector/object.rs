//! The `LabelSelector` object, as in webhook configurations and workloads.

use serde_json::Value;

use super::{
    SelectorError,
    label::{LabelRequirement, LabelSelector, Operator},
};
use crate::{
    go::quote,
    names,
    status::{FieldError, FieldErrors, FieldPath},
};

impl LabelSelector {
    /// Reads a `LabelSelector` object. An absent one selects nothing, an empty one everything.
    ///
    /// # Errors
    /// If it is not well formed, or names labels that cannot be.
    pub fn from_object(object: Option<&Value>) -> Result<Self, SelectorError> {
        let Some(object) = object.filter(|object| !object.is_null()) else {
            return Ok(Self::nothing());
        };
        let mut requirements = vec![];
        if let Some(labels) = present(object, "matchLabels") {
            let labels = labels.as_object().ok_or_else(|| wrong("matchLabels", "an object"))?;
            for (key, value) in labels {
                let value = value.as_str().ok_or_else(|| wrong("matchLabels", "an object of strings"))?;
                requirements.push(LabelRequirement::new(key, Operator::Equals, vec![value.to_owned()])?);
            }
        }
        if let Some(expressions) = present(object, "matchExpressions") {
            let expressions = expressions.as_array().ok_or_else(|| wrong("matchExpressions", "a list"))?;
            for expression in expressions {
                requirements.push(requirement(expression)?);
            }
        }
        Ok(Self::from_requirements(requirements))
    }

    /// Everything that is wrong with a `LabelSelector` object at `path`, as validation reports it.
    #[must_use]
    pub fn validate_object(object: &Value, path: &FieldPath) -> FieldErrors {
        let mut errors = FieldErrors::new();
        let labels = path.child("matchLabels");
        for (key, value) in object.get("matchLabels").and_then(Value::as_object).into_iter().flatten() {
            errors.invalid_each(&labels, key, names::qualified_name(key));
            let value = value.as_str().unwrap_or_default();
            errors.invalid_each(&labels, value, names::label_value(value));
        }
        let expressions = object.get("matchExpressions").and_then(Value::as_array).into_iter().flatten();
        for (i, expression) in expressions.enumerate() {
            validate_expression(expression, &path.child("matchExpressions").index(i), &mut errors);
        }
        errors
    }
}

fn validate_expression(expression: &Value, path: &FieldPath, errors: &mut FieldErrors) {
    let text = |name: &str| expression.get(name).and_then(Value::as_str).unwrap_or_default();
    let values: Vec<&str> = expression
        .get("values")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .map(|value| value.as_str().unwrap_or_default())
        .collect();
    match text("operator") {
        "In" | "NotIn" if values.is_empty() => {
            let detail = "must be specified when `operator` is 'In' or 'NotIn'";
            errors.push(FieldError::required(path.child("values"), detail));
        }
        "Exists" | "DoesNotExist" if !values.is_empty() => {
            let detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
            errors.push(FieldError::forbidden(path.child("values"), detail));
        }
        "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
        other => {
            errors.push(FieldError::invalid(path.child("operator"), other, "not a valid selector operator"));
        }
    }
    errors.invalid_each(&path.child("key"), text("key"), names::qualified_name(text("key")));
    for (i, value) in values.into_iter().enumerate() {
        errors.invalid_each(&path.child("values").index(i), value, names::label_value(value));
    }
}

fn requirement(expression: &Value) -> Result<LabelRequirement, SelectorError> {
    let text = |name: &str| present(expression, name).and_then(Value::as_str);
    let operator = match text("operator").unwrap_or_default() {
        "In" => Operator::In,
        "NotIn" => Operator::NotIn,
        "Exists" => Operator::Exists,
        "DoesNotExist" => Operator::DoesNotExist,
        other => {
            return Err(SelectorError(format!("{} is not a valid label selector operator", quote(other))));
        }
    };
    let mut values = vec![];
    if let Some(list) = present(expression, "values") {
        for value in list.as_array().ok_or_else(|| wrong("values", "a list"))? {
            values.push(value.as_str().ok_or_else(|| wrong("values", "a list of strings"))?.to_owned());
        }
    }
    LabelRequirement::new(text("key").unwrap_or_default(), operator, values)
}

fn present<'a>(object: &'a Value, name: &str) -> Option<&'a Value> {
    object.get(name).filter(|value| !value.is_null())
}

fn wrong(field: &str, kind: &str) -> SelectorError {
    SelectorError(format!("label selector: {field} must be {kind}"))
}
