//! Staging, staging again, and what becomes of files that are not ours.

use std::fs;

use jiff::{SignedDuration, Timestamp};

use super::{ImageReady, stage, staged, unstage};
use crate::manifest::{Digest, Manifest};
use crate::names::FileName;
use crate::outcome::Code;
use crate::slot::Slot;

fn manifest(revision: &str) -> Manifest {
    let annotations = match revision {
        "" => String::new(),
        revision => format!("annotations: {{openyurt.io/static-pod-hash: \"{revision}\"}}"),
    };
    let text = format!(
        "apiVersion: v1\nkind: Pod\nmetadata:\n  name: nginx\n  {annotations}\nspec: {{containers: [{{name: main, image: \"nginx:v1\"}}]}}\n"
    );
    Manifest::parse(text).unwrap()
}

fn at(seconds: i64) -> Timestamp {
    Timestamp::UNIX_EPOCH + SignedDuration::from_secs(seconds)
}

#[test]
fn what_is_staged_is_found_again_with_what_is_known_of_it() {
    let data = tempfile::tempdir().unwrap();
    let (manifest, file) = (manifest("one"), FileName::new("nginx").unwrap());
    let slot = Slot::of(data.path(), manifest.key());
    assert_eq!(staged(&slot, manifest.key()).unwrap(), None);
    let images = vec![ImageReady { image: "nginx:v1".into(), digest: "sha256:1".into(), pulled: true }];
    let put = stage(&slot, &file, &manifest, Some(Digest::of(b"old")), images, at(5)).unwrap();
    assert!(data.path().join("static-pods/default_nginx/nginx.yaml.upgrade").is_file());
    assert_eq!(staged(&slot, manifest.key()).unwrap().as_ref(), Some(&put));
    assert_eq!((put.text.as_str(), put.record.revision.as_str()), (manifest.text(), "one"));
    assert_eq!(Slot::all(data.path()).unwrap(), [manifest.key().clone()]);
    unstage(&slot, &put).unwrap();
    assert_eq!(staged(&slot, manifest.key()).unwrap(), None);
}

#[test]
fn a_newer_one_takes_the_place_of_an_older_one_also_under_another_name() {
    let data = tempfile::tempdir().unwrap();
    let (one, two) = (manifest("one"), manifest("two"));
    let slot = Slot::of(data.path(), one.key());
    stage(&slot, &FileName::new("nginx").unwrap(), &one, None, Vec::new(), at(1)).unwrap();
    stage(&slot, &FileName::new("web").unwrap(), &two, None, Vec::new(), at(2)).unwrap();
    let found = staged(&slot, one.key()).unwrap().unwrap();
    assert_eq!((found.file.as_str(), found.record.revision.as_str()), ("web.yaml", "two"));
    assert_eq!(slot.names("").unwrap(), ["web.yaml.upgrade"]);
}

#[test]
fn a_file_that_was_tampered_with_is_not_staged() {
    let data = tempfile::tempdir().unwrap();
    let manifest = manifest("one");
    let slot = Slot::of(data.path(), manifest.key());
    stage(&slot, &FileName::new("nginx").unwrap(), &manifest, None, Vec::new(), at(1)).unwrap();
    let path = slot.path("nginx.yaml.upgrade");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("nginx:v1", "evil:v1")).unwrap();
    assert_eq!(staged(&slot, manifest.key()).unwrap(), None);
    fs::write(&path, "not even a comment").unwrap();
    assert_eq!(staged(&slot, manifest.key()).unwrap(), None);
}

#[test]
fn a_manifest_without_a_revision_is_not_staged() {
    let data = tempfile::tempdir().unwrap();
    let manifest = manifest("");
    let slot = Slot::of(data.path(), manifest.key());
    let stop =
        stage(&slot, &FileName::new("nginx").unwrap(), &manifest, None, Vec::new(), at(1)).unwrap_err();
    assert_eq!(stop.code, Code::RevisionMissing);
}
