//! Files: new ones, known ones, and those that are none of ours.

use std::fs;
use std::path::PathBuf;
use std::sync::LazyLock;

use proptest::prelude::*;
use redb::{Database, TableDefinition};
use serde_json::json;
use tempfile::TempDir;

use super::support::*;
use super::test_disk::TestDisk;
use crate::*;

fn folder() -> (TempDir, PathBuf) {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("store.redb");
    (folder, path)
}

fn open(path: &std::path::Path) -> Result<Store, OpenError> {
    Store::open(path, options())
}

#[tokio::test]
async fn what_was_written_is_there_again_and_the_past_is_not() {
    let (_folder, path) = folder();
    let store = open(&path).unwrap();
    for n in 0..20 {
        store.write(Write::create(pod(&n.to_string()), on_node(&format!("edge-{}", n % 3)))).await.unwrap();
    }
    store
        .write(Write::put(pod("3"), json!({ "metadata": { "uid": "u", "labels": { "a": "b" } } })))
        .await
        .unwrap();
    let last = store.write(Write::delete(pod("4"))).await.unwrap().revision;
    let listed = store.list(&pods(), None, 0);
    let on_edge = store.list(&on("edge-1"), None, 0);
    store.close();

    let store = open(&path).unwrap();
    // The counter is that of the delete, although no object has it.
    assert_eq!(store.revision(), last);
    assert_eq!(store.list(&pods(), None, 0), listed);
    assert_eq!(store.list(&on("edge-1"), None, 0), on_edge);
    assert_eq!(
        store.watch(pods(), Start::After(last - 1)).unwrap_err(),
        RevisionError::Compacted { oldest: last }
    );
    let mut watch = store.watch(pods(), Start::After(last)).unwrap();
    let next = store.write(Write::update(pod("3"), last - 1, json!({}))).await.unwrap();
    assert_eq!((next.revision, next.object.created), (last + 1, 5));
    assert_eq!(watch.next().await.unwrap().previous.unwrap().tags.uid, "u");
}

#[test]
fn an_empty_store_is_an_empty_store_after_opening_it_again() {
    let (_folder, path) = folder();
    open(&path).unwrap().close();
    let store = open(&path).unwrap();
    assert_eq!((store.revision(), store.list(&pods(), None, 0).objects.len()), (1, 0));
}

#[test]
fn a_store_that_is_in_use_is_not_opened_twice() {
    let (_folder, path) = folder();
    let store = open(&path).unwrap();
    let refused = open(&path).unwrap_err();
    assert!(matches!(refused, OpenError::Locked { .. }), "{refused:?}");
    assert!(refused.to_string().contains("it is in use"), "{refused}");
    drop(store);
    open(&path).unwrap();
}

#[test]
fn what_is_not_a_store_is_left_as_it_is() {
    let (_folder, path) = folder();
    for other in
        [&b"x"[..], b"this is a letter to my aunt", &[0; 5_000], b"redb\x1a\x0a\xa9\x0d\x0a and no more"]
    {
        fs::write(&path, other).unwrap();
        let refused = open(&path).unwrap_err();
        assert!(matches!(refused, OpenError::Unreadable { .. }), "{refused:?}");
        assert_eq!(fs::read(&path).unwrap(), other);
    }
}

#[test]
fn a_database_of_somebody_else_is_refused() {
    let (_folder, path) = folder();
    let table: TableDefinition<&str, &str> = TableDefinition::new("recipes");
    let database = Database::create(&path).unwrap();
    let transaction = database.begin_write().unwrap();
    transaction.open_table(table).unwrap().insert("soup", "water").unwrap();
    transaction.commit().unwrap();
    drop(database);
    let refused = open(&path).unwrap_err();
    assert!(matches!(refused, OpenError::Unreadable { source: Unreadable::Foreign, .. }), "{refused:?}");
}

#[test]
fn a_store_of_a_later_version_is_refused_and_not_touched() {
    let (_folder, path) = folder();
    open(&path).unwrap().close();
    let table: TableDefinition<&str, u64> = TableDefinition::new("meta");
    let database = Database::create(&path).unwrap();
    let transaction = database.begin_write().unwrap();
    transaction.open_table(table).unwrap().insert("format", 2).unwrap();
    transaction.commit().unwrap();
    drop(database);
    let refused = open(&path).unwrap_err();
    assert!(matches!(refused, OpenError::Newer { found: 2, known: 1, .. }), "{refused:?}");
}

#[test]
fn a_folder_that_is_missing_is_not_made() {
    let (folder, _) = folder();
    let refused = open(&folder.path().join("missing").join("store.redb")).unwrap_err();
    assert!(matches!(refused, OpenError::Io { .. }), "{refused:?}");
    assert!(!folder.path().join("missing").exists());
}

#[test]
fn a_beginning_that_was_cut_off_is_begun_again() {
    let (folder, path) = folder();
    // The file system had the name but not yet the content, and half of a first attempt.
    fs::write(&path, b"").unwrap();
    fs::write(folder.path().join("store.redb.unfinished"), [0; 9_000]).unwrap();
    open(&path).unwrap().close();
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    open(&path).unwrap();
}

#[test]
fn of_many_who_begin_at_once_one_has_it_and_the_others_are_told() {
    let (folder, path) = folder();
    let stores: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(|| open(&path))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(stores.iter().filter(|store| store.is_ok()).count(), 1);
    let told = stores.iter().filter(|store| matches!(store, Err(OpenError::Locked { .. }))).count();
    assert_eq!(told, 7);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

/// A store that was closed well, and what it held.
static CLOSED: LazyLock<(Vec<u8>, Listing)> = LazyLock::new(|| {
    let disk = TestDisk::default();
    let store = Store::with_backend(disk.clone(), options()).unwrap();
    for n in 0..200 {
        let value = json!({ "data": format!("{n}").repeat(200) });
        wait(store.write(Write::create(pod(&n.to_string()), value))).unwrap();
    }
    let listing = store.list(&pods(), None, 0);
    store.close();
    (disk.shown(), listing)
});

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn bytes_that_rot_are_noticed_or_do_not_matter(rot in prop::collection::vec((any::<prop::sample::Index>(), 1_u8..), 1..40)) {
        let (mut image, listing) = CLOSED.clone();
        for (place, bits) in rot {
            *place.get_mut(&mut image) ^= bits;
        }
        match Store::with_backend(TestDisk::holding(image), options()) {
            Ok(store) => prop_assert_eq!(store.list(&pods(), None, 0), listing),
            Err(error) => prop_assert!(matches!(error, OpenError::Unreadable { .. }), "{:?}", error),
        }
    }
}
