//! Structural schemas, as an API server for custom resources needs them.
//!
//! A [`Schema`] is compiled once per version of a definition and then asked about every object: [`Schema::admit`] removes
//! what the schema does not know, fills in defaults, and returns everything that is wrong in the words of a Kubernetes
//! API server. The crate is pure: no clock, no task, no lock; the same schema and objects always give the same outcome.
//!
//! ```text
//! openAPIV3Schema ─► compile ─► nodes ─► admit(object, old) ─► shape: metadata, prune, nulls, defaults
//!                                                           └► check: types, formats, bounds, logic, list types
//!                                                           └► rules: CEL, with the past
//! ```
//!
//! Pruning and defaulting are one pass over the object and checking is another, because a rule about an object may look
//! at any field below it and must find it defaulted.
//!
//! Rules are written in CEL with the function libraries of Kubernetes 1.36. What they may compute is limited while they
//! run, with the units and limits of an API server; the estimate that an API server makes when a definition is created
//! is not made, so a rule that could become too expensive is found when it does. The time zone argument of the
//! calendar functions (`getHours("Europe/Berlin")`) is not available. Labels, names and other contents of embedded
//! metadata are not checked beyond their types.
//!
//! Schemas of built-in kinds come from their Rust types through [`Schema::from_json_schema`].

mod cel;
mod check;
mod compile;
mod duplicates;
mod format;
mod node;
mod path;
mod pattern;
mod problem;
mod raw;
mod rules;
mod schema;
mod shape;
mod typed;

pub use duplicates::duplicate_fields;
pub use schema::{Options, Outcome, Schema};
