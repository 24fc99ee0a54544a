//! PodOpsLifecycle: who may operate on a pod, and when it is back in service. All of it is labels on the pod.
//!
//! An *operation controller* wants to change a pod and says so with labels under an id of its own. *Cooperation
//! controllers* keep something about the pod switched on, such as traffic, and say so with a finalizer. The lifecycle
//! stands between them: it takes the pod out of service, waits until the finalizers are gone, lets the operation act,
//! and brings the pod back. The keys are those of KusionStack, so that controllers written for it run unmodified.
//!
//! ```text
//! Begin ─► PreCheck ─► Preparing ─► Operating ─► PostCheck ─► Completing ─► in service
//!          rules       gate False   the operation rules        gate True
//!          pass        finalizers   acts, Finish  pass         finalizers
//!                      go                                      come
//! ```
//!
//! Everything here is a function of a [`View`] and the time. There are four drivers for it, all thin: the mutating webhook
//! ([`Lifecycle::admit`]), the validating webhook ([`check`], [`Lifecycle::grace_delete`]), the controller
//! ([`Lifecycle::reconcile`], [`Lifecycle::delete_step`]) and the evaluation of transition rules ([`rules`]). What they
//! return are [`Changes`]: exactly the labels, annotations and gate to write, and empty where a write would change nothing.
//! Finalizers are never written: they belong to the cooperation controllers.
//!
//! The controller can do all that the webhook does. A request that did not pass the webhook is made good by the next look
//! of the controller, so the webhook need not stand in the way of a kubelet when the hub is away.
//!
//! A write that is decided on an old view must fail: the driver sends every change with the resource version of the view.

mod admit;
mod changes;
mod check;
mod deletion;
mod explain;
mod guard;
mod phase;
mod reconcile;
pub mod rules;
mod view;
mod words;

#[cfg(test)]
mod tests;

pub use admit::{Kind, Request, Writer};
pub use changes::Changes;
pub use check::{Refusal, check};
pub use deletion::{Deletion, DeletionKind, DeletionVerdict, NextDeletion, TakenOn, Wish};
pub use explain::{Alarm, Explanation, OperationWhy, Timeouts, Wait, explain};
pub use guard::Guard;
pub use phase::{Phase, phase, phase_of};
pub use rules::{Blocked, BlockedBy, RuleStates, Stage, StageState};
pub use view::{Expectations, Operation, ServiceGate, View};
pub use words::{
    AVAILABLE_CONDITIONS, CONTROL, CONTROL_ON, DELETE_ID, DELETE_TIMESTAMP, DELETE_TYPE, DOMAIN, Label,
    LabelKey, Mark, Nanos, OperationId, OperationType, PROTECTION_FINALIZER_PREFIX, SERVICE_READY,
};

/// The machine. It has no state: all state is on the pod.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct Lifecycle {
    #[cfg(feature = "mutants")]
    off: Option<Guard>,
}

// === impl Lifecycle ===

impl Lifecycle {
    /// Whether this guard stands. See [`Guard`].
    #[cfg(feature = "mutants")]
    pub(crate) fn guards(self, guard: Guard) -> bool {
        self.off != Some(guard)
    }

    #[cfg(not(feature = "mutants"))]
    #[expect(
        clippy::unused_self,
        reason = "the same call as with the feature, where the machine knows its mutant"
    )]
    pub(crate) const fn guards(self, _guard: Guard) -> bool {
        true
    }

    /// The same machine with one guard switched off.
    #[cfg(feature = "mutants")]
    #[must_use]
    pub const fn without(mut self, guard: Option<Guard>) -> Self {
        self.off = guard;
        self
    }
}
