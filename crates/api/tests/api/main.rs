//! What API servers, people and other systems' programs get to see of this crate.
#![expect(clippy::unwrap_used, reason = "clippy takes only the test functions for tests, not what they call")]

mod crds;
mod examples;
mod names;
mod node_gate_rules;
mod pod_transition_rule_rules;
mod static_pod_rules;
mod support;
