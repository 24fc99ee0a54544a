//! What watches are told.

use std::sync::Arc;

use crate::key::Scope;
use crate::object::Object;

/// What memory an event takes beside the text of its objects, roughly: keys, tags and pointers.
const OVERHEAD: usize = 512;

/// One write, as seen by a watch.
///
/// A watch narrowed by a field is told of every write before or after which the object was in its scope.
/// Whether that is an arrival, a change or a departure follows from which of the two
/// [`Scope::matches`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// The revision of the write.
    pub revision: u64,
    /// What it did.
    pub kind: EventKind,
    /// The state it made; for a delete the last state, with the revision of the deletion.
    pub object: Arc<Object>,
    /// The state before it; `None` if it made the object.
    pub previous: Option<Arc<Object>>,
}

/// What a write did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventKind {
    /// The object was created or replaced.
    Put,
    /// The object was removed.
    Delete,
}

// === impl Event ===

impl Event {
    /// Whether the object is in the scope after the write, or was before it.
    pub fn concerns(&self, scope: &Scope) -> bool {
        scope.matches(&self.object) || self.previous.as_ref().is_some_and(|previous| scope.matches(previous))
    }

    /// The state of the object after the write.
    pub(crate) fn after(&self) -> Option<&Arc<Object>> {
        match self.kind {
            EventKind::Put => Some(&self.object),
            EventKind::Delete => None,
        }
    }

    /// What it costs to keep the event: an upper bound, because objects are shared between events.
    pub(crate) fn bytes(&self) -> usize {
        OVERHEAD + self.object.json.len() + self.previous.as_ref().map_or(0, |previous| previous.json.len())
    }
}
