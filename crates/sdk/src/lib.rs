//! For programs on the device: a client of the node API, and a hold that lives as long as they do.
//!
//! ```no_run
//! # async fn fly() {}
//! # async fn mission() -> Result<(), safepoint_sdk::Error> {
//! use std::time::Duration;
//!
//! use safepoint_sdk::Hold;
//!
//! // Nothing on this machine changes from here ...
//! let hold = Hold::node("flying").holder("flight-control").lease(Duration::from_secs(30)).take().await?;
//! fly().await;
//! // ... to here.
//! hold.release().await?;
//! # Ok(())
//! # }
//! ```
//!
//! # A dead program does not open the gate
//!
//! A [`Hold`] renews itself while it lives and is dropped with it. **If the program crashes, is killed or hangs, nobody
//! renews the hold: its lease runs out, and the hold STAYS**, marked orphaned, with an alarm. A drone whose flight control
//! has crashed is not a drone that may be updated. Somebody has to look and end it with `safepoint unhold ID`, or the
//! restarted program takes it up again under the same [id](Taking::id). Only a hold that was taken with
//! [`OnExpiry::ThawIfSafe`] ends by itself then, unless a safety signal of the machine objects, and an agent cannot be given
//! any yet.
//!
//! # The parts
//!
//! - [`Client`]: a method for each path of the node API. It finds the agent's socket by itself ([`socket()`]).
//! - [`Hold`]: the guard. [`Hold::lost`] tells the program that it is no longer protected.
//! - [`blocking`]: both, for programs without tokio.
//! - [`scope`]: what a hold covers.
//! - [`Error`]: what went wrong. A refusal carries the agent's [`Failure`] with its reason.
//!
//! With the feature `lifecycle`, for programs in a cluster that change pods, or that look after something around them such as a
//! load balancer:
//!
//! - `operation`: asks for a pod to be taken out of service, waits until it may act, and gives it back.
//! - `cooperation`: keeps something switched on while a pod is in service, and switches it off before anybody acts.
//!
//! The bodies are those of `safepoint-api`. It leaves the choice of a Kubernetes version to binaries: a program that uses
//! this crate enables one of the `v1_*` features of `k8s-openapi`, for example
//! `k8s-openapi = { version = "0.29", features = ["v1_35"] }`.

pub mod blocking;
#[cfg(feature = "lifecycle")]
pub mod cooperation;
#[cfg(feature = "lifecycle")]
pub mod operation;
pub mod scope;

mod client;
mod error;
mod events;
mod hold;
#[cfg(feature = "lifecycle")]
mod pods;
mod socket;
mod transport;

pub use client::Client;
pub use error::Error;
pub use events::{Events, News};
pub use hold::{Hold, Lost, Standing, Taking};
pub use safepoint_api::local::{self, Failure, reason};
pub use safepoint_api::node_gate::OnExpiry;
pub use socket::{ENVIRONMENT, socket};

/// The guide; its examples are compiled with the tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/sdk.md")]
struct Guide;

/// The guide for authors of controllers; its examples are compiled as well.
#[cfg(all(doctest, feature = "lifecycle"))]
#[doc = include_str!("../../../docs/operations.md")]
struct OperationsGuide;
