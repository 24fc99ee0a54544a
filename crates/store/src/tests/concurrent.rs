//! Many who write at once.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::task::JoinSet;

use super::support::*;
use crate::*;

const WRITERS: u64 = 16;
const ROUNDS: u64 = 25;

/// Adds one to a counter that others add to as well, and returns the revision.
async fn add_one(store: &Store, key: &Key) -> u64 {
    loop {
        let current = store.get(key).unwrap();
        let count = content(&current)["count"].as_u64().unwrap();
        match store.write(Write::update(key.clone(), current.revision, json!({ "count": count + 1 }))).await {
            Ok(committed) => return committed.revision,
            Err(WriteError::Conflict { current: Some(newer) }) => assert!(newer.revision > current.revision),
            Err(error) => panic!("{error}"),
        }
    }
}

async fn write_much(store: Store, writer: u64) -> Vec<u64> {
    let mut revisions = Vec::new();
    for round in 0..ROUNDS {
        revisions.push(add_one(&store, &pod("counter")).await);
        let own = pod(&format!("{writer}-{round}"));
        let made = store.write(Write::create(own.clone(), json!({ "by": writer }))).await.unwrap();
        // What was answered is visible to whoever was answered.
        assert_eq!(store.get(&own).unwrap(), made.object);
        assert!(store.revision() >= made.revision);
        revisions.push(made.revision);
        if round % 2 == 0 {
            revisions.push(store.write(Write::delete(own)).await.unwrap().revision);
        }
    }
    revisions
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn sixteen_writers_lose_nothing_and_never_share_a_revision() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("store.redb");
    let store = Store::open(&path, options()).unwrap();
    store.write(Write::create(pod("counter"), json!({ "count": 0 }))).await.unwrap();
    let mut watch = store.watch(pods(), Start::Now).unwrap();

    let mut writers = JoinSet::new();
    for writer in 0..WRITERS {
        writers.spawn(write_much(store.clone(), writer));
    }
    let revisions: Vec<u64> = writers.join_all().await.concat();
    let deletes = ROUNDS.div_ceil(2);
    let writes = WRITERS * (2 * ROUNDS + deletes);
    let unique: BTreeSet<_> = revisions.iter().copied().collect();
    assert_eq!(revisions.len() as u64, writes);
    assert_eq!(unique, (3..3 + writes).collect());
    assert_eq!(store.revision(), 2 + writes);
    let seen: Vec<_> = drain(&mut watch).into_iter().map(|event| event.revision).collect();
    assert_eq!(seen, unique.into_iter().collect::<Vec<_>>());

    let listing = store.list(&pods(), None, 0);
    assert_eq!(listing.objects.len() as u64, 1 + WRITERS * (ROUNDS - deletes));
    assert_eq!(content(&store.get(&pod("counter")).unwrap()), json!({ "count": WRITERS * ROUNDS }));
    let stats = store.stats();
    assert_eq!(stats.writes, 1 + writes);
    assert!(stats.commits < stats.writes, "{stats:?}");
    store.close();
    assert_eq!(Store::open(&path, options()).unwrap().list(&pods(), None, 0), listing);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_listing_and_the_watch_that_begins_with_it_add_up_while_others_write() {
    let store = Store::in_memory(options());
    let mut writers = JoinSet::new();
    for writer in 0..4 {
        writers.spawn(write_much_plain(store.clone(), writer));
    }
    let mut readers = JoinSet::new();
    for _ in 0..20 {
        let store = store.clone();
        readers.spawn(async move {
            let mut watch = store.watch(pods(), Start::Listing).unwrap();
            let listing = watch.take_listing().unwrap();
            let mut count = listing.objects.len();
            let mut revision = listing.revision;
            while count < 4 * 100 {
                let event = watch.next().await.unwrap();
                revision += 1;
                assert_eq!(event.revision, revision);
                count += 1;
            }
            revision
        });
        tokio::task::yield_now().await;
    }
    writers.join_all().await;
    for revision in readers.join_all().await {
        assert_eq!(revision, store.revision());
    }
}

async fn write_much_plain(store: Store, writer: u64) {
    for n in 0..100 {
        let value: Value = json!({ "n": n });
        store.write(Write::create(pod(&format!("{writer}-{n}")), value)).await.unwrap();
    }
}
