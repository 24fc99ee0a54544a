//! What a Kubernetes API does, as cases that run unchanged against any server.
//!
//! The real kube-apiserver is the oracle: a case is right when it passes there. The same cases then run against
//! the embedded server, and whatever a client can observe there must be the same. A case speaks plain HTTP and
//! looks at status code, headers and JSON, since a typed client hides the very things that differ.
//!
//! ```no_run
//! use safepoint_conformance::{Server, run};
//!
//! fn main() -> std::process::ExitCode {
//!     run(async || Server::connect("real", "https://127.0.0.1:6443", b"the PEM of its authority", "token"))
//! }
//! ```
//!
//! Every case has a namespace of its own and unique names for what is not in a namespace, so all of them run at
//! the same time and against a server that is in use. Nothing waits for time to pass: a case waits for an event
//! or asks again, and a limit turns a hang into a failure.
//!
//! With `CONFORMANCE_TRANSCRIPT` set to a directory, all that a case and the server said to each other is written
//! to a file there. Two servers are compared best by the difference of two such directories.

mod call;
mod case;
mod cases;
mod custom;
mod cx;
mod doc;
mod hook;
mod objects;
mod reply;
mod runner;
mod server;
mod transcript;
mod watch;

pub use call::Call;
pub use case::Case;
pub use cases::cases;
pub use cx::Cx;
pub use doc::Doc;
pub use reply::Reply;
pub use runner::{differences, run};
pub use server::Server;
pub use watch::{Event, Watch};
