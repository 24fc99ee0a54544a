//! The bodies of objects: what the doors show the machine, byte for byte as the cluster said it.

use std::collections::BTreeSet;
use std::sync::Arc;

use redb::{ReadableTable, Table, TableDefinition};
use safepoint_core::{Key, Slot, Version};

use super::{CommitError, name_of};

pub(super) const BODIES: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("bodies");

/// Which body: of this object, this uid, this digest.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct BodyKey(String);

/// One body, as JSON.
#[derive(Clone, Debug)]
pub(crate) struct Body {
    pub(crate) key: BodyKey,
    pub(crate) json: Arc<[u8]>,
}

// === impl Body ===

impl Body {
    /// The body of one version of an object.
    pub(crate) fn new(key: &Key, version: &Version, json: Vec<u8>) -> Self {
        Self { key: BodyKey::new(key, version), json: json.into() }
    }
}

// === impl BodyKey ===

impl BodyKey {
    pub(crate) fn new(key: &Key, version: &Version) -> Self {
        // The end of an object is part of what the machine is told and not part of its digest.
        let end = if version.deleting { "/ending" } else { "" };
        Self(format!("{}/{}/{}{end}", name_of(key), version.uid, version.digest))
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

/// Keeps the bodies that a slot names, and no others of its object.
pub(super) fn keep(
    bodies: &mut Table<'_, &str, &[u8]>,
    key: &Key,
    slot: Option<&Slot>,
    seen: &[Body],
) -> Result<(), CommitError> {
    let named: BTreeSet<BodyKey> =
        slot.into_iter().flat_map(Slot::versions).map(|version| BodyKey::new(key, version)).collect();
    let first = format!("{}/", name_of(key));
    // `0` is the character after `/`.
    let last = format!("{}0", name_of(key));
    let range = bodies.range(first.as_str()..last.as_str())?;
    let there: Vec<String> =
        range.map(|row| row.map(|(name, _)| name.value().to_owned())).collect::<Result<_, _>>()?;
    for name in there.iter().filter(|name| !named.contains(&BodyKey((*name).clone()))) {
        bodies.remove(name.as_str())?;
    }
    for body in named {
        // The first that was seen: of one version, only what does not matter can differ, and what a door has shown stays so.
        if there.contains(&body.0) {
            continue;
        }
        match seen.iter().find(|seen| seen.key == body) {
            Some(seen) => drop(bodies.insert(body.as_str(), &*seen.json)?),
            None => return Err(CommitError::NoBody { object: key.to_string() }),
        }
    }
    Ok(())
}
