//! What to do now so that a static pod reaches its wanted revision on many nodes.
//!
//! [`plan`] is a function of an [`Order`] (what a fleet owner wants), of what is [`Seen`] in the cluster, and of `now`. There
//! is no state between two calls: everything a plan rests on, failures and attempts included, is read from the upgrade
//! tasks that are there. A hub that crashes, or another one that takes over, goes on where the last one was.
//!
//! ```text
//!   Order ─┐
//!   Seen  ─┼─► look (each node alone) ─► pick (the window over all) ─► Plan: start, remove, mark, stage, and why
//!   now   ─┘
//! ```
//!
//! **The window.** A node takes a place while a task of any revision is unfinished on it, while the outcome of a task does not
//! show on its pod yet, and, if the node is ready, while its pod is not, whoever is to blame. A node is started where a place
//! is free. One whose old pod is not ready already has its place: it may be started although the window is full, as long as
//! fewer nodes than the budget are down *by our doing*. That number never exceeds the budget.
//!
//! **What the driver owes.** It begins with a complete list that is no older than its leadership; it adds what it has
//! started itself until it sees it ([`Started`]); it names a task by node, work, revision and attempt, so that the same start
//! is not made twice; it removes a task that has not begun by an orderly deletion, which counts until the task is seen gone.

mod look;
mod order;
mod outcome;
mod pick;
mod rule;
mod seen;
mod started;
mod verdict;
mod words;

pub use order::{Canary, Cordoned, Order, Retry, Share, Strategy};
pub use outcome::{
    Counts, Deferral, Node, Plan, Progress, Promotion, Removal, RemovalReason, Start, State, Then, Verdict,
    Wait,
};
pub use rule::Rule;
pub use seen::{Failure, Gate, Phase, Pod, Presence, Seen, Task, Wanted, Work};
pub use started::Started;

use crate::time::Timestamp;
use rule::Rules;

/// Decides what to do now.
///
/// Pure, and independent of the order in which the nodes come. Of two entries for one node both count: see to it that there
/// is one.
#[must_use]
pub fn plan(order: &Order, seen: &[Seen], now: Timestamp) -> Plan {
    pick::plan(order, seen, now, Rules::default())
}

/// The same with one rule missing, for the model that has to notice it.
#[cfg(feature = "mutants")]
#[must_use]
pub fn plan_without(order: &Order, seen: &[Seen], now: Timestamp, off: Option<Rule>) -> Plan {
    pick::plan(order, seen, now, Rules::without(off))
}

#[cfg(test)]
mod tests;
