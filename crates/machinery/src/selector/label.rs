//! Selecting by labels.

use std::{collections::BTreeMap, fmt, str::FromStr};

use super::{SelectorError, parse};
use crate::{
    names,
    status::{FieldError, FieldErrors, FieldPath},
};

/// How a requirement relates a label to its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operator {
    /// `a=b`
    Equals,
    /// `a==b`, which means the same and is printed as it was written.
    DoubleEquals,
    /// `a!=b`
    NotEquals,
    /// `a in (b,c)`
    In,
    /// `a notin (b,c)`
    NotIn,
    /// `a`
    Exists,
    /// `!a`
    DoesNotExist,
    /// `a>5`
    GreaterThan,
    /// `a<5`
    LessThan,
}

/// One condition on one label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabelRequirement {
    key: String,
    operator: Operator,
    values: Vec<String>,
}

/// Which objects are wanted, by their labels: all that meet every requirement. The default selects everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LabelSelector {
    /// Ordered by key.
    requirements: Vec<LabelRequirement>,
    /// Set for an absent `LabelSelector` object, which selects nothing.
    nothing: bool,
}

// === impl Operator ===

impl Operator {
    /// The sign between key and value.
    fn sign(self) -> &'static str {
        match self {
            Self::Equals => "=",
            Self::DoubleEquals => "==",
            Self::NotEquals => "!=",
            Self::In => " in ",
            Self::NotIn => " notin ",
            Self::GreaterThan => ">",
            Self::LessThan => "<",
            Self::Exists | Self::DoesNotExist => "",
        }
    }
}

// === impl LabelRequirement ===

impl LabelRequirement {
    /// A requirement whose key and values are checked.
    ///
    /// # Errors
    /// If the key or a value cannot be that of a label, or if the operator does not take so many values.
    pub fn new(key: &str, operator: Operator, values: Vec<String>) -> Result<Self, SelectorError> {
        let mut errors = FieldErrors::new();
        let messages = names::qualified_name(key);
        if !messages.is_empty() {
            errors.push(FieldError::invalid(FieldPath::new("key"), key, messages.join("; ")));
        }
        let path = FieldPath::new("values");
        let complaint = match operator {
            Operator::In | Operator::NotIn if values.is_empty() => {
                Some("for 'in', 'notin' operators, values set can't be empty")
            }
            Operator::Equals | Operator::DoubleEquals | Operator::NotEquals if values.len() != 1 => {
                Some("exact-match compatibility requires one single value")
            }
            Operator::Exists | Operator::DoesNotExist if !values.is_empty() => {
                Some("values set must be empty for exists and does not exist")
            }
            Operator::GreaterThan | Operator::LessThan if values.len() != 1 => {
                Some("for 'Gt', 'Lt' operators, exactly one value is required")
            }
            _ => None,
        };
        if let Some(complaint) = complaint {
            errors.push(FieldError::invalid(&path, values.clone(), complaint));
        }
        if matches!(operator, Operator::GreaterThan | Operator::LessThan) {
            for (i, value) in values.iter().enumerate().filter(|(_, value)| value.parse::<i64>().is_err()) {
                let complaint = "for 'Gt', 'Lt' operators, the value must be an integer";
                errors.push(FieldError::invalid(path.index(i), value.as_str(), complaint));
            }
        }
        for (i, value) in values.iter().enumerate() {
            let messages = names::label_value(value);
            if !messages.is_empty() {
                let path = path.index(i).key(key);
                errors.push(FieldError::invalid(&path, value.as_str(), messages.join("; ")));
            }
        }
        match errors.into_result() {
            Ok(()) => Ok(Self { key: key.to_owned(), operator, values }),
            Err(errors) => Err(SelectorError(errors.to_string())),
        }
    }

    /// The label that it is about.
    #[must_use]
    pub fn key(&self) -> &str {
        &self.key
    }

    /// How the label relates to the values.
    #[must_use]
    pub fn operator(&self) -> Operator {
        self.operator
    }

    /// The values; none for the operators that take none.
    #[must_use]
    pub fn values(&self) -> &[String] {
        &self.values
    }

    /// Whether it is met by an object on which the label has this value.
    #[must_use]
    pub fn matches(&self, value: Option<&str>) -> bool {
        let listed = |value: &str| self.values.iter().any(|other| other == value);
        match self.operator {
            Operator::Equals | Operator::DoubleEquals | Operator::In => value.is_some_and(listed),
            // An object without the label does not have the value either.
            Operator::NotEquals | Operator::NotIn => !value.is_some_and(listed),
            Operator::Exists => value.is_some(),
            Operator::DoesNotExist => value.is_none(),
            Operator::GreaterThan => self.compare(value, |have, limit| have > limit),
            Operator::LessThan => self.compare(value, |have, limit| have < limit),
        }
    }

    fn compare(&self, value: Option<&str>, holds: impl Fn(i64, i64) -> bool) -> bool {
        let have = value.and_then(|value| value.parse().ok());
        let limit = self.values.first().and_then(|limit| limit.parse().ok());
        have.zip(limit).is_some_and(|(have, limit)| holds(have, limit))
    }
}

impl fmt::Display for LabelRequirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let not = if self.operator == Operator::DoesNotExist { "!" } else { "" };
        write!(f, "{not}{}{}", self.key, self.operator.sign())?;
        let mut values: Vec<&str> = self.values.iter().map(String::as_str).collect();
        values.sort_unstable();
        match self.operator {
            Operator::In | Operator::NotIn => write!(f, "({})", values.join(",")),
            _ => f.write_str(&values.join(",")),
        }
    }
}

// === impl LabelSelector ===

impl LabelSelector {
    /// Reads the query `labelSelector=`, decoded. An empty text selects everything.
    ///
    /// # Errors
    /// If Kubernetes would refuse it; the text is what it would answer with 400.
    pub fn parse(text: &str) -> Result<Self, SelectorError> {
        parse::parse(text).map(Self::from_requirements)
    }

    /// All objects that meet every one of these.
    #[must_use]
    pub fn from_requirements(mut requirements: Vec<LabelRequirement>) -> Self {
        requirements.sort_by(|a, b| a.key.cmp(&b.key));
        Self { requirements, nothing: false }
    }

    /// No object at all.
    #[must_use]
    pub fn nothing() -> Self {
        Self { requirements: vec![], nothing: true }
    }

    /// Whether it selects everything.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.requirements.is_empty() && !self.nothing
    }

    /// Its requirements, ordered by key.
    #[must_use]
    pub fn requirements(&self) -> &[LabelRequirement] {
        &self.requirements
    }

    /// Whether an object with these labels is wanted.
    #[must_use]
    pub fn matches(&self, labels: &BTreeMap<String, String>) -> bool {
        self.matches_by(|key| labels.get(key).map(String::as_str))
    }

    /// Whether an object is wanted of which `label` tells the labels.
    pub fn matches_by<'a>(&self, label: impl Fn(&str) -> Option<&'a str>) -> bool {
        !self.nothing
            && self.requirements.iter().all(|requirement| requirement.matches(label(&requirement.key)))
    }

    /// The value that label `key` has on every selected object, if the selector says so; for an index.
    #[must_use]
    pub fn requires(&self, key: &str) -> Option<&str> {
        let requirement = self.requirements.iter().find(|requirement| requirement.key == key)?;
        match (requirement.operator, requirement.values.as_slice()) {
            (Operator::Equals | Operator::DoubleEquals | Operator::In, [value]) => Some(value),
            _ => None,
        }
    }
}

impl FromStr for LabelSelector {
    type Err = SelectorError;

    fn from_str(text: &str) -> Result<Self, SelectorError> {
        Self::parse(text)
    }
}

impl fmt::Display for LabelSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let requirements: Vec<String> = self.requirements.iter().map(ToString::to_string).collect();
        f.write_str(&requirements.join(","))
    }
}
