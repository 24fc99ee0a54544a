//! The guards of the lifecycle, by name, so that the model can be shown to need each of them. See [`crate::Guard`].

use serde::{Deserialize, Serialize};

/// One thing the lifecycle does that keeps a pod from being operated with its traffic on, or from being stuck.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Guard {
    /// No operation acts while a cooperation controller's finalizer stands, whatever the gate's condition is.
    WaitForFinalizers,
    /// No operation acts before the gate is closed and the pod is seen not to be ready.
    WaitUntilNotReady,
    /// No operation is permitted while the pod is ready and a declared finalizer is still to come.
    WaitForRegistration,
    /// What the rules have said counts for what they were asked, and not for what is asked since.
    GrantWhatWasAsked,
    /// The gate stays closed while any operation may act, whatever another one has completed.
    KeepTheGateClosed,
    /// An operation that is past its act counts as done when the others finish.
    CountOperatedAsDone,
    /// An operation that begins has nothing of the one before it under the same id.
    BeginAfresh,
    /// An operation that ends before it may act leaves nothing behind.
    CleanWhatIsLeft,
    /// An operation that waits for its pre-check does not keep others from completing.
    KeepStagesApart,
    /// A permission goes with the last operation that had it.
    DropSparePermissions,
    /// A pod that is terminating may go.
    LetTheDyingGo,
    /// A dry run writes nothing.
    KeepDryRunsDry,
    /// A deletion that nobody wants any more is cancelled.
    WithdrawWishes,
    /// A deletion that is an operation of its own goes by its own permission, and not by another's.
    DeleteByItsOwnPermission,
}

impl Guard {
    /// Every guard.
    pub const ALL: [Self; 14] = [
        Self::WaitForFinalizers,
        Self::WaitUntilNotReady,
        Self::WaitForRegistration,
        Self::GrantWhatWasAsked,
        Self::KeepTheGateClosed,
        Self::CountOperatedAsDone,
        Self::BeginAfresh,
        Self::CleanWhatIsLeft,
        Self::KeepStagesApart,
        Self::DropSparePermissions,
        Self::LetTheDyingGo,
        Self::KeepDryRunsDry,
        Self::WithdrawWishes,
        Self::DeleteByItsOwnPermission,
    ];
}
