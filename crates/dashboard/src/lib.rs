//! The fleet in a browser: what is held and why, and what may be done about it.
//!
//! ```text
//!   NodeGates, Nodes, StaticPods ──► `watches` ──► `Known` ──┐
//!                                                            ├──► `view` (pure) ──► pages, and what of them changes
//!   a person's token ──► what the cluster shows that person ─┘
//!   a form ──► `acts` ──► the cluster, with that person's token
//! ```
//!
//! Whoever looks signs in with a token of the cluster. What is shown from what was watched is shown after the cluster has said
//! that this person may see it; everything else is read, and everything is written, with the person's own token. As
//! itself the dashboard watches and notes Events, so nobody can talk it into what the cluster would refuse them.
//!
//! Pages are functions from data to markup (`view`), and show moments, not ages: the same data gives the same page, and only what
//! has changed is sent again. The browser's part is one script; without it every page and every act works all the same.

mod acts;
mod assets;
mod dashboard;
mod diff;
mod fleet;
mod known;
mod live;
mod people;
mod places;
mod record;
mod refusal;
mod routes;
mod serve;
mod session;
mod view;
mod watches;
mod workload;

#[cfg(test)]
mod tests;

pub use dashboard::{Certificate, Dashboard, Options, StartError};
