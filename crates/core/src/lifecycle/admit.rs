//! What one write does to the labels: the step of the machine.
//!
//! A write is admitted in two parts. First it is put right: what an operation that begins still has of the one before it,
//! what one that is over has left, and what only the lifecycle may grant. Then every operation takes the step that the
//! labels *as they were written* allow, and no second one, so that every phase is seen by whoever watches.

use serde::{Deserialize, Serialize};

use super::Lifecycle;
use super::changes::Changes;
use super::check::{Refusal, names};
use super::guard::Guard;
use super::view::{Operation, View};
use super::words::{Label, LabelKey, Mark, Nanos, OperationId};
use crate::text::Text;

/// A write that is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Request {
    /// What it does.
    pub kind: Kind,
    /// Whose it is.
    pub writer: Writer,
    /// Whether it is only tried. It is answered as it is then.
    pub dry_run: bool,
}

/// What a write does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Kind {
    /// The pod is created.
    Create,
    /// The pod is changed.
    Update,
    /// Its status is changed; labels that are changed on the way are stored as well.
    Status,
}

/// Whose a write is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Writer {
    /// The lifecycle's own, or somebody's who may grant what it grants. A driver that trusts everybody says this always.
    Lifecycle,
    /// Somebody else's. What only the lifecycle grants stays as it was; to take something off is allowed to people.
    Other,
}

// === impl Lifecycle ===

impl Lifecycle {
    /// What the mutating webhook adds to a write. `old` is the pod before it; `None` where it is created, and where
    /// nobody knows.
    ///
    /// # Errors
    ///
    /// When a label of an operation names none, and was not there before.
    pub fn admit(
        self,
        view: &View,
        old: Option<&View>,
        request: Request,
        now: Nanos,
    ) -> Result<Changes, Refusal> {
        if !view.controlled || request.dry_run {
            return Ok(Changes::default());
        }
        names(view, old)?;
        let mut next = view.clone();
        match (request.kind, request.writer, old) {
            (Kind::Create, _, _) => {
                next.gate.declared = true;
                forget_another_life(&mut next);
            }
            (Kind::Update | Kind::Status, Writer::Other, Some(old)) => take_back_grants(&mut next, old),
            (Kind::Update | Kind::Status, _, _) => {}
        }
        self.put_right(&mut next, old);
        self.advance(&mut next, old, now);
        Ok(Changes::between(view, &next))
    }

    /// Takes steps until there is none to take.
    pub(super) fn settle(self, view: &mut View, now: Nanos) {
        // One operation has at most five steps ahead of it, and a step of one can allow a step of another.
        for _ in 0..5 + view.operations.len() {
            let before = view.clone();
            self.put_right(view, None);
            self.advance(view, None, now);
            if *view == before {
                return;
            }
        }
    }

    /// Makes the labels of every id those of one operation.
    fn put_right(self, next: &mut View, old: Option<&View>) {
        for (id, operation) in &mut next.operations {
            let before = old.and_then(|old| old.operations.get(id));
            if operation.has(Label::Operating) {
                if begins(operation, old.is_some(), before) && self.guards(Guard::BeginAfresh) {
                    operation.remove_ours();
                }
            } else if !operation.is_alive() && self.guards(Guard::CleanWhatIsLeft) {
                let was = before.is_some_and(|before| before.has(Label::Operating));
                if was || operation.has_ours() {
                    operation.remove_ours();
                    operation.remove(Label::OperationType);
                    operation.remove(Label::UndoOperationType);
                }
            }
        }
        next.operations.retain(|_, operation| !operation.is_empty());
    }

    /// Every operation takes the step that its labels allow.
    fn advance(self, next: &mut View, old: Option<&View>, now: Nanos) {
        // What this step sets is not yet there for the others.
        let written = next.operations.clone();
        let may_operate = self.may_operate(next);
        for (id, labels) in &written {
            if labels.has(Label::UndoOperationType) && labels.is_alive() {
                next.operations.remove(id);
                continue;
            }
            let operation = next.operations.entry(id.clone()).or_default();
            if labels.is_busy() {
                operation.remove(Label::PreCheck);
                if !labels.has(Label::Operate) {
                    let (at, not) = if may_operate {
                        (Label::Operate, Label::Preparing)
                    } else {
                        (Label::Preparing, Label::Operate)
                    };
                    operation.remove(not);
                    set(operation, at, now);
                }
            } else if labels.is_waiting() {
                set(operation, Label::PreCheck, now);
            }
            if labels.has(Label::PostChecked) && !labels.has(Label::Operating) {
                operation.remove(Label::PostCheck);
                set(operation, Label::Completing, now);
            }
        }
        self.finish(next, &written, old, now);
        let were =
            written.values().any(Operation::is_alive) || old.is_some_and(|old| old.alive().next().is_some());
        if were && next.alive().next().is_none() {
            // The pod is still there, and nothing is left that could end in its deletion.
            next.marks.remove(&Mark::PreparingToDelete);
        }
        if self.guards(Guard::DropSparePermissions) {
            let View { operations, permissions, .. } = next;
            permissions.retain(|kind, _| {
                let has = |operation: &Operation| {
                    operation.has(Label::PreChecked)
                        && operation.kind().is_none_or(|of| of == *kind)
                        && operation.is_alive()
                };
                operations.values().any(has)
            });
        }
        next.operations.retain(|_, operation| !operation.is_empty());
        serve(next, now);
    }

    /// The operations that have acted go on together.
    fn finish(
        self,
        next: &mut View,
        written: &std::collections::BTreeMap<OperationId, Operation>,
        old: Option<&View>,
        now: Nanos,
    ) {
        let there: Vec<(&OperationId, &Operation)> = written
            .iter()
            .filter(|(id, labels)| labels.is_alive() && next.operations.contains_key(*id))
            .filter(|(_, labels)| !(labels.is_waiting() && self.guards(Guard::KeepStagesApart)))
            .collect();
        if there.is_empty() || there.iter().any(|(_, labels)| labels.has(Label::Operating)) {
            return;
        }
        if there.iter().all(|(_, labels)| labels.has(Label::Completing)) {
            if next.is_registered() {
                there.iter().for_each(|(id, _)| drop(next.operations.remove(*id)));
            }
            return;
        }
        let acted = |labels: &Operation| labels.has(Label::Operated);
        if !self.guards(Guard::CountOperatedAsDone)
            && there.iter().any(|(_, labels)| acted(labels))
            && !there.iter().all(|(_, labels)| acted(labels))
        {
            return;
        }
        for (id, labels) in there {
            let operation = next.operations.entry(id.clone()).or_default();
            if !acted(labels) {
                let before = || old?.operations.get(id)?.get(Label::OperationType).cloned();
                let kind = labels.get(Label::OperationType).cloned().or_else(before);
                for label in [
                    Label::PreCheck,
                    Label::PreChecked,
                    Label::Preparing,
                    Label::Operate,
                    Label::OperationType,
                ] {
                    operation.remove(label);
                }
                set(operation, Label::Operated, now);
                // The two come in pairs. An operation that never said what it is has done nothing that has a name.
                operation.put(Label::DoneOperationType, Some(kind.unwrap_or_default()));
            }
            if !labels.has(Label::PostCheck) && !labels.has(Label::PostChecked) {
                set(operation, Label::PostCheck, now);
            }
        }
    }

    /// Whether operations that have passed their pre-check may act: the pod is out of service, and who looks after
    /// something around it has switched it off. A pod without the gate cannot be taken out of service at all.
    fn may_operate(self, view: &View) -> bool {
        if !view.is_gated() {
            return true;
        }
        let protected = view.protections().next().is_some() && self.guards(Guard::WaitForFinalizers);
        let off = view.gate.condition == Some(false) && !view.ready;
        !protected && (off || !self.guards(Guard::WaitUntilNotReady))
    }
}

/// Whether an operation begins with this write: it was not there, it does something else from now on, or it has labels of
/// one that is over.
fn begins(operation: &Operation, known: bool, before: Option<&Operation>) -> bool {
    let anew = known && before.is_none_or(|before| !before.has(Label::Operating));
    let other = before.is_some_and(|before| {
        let (was, is) = (before.kind(), operation.kind());
        before.has(Label::Operating) && was.is_some() && is.is_some() && was != is
    });
    anew || other || operation.labels().any(|(label, _)| label.is_after())
}

/// A pod that is created has no history: labels of ours on it were copied from another pod.
fn forget_another_life(next: &mut View) {
    next.permissions.clear();
    next.marks.remove(&Mark::ServiceAvailable);
    next.operations.values_mut().for_each(Operation::remove_ours);
    next.operations.retain(|_, operation| !operation.is_empty());
}

/// What only the lifecycle grants stays as it was.
///
/// An API server may ask a webhook a second time about a write, with what it made of it the first time and with the same
/// pod before it. Nobody can see that, so the answer must not depend on it: what the lifecycle would grant is granted again.
fn take_back_grants(next: &mut View, old: &View) {
    let granted = |key: &LabelKey| match key {
        LabelKey::Operation(_, label) => label.is_ours(),
        LabelKey::Permission(_) | LabelKey::Mark(Mark::ServiceAvailable) => true,
        LabelKey::Mark(_) => false,
    };
    for (id, operation) in &mut next.operations {
        if let Some(before) = old.operations.get(id) {
            unfinish(operation, before);
        }
    }
    let forged: Vec<LabelKey> = next
        .labels()
        .filter(|(key, value)| granted(key) && old.get(key) != Some(value))
        .map(|(key, _)| key)
        .collect();
    for key in &forged {
        // One that completes anew has not completed: what follows is not for this write.
        let anew = matches!(key, LabelKey::Operation(_, Label::Completing));
        next.set(key, old.get(key).filter(|_| !anew).cloned());
    }
}

/// An operation that has acted all at once is one that finishes with this write, or one that says so and may not: it gets
/// back what a finish takes off, so that the step decides. It can say for itself what it did, as with its type.
fn unfinish(operation: &mut Operation, before: &Operation) {
    let acted = operation.has(Label::Operated) && !operation.has(Label::Operating);
    let now = operation.get(Label::Operated) != before.get(Label::Operated);
    if !(acted && now && before.has(Label::Operate)) {
        return;
    }
    let done = operation.get(Label::DoneOperationType).cloned();
    for label in [Label::PreCheck, Label::PreChecked, Label::Preparing, Label::Operate] {
        operation.put(label, before.get(label).cloned());
    }
    if !operation.has(Label::OperationType) {
        operation.put(Label::OperationType, done);
    }
    operation.remove(Label::Operated);
    operation.remove(Label::DoneOperationType);
}

/// A pod that nobody needs out of service is in service once it is ready and registered; one that is not ready is not.
fn serve(next: &mut View, now: Nanos) {
    let wanted_out = next.alive().any(|(_, operation)| !operation.is_waiting());
    let open = next.gate.condition != Some(false);
    if !next.ready || next.operations.values().any(Operation::keeps_out_of_service) {
        next.marks.remove(&Mark::ServiceAvailable);
    } else if !wanted_out
        && open
        && !next.deleting
        && !next.has(Mark::StayOffline)
        && !next.has(Mark::ServiceAvailable)
        && next.is_registered()
    {
        next.marks.insert(Mark::ServiceAvailable, now.text());
        next.marks.remove(&Mark::Creating);
        next.marks.remove(&Mark::Completing);
    }
}

/// Sets a label that tells a time, unless it does already.
fn set(operation: &mut Operation, label: Label, now: Nanos) {
    if !operation.has(label) {
        operation.put(label, Some(Text::from(now.0.to_string())));
    }
}
