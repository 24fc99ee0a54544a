//! From what the gate decides to what the kubelet is shown.

use std::collections::BTreeSet;

use safepoint_core::{Config, Event, Now, Sighting, Span};
use serde_json::{Value, json};

use super::super::front::Step;
use super::super::said::Said;
use super::super::shown::{Facing, Shown};
use super::*;
use crate::journal::{Body, Commit};
use crate::version;

fn now() -> Now {
    Now { monotonic: Span(0), boot: 1, wall: Timestamp(1_794_700_800_000), trusted: true }
}

/// A gate with its journal, and a door that looks at it after everything that happens.
struct Node {
    gate: Gate,
    journal: Journal,
    shown: Shown,
    _folder: tempfile::TempDir,
}

impl Node {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (journal, _) = Journal::open(folder.path()).unwrap();
        let gate = Gate::new(Config::default(), now());
        Self { gate, journal, shown: Shown::default(), _folder: folder }
    }

    /// What the kubelet is told of ConfigMaps after these were seen.
    fn sees(&mut self, sightings: Vec<(Sighting, Option<Body>)>) -> Vec<&'static str> {
        let (sightings, bodies): (Vec<_>, Vec<_>) = sightings.into_iter().unzip();
        let event = Event::Observed { sightings, complete: BTreeSet::new() };
        self.happens(event, bodies.into_iter().flatten().collect())
    }

    fn happens(&mut self, event: Event, bodies: Vec<Body>) -> Vec<&'static str> {
        let outcome = self.gate.step(event, now());
        self.journal.commit(&Commit { records: outcome.records, bodies, answers: Vec::new() }).unwrap();
        let look = Look::at(&self.gate, &self.journal, &self.shown.known(), &Adoption::default()).unwrap();
        let (seen, said) = (BTreeMap::new(), Said::default());
        let plan = self.shown.take(look, Facing { seen: &seen, said: &said, is_connected: true });
        assert!(!plan.is_incomplete);
        let told = plan.steps.iter().filter_map(|step| match step {
            Step::Config(..) => Some("shown"),
            Step::NoConfig(_) => Some("taken away"),
            Step::Pod(..) | Step::NoPod(_) => None,
        });
        told.collect()
    }
}

fn pod(name: &str) -> (Key, Version, Value) {
    let pod = json!({"metadata": {"namespace": "default", "name": name, "uid": name},
        "spec": {"containers": [{"name": "main", "image": "app:v1"}], "volumes": [{"name": "ca", "configMap": {"name": "ca"}}]}});
    let (key, version) = version::of_pod("node", &pod).unwrap().unwrap();
    (key, version, pod)
}

fn ca() -> (Key, Version, Value) {
    let ca =
        json!({"metadata": {"namespace": "default", "name": "ca", "uid": "ca"}, "data": {"ca.crt": "x"}});
    let (key, version) = version::of_config(Kind::ConfigMap, &ca).unwrap();
    (key, version, ca)
}

fn present((key, version, object): (Key, Version, Value)) -> (Sighting, Option<Body>) {
    let body = Body::new(&key, &version, object.to_string().into_bytes());
    (Sighting::Present(key, version), Some(body))
}

fn gone((key, version, _): (Key, Version, Value)) -> (Sighting, Option<Body>) {
    (Sighting::Gone(key, version.uid), None)
}

#[test]
fn configuration_is_there_again_for_a_pod_that_comes_while_its_last_user_goes() {
    let mut node = Node::new();
    assert_eq!(node.sees(vec![present(ca()), present(pod("first"))]), ["shown"]);
    assert_eq!(node.sees(vec![gone(pod("first")), gone(ca())]), ["taken away"]);
    assert_eq!(node.sees(vec![present(ca()), present(pod("second"))]), ["shown"]);
    // That it was gone is heard of only now.
    let (key, version, _) = ca();
    assert_eq!(node.happens(Event::Ended { key, uid: version.uid }, vec![]), [""; 0]);
}
