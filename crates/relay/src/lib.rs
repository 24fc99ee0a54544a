//! HTTP between a kubelet and its API servers.
//!
//! ```text
//! kubelet ── TLS, client certificate ──> Listener ── pass ──> Upstream ── TLS, the node's identity ──> API servers
//! ```
//!
//! A [`Listener`] takes connections of one client, whose name it knows, and of nobody else. An [`Upstream`] is a cluster:
//! one or more API servers of which it always knows whether they answer, and the node's identity, which it reads anew when
//! its files change. [`pass`] hands a request from one to the other and streams both ways; whoever wants to answer some
//! requests otherwise does so before calling it.
//!
//! What is assumed: the server is trusted once its certificate has been verified, and so is the client. What is never done:
//! a body is not buffered, a stream has no timeout of its own, a write whose fate is unknown is not repeated, and nobody
//! waits for a server that is known to be away. Nothing here knows of pods or any other kind of object.

mod causes;
mod certificate;
mod headers;
mod kubeconfig;
mod listener;
mod pass;
mod source;
mod spawn;
mod status;
mod tls;
mod upstream;
mod watched;

pub use certificate::{CertificateError, LoopbackCertificate, loopback_certificate};
pub use kubeconfig::Kubeconfig;
pub use listener::{Client, ListenError, Listener, Peer};
pub use pass::{pass, try_pass};
pub use source::{FileError, Source};
pub use status::{Body, BoxError, empty, full, status};
pub use upstream::{NoAnswer, Pace, Reachable, Upstream};
