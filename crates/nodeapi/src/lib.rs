//! The node API: what a program or a person on the machine says to the agent.
//!
//! The crate serves and decides nothing. Requests are read into what the gate can be asked ([`parse`]), the gate's state
//! is shown in the words of the wire ([`view`]), and everything in between is behind one trait, [`Node`], which the agent
//! implements.
//!
//! ```text
//!  unix socket ─► rights ─► routes ─► parse ─► Node::ask ──► the gate
//!  loopback    ─►   │    ─► compat ─►   │  ◄── Node::read ◄── view
//!   (uid from /proc)┘                   └─► answer: the one place where an Answer becomes a status code
//! ```
//!
//! - [`serve`] binds the sockets and runs them until it is told to stop.
//! - [`rights`] tells who calls, and who may change anything: the socket itself says it, nobody sends a password.
//! - [`openapi()`] describes the routes; it is made from the same table as the router.
//! - [`compat`] answers the clients of KubeEdge, OpenYurt and Open Horizon, each on its own loopback port.

pub mod compat;
pub mod parse;
pub mod rights;
pub mod serve;
pub mod view;

mod answer;
mod caller;
mod events;
mod extract;
mod node;
mod openapi;
mod routes;
#[cfg(test)]
mod testing;

pub use caller::{Caller, Credentials, Peer};
pub use node::{Health, ModuleHealth, Node, RestartError, StaticPodWish, Unavailable};
pub use openapi::openapi;
pub use routes::router;
