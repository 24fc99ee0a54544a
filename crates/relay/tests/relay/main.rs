//! The relay between real clients and real servers: sockets, TLS, and both versions of HTTP on both sides.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

mod bytes;
mod door;
mod health;
mod identity;
mod kubernetes;
mod many;
mod streams;
mod support;
