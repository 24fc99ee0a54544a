//! A Kubernetes API for one machine, over an embedded store.
//!
//! It lets the whole of Safepoint run with one command and no cluster, and it is the seam for fast tests: the same
//! controllers talk to it in process, where [`Api::router`] is the client's service, or over TLS through [`Server`].
//! kubectl and kube-rs work on it. What it does not serve it says, with 404 in plain words.
//!
//! The way of a request: `http` reads it (path, query, body, accepted types), `identity` says who asks and whether they
//! may, `verbs` does what it asks for, with the rules of the object's kind (`kinds` for built-in ones, `custom` for those
//! that CRDs define) and the say of webhooks (`admission`), and the store makes it durable. `controllers` finishes what
//! a deletion began (dependents, namespaces, custom resources) and begins to serve what CRDs define.
//!
//! Objects are `serde_json::Value` from end to end. No field is dropped because this crate does not know it, except
//! where a CRD's schema says that unknown fields are pruned.

/// The guide for users, so that its example is compiled.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/embedded-api.md")]
struct Guide;

mod admission;
mod api;
mod clock;
mod controllers;
mod custom;
mod discovery;
mod facts;
mod fault;
mod http;
mod identity;
mod kinds;
mod openapi;
mod registry;
mod resource;
mod server;
mod table;
mod typed;
mod verbs;
mod webhooks;

pub use admission::Services;
pub use api::{Api, Options, StartError};
pub use identity::User;
pub use server::{Server, ServerOptions};
