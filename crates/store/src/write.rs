//! What is asked of the store, and what it answers.

use std::sync::Arc;

use serde_json::Value;

use crate::key::Key;
use crate::object::Object;

/// One change of one object, done only if the expectation holds.
#[derive(Debug, Clone)]
pub struct Write {
    /// Which object.
    pub key: Key,
    /// What must be true of it.
    pub expect: Expect,
    /// What becomes of it.
    pub change: Change,
}

/// What must be true of an object for a write to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expect {
    /// There is none.
    Absent,
    /// It is at this revision.
    Revision(u64),
    /// Nothing.
    Any,
}

/// What a write does.
#[derive(Debug, Clone)]
pub enum Change {
    /// Creates or replaces the object. The store sets `metadata.resourceVersion` and nothing else.
    Put(Value),
    /// Removes the object. The value is the last state to show to watches; without one it is the current.
    Delete(Option<Value>),
    /// Replaces the object and removes it, as two writes that become durable together: watches see both, and no crash
    /// leaves one without the other.
    PutAndDelete(Value),
}

/// A write that is durable and visible.
#[derive(Debug, Clone)]
pub struct Committed {
    /// Its revision.
    pub revision: u64,
    /// What it made. For a delete the last state, with the revision of the deletion.
    pub object: Arc<Object>,
}

// === impl Write ===

impl Write {
    /// Creates an object that must not exist.
    pub fn create(key: Key, value: Value) -> Self {
        Self { key, expect: Expect::Absent, change: Change::Put(value) }
    }

    /// Replaces an object that must be at this revision.
    pub fn update(key: Key, revision: u64, value: Value) -> Self {
        Self { key, expect: Expect::Revision(revision), change: Change::Put(value) }
    }

    /// Creates or replaces an object.
    pub fn put(key: Key, value: Value) -> Self {
        Self { key, expect: Expect::Any, change: Change::Put(value) }
    }

    /// Removes an object that must exist, at whatever revision.
    pub fn delete(key: Key) -> Self {
        Self { key, expect: Expect::Any, change: Change::Delete(None) }
    }
}
