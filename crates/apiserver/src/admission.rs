//! The say of webhooks: before an object is written, every hook that asked for a say is asked.
//!
//! A write passes twice through here, with one [`Attributes`]: [`Hooks::mutate`] asks the mutating hooks one after the
//! other and lets them change the object, [`Hooks::validate`] asks the validating ones all at once and lets them refuse
//! it. Between the two the caller checks the object by its own rules, as Kubernetes does, so that a validating hook sees
//! what will be stored and a mutating one cannot smuggle past the schema.
//!
//! The way of one hook: `matching` says whether it wants this request (`rule`, selectors, `condition`), `convert` shows it
//! the object in the version it asked for, `review` writes the question and reads the answer, `client` carries both.
//!
//! **A hook that cannot be asked is not a hook that agrees.** Whatever keeps an answer away, from a certificate that does
//! not parse to a patch that is no patch, ends in the hook's `failurePolicy`, and its default is to refuse the write. Only
//! what the hook itself got wrong after answering well-formed (a patch that does not apply) refuses in any case.

mod attributes;
mod call;
mod client;
mod condition;
mod configuration;
mod convert;
mod expression;
mod hook;
mod matching;
mod mutate;
mod refusal;
mod review;
mod rule;
mod services;
#[cfg(test)]
mod tests;
mod url;
mod validate;
mod warnings;

pub(crate) use attributes::{Attributes, GroupVersionKind, GroupVersionResource, Operation};
pub(crate) use configuration::{default_configuration, validate_configuration};
pub(crate) use hook::Hooks;
pub use services::Services;
pub(crate) use warnings::Warnings;
