//! What the labels of a pod say about an operation, and what is to be written next. Pure.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use safepoint_api::names::kusionstack::operation::OperationLabel;
use serde_json::Value;

use super::{Adapter, Error, Name, Write};
use crate::pods::{PodName, is_controlled, is_terminating};

/// Whether an operation may act.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
pub enum Permission {
    /// It has not begun, has finished, or was cancelled.
    NotBegun,
    /// It has begun, and waits to be granted. The pod changes when that happens.
    NotYet,
    /// It is granted, and the delay that was asked for lasts this much longer.
    After(Duration),
    /// It may act.
    Granted,
}

/// What is to be done.
pub(super) enum Next {
    /// It is as it should be.
    Nothing,
    /// This goes into the metadata.
    Write(Value),
    /// Something that was cancelled or finished has to be cleared away first.
    Later,
}

/// A pod, and an operation that is on it or is to be.
pub(super) struct Operated<'a> {
    pod: &'a Pod,
    name: &'a Name,
    adapter: &'a dyn Adapter,
}

// === impl Permission ===

impl Permission {
    /// Whether it may act now.
    pub const fn is_granted(self) -> bool {
        matches!(self, Self::Granted)
    }
}

// === impl Operated ===

impl<'a> Operated<'a> {
    pub(super) fn new(pod: &'a Pod, name: &'a Name, adapter: &'a dyn Adapter) -> Self {
        Self { pod, name, adapter }
    }

    pub(super) fn is_during(&self) -> bool {
        self.has(OperationLabel::Operating)
            && self.get(OperationLabel::OperationType) == Some(&*self.name.kind)
            && !self.has(OperationLabel::UndoOperationType)
    }

    pub(super) fn is_being_cancelled(&self) -> bool {
        self.has(OperationLabel::UndoOperationType) && self.is_in_the_way()
    }

    /// Whether it is over, and the lifecycle has not cleared it away.
    pub(super) fn is_being_cleared(&self) -> bool {
        // Given back, and still granted: a begin would take the old permission over.
        let finished = self.has(OperationLabel::Operate) && !self.has(OperationLabel::Operating);
        self.is_being_cancelled() || finished
    }

    pub(super) fn permission(&self, delay: Duration, now: SystemTime) -> Permission {
        if !self.is_during() {
            return Permission::NotBegun;
        }
        let Some(since) = self.get(OperationLabel::Operate) else { return Permission::NotYet };
        // A value that tells no time was written by a person, who wants it to go on.
        let since = since.parse().ok().and_then(|nanos| UNIX_EPOCH.checked_add(Duration::from_nanos(nanos)));
        let passed = since.map_or(delay, |since| now.duration_since(since).unwrap_or_default());
        match delay.checked_sub(passed).filter(|rest| !rest.is_zero()) {
            Some(rest) => Permission::After(rest),
            None => Permission::Granted,
        }
    }

    pub(super) fn begin(&self, now: SystemTime) -> Result<Next, Error> {
        let pod = || PodName::of(self.pod).to_string();
        if is_terminating(self.pod) {
            return Err(Error::Terminating { pod: pod() });
        }
        if !is_controlled(self.pod) {
            return Err(Error::NotTakingPart { pod: pod() });
        }
        if self.is_being_cleared() {
            return Ok(Next::Later);
        }
        self.check_type()?;
        let mut write = Write::default();
        if !self.is_during() {
            if let Some(other) = self.other_of_same_type() {
                return Err(Error::TypeTaken {
                    pod: pod(),
                    other: other.to_owned(),
                    kind: self.name.kind.clone(),
                });
            }
            if !self.has(OperationLabel::Operating) {
                write.label(self.key(OperationLabel::Operating), nanos(now));
            }
            write.label(self.key(OperationLabel::OperationType), &*self.name.kind);
            // Left from a cancellation of what was not there: it would cancel this one.
            write.remove_label(self.key(OperationLabel::UndoOperationType));
        }
        self.adapter.when_begin(self.pod, &mut write);
        Ok(self.next(write))
    }

    pub(super) fn finish(&self) -> Result<Next, Error> {
        self.check_type()?;
        let mut write = Write::default();
        if self.has(OperationLabel::Operate) {
            write.remove_label(self.key(OperationLabel::Operating));
        } else if self.has(OperationLabel::Operating) {
            // Never granted: an end without a permission is no word of the lifecycle, a cancellation is.
            self.undo(&mut write);
        }
        self.adapter.when_finish(self.pod, &mut write);
        Ok(self.next(write))
    }

    pub(super) fn cancel(&self) -> Result<Next, Error> {
        if !self.is_in_the_way() {
            return Ok(Next::Nothing);
        }
        let mut write = Write::default();
        self.undo(&mut write);
        Ok(self.next(write))
    }

    fn undo(&self, write: &mut Write) {
        if self.has(OperationLabel::UndoOperationType) {
            return;
        }
        // Whatever it is: what it says is what is undone.
        let kind = [OperationLabel::OperationType, OperationLabel::DoneOperationType]
            .into_iter()
            .find_map(|label| self.get(label).filter(|kind| !kind.is_empty()));
        write.label(self.key(OperationLabel::UndoOperationType), kind.unwrap_or(&self.name.kind));
    }

    fn next(&self, write: Write) -> Next {
        write.against(self.pod).map_or(Next::Nothing, Next::Write)
    }

    /// Whether the lifecycle knows the id, in whatever phase.
    pub(super) fn is_in_the_way(&self) -> bool {
        [OperationLabel::Operating, OperationLabel::Operate, OperationLabel::Operated]
            .into_iter()
            .any(|label| self.has(label))
    }

    /// An operation that runs is not made into another one behind its back.
    fn check_type(&self) -> Result<(), Error> {
        let running = self.get(OperationLabel::OperationType).filter(|_| self.has(OperationLabel::Operating));
        match running {
            Some(running) if running != self.name.kind => Err(Error::OtherType {
                pod: PodName::of(self.pod).to_string(),
                id: self.name.id.clone(),
                running: running.to_owned(),
                wanted: self.name.kind.clone(),
            }),
            _ => Ok(()),
        }
    }

    /// The id of somebody else's operation of this type, where that is in the way.
    fn other_of_same_type(&self) -> Option<&str> {
        if self.adapter.allow_multi_type() {
            return None;
        }
        self.pod.labels().iter().find_map(|(key, value)| match OperationLabel::parse(key) {
            Ok(Some((OperationLabel::OperationType, id)))
                if *value == self.name.kind && id != self.name.id =>
            {
                Some(id)
            }
            _ => None,
        })
    }

    fn has(&self, label: OperationLabel) -> bool {
        self.get(label).is_some()
    }

    fn get(&self, label: OperationLabel) -> Option<&str> {
        self.pod.labels().get(&self.key(label)).map(String::as_str)
    }

    fn key(&self, label: OperationLabel) -> String {
        label.key(&self.name.id).expect("the id was checked when the operations were made")
    }
}

/// A time as a label's value.
pub(super) fn nanos(time: SystemTime) -> String {
    time.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos().to_string()
}
