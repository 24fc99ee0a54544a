//! Pages as functions of what they show.
//!
//! No handler and no style stands in the markup: the policy of every answer forbids both. Whatever changes while somebody looks
//! is a [`Piece`](crate::live::Piece) with an id; whoever writes tests finds things by these ids and by their roles and labels.

pub(crate) mod fleet;
pub(crate) mod form;
pub(crate) mod held;
pub(crate) mod layout;
pub(crate) mod log;
pub(crate) mod node;
pub(crate) mod node_tables;
pub(crate) mod sign_in;
pub(crate) mod static_pods;
pub(crate) mod words;
pub(crate) mod workload;
