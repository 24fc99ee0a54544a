//! The commands that ask an agent, as a person or a script meets them: the built binary against the real node API, and
//! through the cluster against the whole of `safepoint up`.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

#[expect(dead_code, reason = "the tests of the SDK use the rest")]
#[path = "../../../sdk/tests/support/node.rs"]
mod node;

mod cluster;
mod freeze;
mod help;
mod hold;
mod keadm;
mod look;
mod release;
mod run;
mod static_pods;
mod support;
mod top;
