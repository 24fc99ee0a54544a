//! Who is told what, and what happens to those who do not listen.

use serde_json::json;

use super::support::*;
use crate::*;

#[tokio::test]
async fn an_event_touches_the_watch_of_its_node_and_not_those_of_a_thousand_others() {
    let store = Store::in_memory(options());
    let others: Vec<_> =
        (0..1_000).map(|n| store.watch(on(&format!("other-{n}")), Start::Now).unwrap()).collect();
    let mut mine = store.watch(on("edge-1"), Start::Now).unwrap();
    let before = store.stats().touched;
    store.write(Write::create(pod("a"), on_node("edge-1"))).await.unwrap();
    assert_eq!(store.stats().touched, before + 1);
    assert_eq!(drain(&mut mine).len(), 1);
    // Moving touches the node it leaves and the node it comes to.
    store.write(Write::put(pod("a"), on_node("other-7"))).await.unwrap();
    assert_eq!(store.stats().touched, before + 3);
    assert_eq!(store.stats().watches, 1_001);
    drop(others);
    assert_eq!(store.stats().watches, 1);
}

#[tokio::test]
async fn each_kind_of_scope_is_told_what_concerns_it() {
    let store = Store::in_memory(options());
    let scopes = [
        pods(),
        pods().namespace("default"),
        pods().name("a"),
        pods().namespace("default").name("a"),
        on("edge-1"),
        on("edge-1").namespace("default"),
        on("edge-1").name("a"),
        pods().field("status.phase", ""),
    ];
    let strangers = [
        Scope::collection("nodes"),
        pods().namespace("other"),
        pods().name("b"),
        pods().namespace("other").name("a"),
        on("edge-2"),
        on("edge-1").namespace("other"),
        on("edge-2").namespace("default").name("a"),
        pods().field("status.phase", "Running"),
    ];
    let watch = |scope: &Scope| store.watch(scope.clone(), Start::Now).unwrap();
    let mut watches: Vec<_> = scopes.iter().map(watch).collect();
    let mut silent: Vec<_> = strangers.iter().map(watch).collect();
    store.write(Write::create(pod("a"), on_node("edge-1"))).await.unwrap();
    for watch in &mut watches {
        assert_eq!(drain(watch).len(), 1, "{:?}", watch.scope());
    }
    for watch in &mut silent {
        assert_eq!(drain(watch), [], "{:?}", watch.scope());
    }
}

#[tokio::test]
async fn a_pod_that_comes_and_goes_is_seen_coming_and_going_by_its_node() {
    let store = Store::in_memory(options());
    let mut edge = store.watch(on("edge-1"), Start::Now).unwrap();
    let mut unplaced = store.watch(on(""), Start::Now).unwrap();
    for node in ["", "edge-1", "edge-1", "edge-2"] {
        store.write(Write::put(pod("a"), on_node(node))).await.unwrap();
    }
    let seen = |watch: &mut Watch| {
        let scope = watch.scope().clone();
        let events = drain(watch);
        let seen = events.iter().map(|event| {
            (
                event.revision,
                event.previous.as_ref().is_some_and(|p| scope.matches(p)),
                scope.matches(&event.object),
            )
        });
        seen.collect::<Vec<_>>()
    };
    assert_eq!(seen(&mut edge), [(3, false, true), (4, true, true), (5, true, false)]);
    assert_eq!(seen(&mut unplaced), [(2, false, true), (3, true, false)]);
}

#[tokio::test]
async fn a_watch_resumes_after_any_revision_that_is_kept() {
    let store = Store::in_memory(Options { ring_events: 3, ..options() });
    for n in 0..5 {
        store.write(Write::create(pod(&n.to_string()), on_node("edge-1"))).await.unwrap();
    }
    assert_eq!(store.watch(pods(), Start::After(2)).unwrap_err(), RevisionError::Compacted { oldest: 3 });
    assert_eq!(store.watch(pods(), Start::After(7)).unwrap_err(), RevisionError::Future { current: 6 });
    let revisions =
        |mut watch: Watch| drain(&mut watch).into_iter().map(|event| event.revision).collect::<Vec<_>>();
    assert_eq!(revisions(store.watch(pods(), Start::After(3)).unwrap()), [4, 5, 6]);
    assert_eq!(revisions(store.watch(on("edge-1"), Start::After(5)).unwrap()), [6]);
    assert!(revisions(store.watch(on("edge-2"), Start::After(3)).unwrap()).is_empty());
    assert!(revisions(store.watch(pods(), Start::After(6)).unwrap()).is_empty());
    let mut watch = store.watch(pods(), Start::After(5)).unwrap();
    assert_eq!(watch.progress(), None);
    store.write(Write::delete(pod("0"))).await.unwrap();
    assert_eq!(drain(&mut watch).iter().map(|event| event.revision).collect::<Vec<_>>(), [6, 7]);
    assert_eq!(watch.progress(), Some(7));
}

#[tokio::test]
async fn progress_moves_on_with_writes_that_do_not_concern_the_watch() {
    let store = Store::in_memory(options());
    let watch = store.watch(on("edge-1"), Start::Now).unwrap();
    assert_eq!(watch.progress(), Some(1));
    store.write(Write::create(pod("a"), on_node("edge-2"))).await.unwrap();
    assert_eq!(watch.progress(), Some(2));
    store.write(Write::create(pod("b"), on_node("edge-1"))).await.unwrap();
    assert_eq!(watch.progress(), None);
}

#[tokio::test]
async fn a_watch_that_begins_with_a_listing_continues_where_it_ends() {
    let store = Store::in_memory(options());
    store.write(Write::create(pod("a"), on_node("edge-1"))).await.unwrap();
    store.write(Write::create(pod("b"), on_node("edge-2"))).await.unwrap();
    let mut watch = store.watch(on("edge-1"), Start::Listing).unwrap();
    let listing = watch.take_listing().unwrap();
    assert_eq!((listing.revision, names(&listing)), (3, vec!["a"]));
    assert!(watch.take_listing().is_none());
    store.write(Write::create(pod("c"), on_node("edge-1"))).await.unwrap();
    assert_eq!(watch.next().await.unwrap().revision, 4);
}

#[tokio::test]
async fn a_watch_that_is_too_slow_is_told_so_and_holds_nothing() {
    let store = Store::in_memory(Options { queue_events: 3, ..options() });
    let mut slow = store.watch(pods(), Start::Now).unwrap();
    let mut quick = store.watch(pods(), Start::Now).unwrap();
    for n in 0..4 {
        assert_eq!(store.stats().watches, 2);
        store.write(Write::create(pod(&n.to_string()), json!({}))).await.unwrap();
        assert_eq!(quick.next().await.unwrap().revision, n + 2);
    }
    assert_eq!(store.stats().watches, 1);
    assert_eq!(slow.progress(), None);
    assert_eq!(slow.next().await, Err(WatchEnded::Lagged));
    assert_eq!(slow.next().await, Err(WatchEnded::Lagged));
    assert_eq!(slow.try_next(), Some(Err(WatchEnded::Lagged)));
    drop(slow);
    assert_eq!(store.stats().watches, 1);
    // What it has missed is still there to resume from.
    assert_eq!(drain(&mut store.watch(pods(), Start::After(1)).unwrap()).len(), 4);
}

#[tokio::test]
async fn a_watch_is_too_slow_by_bytes_as_well_but_a_single_event_always_fits() {
    let store = Store::in_memory(Options { queue_bytes: 4_000, ..options() });
    let mut watch = store.watch(pods(), Start::Now).unwrap();
    let big = json!({ "data": "x".repeat(10_000) });
    store.write(Write::create(pod("a"), big.clone())).await.unwrap();
    assert_eq!(watch.next().await.unwrap().revision, 2);
    store.write(Write::create(pod("b"), big.clone())).await.unwrap();
    store.write(Write::create(pod("c"), json!({}))).await.unwrap();
    assert_eq!(watch.next().await, Err(WatchEnded::Lagged));
}

#[tokio::test]
async fn the_past_that_a_watch_begins_with_does_not_make_it_lag() {
    let store = Store::in_memory(Options { queue_events: 2, ..options() });
    for n in 0..5 {
        store.write(Write::create(pod(&n.to_string()), json!({}))).await.unwrap();
    }
    let mut watch = store.watch(pods(), Start::After(1)).unwrap();
    for n in 5..7 {
        store.write(Write::create(pod(&n.to_string()), json!({}))).await.unwrap();
    }
    assert_eq!(drain(&mut watch).len(), 7);
}

#[tokio::test]
async fn a_watch_that_waits_is_woken_by_what_concerns_it() {
    let store = Store::in_memory(options());
    let mut watch = store.watch(on("edge-1"), Start::Now).unwrap();
    let writer = async {
        for node in ["edge-2", "edge-1"] {
            store.write(Write::create(pod(node), on_node(node))).await.unwrap();
        }
    };
    let (event, ()) = tokio::join!(watch.next(), writer);
    assert_eq!(event.unwrap().revision, 3);
    // A future that was dropped while waiting has taken nothing with it.
    assert!(is_waiting(watch.next()));
    store.write(Write::delete(pod("edge-1"))).await.unwrap();
    assert_eq!(watch.next().await.unwrap().kind, EventKind::Delete);
}

#[tokio::test]
async fn a_watch_that_waits_is_woken_when_the_store_closes() {
    let store = Store::in_memory(options());
    let mut watch = store.watch(pods(), Start::Now).unwrap();
    let (ended, ()) = tokio::join!(watch.next(), async { store.close() });
    assert_eq!(ended, Err(WatchEnded::Closed));
}
