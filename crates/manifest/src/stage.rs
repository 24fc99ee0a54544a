//! Manifests that lie ready on the node until its owner applies them, also without a cluster.
//!
//! A pod has at most one: a newer one takes its place. It is one file, `nginx.yaml.upgrade` beside the journal, never in the
//! kubelet's folder.

use jiff::Timestamp;
use safepoint_api::names::openyurt::STAGED_SUFFIX;
use serde::{Deserialize, Serialize};

use crate::durable;
use crate::manifest::{Digest, Manifest};
use crate::names::{FileName, PodKey};
use crate::outcome::Code;
use crate::slot::{Slot, keep, kept};
use crate::stop::Stop;

#[cfg(test)]
mod tests;

const MARK: &str = "safepoint-staged";

/// A manifest that lies ready.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Staged {
    /// The pod.
    pub key: PodKey,
    /// Its manifest's file in the kubelet's folder.
    pub file: FileName,
    /// What is known of it.
    pub record: StagedRecord,
    /// The manifest.
    pub text: String,
}

/// What is known of a manifest that lies ready.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StagedRecord {
    /// The digest of the template that it was made from.
    pub revision: String,
    /// The digest of the manifest.
    pub digest: Digest,
    /// The manifest that was in place when it was staged. If another one is when it is applied, somebody has changed it.
    pub instead_of: Option<Digest>,
    /// The images that were pulled for it.
    #[serde(default)]
    pub images: Vec<ImageReady>,
    /// When it was staged.
    pub at: Timestamp,
}

/// An image that is on the node.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ImageReady {
    /// As the manifest names it.
    pub image: String,
    /// What that was on this node, then.
    pub digest: String,
    /// Whether it had to be pulled.
    pub pulled: bool,
}

pub(crate) fn stage(
    slot: &Slot,
    file: &FileName,
    manifest: &Manifest,
    instead_of: Option<Digest>,
    images: Vec<ImageReady>,
    now: Timestamp,
) -> Result<Staged, Stop> {
    let Some(revision) = manifest.revision() else {
        return Err(Stop::new(Code::RevisionMissing, "a manifest without a revision cannot be staged"));
    };
    let record = StagedRecord {
        revision: revision.to_owned(),
        digest: manifest.digest().clone(),
        instead_of,
        images,
        at: now,
    };
    keep(&slot.path(&name(file)), MARK, &record, manifest.text())?;
    // One that was staged when the manifest's file had another name.
    for other in slot.names("")?.iter().filter(|it| it.ends_with(STAGED_SUFFIX) && **it != name(file)) {
        let path = slot.path(other);
        durable::remove(&path).map_err(Stop::io("remove", &path))?;
    }
    let text = manifest.text().to_owned();
    Ok(Staged { key: manifest.key().clone(), file: file.clone(), record, text })
}

/// What is staged for a pod. A file that was tampered with is nothing.
pub(crate) fn staged(slot: &Slot, key: &PodKey) -> Result<Option<Staged>, Stop> {
    let mut newest: Option<Staged> = None;
    for name in slot.names("")? {
        let Some(file) = name.strip_suffix(STAGED_SUFFIX).and_then(|it| FileName::new(it).ok()) else {
            continue;
        };
        let Some((record, text)) = kept::<StagedRecord>(&slot.path(&name), MARK)? else { continue };
        let is_whole = Digest::of(text.as_bytes()) == record.digest;
        // Between the two steps of a change of names both are there.
        if is_whole && newest.as_ref().is_none_or(|it| it.record.at < record.at) {
            newest = Some(Staged { key: key.clone(), file, record, text });
        }
    }
    Ok(newest)
}

pub(crate) fn unstage(slot: &Slot, staged: &Staged) -> Result<(), Stop> {
    let path = slot.path(&name(&staged.file));
    durable::remove(&path).map_err(Stop::io("remove", &path))
}

fn name(file: &FileName) -> String {
    format!("{file}{STAGED_SUFFIX}")
}
