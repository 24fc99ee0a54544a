//! Volumes on disk, without a container.

use std::{collections::BTreeMap, fs, net::IpAddr, os::unix::fs::MetadataExt, sync::Arc};

use serde_json::{Value, json};

use super::*;
use crate::{Config, spec::Pod};

fn configs(version: &str, data: &[(&str, &str)]) -> Configs {
    let data = data.iter().map(|(key, value)| ((*key).to_owned(), value.as_bytes().to_vec())).collect();
    let config = Arc::new(Config { version: version.into(), data });
    Configs(BTreeMap::from([(ConfigKey::config_map("nav"), config)]))
}

fn volumes(folder: &Path, volume: &Value, configs: &Configs, stamp: &str) -> SetUp {
    let pod = Pod::parse(&json!({"spec": {"volumes": [volume]}})).unwrap();
    let address = IpAddr::from([127, 0, 0, 1]);
    let who = Who { namespace: "n", name: "p", uid: "u", address, pod: &pod };
    set_up(who, configs, folder, &[], stamp).unwrap()
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn files_are_swapped_all_at_once_and_left_alone_if_they_are_the_same() {
    let home = tempfile::tempdir().unwrap();
    let nav = || json!({"name": "v", "configMap": {"name": "nav"}});
    let folder = folder(home.path(), "v");
    volumes(home.path(), &nav(), &configs("1", &[("a", "1"), ("b", "1")]), "one");
    assert_eq!(names(&folder), ["..data", "..one", "a", "b"]);
    let old = fs::metadata(folder.join("a")).unwrap().ino();

    let same = volumes(home.path(), &nav(), &configs("2", &[("a", "1"), ("b", "1")]), "two");
    assert_eq!(fs::metadata(folder.join("a")).unwrap().ino(), old);
    assert_eq!(same.shown, [(ConfigKey::config_map("nav"), "2".to_owned())]);

    volumes(home.path(), &nav(), &configs("3", &[("a", "2"), ("c", "2")]), "three");
    assert_eq!(names(&folder), ["..data", "..three", "a", "c"]);
    assert_eq!(fs::read_to_string(folder.join("a")).unwrap(), "2");
}

#[test]
fn an_update_that_was_interrupted_is_taken_up() {
    let home = tempfile::tempdir().unwrap();
    let nav = || json!({"name": "v", "configMap": {"name": "nav"}});
    let folder = folder(home.path(), "v");
    volumes(home.path(), &nav(), &configs("1", &[("a", "1")]), "one");
    // Everything was written but the swap.
    fs::create_dir(folder.join("..two")).unwrap();
    fs::write(folder.join("..two/a"), "half").unwrap();
    std::os::unix::fs::symlink("..two", folder.join("..data_tmp")).unwrap();
    volumes(home.path(), &nav(), &configs("2", &[("a", "2")]), "two");
    assert_eq!(fs::read_to_string(folder.join("a")).unwrap(), "2");
    assert_eq!(names(&folder), ["..data", "..two", "a"]);
}

#[test]
fn keys_and_items_that_lead_out_of_the_volume_write_nothing() {
    let home = tempfile::tempdir().unwrap();
    let nav = json!({"name": "v", "configMap": {"name": "nav"}});
    let out = volumes(home.path(), &nav, &configs("1", &[("../../out", "x")]), "one");
    assert!(out.missing.unwrap().contains("../../out"));
    let items =
        json!({"name": "v", "configMap": {"name": "nav", "items": [{"key": "a", "path": "../../../out"}]}});
    let out = volumes(home.path(), &items, &configs("1", &[("a", "x")]), "one");
    assert!(out.missing.unwrap().contains("leads out"));
    assert_eq!(names(home.path()), [VOLUMES]);
}

#[test]
fn a_path_of_the_host_has_to_be_what_the_manifest_says() {
    let home = tempfile::tempdir().unwrap();
    let host = |kind: &str, path: &Path| {
        let volume = json!({"name": "v", "hostPath": {"path": path, "type": kind}});
        volumes(home.path(), &volume, &Configs::default(), "one").missing
    };
    assert_eq!(host("", &home.path().join("no")), None);
    assert_eq!(host("Directory", home.path()), None);
    assert!(host("File", home.path()).is_some() && host("Socket", home.path()).is_some());
    assert!(host("Directory", &home.path().join("no")).is_some());
    assert_eq!(host("DirectoryOrCreate", &home.path().join("made")), None);
    assert!(home.path().join("made").is_dir());
    assert_eq!(host("CharDevice", Path::new("/dev/null")), None);
}
