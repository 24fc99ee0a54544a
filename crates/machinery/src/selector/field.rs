//! Selecting by fields.

use std::{borrow::Cow, fmt, str::FromStr};

use super::SelectorError;

/// One condition on one field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldRequirement {
    /// The field, for example `spec.nodeName`.
    pub field: String,
    /// The value.
    pub value: String,
    /// Whether the field must have the value (`=`), or must not (`!=`).
    pub equal: bool,
}

/// Which objects are wanted, by some of their fields: all that meet every requirement.
///
/// Which fields can be asked for is up to the resource. A field that is not set has the empty value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldSelector {
    requirements: Vec<FieldRequirement>,
}

// === impl FieldSelector ===

impl FieldSelector {
    /// Reads the query `fieldSelector=`, decoded. An empty text selects everything.
    ///
    /// # Errors
    /// If Kubernetes would refuse it; the text is what it would answer with 400.
    pub fn parse(text: &str) -> Result<Self, SelectorError> {
        let mut terms = split(text);
        terms.sort_unstable();
        let mut requirements = vec![];
        for term in terms.into_iter().filter(|term| !term.is_empty()) {
            let cannot = || SelectorError(format!("invalid selector: '{text}'; can't understand '{term}'"));
            let requirement = requirement(term).ok_or_else(cannot)??;
            // Kubernetes lets its handlers drop a term by emptying it, and with that drops the term `=`.
            if !(requirement.field.is_empty() && requirement.value.is_empty()) {
                requirements.push(requirement);
            }
        }
        Ok(Self { requirements })
    }

    /// The objects whose field has this value.
    #[must_use]
    pub fn equal(field: impl Into<String>, value: impl Into<String>) -> Self {
        Self {
            requirements: vec![FieldRequirement { field: field.into(), value: value.into(), equal: true }],
        }
    }

    /// Whether it selects everything.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.requirements.is_empty()
    }

    /// Its requirements.
    #[must_use]
    pub fn requirements(&self) -> &[FieldRequirement] {
        &self.requirements
    }

    /// Whether an object is wanted of which `field` tells the fields; `None` is the empty value.
    pub fn matches<'a>(&self, field: impl Fn(&str) -> Option<Cow<'a, str>>) -> bool {
        self.requirements.iter().all(|requirement| {
            let value = field(&requirement.field).unwrap_or_default();
            (value == requirement.value.as_str()) == requirement.equal
        })
    }

    /// The value that `field` has on every selected object, if the selector says so; for an index.
    #[must_use]
    pub fn requires(&self, field: &str) -> Option<&str> {
        let found =
            self.requirements.iter().find(|requirement| requirement.equal && requirement.field == field);
        found.map(|requirement| requirement.value.as_str())
    }
}

impl FromStr for FieldSelector {
    type Err = SelectorError;

    fn from_str(text: &str) -> Result<Self, SelectorError> {
        Self::parse(text)
    }
}

impl fmt::Display for FieldSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, requirement) in self.requirements.iter().enumerate() {
            if i > 0 {
                f.write_str(",")?;
            }
            write!(f, "{requirement}")?;
        }
        Ok(())
    }
}

impl fmt::Display for FieldRequirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}{}", self.field, if self.equal { "=" } else { "!=" }, escape(&self.value))
    }
}

/// The terms between commas; an escaped comma belongs to its term.
fn split(text: &str) -> Vec<&str> {
    let mut terms = vec![];
    let (mut start, mut escaped) = (0, false);
    for (i, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            ',' => {
                terms.push(&text[start..i]);
                start = i + 1;
            }
            _ => {}
        }
    }
    terms.push(&text[start..]);
    terms
}

/// Reads one term at its first operator; `None` if it has none.
fn requirement(term: &str) -> Option<Result<FieldRequirement, SelectorError>> {
    let at = term.char_indices().map(|(i, _)| i).find(|i| {
        let rest = &term[*i..];
        rest.starts_with("!=") || rest.starts_with('=')
    })?;
    let (field, rest) = term.split_at(at);
    let (equal, value) = match rest.strip_prefix("!=") {
        Some(value) => (false, value),
        None => (true, rest.strip_prefix("==").or_else(|| rest.strip_prefix('=')).unwrap_or(rest)),
    };
    Some(unescape(value).map(|value| FieldRequirement { field: field.to_owned(), value, equal }))
}

fn escape(value: &str) -> String {
    let mut out = String::with_capacity(value.len());
    for c in value.chars() {
        if matches!(c, '\\' | ',' | '=') {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

fn unescape(value: &str) -> Result<String, SelectorError> {
    let wrong = |sequence: &str| {
        SelectorError(format!("invalid field selector: invalid escape sequence: {sequence}"))
    };
    let mut out = String::with_capacity(value.len());
    let mut chars = value.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some(c @ ('\\' | ',' | '=')) => out.push(c),
                Some(c) => return Err(wrong(&format!("\\{c}"))),
                None => return Err(wrong("\\")),
            },
            // The number of the character is what Kubernetes prints here.
            ',' | '=' => {
                let text = format!("invalid field selector: unescaped character in value: {}", u32::from(c));
                return Err(SelectorError(text));
            }
            _ => out.push(c),
        }
    }
    Ok(out)
}
