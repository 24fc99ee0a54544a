//! What a write does, and when it is refused.

use serde_json::{Value, json};

use super::support::*;
use crate::*;

#[tokio::test]
async fn each_write_takes_the_next_revision_and_says_so_in_the_text() {
    let store = Store::in_memory(options());
    assert_eq!(store.revision(), 1);
    let made = store
        .write(Write::create(pod("a"), json!({ "metadata": { "resourceVersion": "9" } })))
        .await
        .unwrap();
    assert_eq!((made.revision, made.object.revision, made.object.created), (2, 2, 2));
    assert_eq!(content(&made.object), json!({}));
    let other = store.write(Write::put(Key::new("nodes", "", "n"), json!({}))).await.unwrap();
    assert_eq!(other.revision, 3);
    let changed = store.write(Write::update(pod("a"), 2, json!({ "x": 1 }))).await.unwrap();
    assert_eq!((changed.revision, changed.object.revision, changed.object.created), (4, 4, 2));
    assert_eq!(content(&changed.object), json!({ "x": 1 }));
    assert_eq!(store.get(&pod("a")).unwrap(), changed.object);
}

#[tokio::test]
async fn an_expectation_that_does_not_hold_refuses_the_write() {
    let store = Store::in_memory(options());
    let a = store.write(Write::create(pod("a"), json!({}))).await.unwrap().object;
    let refused = |expect, change| store.write(Write { key: pod("a"), expect, change });
    let put = || Change::Put(json!({}));
    assert!(matches!(refused(Expect::Absent, put()).await, Err(WriteError::Exists)));
    assert!(matches!(refused(Expect::Absent, Change::Delete(None)).await, Err(WriteError::Exists)));
    for change in [put(), Change::Delete(None)] {
        let Err(WriteError::Conflict { current }) = refused(Expect::Revision(1), change).await else {
            panic!("a conflict")
        };
        assert_eq!(current.as_ref(), Some(&a));
    }
    assert_eq!(store.revision(), a.revision);
    assert_eq!(store.stats().commits, 1);
}

#[tokio::test]
async fn what_is_absent_can_be_put_but_neither_updated_nor_deleted() {
    let store = Store::in_memory(options());
    let write = |expect, change| store.write(Write { key: pod("a"), expect, change });
    let put = || Change::Put(json!({}));
    assert!(matches!(write(Expect::Revision(1), put()).await, Err(WriteError::Conflict { current: None })));
    let gone = write(Expect::Revision(1), Change::Delete(None)).await;
    assert!(matches!(gone, Err(WriteError::Conflict { current: None })));
    assert!(matches!(write(Expect::Any, Change::Delete(None)).await, Err(WriteError::NotFound)));
    assert!(matches!(write(Expect::Absent, Change::Delete(None)).await, Err(WriteError::NotFound)));
    assert_eq!(store.stats().commits, 0);
    write(Expect::Any, put()).await.unwrap();
}

#[tokio::test]
async fn a_delete_shows_the_last_state_with_its_own_revision() {
    let store = Store::in_memory(options());
    let a = store.write(Write::create(pod("a"), on_node("edge-1"))).await.unwrap().object;
    let mut watch = store.watch(pods(), Start::Now).unwrap();
    let deleted = store.write(Write::delete(pod("a"))).await.unwrap();
    assert_eq!(deleted.revision, a.revision + 1);
    assert_eq!(content(&deleted.object), on_node("edge-1"));
    assert_eq!(deleted.object.tags, a.tags);
    assert_eq!(deleted.object.created, a.created);
    let event = watch.next().await.unwrap();
    assert_eq!(event.kind, EventKind::Delete);
    assert_eq!(event.object, deleted.object);
    assert_eq!(event.previous, Some(a));
    assert_eq!(store.get(&pod("a")), None);
    assert_eq!(store.revision(), deleted.revision);

    let again = store.write(Write::create(pod("a"), json!({}))).await.unwrap();
    assert_eq!(again.object.created, again.revision);
}

#[tokio::test]
async fn a_delete_may_say_what_the_last_state_was() {
    let store = Store::in_memory(options());
    store.write(Write::create(pod("a"), on_node("edge-1"))).await.unwrap();
    let mut old = store.watch(on("edge-1"), Start::Now).unwrap();
    let mut new = store.watch(on("edge-2"), Start::Now).unwrap();
    let change = Change::Delete(Some(on_node("edge-2")));
    let deleted = store.write(Write { key: pod("a"), expect: Expect::Revision(2), change }).await.unwrap();
    assert_eq!(content(&deleted.object), on_node("edge-2"));
    assert_eq!(drain(&mut old), drain(&mut new));
    assert_eq!(store.list(&on("edge-1"), None, 0).objects, []);
    assert_eq!(store.list(&on("edge-2"), None, 0).objects, []);
}

#[tokio::test]
async fn what_cannot_be_an_object_is_refused_and_the_store_goes_on() {
    let store = Store::in_memory(options());
    for value in [json!(null), json!([]), json!({ "metadata": 1 })] {
        let refused = store.write(Write::put(pod("a"), value)).await;
        assert!(matches!(refused, Err(WriteError::Failed(Failure::Malformed(_)))));
    }
    let deep = (0..200).fold(Value::Null, |inner, _| json!({ "metadata": { "x": inner } }));
    assert!(store.write(Write::put(pod("a"), deep)).await.is_err());
    assert!(store.failure().is_none());
    store.write(Write::put(pod("a"), json!({}))).await.unwrap();
}

#[tokio::test]
async fn names_are_kept_apart_whatever_they_consist_of() {
    let store = Store::in_memory(options());
    let keys = [
        ("a", "b", "c"),
        ("a", "", "b/c"),
        ("a", "b/c", ""),
        ("a\0b", "c", ""),
        ("a", "b\0c", ""),
        ("", "", ""),
    ];
    for (n, (collection, namespace, name)) in keys.into_iter().enumerate() {
        store.write(Write::create(Key::new(collection, namespace, name), json!({ "n": n }))).await.unwrap();
    }
    for (n, (collection, namespace, name)) in keys.into_iter().enumerate() {
        let object = store.get(&Key::new(collection, namespace, name)).unwrap();
        assert_eq!(content(&object), json!({ "n": n }));
    }
}

#[tokio::test]
async fn an_object_that_is_replaced_and_removed_in_one_is_seen_both_ways_and_costs_one_commit() {
    let store = Store::in_memory(options());
    let made = store.write(Write::create(pod("a"), json!({}))).await.unwrap();
    let mut watch = store.watch(pods(), Start::Now).unwrap();
    let before = store.stats().commits;
    let change = Change::PutAndDelete(json!({ "x": 1 }));
    let write = Write { key: pod("a"), expect: Expect::Revision(made.revision), change };
    let gone = store.write(write).await.unwrap();
    assert_eq!((gone.revision, store.get(&pod("a"))), (made.revision + 2, None));
    assert_eq!(store.stats().commits, before + 1);
    let (first, second) = (watch.next().await.unwrap(), watch.next().await.unwrap());
    assert_eq!((first.kind, content(&first.object)), (EventKind::Put, json!({ "x": 1 })));
    assert_eq!((second.kind, content(&second.object)), (EventKind::Delete, json!({ "x": 1 })));
}
