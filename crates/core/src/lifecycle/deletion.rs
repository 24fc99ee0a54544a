//! Deletions that go through the lifecycle.
//!
//! A pod that takes part is not deleted at once: the deletion is put off, written on the pod as a wish, and the pod is
//! deleted as an operation like any other, once it is out of service. Whoever asked is told so. The decision is made from
//! the object that is in the request, so there is no cache that could be behind.

use serde::{Deserialize, Serialize};

use super::Lifecycle;
use super::changes::Changes;
use super::guard::Guard;
use super::view::{Operation, View};
use super::words::{DELETE_ID, DELETE_TYPE, Label, Mark, Nanos, OperationId};
use crate::text::Text;

/// How often the annotation is written while a client tries again and again.
const REFRESHED_EVERY: Nanos = Nanos::from_secs(5);

const UNDERWAY: &str = "failed to validate GraceDeleteWebhook, pod deletion process is underway and being managed by PodOpsLifecycle";

/// A deletion that is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Deletion {
    /// How.
    pub kind: DeletionKind,
    /// Whether it is only tried.
    pub dry_run: bool,
}

/// How a deletion is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum DeletionKind {
    /// The pod is deleted.
    Delete,
    /// The pod is evicted, as `kubectl drain` does.
    Evict,
}

/// What comes of it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum DeletionVerdict {
    /// It passes.
    Pass,
    /// It is put off: the pod goes later, through the lifecycle.
    PutOff(TakenOn),
}

/// A deletion that was taken on.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct TakenOn {
    /// What is written on the pod, before the answer.
    pub changes: Changes,
    /// The answer's code. An eviction gets the one that clients try again after.
    pub code: u16,
    /// The answer's text.
    pub text: String,
}

/// Whether those who wished a pod gone still do.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Wish {
    /// They do, as far as anybody knows: the label says it.
    Stands,
    /// They do not: the workload has been scaled up again, or a drain was given up.
    Withdrawn,
}

/// What the deletion of a pod needs next.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum NextDeletion {
    /// Nothing, or others have to act first.
    Nothing,
    /// This is to be written.
    Write(Changes),
    /// The pod is to be deleted, if it still is what was seen.
    Delete,
}

// === impl Lifecycle ===

impl Lifecycle {
    /// Whether a pod may be deleted at once.
    #[must_use]
    pub fn grace_delete(self, view: &View, deletion: Deletion, now: Nanos) -> DeletionVerdict {
        let dying = view.deleting && self.guards(Guard::LetTheDyingGo);
        if !view.controlled || !view.gate.declared || dying || self.may_go(view) {
            return DeletionVerdict::Pass;
        }
        let mut next = view.clone();
        if !next.is_wished_gone() {
            next.marks.insert(Mark::ToDelete, now.text());
        }
        let last = next.put_off.as_deref().and_then(Nanos::parse);
        if last.is_none_or(|last| now.since(last) >= REFRESHED_EVERY) {
            next.put_off = Some(now.text());
        }
        let dry = deletion.dry_run && self.guards(Guard::KeepDryRunsDry);
        DeletionVerdict::PutOff(TakenOn {
            changes: if dry { Changes::default() } else { Changes::between(view, &next) },
            code: match deletion.kind {
                DeletionKind::Delete => 403,
                DeletionKind::Evict => 429,
            },
            text: underway(view),
        })
    }

    /// What the controller that deletes pods does when it looks at one.
    #[must_use]
    pub fn delete_step(self, view: &View, wish: Wish, now: Nanos) -> NextDeletion {
        if !view.controlled || view.deleting {
            return NextDeletion::Nothing;
        }
        let ours =
            view.operations.get(&OperationId::from(DELETE_ID)).filter(|operation| operation.is_alive());
        let wished = view.is_wished_gone() && wish == Wish::Stands;
        let mut next = view.clone();
        match (wished, ours) {
            (false, _) if !self.guards(Guard::WithdrawWishes) => return NextDeletion::Nothing,
            (false, ours) => {
                if wish == Wish::Withdrawn {
                    next.marks.remove(&Mark::ToDelete);
                    next.marks.remove(&Mark::ToDeleteOld);
                    next.put_off = None;
                }
                if ours.is_some() {
                    next.undo(DELETE_ID, DELETE_TYPE);
                }
                // Another operation that goes on may be one that ends in deletion. What came with ours goes with it.
                let others = view.alive().any(|(id, _)| &*id.0 != DELETE_ID);
                let begun = ours.and_then(|ours| ours.get(Label::Operating));
                let with_ours = begun.is_some() && begun == view.marks.get(&Mark::PreparingToDelete);
                if with_ours || (!others && (ours.is_some() || wish == Wish::Withdrawn)) {
                    next.marks.remove(&Mark::PreparingToDelete);
                }
            }
            (true, Some(operation)) if is_deleting(operation) => {
                return match operation.has(Label::Operate) {
                    true => NextDeletion::Delete,
                    false => NextDeletion::Nothing,
                };
            }
            (true, _) => {
                next.begin(DELETE_ID, DELETE_TYPE, now);
                next.marks.entry(Mark::PreparingToDelete).or_insert_with(|| now.text());
            }
        }
        let changes = Changes::between(view, &next);
        if changes.is_empty() { NextDeletion::Nothing } else { NextDeletion::Write(changes) }
    }
}

fn is_deleting(operation: &Operation) -> bool {
    operation.has(Label::Operating) && operation.kind().is_some_and(|kind| &*kind.0 == DELETE_TYPE)
}

impl Lifecycle {
    /// Whether an operation that ends in deletion may act: that of the deletion controller, or one that was begun as such.
    ///
    /// While the deletion controller's is there, nobody else's counts: the mark may be its, and what another operation was
    /// permitted was not permitted for a deletion.
    fn may_go(self, view: &View) -> bool {
        let acts = |operation: &Operation| operation.has(Label::Operating) && operation.has(Label::Operate);
        let id = OperationId::from(DELETE_ID);
        let ours = view.operations.get(&id).filter(|operation| operation.is_alive());
        let begun = view.has(Mark::PreparingToDelete);
        let others = || begun && view.operations.iter().any(|(other, labels)| *other != id && acts(labels));
        let own = |ours: &Operation| is_deleting(ours) && acts(ours);
        match self.guards(Guard::DeleteByItsOwnPermission) {
            true => ours.map_or_else(others, own),
            false => ours.is_some_and(own) || others(),
        }
    }
}

/// The text that scripts wait for, with the finalizers as Go prints a slice.
fn underway(view: &View) -> String {
    let finalizers: Vec<&str> = view.protections().map(Text::as_ref).collect();
    if finalizers.is_empty() {
        return UNDERWAY.to_owned();
    }
    format!("{UNDERWAY} with finalizers: [{}]", finalizers.join(" "))
}
