//! A folder of manifests, read as a kubelet reads it: each file is a pod of this machine, named after both.
//!
//! Unlike with a kubelet, nothing ends because a file cannot be read: as long as there is one, nobody knows what the folder
//! asks for, beyond what the others say.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp as Moment;
use safepoint_api::names::kubernetes::{
    CONFIG_HASH, CONFIG_MIRROR, CONFIG_SEEN, CONFIG_SOURCE, CONFIG_SOURCE_FILE,
};
use safepoint_core::{Key, Uid};
use serde_json::{Value, json};

use crate::{digest, version};

/// A pod that a manifest asks for.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct StaticPod {
    pub(super) key: Key,
    pub(super) uid: Uid,
    pub(super) manifest: Arc<Value>,
}

/// What a folder asks for.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Asked {
    pub(super) pods: BTreeMap<Key, StaticPod>,
    /// Nothing else is asked for. Otherwise something could not be read.
    pub(super) is_complete: bool,
}

/// The folder, and what was last read there.
pub(super) struct Folder {
    path: PathBuf,
    node: String,
    files: BTreeMap<String, File>,
}

struct File {
    text: String,
    pod: Option<StaticPod>,
}

// === impl Folder ===

impl Folder {
    pub(super) fn new(path: PathBuf, node: &str) -> Self {
        Self { path, node: node.to_owned(), files: BTreeMap::new() }
    }

    /// What the folder asks for now. Of two files that ask for the same pod, the first one counts. Blocking.
    pub(super) fn read(&mut self) -> Asked {
        let files = match self.read_files() {
            Ok(files) => files,
            Err(error) => {
                tracing::warn!(folder = %self.path.display(), %error, "cannot read the folder of manifests");
                return Asked::default();
            }
        };
        self.files = files;
        let is_complete = self.files.values().all(|file| file.pod.is_some());
        let mut pods = BTreeMap::new();
        for pod in self.files.values().filter_map(|file| file.pod.clone()) {
            pods.entry(pod.key.clone()).or_insert(pod);
        }
        Asked { pods, is_complete }
    }

    fn read_files(&mut self) -> io::Result<BTreeMap<String, File>> {
        let mut files = BTreeMap::new();
        for entry in fs::read_dir(&self.path)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            // A file that is gone again is none.
            let Ok(found) = fs::metadata(entry.path()) else { continue };
            if name.starts_with('.') || !found.is_file() {
                continue;
            }
            let written = found.modified().ok().and_then(|at| Moment::try_from(at).ok()).unwrap_or_default();
            let file = self.read_file(&name, &entry.path(), written);
            files.insert(name, file);
        }
        Ok(files)
    }

    fn read_file(&mut self, name: &str, path: &Path, written: Moment) -> File {
        let text = match fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) => {
                tracing::warn!(file = name, %error, "a manifest cannot be read; nothing ends meanwhile");
                return File { text: String::new(), pod: None };
            }
        };
        if let Some(before) = self.files.remove(name).filter(|before| before.text == text) {
            return before;
        }
        let pod = static_pod(&text, &self.node, name, written);
        if let Err(why) = &pod {
            tracing::warn!(file = name, why, "a manifest cannot be used; nothing ends meanwhile");
        }
        File { text, pod: pod.ok() }
    }
}

/// Whether a pod of the runtime is one of a folder.
pub(super) fn is_static(manifest: &Value) -> bool {
    manifest["metadata"]["annotations"][CONFIG_SOURCE] == CONFIG_SOURCE_FILE
}

/// The pod of a manifest, as a kubelet of this node would have it.
fn static_pod(text: &str, node: &str, file: &str, written: Moment) -> Result<StaticPod, String> {
    let mut pod: Value = serde_saphyr::from_str(text).map_err(|error| error.to_string())?;
    if (&pod["apiVersion"], &pod["kind"]) != (&json!("v1"), &json!("Pod")) {
        return Err("it is not a v1 Pod".into());
    }
    if !pod["metadata"].is_object() || !pod["spec"].is_object() {
        return Err("it has no metadata or no spec".into());
    }
    let name = pod["metadata"]["name"].as_str().ok_or("it has no name")?.to_lowercase();
    let namespace = pod["metadata"]["namespace"].as_str().unwrap_or("default").to_owned();
    // A manifest with other contents is another pod.
    let uid = match pod["metadata"]["uid"].as_str() {
        Some(uid) => uid.to_owned(),
        None => digest::of(&[&json!(node), &json!(file), &pod]).to_string(),
    };
    let name = format!("{name}-{node}");
    pod["metadata"]["name"] = name.clone().into();
    pod["metadata"]["namespace"] = namespace.clone().into();
    pod["metadata"]["uid"] = uid.clone().into();
    pod["spec"]["nodeName"] = node.into();
    if pod["metadata"]["annotations"].is_null() {
        pod["metadata"]["annotations"] = json!({});
    }
    let Value::Object(annotations) = &mut pod["metadata"]["annotations"] else {
        return Err("its annotations are no map".into());
    };
    annotations.remove(CONFIG_MIRROR);
    annotations.insert(CONFIG_HASH.into(), uid.clone().into());
    annotations.insert(CONFIG_SEEN.into(), written.to_string().into());
    annotations.insert(CONFIG_SOURCE.into(), CONFIG_SOURCE_FILE.into());
    let (key, version) = version::of_pod(node, &pod)
        .map_err(|error| error.to_string())?
        .ok_or("it says that it is a mirror")?;
    if let Some(used) = version.uses.first() {
        return Err(format!("a static pod cannot use objects of the cluster, and this one uses {used}"));
    }
    Ok(StaticPod { key, uid: Uid::from(uid), manifest: Arc::new(pod) })
}

#[cfg(test)]
mod tests;
