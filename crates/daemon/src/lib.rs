//! The agent as a program: its arguments, its start and its end.
//!
//! `safepoint agent` and `safepoint up` use it, and so does `safepoint-agent`, which is the agent and nothing else: a device
//! that needs neither the embedded API nor the hub need not carry them, on its disk or in its memory.

mod args;
pub mod door;
mod manifests;
mod node;
mod run;
mod supervise;
mod task;

pub use args::{AgentArgs, EXAMPLES};
pub use manifests::RulesArgs;
pub use node::{CompatAddress, NodeArgs};
pub use run::{log, options, run, shim};
pub use supervise::supervise;
pub use task::{TASK_EXAMPLES, TaskArgs, upgrade_static_pod};
