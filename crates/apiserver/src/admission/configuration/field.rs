//! A field of an object that is being checked: where it is and what is there.
//!
//! Objects are not decoded into types here, so that a value of the wrong type is one more mistake to tell. Null counts
//! as missing, as in Go.

use safepoint_machinery::status::{FieldError, FieldErrors, FieldPath};
use serde_json::Value;

pub(super) struct Field<'a> {
    pub(super) path: FieldPath,
    pub(super) value: Option<&'a Value>,
}

impl<'a> Field<'a> {
    pub(super) fn root(object: &'a Value, name: &str) -> Field<'a> {
        Field { path: FieldPath::new(name), value: present(object, name) }
    }

    pub(super) fn child(&self, name: &str) -> Field<'a> {
        Field { path: self.path.child(name), value: self.value.and_then(|value| present(value, name)) }
    }

    /// The items of a list; none if there is no list.
    pub(super) fn items(&self, errors: &mut FieldErrors) -> Vec<Field<'a>> {
        let list = self.typed(Value::as_array, "must be an array", errors).into_iter().flatten();
        list.enumerate()
            .map(|(index, item)| Field { path: self.path.index(index), value: Some(item) })
            .collect()
    }

    /// The texts of a list.
    pub(super) fn texts(&self, errors: &mut FieldErrors) -> Vec<&'a str> {
        self.items(errors).iter().filter_map(|item| item.text(errors)).collect()
    }

    pub(super) fn text(&self, errors: &mut FieldErrors) -> Option<&'a str> {
        self.typed(Value::as_str, "must be a string", errors)
    }

    /// A text that must be there and not be empty.
    pub(super) fn required_text(&self, errors: &mut FieldErrors) -> Option<&'a str> {
        match self.value {
            None => {
                errors.push(FieldError::required(&self.path, ""));
                None
            }
            Some(Value::String(text)) if text.is_empty() => {
                errors.push(FieldError::required(&self.path, ""));
                None
            }
            Some(_) => self.text(errors),
        }
    }

    pub(super) fn integer(&self, errors: &mut FieldErrors) -> Option<i64> {
        self.typed(Value::as_i64, "must be an integer", errors)
    }

    /// What is there as `read` sees it; a value that it does not take is a mistake.
    pub(super) fn typed<T>(
        &self,
        read: impl Fn(&'a Value) -> Option<T>,
        expected: &str,
        errors: &mut FieldErrors,
    ) -> Option<T> {
        let value = self.value?;
        let typed = read(value);
        if typed.is_none() {
            errors.push(FieldError::type_invalid(&self.path, value.clone(), expected));
        }
        typed
    }
}

fn present<'a>(object: &'a Value, name: &str) -> Option<&'a Value> {
    object.get(name).filter(|value| !value.is_null())
}
