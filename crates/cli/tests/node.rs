//! The agent as it is shipped, on the embedded API, with real processes: what is held stays as it is, whatever happens.
//!
//! Each test has a cluster and a node of its own. The API runs in the test and is reached over TLS; the agent is the binary
//! and is killed by its pid.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test that fails says where, and is supervised by nobody"
)]

mod node {
    mod boot;
    mod compat;
    mod events;
    mod faults;
    mod freeze;
    mod hold;
    mod manifests;
    mod offline;
    mod ordered;
    mod orders;
    mod race;
    mod rights;
    mod world;
}
