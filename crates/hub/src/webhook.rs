//! Webhooks: how the API server asks the hub before a pod is made or ended.
//!
//! A [`Hook`] is one question that the hub wants to be asked, and its answer. Adding one to [`Hub`](crate::Hub) is all that it
//! takes: `server` asks it, `registration` tells the API server when to ask, `keeper` keeps the certificate that the two
//! trust each other by.
//!
//! **Nothing here may stop a cluster.** Every hook is registered so that a hub that is away, late or wrong is passed over.

mod certificate;
mod hook;
mod keeper;
mod registration;
mod review;
mod server;

pub(crate) use certificate::Names;
pub use hook::{Entry, Flavour, Hook, Reviewing, Rule, SideEffects};
pub(crate) use keeper::{Certificates, Keeper, ensure_namespace};
pub(crate) use registration::{Endpoint, Registration};
pub use review::{Answer, Denial, Request};
pub(crate) use server::{NOTING, PATIENCE, Server};
