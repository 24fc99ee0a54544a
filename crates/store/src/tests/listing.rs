//! Listings, their pages, and the past.

use serde_json::json;

use super::support::*;
use crate::*;

async fn put(store: &Store, namespace: &str, name: &str, node: &str) -> u64 {
    let key = Key::new("pods", namespace, name);
    store.write(Write::put(key, on_node(node))).await.unwrap().revision
}

async fn some_pods() -> Store {
    let store = Store::in_memory(options());
    for (namespace, name, node) in [
        ("b", "x", "edge-1"),
        ("a", "y", "edge-2"),
        ("a", "x", "edge-1"),
        ("c", "x", ""),
        ("a", "z", "edge-1"),
    ] {
        put(&store, namespace, name, node).await;
    }
    // Neighbours that no listing of pods may reach.
    for collection in ["pod", "podss"] {
        store.write(Write::put(Key::new(collection, "a", "x"), on_node("edge-1"))).await.unwrap();
    }
    store
}

fn keys(listing: &Listing) -> Vec<String> {
    listing.objects.iter().map(|object| object.key.to_string()).collect()
}

#[tokio::test]
async fn a_listing_has_what_its_scope_names_in_order() {
    let store = some_pods().await;
    let list = |scope: Scope| keys(&store.list(&scope, None, 0));
    assert_eq!(list(pods()), ["pods/a/x", "pods/a/y", "pods/a/z", "pods/b/x", "pods/c/x"]);
    assert_eq!(list(pods().namespace("a")), ["pods/a/x", "pods/a/y", "pods/a/z"]);
    assert_eq!(list(pods().name("x")), ["pods/a/x", "pods/b/x", "pods/c/x"]);
    assert_eq!(list(pods().namespace("a").name("x")), ["pods/a/x"]);
    assert_eq!(list(on("edge-1")), ["pods/a/x", "pods/a/z", "pods/b/x"]);
    assert_eq!(list(on("edge-1").namespace("a")), ["pods/a/x", "pods/a/z"]);
    assert_eq!(list(on("edge-1").namespace("a").name("y")), Vec::<String>::new());
    assert_eq!(list(on("edge-2").namespace("a").name("y")), ["pods/a/y"]);
    assert_eq!(list(on("")), ["pods/c/x"]);
    assert_eq!(list(on("edge-9")), Vec::<String>::new());
    assert_eq!(list(Scope::collection("nodes")), Vec::<String>::new());
}

#[tokio::test]
async fn a_field_that_was_not_declared_is_searched_for() {
    let store = some_pods().await;
    let key = Key::new("pods", "a", "y");
    store.write(Write::put(key, json!({ "status": { "phase": "Running" } }))).await.unwrap();
    assert_eq!(keys(&store.list(&pods().field("status.phase", "Running"), None, 0)), ["pods/a/y"]);
    assert_eq!(store.list(&pods().field("status.phase", ""), None, 0).objects.len(), 4);
}

#[tokio::test]
async fn pages_fit_together_and_say_how_much_is_left() {
    let store = some_pods().await;
    let whole = store.list(&pods(), None, 0);
    assert!(!whole.more);
    assert_eq!(store.list(&pods(), None, usize::MAX), whole);
    let first = store.list(&pods(), None, 2);
    assert_eq!((first.objects.len(), first.more, first.remaining), (2, true, 3));
    let second = store.list(&pods(), Some(&first.objects[1].key), 3);
    assert_eq!((second.objects.len(), second.more, second.remaining), (3, false, 0));
    assert_eq!([first.objects, second.objects].concat(), whole.objects);
    // A token from elsewhere neither panics nor shows what is not in the scope.
    assert_eq!(store.list(&pods(), Some(&Key::new("zzz", "", "")), 2).objects, []);
    assert_eq!(store.list(&pods(), Some(&Key::new("", "", "")), 0), whole);
    assert_eq!(keys(&store.list(&on("edge-1"), Some(&Key::new("pods", "a", "x")), 1)), ["pods/a/z"]);
}

#[tokio::test]
async fn later_pages_show_the_state_of_the_first() {
    let store = some_pods().await;
    let whole = store.list(&pods(), None, 0);
    let first = store.list(&pods(), None, 2);
    // Changed, deleted, deleted and made again, new in the middle, and moved away.
    put(&store, "a", "z", "edge-7").await;
    store.write(Write::delete(Key::new("pods", "b", "x"))).await.unwrap();
    store.write(Write::delete(Key::new("pods", "c", "x"))).await.unwrap();
    put(&store, "c", "x", "edge-1").await;
    put(&store, "a", "za", "edge-1").await;
    let second = store.list_at(&pods(), first.revision, Some(&first.objects[1].key), 2).unwrap();
    assert_eq!((second.revision, second.remaining), (first.revision, 1));
    let third = store.list_at(&pods(), first.revision, Some(&second.objects[1].key), 2).unwrap();
    assert_eq!([first.objects, second.objects, third.objects].concat(), whole.objects);
    assert_eq!(
        keys(&store.list_at(&on("edge-1"), whole.revision, None, 0).unwrap()),
        ["pods/a/x", "pods/a/z", "pods/b/x"]
    );
    assert_eq!(keys(&store.list(&on("edge-1"), None, 0)), ["pods/a/x", "pods/a/za", "pods/c/x"]);
}

#[tokio::test]
async fn a_past_that_is_no_longer_kept_is_refused_with_the_oldest_that_is() {
    let store = Store::in_memory(Options { ring_events: 3, ..options() });
    for n in 0..5 {
        put(&store, "a", &n.to_string(), "").await;
    }
    assert_eq!(store.revision(), 6);
    assert_eq!(store.list_at(&pods(), 2, None, 0), Err(RevisionError::Compacted { oldest: 3 }));
    assert_eq!(names(&store.list_at(&pods(), 3, None, 0).unwrap()), ["0", "1"]);
    assert_eq!(store.list_at(&pods(), 6, None, 0).unwrap(), store.list(&pods(), None, 0));
    assert_eq!(store.list_at(&pods(), 7, None, 0), Err(RevisionError::Future { current: 6 }));
}

#[tokio::test]
async fn the_past_is_bounded_by_bytes_as_well() {
    let store = Store::in_memory(Options { ring_bytes: 20_000, ..options() });
    let big = json!({ "data": "x".repeat(8_000) });
    for n in 0..4 {
        store.write(Write::create(pod(&n.to_string()), big.clone())).await.unwrap();
    }
    assert_eq!(store.list_at(&pods(), 2, None, 0), Err(RevisionError::Compacted { oldest: 3 }));
    assert_eq!(store.list_at(&pods(), 3, None, 0).unwrap().objects.len(), 2);
    // One that is larger than the whole bound leaves no past at all.
    store.write(Write::create(pod("huge"), json!({ "data": "x".repeat(30_000) }))).await.unwrap();
    assert_eq!(store.list_at(&pods(), 5, None, 0), Err(RevisionError::Compacted { oldest: 6 }));
    assert_eq!(store.list_at(&pods(), 6, None, 0).unwrap().objects.len(), 5);
}
