//! What a person meets who points kubectl at `safepoint up`: the real kubectl, the real binary, a real socket.
//!
//! kubectl is the judge of whether the embedded API is Kubernetes. Its own logic (three-way merges, discovery, printing,
//! waiting) meets ours here, in whole commands. All tests share one server, which ends with this process however that
//! ends; each has a namespace and a folder of its own, which is kubectl's home and working directory.
//!
//! `SAFEPOINT_TEST_KUBECTL=kubernetes` runs the same tests against a real control plane, to see whether what they expect
//! is true there. Tests of what only Safepoint says are then passed over.
#![expect(clippy::unwrap_used, reason = "clippy takes only the test functions for tests, not what they call")]

mod apply;
mod auth;
mod change;
mod create;
mod custom;
mod delete;
mod describe;
mod discovery;
mod events;
mod explain;
mod get;
mod nodes;
mod output;
mod plugin;
mod refusals;
mod restart;
mod support;
mod wait;
mod watch;
