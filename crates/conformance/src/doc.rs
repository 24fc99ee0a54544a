//! A JSON document that was received, and what a case can claim about it.
//!
//! A claim that does not hold is an error that shows where the document came from, what was claimed, and the
//! document itself. Places in the document are JSON pointers.

use anyhow::{Result, anyhow};
use serde_json::Value;

/// A received document with its origin.
#[derive(Clone, Debug)]
pub struct Doc {
    origin: String,
    /// The document. `null` if the body was not JSON.
    pub value: Value,
}

// === impl Doc ===

impl Doc {
    pub(crate) fn new(origin: String, value: Value) -> Doc {
        Doc { origin, value }
    }

    /// What is at `pointer`; `null` if nothing is.
    #[must_use]
    pub fn get(&self, pointer: &str) -> &Value {
        self.value.pointer(pointer).unwrap_or(&Value::Null)
    }

    /// Claims that exactly `expected` is at `pointer`.
    pub fn at(&self, pointer: &str, expected: impl Into<Value>) -> Result<&Doc> {
        let expected = expected.into();
        match self.value.pointer(pointer) {
            Some(found) if *found == expected => Ok(self),
            found => {
                let found = found.map_or("nothing".to_owned(), Value::to_string);
                Err(self.unexpected(&format!("{pointer} to be {expected}, not {found}")))
            }
        }
    }

    /// Claims that there is nothing at `pointer`.
    pub fn absent(&self, pointer: &str) -> Result<&Doc> {
        match self.value.pointer(pointer) {
            None => Ok(self),
            Some(found) => Err(self.unexpected(&format!("nothing at {pointer}, not {found}"))),
        }
    }

    /// The text at `pointer`, which is not empty.
    pub fn text(&self, pointer: &str) -> Result<&str> {
        self.get(pointer)
            .as_str()
            .filter(|text| !text.is_empty())
            .ok_or_else(|| self.unexpected(&format!("a text at {pointer}")))
    }

    /// The number at `pointer`.
    pub fn number(&self, pointer: &str) -> Result<i64> {
        self.get(pointer).as_i64().ok_or_else(|| self.unexpected(&format!("a number at {pointer}")))
    }

    /// The list at `pointer`.
    pub fn list(&self, pointer: &str) -> Result<&[Value]> {
        self.get(pointer)
            .as_array()
            .map(Vec::as_slice)
            .ok_or_else(|| self.unexpected(&format!("a list at {pointer}")))
    }

    /// Claims that `truth` holds, which `claim` puts into words.
    pub fn holds(&self, truth: bool, claim: &str) -> Result<&Doc> {
        if truth { Ok(self) } else { Err(self.unexpected(claim)) }
    }

    /// The revision of this object, or of this list.
    pub fn revision(&self) -> Result<String> {
        self.text("/metadata/resourceVersion").map(str::to_owned)
    }

    /// The uid of this object.
    pub fn uid(&self) -> Result<String> {
        self.text("/metadata/uid").map(str::to_owned)
    }

    /// The names of the objects in this list, in its order.
    pub fn names(&self) -> Result<Vec<&str>> {
        let items = self.list("/items")?;
        Ok(items.iter().filter_map(|item| item.pointer("/metadata/name")?.as_str()).collect())
    }

    /// Claims that the objects of this list are these, in this order.
    pub fn lists(&self, names: &[&str]) -> Result<&Doc> {
        let found = self.names()?;
        self.holds(found == names, &format!("a list of {names:?}, not of {found:?}"))
    }

    /// The error of a claim that does not hold.
    #[must_use]
    pub fn unexpected(&self, expected: &str) -> anyhow::Error {
        anyhow!("\n  request:  {}\n  expected: {expected}\n  got:      {}", self.origin, self.value)
    }
}
