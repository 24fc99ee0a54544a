//! What the gate has admitted, with the bodies of what is new of it.

use std::collections::BTreeMap;
use std::sync::Arc;

use safepoint_core::{Digest, Gate, Health, Key, Kind, Stage, Timestamp, Uid, Version};

use super::adoption::Adoption;
use crate::journal::{BodyKey, Journal};

/// A look at the gate.
pub(super) struct Look {
    /// The gate does not know what runs.
    pub(super) is_sealed: bool,
    /// Nobody had told it yet what runs.
    pub(super) is_adoption_wanted: bool,
    /// It knows of something, beside static pods, which it finds by itself.
    pub(super) has_any: bool,
    pub(super) pods: Vec<Pod>,
    pub(super) configs: Vec<Config>,
    /// ConfigMaps and Secrets that are the gate's to show: those that it knows, and those that an admitted pod uses.
    pub(super) judged: BTreeMap<Key, bool>,
    pub(super) wall: Timestamp,
}

/// An admitted pod.
pub(super) struct Pod {
    pub(super) key: Key,
    pub(super) uid: Uid,
    pub(super) digest: Digest,
    pub(super) is_ending: bool,
    /// How it does, as far as the gate knows; none once it is ending.
    pub(super) health: Option<Health>,
    /// The cluster has no object for it any more.
    pub(super) is_private: bool,
    pub(super) uses: Arc<[Key]>,
    /// What was admitted, if that is new.
    pub(super) body: Option<Arc<[u8]>>,
    /// What asks for its end, if that is new.
    pub(super) asked: Option<Arc<[u8]>>,
}

/// An admitted ConfigMap or Secret.
pub(super) struct Config {
    pub(super) key: Key,
    pub(super) uid: Uid,
    pub(super) digest: Digest,
    pub(super) is_ending: bool,
    /// The gate knows that it has arrived.
    pub(super) is_settled: bool,
    pub(super) body: Option<Arc<[u8]>>,
}

/// What is known already, so that its bodies need not be read again.
#[derive(Default)]
pub(super) struct Known {
    pub(super) objects: BTreeMap<Key, (Uid, Digest, bool)>,
}

/// Why it cannot be shown.
#[derive(Debug, thiserror::Error)]
pub(super) enum LookError {
    #[error("cannot read the journal: {0}")]
    Storage(#[from] redb::Error),
    #[error("the journal has no body of {0}")]
    Body(String),
}

// === impl Look ===

impl Look {
    pub(super) fn at(
        gate: &Gate,
        journal: &Journal,
        known: &Known,
        adoption: &Adoption,
    ) -> Result<Self, LookError> {
        let mut look = Self {
            // Together with what it decides about: a gate that was looked at before the takeover knows nothing of it, and an
            // empty view would be shown.
            is_adoption_wanted: adoption.is_wanted(),
            is_sealed: gate.is_sealed(),
            has_any: gate.slots().keys().any(|key| key.kind != Kind::StaticPod),
            pods: Vec::new(),
            configs: Vec::new(),
            judged: BTreeMap::new(),
            wall: gate.wall(),
        };
        // Static pods are shown by a file.
        for (key, slot) in gate.slots().iter().filter(|(key, _)| key.kind != Kind::StaticPod) {
            if !key.kind.runs() {
                look.judged.insert(key.clone(), true);
            }
            for used in slot.applied.iter().flat_map(|applied| applied.version.uses.iter()) {
                look.judged.entry(used.clone()).or_insert(false);
            }
            let Some(applied) = &slot.applied else { continue };
            let version = &applied.version;
            let is_ending = applied.stage == Stage::Ending;
            let health = match applied.stage {
                Stage::Delivered(health) => Some(health),
                Stage::Ending => None,
            };
            let before = known.objects.get(key).filter(|(uid, ..)| *uid == version.uid);
            // Configuration that was taken away and is given again has to be shown again.
            let is_back = |was_ending: bool| was_ending && !is_ending;
            let has_body = before
                .is_some_and(|(_, digest, was_ending)| *digest == version.digest && !is_back(*was_ending));
            let body = if has_body { None } else { Some(body(journal, key, version)?) };
            let (key, uid, digest) = (key.clone(), version.uid.clone(), version.digest.clone());
            match key.kind {
                Kind::Pod => {
                    let is_new_end = is_ending && !before.is_some_and(|(_, _, was_ending)| *was_ending);
                    let asked = slot.wanted.as_ref().filter(|wanted| is_new_end && wanted.uid == uid);
                    look.pods.push(Pod {
                        asked: asked.map(|wanted| self::body(journal, &key, wanted)).transpose()?,
                        is_private: slot.is_private(key.kind) || slot.is_private_end(key.kind),
                        uses: Arc::clone(&version.uses),
                        key,
                        uid,
                        digest,
                        is_ending,
                        health,
                        body,
                    });
                }
                Kind::ConfigMap | Kind::Secret => {
                    let is_settled = health == Some(Health::Ready);
                    look.configs.push(Config { key, uid, digest, is_ending, is_settled, body });
                }
                Kind::StaticPod => {}
            }
        }
        Ok(look)
    }
}

fn body(journal: &Journal, key: &Key, version: &Version) -> Result<Arc<[u8]>, LookError> {
    let found = journal.body(&BodyKey::new(key, version))?;
    found.ok_or_else(|| LookError::Body(key.to_string()))
}

#[cfg(test)]
mod tests;
