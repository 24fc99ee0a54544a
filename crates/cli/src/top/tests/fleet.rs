//! Many nodes, as the cluster tells.

use std::sync::Arc;

use crossterm::event::KeyCode;
use safepoint_api::StaticPod;
use safepoint_api::node_gate::NodeGateStatus;
use serde_json::{Value, json};

use super::*;
use crate::top::fleet::{Presence, Standing, Told, standing};
use crate::top::known::Sighting;
use crate::top::{Subject, What};

fn gate(status: Value) -> Box<NodeGateStatus> {
    Box::new(serde_json::from_value(status).unwrap())
}

fn tell(model: &mut Model, name: &str, status: Value) {
    hear(model, News::Fleet(Told::Gate(Sighting::Is(name.into(), gate(status)))));
    hear(model, News::Fleet(Told::Node(Sighting::Is(name.into(), Presence::Ready))));
}

fn away(model: &mut Model, name: &str, since: i64) {
    let since = Some(Time(at(since)));
    hear(model, News::Fleet(Told::Node(Sighting::Is(name.into(), Presence::Away { since }))));
}

fn roll_out(model: &mut Model, name: &str, done: i32, all: i32, condition: &str, word: &str) {
    let condition = json!({"type": condition, "status": "True", "reason": word, "message": format!("{done} of {all} nodes"),
        "lastTransitionTime": time(0)});
    let nodes = json!([
        {"node": "rover-3", "state": "Deferred", "reason": "NodeFrozen", "message": "it is frozen by crane", "since": time(-60)},
        {"node": "rover-1", "state": "Upgraded", "since": time(-30)},
    ]);
    let object: StaticPod = serde_json::from_value(json!({
        "apiVersion": "safepoint.dev/v1alpha1", "kind": "StaticPod", "metadata": {"name": name, "namespace": "kube-system"},
        "spec": {"staticPodName": name, "staticPodManifest": name, "template": {"spec": {"containers": []}}},
        "status": {"desiredNumber": all, "upgradedNumber": done, "readyNumber": done, "deferredNumber": 1, "failedNumber": 0,
            "updateRevision": "bcdfghjklmnp", "conditions": [condition], "nodes": nodes},
    }))
    .unwrap();
    let name: Arc<str> = format!("kube-system/{name}").into();
    hear(model, News::Fleet(Told::RollOut(Sighting::Is(name, Box::new(object)))));
}

fn complete(model: &mut Model) {
    hear(model, News::Fleet(Told::Gate(Sighting::Complete)));
    hear(model, News::Fleet(Told::Node(Sighting::Complete)));
    hear(model, News::Fleet(Told::RollOut(Sighting::Complete)));
}

fn empty() -> Model {
    Model::new(Subject::Fleet(Box::default()), What::Fleet, "safepoint", at(0))
}

fn model() -> Model {
    let mut model = empty();
    let held = json!({"kind": "Pod", "namespace": "shop", "name": "web-1", "change": "Start", "since": time(-10),
        "why": "the start of pod shop/web-1 has been held for 10s because arm (uid 7) holds namespace shop: calibration",
        "workload": {"kind": "Deployment", "namespace": "shop", "name": "web"}, "heldBy": ["arm"]});
    let arm = json!({"id": "arm", "holder": "arm (uid 7)", "origin": "Local", "reason": "calibration",
        "scope": {"kind": "Namespace", "namespace": "shop"}, "since": time(-10)});
    tell(&mut model, "rover-1", json!({"state": "Open", "agentVersion": "0.1.0"}));
    tell(&mut model, "rover-2", json!({"state": "Open", "heldCount": 1, "held": [held], "holds": [arm]}));
    tell(
        &mut model,
        "rover-3",
        json!({"state": "Frozen", "since": time(-90), "holder": "crane (uid 0)", "reason": "crane lift in hall 3"}),
    );
    tell(
        &mut model,
        "rover-4",
        json!({"state": "Freezing", "since": time(-5), "holder": "ops", "reason": "fleet stop"}),
    );
    tell(
        &mut model,
        "rover-5",
        json!({"state": "Frozen", "since": time(-9000), "holder": "pilot (uid 3)", "reason": "in the air", "orphaned": true}),
    );
    tell(&mut model, "rover-6", json!({"state": "Frozen", "since": time(-50)}));
    away(&mut model, "rover-6", -3600);
    hear(&mut model, News::Fleet(Told::Node(Sighting::Is("plain-1".into(), Presence::Ready))));
    roll_out(&mut model, "proxy", 5, 8, "Upgrading", "RollingOut");
    roll_out(&mut model, "beacon", 9, 9, "Success", "Upgraded");
    complete(&mut model);
    model
}

#[test]
fn the_fleet_is_a_row_for_each_node_and_a_bar_for_each_roll_out() {
    insta::assert_snapshot!("fleet", screen(&mut model(), 100, 24));
    insta::assert_snapshot!("fleet_80x24", screen(&mut model(), 80, 24));
    insta::assert_snapshot!("fleet_40x12", screen(&mut model(), 40, 12));
}

#[test]
fn a_node_and_a_roll_out_are_opened_from_the_fleet() {
    let mut model = model();
    press(&mut model, &[KeyCode::Down, KeyCode::Enter]);
    assert!(screen(&mut model, 100, 24).contains("safepoint static-pod pause kube-system/beacon"));
    press(&mut model, &[KeyCode::Esc, KeyCode::Up, KeyCode::Enter]);
    insta::assert_snapshot!("roll_out", screen(&mut model, 100, 24));
    press(&mut model, &[KeyCode::Enter]);
    let frozen = screen(&mut model, 100, 24);
    assert!(
        frozen.starts_with("rover-3 · Frozen for 90s, by crane (uid 0): crane lift in hall 3"),
        "{frozen}"
    );
    press(&mut model, &[KeyCode::Esc, KeyCode::Esc]);
    types(&mut model, "/rover-2");
    press(&mut model, &[KeyCode::Enter, KeyCode::Enter]);
    insta::assert_snapshot!("machine", screen(&mut model, 100, 24));
    press(&mut model, &[KeyCode::Enter]);
    let why = screen(&mut model, 100, 24);
    assert!(why.contains("  safepoint release deployment/web -n shop --node rover-2\n"), "{why}");
    // What is held on the machine itself is set aside from afar, not dropped.
    assert!(why.contains("  safepoint unhold arm --override REASON --node rover-2\n"), "{why}");
}

#[test]
fn what_needs_a_person_comes_first_and_other_orders_can_be_had() {
    let mut model = model();
    let nodes = |model: &mut Model| -> Vec<String> {
        let screen = screen(model, 100, 24);
        let lines = screen.lines().filter(|line| line.starts_with("rover") || line.starts_with("plain"));
        lines.map(|line| line.split_whitespace().next().unwrap().to_owned()).collect()
    };
    let orphaned_first = ["rover-5", "rover-6", "rover-4", "rover-3", "rover-2", "rover-1", "plain-1"];
    assert_eq!(nodes(&mut model), orphaned_first);
    types(&mut model, "s");
    assert_eq!(nodes(&mut model)[..2], ["plain-1", "rover-1"]);
    types(&mut model, "s");
    assert_eq!(nodes(&mut model)[0], "rover-2");
    types(&mut model, "s");
    assert_eq!(nodes(&mut model)[..2], ["rover-5", "rover-6"]);
    types(&mut model, "s");
    assert_eq!(nodes(&mut model), orphaned_first);
}

#[test]
fn a_node_is_found_by_its_state_its_holder_and_its_reason() {
    for (words, found) in
        [("offline", "rover-6"), ("PILOT", "rover-5"), ("hall crane", "rover-3"), ("no agent", "plain-1")]
    {
        let mut model = model();
        types(&mut model, &format!("/{words}"));
        let screen = screen(&mut model, 100, 24);
        let rows: Vec<_> =
            screen.lines().filter(|line| line.starts_with("rover") || line.starts_with("plain")).collect();
        assert!(rows.len() == 1 && rows[0].starts_with(found), "{words}: {screen}");
    }
}

#[test]
fn nothing_is_hidden_by_the_order_of_what_is_true_of_a_node() {
    let open = gate(json!({"state": "Open"}));
    let ready = Some(&Presence::Ready);
    let away = Some(&Presence::Away { since: None });
    assert_eq!(standing(Some(&open), ready), Standing::Open);
    assert_eq!(standing(Some(&open), away), Standing::Offline);
    assert_eq!(standing(Some(&open), None), Standing::Open);
    assert_eq!(standing(None, ready), Standing::NoAgent);
    assert_eq!(standing(Some(&gate(json!({}))), ready), Standing::Unknown);
    // An orphaned hold needs a person also where the node is away.
    assert_eq!(standing(Some(&gate(json!({"state": "Frozen", "orphaned": true}))), away), Standing::Orphaned);
    assert_eq!(standing(Some(&gate(json!({"state": "Open", "holder": "arm"}))), ready), Standing::Held);
}

#[test]
fn a_cluster_that_cannot_be_reached_is_said_to_be_with_what_was_known() {
    let mut model = model();
    let why = "cannot reach the cluster: connection refused".to_owned();
    hear(&mut model, News::Fleet(Told::Node(Sighting::Lost(why))));
    model.look(at(30), (100, 24));
    let lost = screen(&mut model, 100, 24);
    assert!(
        lost.starts_with("NOT CONNECTED to the cluster for 30s: what is shown is what was known then"),
        "{lost}"
    );
    assert!(lost.contains("rover-5"), "{lost}");
    assert!(screen(&mut empty(), 100, 24).starts_with("asking the cluster …"));
}

#[test]
fn ten_thousand_nodes_are_scrolled_and_rows_are_made_for_the_screen_alone() {
    let mut model = empty();
    for number in 0..10_000 {
        tell(&mut model, &format!("sim-{number:05}"), json!({"state": "Open"}));
    }
    complete(&mut model);
    types(&mut model, "s");
    assert!(screen(&mut model, 80, 24).contains("10,000 nodes: 10,000 open"));
    press(&mut model, &[KeyCode::PageDown]);
    // A line stays from page to page, with the heading above it: no row is passed over.
    let second = screen(&mut model, 80, 24);
    assert!(second.contains("NODES 10,000") && second.contains("sim-00015"), "{second}");
    press(&mut model, &[KeyCode::End]);
    insta::assert_snapshot!("ten_thousand", screen(&mut model, 80, 24));
    // Every row on the way is shown: the chosen one is always on the screen.
    for number in (9_900..9_999).rev() {
        press(&mut model, &[KeyCode::Up]);
        assert!(chosen(&mut model).starts_with(&format!("sim-{number:05}")));
    }
    let Subject::Fleet(fleet) = &model.subject else { unreachable!("it is a fleet") };
    let made = fleet.rows_made();
    screen(&mut model, 80, 24);
    let Subject::Fleet(fleet) = &model.subject else { unreachable!("it is a fleet") };
    assert!(fleet.rows_made() - made <= 24);
}
