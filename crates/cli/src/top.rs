//! `safepoint top`: one node or the fleet in a terminal, as it changes.
//!
//! ```text
//!   agent: events, status, log ──┐
//!                                ├─ source ─► Model::hear ──┐
//!   cluster: watches ────────────┘                          ├─► view(frame, &model) ─► screen
//!   keyboard ────────────────────── screen ─► Model::press ─┘
//! ```
//!
//! Everything but `source` and `screen` is pure. Nothing is ordered from here: what can be done is shown as a command to type,
//! so that every order has a person's shell history, a reason and a confirmation of its own.

mod detail;
mod fleet;
mod known;
mod list;
mod model;
mod node;
mod page;
mod roll_out;
mod screen;
mod source;
mod text;
mod view;

#[cfg(test)]
mod tests;

pub(crate) use model::{Model, Subject};
pub(crate) use node::Here;
pub(crate) use page::What;
pub(crate) use screen::{is_there, run};
pub(crate) use source::{agent, cluster};
