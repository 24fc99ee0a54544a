//! Manifests that were in place and good, newest last, bounded: what a rollback on the node goes back to.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::durable;
use crate::manifest::Digest;
use crate::slot::{Slot, keep, kept};
use crate::stop::Stop;

const MARK: &str = "safepoint-kept";
const FOLDER: &str = "history";

/// A manifest that was in place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Kept {
    /// Counts up.
    pub number: u64,
    /// What is known of it.
    pub record: KeptRecord,
    /// The manifest.
    pub text: String,
}

/// What is known of a manifest that was in place.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct KeptRecord {
    /// The digest of the template that it was made from, if it says.
    pub revision: Option<String>,
    /// The digest of the manifest.
    pub digest: Digest,
    /// When it was kept.
    pub at: Timestamp,
}

/// All that is kept, the newest last.
pub(crate) fn list(slot: &Slot) -> Result<Vec<Kept>, Stop> {
    let mut found = Vec::new();
    for name in slot.names(FOLDER)? {
        let Some(number) = name.strip_suffix(".yaml").and_then(|it| it.parse().ok()) else { continue };
        let path = slot.path(&format!("{FOLDER}/{name}"));
        let Some((record, text)) = kept::<KeptRecord>(&path, MARK)? else { continue };
        if Digest::of(text.as_bytes()) == record.digest {
            found.push(Kept { number, record, text });
        }
    }
    found.sort_by_key(|it| it.number);
    Ok(found)
}

/// Keeps a manifest as the newest, and no more than so many.
pub(crate) fn push(
    slot: &Slot,
    text: &str,
    revision: Option<&str>,
    most: usize,
    now: Timestamp,
) -> Result<(), Stop> {
    let known = list(slot)?;
    let digest = Digest::of(text.as_bytes());
    if known.last().is_some_and(|it| it.record.digest == digest) {
        return Ok(());
    }
    let number = known.last().map_or(1, |it| it.number + 1);
    let record = KeptRecord { revision: revision.map(str::to_owned), digest: digest.clone(), at: now };
    keep(&path(slot, number), MARK, &record, text)?;
    // One that comes back moves to the end.
    let (again, mut rest): (Vec<_>, Vec<_>) = known.into_iter().partition(|it| it.record.digest == digest);
    let surplus = (rest.len() + 1).saturating_sub(most.max(1));
    for old in again.into_iter().chain(rest.drain(..surplus)) {
        let path = path(slot, old.number);
        durable::remove(&path).map_err(Stop::io("remove", &path))?;
    }
    Ok(())
}

fn path(slot: &Slot, number: u64) -> std::path::PathBuf {
    slot.path(&format!("{FOLDER}/{number:06}.yaml"))
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::{list, push};
    use crate::names::PodKey;
    use crate::slot::Slot;

    fn texts(slot: &Slot) -> Vec<String> {
        list(slot).unwrap().into_iter().map(|it| it.text).collect()
    }

    #[test]
    fn the_last_ones_are_kept_in_order_and_each_once() {
        let data = tempfile::tempdir().unwrap();
        let slot = Slot::of(data.path(), &PodKey::new("default", "nginx").unwrap());
        for text in ["one", "two", "two", "three", "one", "four"] {
            push(&slot, text, None, 3, Timestamp::UNIX_EPOCH).unwrap();
        }
        assert_eq!(texts(&slot), ["three", "one", "four"]);
        push(&slot, "three", Some("r3"), 3, Timestamp::UNIX_EPOCH).unwrap();
        assert_eq!(texts(&slot), ["one", "four", "three"]);
        assert_eq!(list(&slot).unwrap()[2].record.revision.as_deref(), Some("r3"));
    }
}
