//! Manifests as the gate sees them, and the kubelet's folder as it is now.
//!
//! All versions of a static pod's manifest have one identity: a manifest is swapped in one go, so a swap is an update in
//! place and never an end and a start. A file that is no manifest of a pod is the kubelet's business alone.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;

use safepoint_api::names::{kubeedge, safepoint};
use safepoint_core::{
    Digest, Key, Kind, Labels, Revision, Text, Timestamp, Uid, Version, Workload, WorkloadKind,
};
use safepoint_manifest::{FileName, Manifest, ManifestError, PodKey};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::journal::Body;

/// A manifest with what the gate needs of it.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Read {
    pub(crate) key: Key,
    pub(crate) version: Version,
    pub(crate) file: FileName,
    pub(crate) manifest: Manifest,
}

/// What the journal keeps of a manifest.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Written {
    pub(crate) file: String,
    pub(crate) text: String,
}

/// The kubelet's folder. Remembers what it has read, so that a look costs nothing while nothing changes.
#[derive(Default)]
pub(super) struct Scan {
    known: BTreeMap<String, (Mark, Option<Read>)>,
}

/// By this a file is known to be the same: inode, time of change in seconds and nanoseconds, length.
type Mark = (u64, i64, i64, u64);

/// The key under which the gate has a static pod.
pub(crate) fn key_of(pod: &PodKey) -> Key {
    Key { kind: Kind::StaticPod, ..Key::pod(pod.namespace(), pod.name()) }
}

/// The static pod that a key is of. None, if its names cannot be those of a pod.
pub(crate) fn pod_of(key: &Key) -> Option<PodKey> {
    PodKey::new(&key.namespace, &key.name).ok()
}

/// What the gate calls a static pod, whatever its manifest says.
pub(crate) fn uid_of(key: &Key) -> Uid {
    Uid::from(format!("manifest/{}/{}", key.namespace, key.name))
}

// === impl Read ===

impl Read {
    pub(crate) fn new(file: FileName, text: &str) -> Result<Self, ManifestError> {
        let manifest = Manifest::parse(text)?;
        // It has been read once, as less.
        let pod: Value =
            serde_saphyr::from_str(text).map_err(|error| ManifestError::Unreadable(error.to_string()))?;
        let key = key_of(manifest.key());
        let texts = |of: &str| pod["metadata"][of].as_object().cloned().unwrap_or_default();
        let said = |name: &str| texts("annotations").get(name).and_then(|it| it.as_str().map(str::to_owned));
        let label = |(name, value): (String, Value)| Some((Text::from(name), Text::from(value.as_str()?)));
        let labels: Labels = texts("labels").into_iter().filter_map(label).collect();
        let digest = Digest::from(manifest.digest().as_str());
        let version = Version {
            uid: uid_of(&key),
            workload: Some(Workload {
                kind: WorkloadKind::StaticPod,
                namespace: key.namespace.clone(),
                name: key.name.clone(),
                ordinal: None,
            }),
            revision: Revision::from(manifest.revision().unwrap_or(digest.as_str())),
            digest,
            labels: Arc::new(labels),
            hold: said(kubeedge::HOLD_UPGRADE).as_deref() == Some(kubeedge::HOLD_UPGRADE_ON),
            first_install_allowed: said(safepoint::FIRST_INSTALL).as_deref()
                == Some(safepoint::FIRST_INSTALL_ALLOW),
            deleting: false,
            // A static pod cannot read ConfigMaps or Secrets, and what it takes of the machine is counted by its mirror.
            uses: Arc::from([]),
            needs: Arc::default(),
            born: Timestamp(0),
        };
        Ok(Self { key, version, file, manifest })
    }

    /// What the journal is to keep, of this version or of one that differs in whether it is held or shall go.
    pub(crate) fn body(&self, version: &Version) -> Body {
        let written = Written { file: self.file.as_str().to_owned(), text: self.manifest.text().to_owned() };
        // A structure of texts cannot fail to be written.
        Body::new(&self.key, version, serde_json::to_vec(&written).unwrap_or_default())
    }

    pub(crate) fn digest(&self) -> &Digest {
        &self.version.digest
    }
}

// === impl Scan ===

impl Scan {
    /// Every manifest that the kubelet reads, by pod. Of two of one pod, the first by name, as it is with the kubelet.
    pub(super) fn look(&mut self, folder: &Path) -> std::io::Result<BTreeMap<Key, Read>> {
        let mut there = BTreeMap::new();
        for entry in fs::read_dir(folder)? {
            let Ok(name) = entry?.file_name().into_string() else { continue };
            if name.starts_with('.') {
                continue;
            }
            let path = folder.join(&name);
            // It may have gone since, and a folder is none of the kubelet's manifests.
            let Some(found) = fs::metadata(&path).ok().filter(fs::Metadata::is_file) else { continue };
            let mark = (found.ino(), found.ctime(), found.ctime_nsec(), found.len());
            let known = self.known.remove(&name).filter(|(known, _)| *known == mark);
            let read = known.map_or_else(|| read(&path, &name), |(_, read)| read);
            there.insert(name, (mark, read));
        }
        self.known = there;
        let mut found = BTreeMap::new();
        for read in self.known.values().filter_map(|(_, read)| read.as_ref()) {
            found.entry(read.key.clone()).or_insert_with(|| read.clone());
        }
        Ok(found)
    }
}

fn read(path: &Path, name: &str) -> Option<Read> {
    // The door gives manifests an ending where they have none: a file without one cannot be its.
    let file = FileName::new(name).ok().filter(|file| file.as_str() == name)?;
    let text = fs::read_to_string(path).ok()?;
    match Read::new(file, &text) {
        Ok(read) => Some(read),
        Err(error) => {
            tracing::debug!(manifest = %path.display(), %error, "a file in the kubelet's folder is not ours");
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: nginx\n  namespace: edge\n  labels: {app: web}\n  \
        annotations: {edge.kubeedge.io/hold-upgrade: \"true\", openyurt.io/static-pod-hash: one}\nspec:\n  containers: \
        [{name: main, image: nginx:1}]\n";

    #[test]
    fn a_manifest_is_known_by_its_pod_and_its_text_is_its_version() {
        let read = Read::new(FileName::new("nginx").unwrap(), TEXT).unwrap();
        assert_eq!(read.key.to_string(), "static pod edge/nginx");
        assert_eq!((read.version.revision.as_str(), read.version.hold), ("one", true));
        assert_eq!(read.version.labels.get("app").map(|it| &**it), Some("web"));
        let newer = Read::new(FileName::new("nginx").unwrap(), &TEXT.replace("nginx:1", "nginx:2")).unwrap();
        assert_eq!(newer.version.uid, read.version.uid);
        assert_ne!(newer.version.digest, read.version.digest);
    }

    #[test]
    fn what_the_kubelet_does_not_read_and_what_is_no_pod_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let mut scan = Scan::default();
        for (name, text) in [
            ("nginx.yaml", TEXT),
            (".nginx.yaml", TEXT),
            ("z.yaml", TEXT),
            ("notes.yaml", "hello"),
            ("bare", TEXT),
        ] {
            fs::write(folder.path().join(name), text).unwrap();
        }
        let found = scan.look(folder.path()).unwrap();
        assert_eq!(found.values().map(|it| it.file.as_str()).collect::<Vec<_>>(), ["nginx.yaml"]);
        fs::remove_file(folder.path().join("nginx.yaml")).unwrap();
        fs::write(folder.path().join("z.yaml"), TEXT.replace("one", "two")).unwrap();
        let found = scan.look(folder.path()).unwrap();
        let found: Vec<_> =
            found.values().map(|it| (it.file.as_str(), it.version.revision.as_str())).collect();
        assert_eq!(found, [("z.yaml", "two")]);
    }
}
