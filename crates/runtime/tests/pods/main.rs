//! Pods as real processes: what a user of the runtime sees, and what is left of it when that user dies.

#![expect(clippy::unwrap_used, reason = "helpers of tests are tests, too")]

mod changes;
mod configs;
mod crashes;
mod hooks;
mod lives;
mod machine;
mod probes;
mod refusals;
