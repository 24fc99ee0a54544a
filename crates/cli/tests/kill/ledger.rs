//! What anybody was ever shown, by revision, over all rounds: none of it may become untrue.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Mutex, PoisonError};

use anyhow::{Result, ensure};
use serde_json::Value;

use super::content::{Kind, name_of, revision_of, without_type};

/// Whether an object is there at a revision, or was removed by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Fate {
    There,
    Gone,
}

/// Shared by everybody who reads answers.
#[derive(Default)]
pub(crate) struct Ledger(Mutex<Shown>);

#[derive(Default)]
struct Shown {
    states: BTreeMap<u64, State>,
    highest: u64,
}

/// The state that a revision stands for. The whole of it would not fit into memory, and is not needed to compare.
struct State {
    what: String,
    digest: u64,
}

impl Ledger {
    /// Notes an object that somebody was shown, and returns its revision.
    pub(crate) fn note(&self, kind: Kind, object: &Value, fate: Fate, source: &str) -> Result<u64> {
        let revision = revision_of(object)?;
        let what = format!("{kind:?} {} ({fate:?}, in {source})", name_of(object)?);
        let digest = digest(kind, object, fate);
        let mut shown = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        shown.highest = shown.highest.max(revision);
        let known = shown.states.entry(revision).or_insert_with(|| State { what: what.clone(), digest });
        ensure!(
            known.digest == digest,
            "revision {revision} stands for two states: first {}, now {what}: {object}",
            known.what
        );
        Ok(revision)
    }

    /// Notes the revision of a whole listing.
    pub(crate) fn note_revision(&self, revision: u64) {
        let mut shown = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        shown.highest = shown.highest.max(revision);
    }

    /// The highest revision that anybody was ever shown.
    pub(crate) fn highest(&self) -> u64 {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).highest
    }
}

/// Of everything that the object says.
fn digest(kind: Kind, object: &Value, fate: Fate) -> u64 {
    let mut hasher = DefaultHasher::new();
    (kind, fate, without_type(object.clone())).hash(&mut hasher);
    hasher.finish()
}
