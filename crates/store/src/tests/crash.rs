//! Power cuts, at every sync and at any moment between.
//!
//! A recording of everything the store did to its disk is cut at a moment. What was synced before it is on
//! the disk; of what was not, nothing, everything, or any sectors are. The store that opens on what is left
//! must be one of the states that the recorded one had, and none that is older than its last answer.

use std::collections::BTreeMap;

use proptest::prelude::*;
use proptest::test_runner::{RngAlgorithm, TestRng};
use serde_json::{Value, json};

use super::support::*;
use super::test_disk::TestDisk;
use crate::*;

/// The objects that are there, with the revision of their state and what they say.
type Snapshot = BTreeMap<Key, (u64, Value)>;

/// What happened, and when.
struct Recording {
    disk: TestDisk,
    /// The state at the end of every batch, by its revision.
    batches: BTreeMap<u64, Snapshot>,
    /// From which moment on which revision was shown to somebody.
    shown: Vec<(usize, u64)>,
}

fn open(disk: &TestDisk) -> Store {
    Store::with_backend(disk.clone(), options()).unwrap()
}

fn snapshot(store: &Store) -> Snapshot {
    let listing = store.list(&pods(), None, 0);
    listing.objects.iter().map(|object| (object.key.clone(), (object.revision, content(object)))).collect()
}

/// Puts and deletes over few keys, of sizes that fit into a page and that do not.
fn batches() -> impl Strategy<Value = Vec<Vec<(usize, Option<usize>)>>> {
    let write =
        (0_usize..12, prop::option::weighted(0.75, prop_oneof![4 => 0_usize..200, 1 => 4_000_usize..20_000]));
    prop::collection::vec(prop::collection::vec(write, 1..12), 1..8)
}

impl Recording {
    /// Each batch is queued as a whole behind a write that waits for the disk, so it is one commit.
    fn of(batches: &[Vec<(usize, Option<usize>)>]) -> Self {
        let disk = TestDisk::default();
        let store = open(&disk);
        let mut recording = Self { disk: disk.clone(), batches: BTreeMap::new(), shown: Vec::new() };
        recording.note(&store);
        for (number, batch) in batches.iter().enumerate() {
            let held = disk.hold_syncs();
            let plug = start(store.write(Write::put(pod("plug"), json!({ "before": number }))));
            held.wait_for_sync();
            let commits = store.stats().commits;
            let writes = batch.iter().map(|(key, size)| {
                let change = size.map_or(Change::Delete(None), |size| {
                    Change::Put(json!({ "batch": number, "data": "x".repeat(size) }))
                });
                start(store.write(Write { key: pod(&key.to_string()), expect: Expect::Any, change }))
            });
            let writes: Vec<_> = writes.collect();
            // What the plug leaves is what the store shows once the plug is answered, but by then the
            // batch may be through as well: put it together by hand.
            let (revision, mut state) = (store.revision() + 1, snapshot(&store));
            state.insert(pod("plug"), (revision, json!({ "before": number })));
            recording.batches.insert(revision, state);
            drop(held);
            wait(plug).unwrap();
            let done = writes.into_iter().filter_map(|write| wait(write).ok()).count();
            assert_eq!(store.stats().commits, commits + 1 + u64::from(done > 0));
            recording.note(&store);
        }
        recording
    }

    /// The store is at rest: its state is the end of a batch, and it has shown it.
    fn note(&mut self, store: &Store) {
        self.batches.insert(store.revision(), snapshot(store));
        self.shown.push((self.disk.now(), store.revision()));
    }

    /// Moments from the first opening on: around every sync, and some of those between.
    fn moments(&self, rng: &mut TestRng) -> Vec<usize> {
        let (first, last) = (self.shown[0].0, self.disk.now());
        let mut moments = self.disk.syncs();
        moments.retain(|moment| *moment >= first);
        let between = moments.len();
        moments.extend((0..between).map(|_| rng.random_range(first..=last)));
        moments.sort_unstable();
        moments
    }

    /// Opens what a power cut leaves, and checks that it keeps every promise.
    fn check(&self, moment: usize, image: Vec<u8>) {
        let disk = TestDisk::holding(image);
        let store = open(&disk);
        let found = store.revision();
        let shown = self.shown.iter().rev().find(|(since, _)| *since <= moment).unwrap().1;
        assert!(found >= shown, "revision {shown} was shown, and the store is back at {found}");
        assert_eq!(
            Some(&snapshot(&store)),
            self.batches.get(&found),
            "revision {found} is not the end of a batch"
        );
        // Life goes on from there.
        let next = wait(store.write(Write::put(pod("next"), json!({})))).unwrap();
        assert_eq!(next.revision, found + 1);
        store.close();
        assert_eq!(open(&disk).get(&pod("next")).unwrap(), next.object);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3))]

    #[test]
    fn a_power_cut_at_any_moment_loses_nothing_that_was_answered(batches in batches(), seed in any::<[u8; 16]>()) {
        let recording = Recording::of(&batches);
        let mut rng = TestRng::from_seed(RngAlgorithm::XorShift, &seed);
        let mut cuts = recording.disk.power_cuts();
        for moment in recording.moments(&mut rng) {
            // Nothing but the synced, everything, and twice any half.
            recording.check(moment, cuts.at(moment, || false));
            recording.check(moment, cuts.at(moment, || true));
            recording.check(moment, cuts.at(moment, || rng.random_bool(0.5)));
            recording.check(moment, cuts.at(moment, || rng.random_bool(0.9)));
        }
    }
}

#[test]
fn what_a_killed_process_left_unsynced_is_durable_before_it_is_shown() {
    let disk = TestDisk::default();
    let store = open(&disk);
    wait(store.write(Write::create(pod("a"), json!({})))).unwrap();
    let held = disk.hold_syncs();
    let write = start(store.write(Write::create(pod("b"), json!({}))));
    held.wait_for_sync();
    let survivor = disk.revived();
    disk.kill();
    drop(held);
    wait(write).unwrap_err();

    // The system still shows what the dead process wrote, so the next one finds it.
    let store = open(&survivor);
    let shown = store.list(&pods(), None, 0);
    assert_eq!(names(&shown), ["a", "b"]);
    let after = TestDisk::holding(survivor.after_power_cut());
    assert_eq!(open(&after).list(&pods(), None, 0), shown);
}
