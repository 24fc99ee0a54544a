//! A folder as a kubelet's, and what may be found in it.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use super::{Content, Place, Unplaced};
use crate::folder::Folder;
use crate::host::Host;
use crate::manifest::Digest;
use crate::names::FileName;
use crate::outcome::Code;

struct Node {
    root: tempfile::TempDir,
    folder: Folder,
}

impl Node {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("manifests")).unwrap();
        let folder = Folder::find(&Host::below(root.path()), Some(Path::new("/manifests"))).unwrap();
        Self { root, folder }
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.folder.path().join(name), text).unwrap();
    }

    fn place(&self, name: &str) -> Place {
        Place::find(&self.folder, &FileName::new(name).unwrap()).unwrap()
    }

    fn names(&self, folder: &Path) -> Vec<String> {
        let mut names: Vec<_> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

#[test]
fn a_manifest_is_replaced_and_keeps_its_permissions() {
    let node = Node::new();
    node.write("nginx.yaml", "old");
    let path = node.folder.path().join("nginx.yaml");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    let place = node.place("nginx");
    let old = place.read().unwrap().unwrap();
    place.replace(Some(&old.digest), Some(&old.with("new"))).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "new");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o640);
    assert_eq!(node.names(node.folder.path()), ["nginx.yaml"]);
    assert_eq!(node.names(node.root.path()), ["manifests"], "no draft is left behind");
}

#[test]
fn what_somebody_else_has_written_is_not_overwritten() {
    let node = Node::new();
    node.write("nginx.yaml", "theirs");
    let place = node.place("nginx");
    let old = Digest::of(b"old");
    assert!(matches!(place.replace(Some(&old), Some(&Content::fresh("new"))), Err(Unplaced::Changed)));
    assert!(matches!(place.replace(None, Some(&Content::fresh("new"))), Err(Unplaced::Changed)));
    assert_eq!(place.read().unwrap().unwrap().text, "theirs");
}

#[test]
fn a_manifest_can_be_put_where_none_is_and_taken_away() {
    let node = Node::new();
    let place = node.place("nginx");
    let new = Content::fresh("new");
    place.replace(None, Some(&new)).unwrap();
    assert_eq!(place.read().unwrap().unwrap(), new);
    place.replace(Some(&new.digest), None).unwrap();
    assert_eq!(place.read().unwrap(), None);
    place.replace(None, None).unwrap();
}

#[test]
fn links_that_stay_are_followed_and_links_that_leave_are_refused() {
    let node = Node::new();
    node.write("real.yaml", "old");
    symlink("real.yaml", node.folder.path().join("near.yaml")).unwrap();
    symlink("/manifests/near.yaml", node.folder.path().join("also.yaml")).unwrap();
    assert_eq!(node.place("also").path(), node.folder.path().join("real.yaml"));
    symlink("/etc/passwd", node.folder.path().join("far.yaml")).unwrap();
    symlink("circle.yaml", node.folder.path().join("circle.yaml")).unwrap();
    for name in ["far", "circle"] {
        let stop = Place::find(&node.folder, &FileName::new(name).unwrap()).unwrap_err();
        assert_eq!(stop.code, Code::LinkLeadsOut);
    }
}

#[test]
fn what_is_not_a_file_is_refused() {
    let node = Node::new();
    fs::create_dir(node.folder.path().join("nginx.yaml")).unwrap();
    assert_eq!(node.place("nginx").read().unwrap_err().code, Code::NotAFile);
    fs::write(node.folder.path().join("bytes.yaml"), [0xff, 0xfe]).unwrap();
    assert_eq!(node.place("bytes").read().unwrap_err().code, Code::NotAFile);
}

#[test]
fn what_was_left_behind_is_swept() {
    let node = Node::new();
    node.write("nginx.yaml", "old");
    node.write(".nginx.yaml.safepoint", "half");
    fs::create_dir(node.root.path().join(".safepoint-manifests")).unwrap();
    fs::write(node.root.path().join(".safepoint-manifests/nginx.yaml"), "half").unwrap();
    node.place("nginx").sweep();
    assert_eq!(node.names(node.folder.path()), ["nginx.yaml"]);
    assert_eq!(node.names(node.root.path()), ["manifests"]);
}

#[test]
fn who_sweeps_takes_nothing_from_those_who_replace_another_manifest() {
    let node = Node::new();
    let (one, other) = (node.place("nginx"), node.place("proxy"));
    let (old, new) = (Content::fresh("old"), Content::fresh("new"));
    one.replace(None, Some(&old)).unwrap();
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                other.sweep();
            }
        });
        for _ in 0..200 {
            let there = one.replace(Some(&old.digest), Some(&new));
            let back = there.and_then(|()| one.replace(Some(&new.digest), Some(&old)));
            if back.is_err() {
                done.store(true, Ordering::Relaxed);
            }
            back.unwrap();
        }
        done.store(true, Ordering::Relaxed);
    });
}

#[test]
fn where_beside_is_another_file_system_a_name_that_the_kubelet_does_not_read_is_used() {
    // A folder that is a mount of its own, which only root can make: /dev/shm is one, and so is what lies above it.
    let Ok(shm) = tempfile::tempdir_in("/dev/shm") else { return };
    let folder = Folder::find(&Host::here(), Some(Path::new("/dev/shm"))).unwrap();
    let name = format!("{}.yaml", shm.path().file_name().unwrap().to_str().unwrap().trim_start_matches('.'));
    let place = Place::find(&folder, &FileName::new(&name).unwrap()).unwrap();
    let new = Content::fresh("new");
    place.replace(None, Some(&new)).unwrap();
    assert_eq!(place.read().unwrap().unwrap().text, "new");
    place.replace(Some(&new.digest), None).unwrap();
}
