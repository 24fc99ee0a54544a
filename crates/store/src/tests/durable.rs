//! Durable first, then visible, then answered; and what happens when the disk does not play along.

use std::sync::Arc;

use serde_json::json;
use tokio::task::{JoinSet, yield_now};

use super::support::*;
use super::test_disk::TestDisk;
use crate::*;

fn store_on(disk: &TestDisk) -> Store {
    Store::with_backend(disk.clone(), options()).unwrap()
}

#[test]
fn nothing_of_a_write_is_visible_before_the_disk_has_it() {
    let disk = TestDisk::default();
    let store = store_on(&disk);
    let mut watch = store.watch(pods(), Start::Now).unwrap();
    let before = store.revision();

    let held = disk.hold_syncs();
    let write = start(store.write(Write::create(pod("a"), json!({}))));
    held.wait_for_sync();
    assert_eq!(store.get(&pod("a")), None);
    assert_eq!(store.list(&pods(), None, 0), Listing { revision: before, ..Listing::default() });
    assert_eq!(
        store.watch(pods(), Start::After(before + 1)).unwrap_err(),
        RevisionError::Future { current: before }
    );
    assert!(is_waiting(watch.next()));
    assert_eq!(watch.progress(), Some(before));

    drop(held);
    let made = wait(write).unwrap();
    assert_eq!(made.revision, before + 1);
    assert_eq!(store.get(&pod("a")).unwrap(), made.object);
    assert_eq!(store.revision(), made.revision);
    assert_eq!(watch.progress(), None);
    assert_eq!(wait(watch.next()).unwrap().object, made.object);
    assert_eq!(watch.progress(), Some(made.revision));
}

#[test]
fn writes_that_wait_for_the_same_sync_share_the_next_commit() {
    let disk = TestDisk::default();
    let store = store_on(&disk);
    let held = disk.hold_syncs();
    let first = start(store.write(Write::create(pod("first"), json!({}))));
    held.wait_for_sync();
    let others: Vec<_> =
        (0..100).map(|n| start(store.write(Write::create(pod(&n.to_string()), json!({}))))).collect();
    drop(held);
    wait(first).unwrap();
    let revisions: Vec<_> = others.into_iter().map(|write| wait(write).unwrap().revision).collect();
    assert_eq!(revisions, (3..103).collect::<Vec<_>>());
    let Stats { commits, writes, .. } = store.stats();
    assert_eq!((commits, writes), (2, 101));
}

#[test]
fn a_refusal_that_rests_on_a_write_of_the_same_batch_waits_for_it() {
    let disk = TestDisk::default();
    let store = store_on(&disk);
    let held = disk.hold_syncs();
    let plug = start(store.write(Write::create(pod("plug"), json!({}))));
    held.wait_for_sync();
    let create = start(store.write(Write::create(pod("a"), json!({ "by": 1 }))));
    let again = start(store.write(Write::create(pod("a"), json!({ "by": 2 }))));
    let update = start(store.write(Write::update(pod("a"), 3, json!({ "by": 3 }))));
    let stale = start(store.write(Write::update(pod("a"), 3, json!({ "by": 4 }))));
    let delete = start(store.write(Write::delete(pod("a"))));
    let gone = start(store.write(Write::delete(pod("a"))));
    drop(held);
    wait(plug).unwrap();
    assert_eq!(wait(create).unwrap().revision, 3);
    assert!(matches!(wait(again), Err(WriteError::Exists)));
    assert_eq!(wait(update).unwrap().object.created, 3);
    let Err(WriteError::Conflict { current: Some(current) }) = wait(stale) else { panic!("a conflict") };
    assert_eq!((current.revision, content(&current)), (4, json!({ "by": 3 })));
    let deleted = wait(delete).unwrap();
    assert_eq!((deleted.revision, content(&deleted.object)), (5, json!({ "by": 3 })));
    assert!(matches!(wait(gone), Err(WriteError::NotFound)));
    assert_eq!(store.stats().commits, 2);
    assert_eq!(store.revision(), 5);
}

#[test]
fn a_failed_sync_fails_the_whole_batch_and_every_later_write() {
    let disk = TestDisk::default();
    let store = store_on(&disk);
    wait(store.write(Write::create(pod("kept"), json!({})))).unwrap();
    let mut watch = store.watch(pods(), Start::Now).unwrap();
    assert!(store.failure().is_none());

    let held = disk.hold_syncs();
    let plug = start(store.write(Write::put(pod("kept"), json!({ "again": true }))));
    held.wait_for_sync();
    disk.fail_syncs_after(1);
    let batch =
        [Write::create(pod("a"), json!({})), Write::create(pod("a"), json!({})), Write::delete(pod("kept"))];
    let batch = batch.map(|write| start(store.write(write)));
    drop(held);
    let kept = wait(plug).unwrap();
    for failed in batch.map(|write| wait(write).unwrap_err()) {
        assert!(matches!(failed, WriteError::Failed(Failure::Storage(_))), "{failed:?}");
        assert!(failed.to_string().contains("takes no more writes until it is opened again"), "{failed}");
    }
    let refused = wait(store.write(Write::delete(pod("kept")))).unwrap_err();
    assert!(refused.to_string().contains("open it again"), "{refused}");
    assert!(matches!(store.failure(), Some(Failure::Poisoned(_))));

    // Reads go on, and nothing of it is visible.
    assert_eq!(store.list(&pods(), None, 0).objects, [Arc::clone(&kept.object)]);
    assert_eq!(store.revision(), kept.revision);
    assert_eq!(wait(watch.next()).unwrap().object, kept.object);
    assert!(is_waiting(watch.next()));
    assert_eq!(watch.progress(), Some(kept.revision));
    assert_eq!(store.list_at(&pods(), 1, None, 0).unwrap().objects, []);
}

#[test]
fn a_store_that_failed_opens_again_with_all_that_was_answered() {
    let disk = TestDisk::default();
    let store = store_on(&disk);
    let kept = wait(store.write(Write::create(pod("kept"), json!({})))).unwrap();
    disk.fail_syncs_after(0);
    wait(store.write(Write::create(pod("a"), json!({})))).unwrap_err();
    store.close();

    let synced_only = TestDisk::holding(disk.after_power_cut());
    let store = store_on(&synced_only);
    assert_eq!(store.get(&pod("kept")).unwrap(), kept.object);
    assert_eq!(store.get(&pod("a")), None);
    assert_eq!(wait(store.write(Write::create(pod("a"), json!({})))).unwrap().revision, kept.revision + 1);
}

#[test]
fn a_full_disk_is_a_failed_write_and_costs_nothing_that_was_answered() {
    let disk = TestDisk::default();
    let store = store_on(&disk);
    let kept = wait(store.write(Write::create(pod("kept"), json!({})))).unwrap();
    disk.fill();
    let failed = wait(store.write(Write::create(pod("a"), json!({ "data": "x".repeat(5_000_000) }))));
    assert!(matches!(failed, Err(WriteError::Failed(Failure::Storage(_)))));
    assert_eq!(store.list(&pods(), None, 0).objects, [Arc::clone(&kept.object)]);
    store.close();
    let store = store_on(&TestDisk::holding(disk.shown()));
    assert_eq!(store.list(&pods(), None, 0).objects, [kept.object]);
}

#[test]
fn nobody_waits_for_a_writer_that_has_panicked() {
    let disk = TestDisk::default();
    let store = store_on(&disk);
    let kept = wait(store.write(Write::create(pod("kept"), json!({})))).unwrap();
    disk.panic_at_syncs();
    for _ in 0..2 {
        let failed = wait(store.write(Write::create(pod("a"), json!({}))));
        assert!(matches!(failed, Err(WriteError::Failed(Failure::WriterGone))), "{failed:?}");
    }
    assert_eq!(store.list(&pods(), None, 0).objects, [kept.object]);
    store.close();
}

#[test]
fn closing_does_what_was_handed_over_and_refuses_the_rest() {
    let disk = TestDisk::default();
    let store = store_on(&disk);
    let clone = store.clone();
    let mut watch = store.watch(pods(), Start::Now).unwrap();
    let held = disk.hold_syncs();
    let first = start(clone.write(Write::create(pod("a"), json!({}))));
    held.wait_for_sync();
    let second = start(clone.write(Write::create(pod("b"), json!({}))));
    drop(held);
    store.close();
    wait(first).unwrap();
    wait(second).unwrap();
    assert!(matches!(wait(clone.write(Write::delete(pod("a")))), Err(WriteError::Closed)));

    let names: Vec<_> =
        [wait(watch.next()), wait(watch.next())].map(|event| event.unwrap().object.key.name.clone()).into();
    assert_eq!(names, ["a".into(), "b".into()]);
    assert_eq!(wait(watch.next()), Err(WatchEnded::Closed));
    assert_eq!(wait(clone.watch(pods(), Start::Now).unwrap().next()), Err(WatchEnded::Closed));
    assert_eq!(clone.list(&pods(), None, 0).objects.len(), 2);

    let store = store_on(&TestDisk::holding(disk.shown()));
    assert_eq!(store.list(&pods(), None, 0).objects.len(), 2);
}

#[test]
fn a_write_whose_caller_left_is_done_all_the_same() {
    let disk = TestDisk::default();
    let store = store_on(&disk);
    let held = disk.hold_syncs();
    drop(start(store.write(Write::create(pod("a"), json!({})))));
    held.wait_for_sync();
    drop(held);
    wait(store.write(Write::create(pod("b"), json!({})))).unwrap();
    assert!(store.get(&pod("a")).is_some());
}

#[tokio::test]
async fn more_writes_than_the_queue_holds_wait_for_their_turn() {
    let disk = TestDisk::default();
    let store = store_on(&disk);
    let held = disk.hold_syncs();
    let mut writes = JoinSet::new();
    for n in 0..3_000 {
        let store = store.clone();
        writes.spawn(async move {
            store.write(Write::create(pod(&n.to_string()), json!({}))).await.unwrap().revision
        });
    }
    // Every task has run as far as it gets.
    yield_now().await;
    held.wait_for_sync();
    drop(held);
    let mut revisions = writes.join_all().await;
    revisions.sort_unstable();
    assert_eq!(revisions, (2..3_002).collect::<Vec<_>>());
    assert_eq!(store.list(&pods(), None, 1).remaining, 2_999);
}
