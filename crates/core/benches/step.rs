//! What a decision costs, in instructions, on nodes of 11, 110 and 1,100 pods.
//!
//! A cost that grows with the change and not with the node shows as three figures that hardly differ: a lookup in a tree
//! of a hundred times as many pods takes some comparisons more, a walk over them would take a hundred times as long.

#![expect(missing_docs, reason = "the macros of the harness make public items that nobody reads")]

use std::collections::BTreeSet;
use std::hint::black_box;
use std::sync::Arc;

use gungraun::{library_benchmark, library_benchmark_group, main};
use safepoint_core::{
    Ask, Config, Digest, Event, Gate, Health, Holder, Key, Labels, Now, Origin, Outcome, Released, Request,
    RequestId, Revision, Sighting, Span, Timestamp, Uid, Version, Workload, WorkloadKind,
};

const NOW: Now = Now { monotonic: Span(0), boot: 0, wall: Timestamp(0), trusted: true };
/// The pod in the middle, which is the one that changes.
const CHANGED: usize = 5;

fn workload(number: usize) -> Workload {
    let name = format!("app-{number:04}").into();
    Workload { kind: WorkloadKind::DaemonSet, namespace: "robots".into(), name, ordinal: None }
}

fn key(number: usize) -> Key {
    Key::pod("robots", &format!("app-{number:04}-x7k2p"))
}

fn pod(number: usize, revision: &str, uid: &str) -> Version {
    let labels: Labels = [("app".into(), format!("app-{number:04}").into())].into();
    Version {
        uid: Uid::from(format!("{uid}-{number}")),
        workload: Some(workload(number)),
        revision: Revision::from(revision),
        digest: Digest::from(revision),
        labels: Arc::new(labels),
        hold: true,
        first_install_allowed: true,
        deleting: false,
        uses: Arc::from([Key::config_map("robots", &format!("app-{number:04}"))]),
        needs: Arc::default(),
        born: Timestamp(1),
    }
}

fn tell(gate: &mut Gate, event: Event) {
    let _ = gate.step(event, NOW);
}

/// A node with so many annotated pods, all ready, each with a workload of its own.
fn node(pods: usize) -> Gate {
    let mut gate = Gate::new(Config::default(), NOW);
    let sightings = (0..pods).map(|number| Sighting::Present(key(number), pod(number, "a", "old"))).collect();
    tell(&mut gate, Event::Observed { sightings, complete: BTreeSet::new() });
    for number in 0..pods {
        let uid = Uid::from(format!("old-{number}"));
        tell(
            &mut gate,
            Event::Reported { key: key(number), uid, digest: Digest::from("a"), health: Health::Ready },
        );
    }
    gate
}

fn update(number: usize) -> Event {
    let sightings = vec![Sighting::Present(key(number), pod(number, "b", "old"))];
    Event::Observed { sightings, complete: BTreeSet::new() }
}

fn observed(pods: usize) -> (Gate, Event) {
    let mut gate = node(pods);
    // Another pod first: the allocator tidies up after the set-up once, and that is not what is measured.
    tell(&mut gate, update(CHANGED + 1));
    (gate, update(CHANGED))
}

fn status_only(pods: usize) -> (Gate, Event) {
    let sightings = vec![Sighting::Present(key(CHANGED), pod(CHANGED, "a", "old"))];
    (node(pods), Event::Observed { sightings, complete: BTreeSet::new() })
}

/// Every pod of the node has an update pending, and one workload is released.
fn released(pods: usize) -> (Gate, Event) {
    let mut gate = node(pods);
    for number in 0..pods {
        tell(&mut gate, update(number));
    }
    let caller = Holder { name: "operator".into(), origin: Origin::Local };
    let ask = Ask::Release { what: Released::Workload(workload(CHANGED)), revision: None };
    (gate, Event::Asked(Request { id: RequestId(1), caller, order: None, overriding: None, ask }))
}

fn reported(pods: usize) -> (Gate, Event) {
    let uid = Uid::from(format!("old-{CHANGED}"));
    (
        node(pods),
        Event::Reported { key: key(CHANGED), uid, digest: Digest::from("a"), health: Health::Unready },
    )
}

#[library_benchmark]
#[benches::pods(args = [11, 110, 1100], setup = observed)]
fn an_observed_update_that_is_held((mut gate, event): (Gate, Event)) -> (Gate, Outcome) {
    let outcome = black_box(&mut gate).step(black_box(event), NOW);
    (gate, outcome)
}

#[library_benchmark]
#[benches::pods(args = [11, 110, 1100], setup = status_only)]
fn an_observation_that_changes_nothing((mut gate, event): (Gate, Event)) -> (Gate, Outcome) {
    let outcome = black_box(&mut gate).step(black_box(event), NOW);
    (gate, outcome)
}

#[library_benchmark]
#[benches::pods(args = [11, 110, 1100], setup = released)]
fn a_release((mut gate, event): (Gate, Event)) -> (Gate, Outcome) {
    let outcome = black_box(&mut gate).step(black_box(event), NOW);
    (gate, outcome)
}

#[library_benchmark]
#[benches::pods(args = [11, 110, 1100], setup = reported)]
fn a_report_of_health((mut gate, event): (Gate, Event)) -> (Gate, Outcome) {
    let outcome = black_box(&mut gate).step(black_box(event), NOW);
    (gate, outcome)
}

library_benchmark_group!(
    name = step,
    benchmarks =
        [an_observed_update_that_is_held, an_observation_that_changes_nothing, a_release, a_report_of_health]
);
main!(library_benchmark_groups = step);
