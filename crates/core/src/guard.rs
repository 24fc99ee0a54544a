//! The guards of the gate, by name, so that the model can be shown to need each of them.
//!
//! A check that cannot fail proves nothing. With the feature `mutants` a gate can be built with one guard switched off,
//! and the model must then find a counterexample. Without the feature, which is how Safepoint is shipped, there is
//! nothing to switch: [`Gate::guards`](crate::Gate) is the constant `true`.

use serde::{Deserialize, Serialize};

/// One thing the gate does to keep its invariants.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Guard {
    /// From the first instant of a freeze nothing new is admitted.
    RaiseTheBarrier,
    /// A freeze is acknowledged only when the node is settled.
    WaitUntilSettled,
    /// The end of a pod is a change like any other and is held.
    HoldStops,
    /// A uid that was superseded or deleted before it started is never started.
    BuryStaleUids,
    /// A release is durable before it takes effect.
    RecordReleases,
    /// A hold is durable before it is acknowledged.
    RecordHolds,
    /// A release does not cover a revision that is newer than it.
    BindGrantsToARevision,
    /// Leases are counted on a clock that cannot jump.
    CountOnTheMonotonicClock,
    /// A start waits for the end of what it replaces.
    EndBeforeStart,
    /// A report about a version that has been replaced does not count.
    DropLateReports,
    /// A thaw waits for a complete list before it lets anything through, and asks for one.
    RelistOnThaw,
}

impl Guard {
    /// Every guard.
    pub const ALL: [Self; 11] = [
        Self::RaiseTheBarrier,
        Self::WaitUntilSettled,
        Self::HoldStops,
        Self::BuryStaleUids,
        Self::RecordReleases,
        Self::RecordHolds,
        Self::BindGrantsToARevision,
        Self::CountOnTheMonotonicClock,
        Self::EndBeforeStart,
        Self::DropLateReports,
        Self::RelistOnThaw,
    ];
}
