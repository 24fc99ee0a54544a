//! Pages as functions: of many nodes one page, and nothing that the policy would forbid.

use std::sync::Arc;

use safepoint_api::StaticPod;
use safepoint_api::node_gate::GateState;
use serde_json::json;

use crate::fleet::{Fleet, PAGE, Query};
use crate::known::{GateFacts, News, NodeFacts, World};
use crate::view;
use crate::view::layout::Page;

fn ten_thousand() -> World {
    let mut world = World::default();
    for number in 0..10_000 {
        let name = format!("node-{number:05}");
        let labels = [("zone".to_owned(), format!("zone-{}", number % 40))].into();
        let node = NodeFacts { ready: true, labels, since: None };
        let gate = GateFacts { state: Some(GateState::Open), ..GateFacts::default() };
        world.take(News::Node(name.clone(), Some(node)));
        world.take(News::Gate(name, Some(gate)));
    }
    world
}

fn whole(query: &Query) -> String {
    let fleet = Fleet::of(&ten_thousand(), query, true);
    let page = Page { title: "Fleet", menu: "/", viewer: None, said: None, live: None };
    page.of_pieces(&view::fleet::pieces(&fleet, query, Some(&[]))).into_string()
}

fn beacon(nodes: usize) -> Arc<StaticPod> {
    let nodes: Vec<_> = (0..nodes)
        .map(|number| match number % 2 {
            0 => json!({"node": format!("n{number}"), "state": "Upgraded"}),
            _ => json!({"node": format!("n{number}"), "state": "Deferred", "reason": "NodeFrozen", "message": "it is frozen"}),
        })
        .collect();
    let object = json!({"apiVersion": "safepoint.dev/v1alpha1", "kind": "StaticPod",
        "metadata": {"name": "beacon", "namespace": "default", "generation": 1},
        "spec": {"staticPodName": "beacon", "staticPodManifest": "beacon", "template": {"spec": {"containers": []}}},
        "status": {"observedGeneration": 1, "desiredNumber": nodes.len(), "upgradedNumber": nodes.len() / 2,
            "deferredNumber": nodes.len() / 2, "nodes": nodes}});
    Arc::new(serde_json::from_value(object).unwrap())
}

/// A roll-out over ten thousand nodes of which so many are upgraded, as the hub tells it: five hundred nodes are named at most, and
/// none that is upgraded.
fn large(upgraded: i64) -> Arc<StaticPod> {
    let (failed, upgrading, deferred) = if upgraded < 10_000 { (3, 40, 7) } else { (0, 0, 0) };
    let pending = 10_000 - upgraded - failed - upgrading - deferred;
    let named = [("Failed", failed), ("Upgrading", upgrading), ("Deferred", deferred), ("Pending", pending)];
    let named = named.iter().flat_map(|(state, number)| (0..*number).map(move |_| state)).take(500);
    let nodes: Vec<_> = named
        .enumerate()
        .map(|(number, state)| json!({"node": format!("n{number:03}"), "state": state}))
        .collect();
    let mut object: StaticPod = (*beacon(0)).clone();
    object.status = serde_json::from_value(json!({"observedGeneration": 1, "desiredNumber": 10_000,
        "upgradedNumber": upgraded, "upgradingNumber": upgrading, "deferredNumber": deferred, "failedNumber": failed,
        "nodesTruncated": true, "nodes": nodes}))
    .unwrap();
    Arc::new(object)
}

/// The picture of it: its squares by state, and what is written, with like elements counted.
fn picture(object: Arc<StaticPod>) -> (Vec<(&'static str, usize)>, String) {
    let data = view::static_pods::Data { object, may_steer: false, may_roll_back: false };
    let pieces = view::static_pods::one(&data);
    let html = &pieces.iter().find(|piece| piece.id == "picture").unwrap().html;
    let states = ["upgraded", "upgrading", "pending", "deferred", "failed"];
    let squares = states.map(|it| (it, html.matches(&format!("<span class=\"cell {it}\" title=")).count()));
    let lines = html.replace('<', "\n<");
    let lines = lines.lines().filter(|line| !["", "<li>", "</a>", "</li>"].contains(line));
    let named = lines.filter(|line| !line.starts_with("<span class=\"hidden\"") && *line != "</span>");
    let mut written: Vec<(String, usize)> = Vec::new();
    for line in
        named.map(|line| line.replace(|letter: char| letter.is_ascii_digit() && line.starts_with("<a"), ""))
    {
        match written.last_mut() {
            Some((last, number)) if *last == line => *number += 1,
            _ => written.push((line, 1)),
        }
    }
    let times = |number: &usize| if *number > 1 { format!("{number} × ") } else { String::new() };
    let text: Vec<String> = written.iter().map(|(line, number)| format!("{}{line}", times(number))).collect();
    (squares.to_vec(), text.join("\n"))
}

#[test]
fn a_roll_out_over_ten_thousand_nodes_fills_about_two_hundred_squares() {
    let half = picture(large(5_000));
    assert_eq!(
        half.0,
        [("upgraded", 100), ("upgrading", 1), ("pending", 99), ("deferred", 1), ("failed", 1)],
        "a few nodes are seen too"
    );
    insta::assert_snapshot!("large_roll_out", half.1);
    let (squares, text) = picture(large(9_900));
    assert_eq!(squares[0], ("upgraded", 198), "it turns green");
    assert!(text.contains("Those that are not upgraded follow by name."), "{text}");
    let (squares, text) = picture(large(10_000));
    assert_eq!(squares[0], ("upgraded", 200));
    assert!(text.contains("All nodes are upgraded."), "{text}");
}

#[test]
fn of_ten_thousand_nodes_one_page_of_rows_is_written() {
    let page = whole(&Query { group: "zone".into(), page: 2, ..Query::default() });
    assert_eq!(page.matches("<tr id=\"node-").count(), PAGE);
    assert!(
        page.contains("51–100 of 10000") && page.contains("rel=\"prev\"") && page.contains("rel=\"next\"")
    );
    assert!(page.contains("href=\"/?q=zone%3Dzone-7\""), "groups lead to their nodes");
    assert!(page.len() < 60_000, "{} bytes", page.len());
}

#[test]
fn the_same_fleet_gives_the_same_page() {
    assert_eq!(whole(&Query::default()), whole(&Query::default()));
}

#[test]
fn no_handler_and_no_style_stands_in_a_page() {
    let data = view::static_pods::Data { object: beacon(6), may_steer: true, may_roll_back: true };
    let page = Page { title: "x", menu: "/", viewer: None, said: None, live: Some(("/", 1)) };
    for html in [whole(&Query::default()), page.of_pieces(&view::static_pods::one(&data)).into_string()] {
        assert!(!html.contains(" style=") && !html.contains("<style") && !html.contains(" onclick"));
        assert_eq!(html.matches("<script").count(), 1);
        assert!(html.contains("<main id=\"main\"") && html.contains("class=\"skip\" href=\"#main\""));
        for input in html.split("<input ").skip(1).filter(|input| !input.starts_with("type=\"hidden\"")) {
            let id = input.split("id=\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap();
            assert!(html.contains(&format!("<label for=\"{id}\"")), "{id} has no label");
        }
    }
}

#[test]
fn a_roll_out_is_a_picture_with_words() {
    let data = view::static_pods::Data { object: beacon(6), may_steer: true, may_roll_back: false };
    let page: String = view::static_pods::one(&data).into_iter().map(|piece| piece.html).collect();
    assert!(page.contains("aria-label=\"3 upgraded, 3 deferred\""), "{page}");
    assert!(page.contains("<rect class=\"upgraded\" x=\"0\" y=\"0\" width=\"500\" height=\"20\">"), "{page}");
    assert_eq!(page.matches("<a class=\"cell ").count(), 6);
    assert!(page.contains("it is frozen") && page.contains("/pause") && !page.contains("/roll-back"));
}

#[test]
fn of_the_nodes_that_are_not_upgraded_those_that_are_not_listed_are_counted() {
    let data = view::static_pods::Data { object: large(5_000), may_steer: false, may_roll_back: false };
    let page: String = view::static_pods::one(&data).into_iter().map(|piece| piece.html).collect();
    assert!(page.contains("<p class=\"note\">and 4900 more</p>"), "{page}");
}

#[test]
fn how_long_something_is_held_is_not_said_as_it_was_when_the_node_said_it() {
    let sentence = |why: &str| {
        let held = json!({"kind": "Pod", "namespace": "default", "name": "rover", "change": "Update",
            "since": "2026-11-16T12:00:00Z", "why": why});
        view::words::why(&serde_json::from_value(held).unwrap()).into_string()
    };
    let since =
        "<time class=\"since\" datetime=\"2026-11-16T12:00:00Z\">since 2026-11-16 12:00:00 UTC</time>";
    for then in ["a moment", "5s", "1h3m"] {
        let said =
            format!("the end of rover has been held for {then} (since 2026-11-16T12:00:00Z) because a < b");
        assert_eq!(sentence(&said), format!("the end of rover has been held {since} because a &lt; b"));
    }
    assert_eq!(sentence("it waits"), format!("it waits (held {since})"), "another agent says it otherwise");
}
