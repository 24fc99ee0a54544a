//! Whether configuration has reached the files of a pod, read where the kubelet writes them.
//!
//! A kubelet does not report it, and it may take more than a minute. What is read as a variable is read at the next start of
//! a container and does not count here. A volume that is not there shows nothing, which is nothing old either.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use safepoint_core::{Key, Kind, Uid};
use serde_json::Value;

use crate::version::Data;

/// Where the kubelet keeps the volumes of pods.
#[derive(Clone, Debug)]
pub(super) struct Volumes {
    root: PathBuf,
}

/// One place at which a pod reads a ConfigMap or Secret through files.
struct Place<'a> {
    folder: PathBuf,
    items: Option<&'a Vec<Value>>,
    optional: bool,
    /// Nothing else is in the folder.
    is_alone: bool,
}

// === impl Volumes ===

impl Volumes {
    /// The volumes of a kubelet whose `--root-dir` is this.
    pub(super) fn new(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    /// Whether there is a kubelet that keeps its volumes there.
    pub(super) fn are_there(&self) -> bool {
        self.root.join("pods").is_dir()
    }

    /// Whether the files of a pod show this. Of one that has run they are there.
    pub(super) fn show(&self, uid: &Uid, pod: &Value, key: &Key, data: &Data, has_run: bool) -> bool {
        let places = self.places(uid, pod, key);
        places.iter().all(|place| if place.folder.is_dir() { place.shows(data) } else { !has_run })
    }

    /// Whether the files of a pod show what is gone no longer. Where it is not optional, a kubelet leaves them as they are.
    pub(super) fn show_nothing(&self, uid: &Uid, pod: &Value, key: &Key, data: &Data) -> bool {
        let places = self.places(uid, pod, key);
        places.iter().filter(|place| place.optional && place.folder.is_dir()).all(|place| {
            let files = place.files(data);
            !files.iter().any(|(path, _)| place.folder.join(path).exists())
        })
    }

    fn places<'a>(&self, uid: &Uid, pod: &'a Value, key: &Key) -> Vec<Place<'a>> {
        let (member, names, plugin) = match key.kind {
            Kind::Secret => ("secret", ["secretName", "name"], "kubernetes.io~secret"),
            Kind::ConfigMap | Kind::Pod | Kind::StaticPod => {
                ("configMap", ["name", "name"], "kubernetes.io~configmap")
            }
        };
        let volumes = self.root.join("pods").join(uid.as_str()).join("volumes");
        let mut places = Vec::new();
        for volume in pod["spec"]["volumes"].as_array().into_iter().flatten() {
            let Some(name) = volume["name"].as_str().filter(|name| !name.contains('/')) else { continue };
            // What no container mounts is not made.
            if !mounts(pod).any(|mount| mount["name"] == name) {
                continue;
            }
            let place = |source: &'a Value, plugin: &str, is_alone: bool| Place {
                folder: volumes.join(plugin).join(name),
                items: source["items"].as_array(),
                optional: source["optional"] == true,
                is_alone,
            };
            let own = &volume[member];
            if own[names[0]].as_str() == Some(&key.name) {
                places.push(place(own, plugin, true));
            }
            for source in volume["projected"]["sources"].as_array().into_iter().flatten() {
                let source = &source[member];
                if source[names[1]].as_str() == Some(&key.name) {
                    places.push(place(source, "kubernetes.io~projected", false));
                }
            }
        }
        places
    }
}

// === impl Place ===

impl Place<'_> {
    /// The files that there should be; none for a key that is missing.
    fn files<'d>(&self, data: &'d Data) -> Vec<(PathBuf, Option<&'d Vec<u8>>)> {
        let of_item = |item: &Value| {
            let (key, path) = (item["key"].as_str()?, item["path"].as_str()?);
            Some((PathBuf::from(path), data.get(key)))
        };
        match self.items {
            Some(items) => items.iter().filter_map(of_item).collect(),
            None => data.iter().map(|(key, value)| (PathBuf::from(key), Some(value))).collect(),
        }
    }

    fn shows(&self, data: &Data) -> bool {
        let files = self.files(data);
        let all_shown = files.iter().all(|(path, expected)| {
            let found = fs::read(self.folder.join(path)).ok();
            match expected {
                Some(expected) => found.as_ref() == Some(expected),
                // What is missing takes its file along, if it may be missing; if not, the files stay as they are.
                None => !self.optional || found.is_none(),
            }
        });
        all_shown && (!self.is_alone || self.items.is_some() || self.names() == files_of(&files))
    }

    /// What a container sees in the folder.
    fn names(&self) -> BTreeSet<PathBuf> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let names = entries.map(|entry| PathBuf::from(entry.file_name()));
        names.filter(|name| !name.to_string_lossy().starts_with("..")).collect()
    }
}

fn mounts(pod: &Value) -> impl Iterator<Item = &Value> {
    let lists = ["initContainers", "containers", "ephemeralContainers"].into_iter();
    let containers = lists.flat_map(|list| pod["spec"][list].as_array().into_iter().flatten());
    containers.flat_map(|container| container["volumeMounts"].as_array().into_iter().flatten())
}

fn files_of(files: &[(PathBuf, Option<&Vec<u8>>)]) -> BTreeSet<PathBuf> {
    files.iter().map(|(path, _)| path.clone()).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tempfile::TempDir;

    use super::*;

    const VOLUME: &str = "pods/u1/volumes/kubernetes.io~configmap/maps";

    fn pod(more: &Value) -> Value {
        let mut source = json!({"name": "maps"});
        source.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({"spec": {"containers": [{"volumeMounts": [{"name": "maps"}]}],
            "volumes": [{"name": "maps", "configMap": source}]}})
    }

    fn world(files: &[(&str, &str)]) -> (TempDir, Volumes) {
        let folder = TempDir::new().unwrap();
        let volume = folder.path().join(VOLUME);
        fs::create_dir_all(volume.join("..data")).unwrap();
        for (name, text) in files {
            fs::write(volume.join(name), text).unwrap();
        }
        let volumes = Volumes::new(folder.path());
        (folder, volumes)
    }

    fn maps(pairs: &[(&str, &str)]) -> Data {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), value.as_bytes().to_vec())).collect()
    }

    fn show(volumes: &Volumes, pod: &Value, data: &Data) -> bool {
        volumes.show(&Uid::from("u1"), pod, &Key::config_map("default", "maps"), data, false)
    }

    #[test]
    fn a_version_has_arrived_when_the_files_are_its() {
        let (_folder, volumes) = world(&[("area", "1"), ("base", "x")]);
        let pod = pod(&json!({}));
        assert!(show(&volumes, &pod, &maps(&[("area", "1"), ("base", "x")])));
        assert!(!show(&volumes, &pod, &maps(&[("area", "2"), ("base", "x")])));
        assert!(!show(&volumes, &pod, &maps(&[("area", "1")])), "a key that went is still there");
        assert!(!show(&volumes, &pod, &maps(&[("area", "1"), ("base", "x"), ("new", "")])));
    }

    #[test]
    fn only_the_items_that_are_asked_for_count() {
        let (_folder, volumes) = world(&[("here", "1")]);
        let pod = pod(&json!({"items": [{"key": "area", "path": "here"}]}));
        assert!(show(&volumes, &pod, &maps(&[("area", "1"), ("base", "x")])));
        assert!(
            show(&volumes, &pod, &maps(&[("base", "x")])),
            "what lacks a key that must be there changes no file"
        );
    }

    #[test]
    fn a_volume_that_is_not_there_shows_nothing_old() {
        let (volumes, key) = (Volumes::new(Path::new("/nowhere")), Key::config_map("default", "maps"));
        let data = maps(&[("area", "2")]);
        assert!(volumes.show(&Uid::from("u1"), &pod(&json!({})), &key, &data, false));
        assert!(
            !volumes.show(&Uid::from("u1"), &pod(&json!({})), &key, &data, true),
            "unless it must be there"
        );
    }

    #[test]
    fn what_is_gone_takes_optional_files_along_and_leaves_the_others() {
        let (_folder, volumes) = world(&[("area", "1")]);
        let nothing = |pod: &Value| {
            let key = Key::config_map("default", "maps");
            volumes.show_nothing(&Uid::from("u1"), pod, &key, &maps(&[("area", "1")]))
        };
        assert!(!nothing(&pod(&json!({"optional": true}))));
        assert!(nothing(&pod(&json!({}))));
    }
}
