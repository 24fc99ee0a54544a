//! Selectors: which objects of a list or a watch are wanted.
//!
//! [`LabelSelector`] is the query `labelSelector=` and the `LabelSelector` object of API types, [`FieldSelector`] is the
//! query `fieldSelector=`. Both say no to nothing that Kubernetes accepts, and their errors are its errors.
//! Their `Display` is the canonical form.

mod field;
mod label;
mod lexer;
mod object;
mod parse;
#[cfg(test)]
mod tests;

pub use field::{FieldRequirement, FieldSelector};
pub use label::{LabelRequirement, LabelSelector, Operator};

/// Why a selector was refused. The text is Kubernetes' own and goes to the client as it is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SelectorError(pub(crate) String);
