//! How nodes stand, are found and are grouped.

use safepoint_api::node_gate::GateState;

use super::*;
use crate::known::{GateFacts, News, NodeFacts};

fn gate(state: Option<GateState>) -> GateFacts {
    GateFacts { state, ..GateFacts::default() }
}

fn node(ready: bool, zone: &str) -> NodeFacts {
    let labels = [("zone".to_owned(), zone.to_owned())].into();
    NodeFacts { ready, labels, ..NodeFacts::default() }
}

/// Two zones: rovers in `hall`, drones in `field`.
fn world() -> World {
    let mut world = World::default();
    for (name, zone, ready, gate) in [
        ("drone-1", "field", true, gate(Some(GateState::Open))),
        ("drone-2", "field", false, gate(Some(GateState::Frozen))),
        ("rover-1", "hall", true, GateFacts { held_count: 2, ..gate(Some(GateState::Frozen)) }),
        ("rover-2", "hall", true, GateFacts { orphaned: true, ..gate(Some(GateState::Frozen)) }),
        ("rover-3", "hall", true, gate(None)),
        ("rover-4", "hall", true, GateFacts { holder: Some("crane".into()), ..gate(Some(GateState::Open)) }),
    ] {
        world.take(News::Node(name.into(), Some(node(ready, zone))));
        world.take(News::Gate(name.into(), Some(gate)));
    }
    world
}

fn names(fleet: &Fleet) -> Vec<&str> {
    fleet.rows.iter().map(|(name, ..)| name.as_str()).collect()
}

#[test]
fn whoever_needs_a_look_comes_first() {
    let fleet = Fleet::of(&world(), &Query::default(), true);
    assert_eq!(names(&fleet), ["rover-2", "drone-2", "rover-1", "rover-4", "rover-3", "drone-1"]);
    assert_eq!((fleet.nodes, fleet.held_changes, fleet.nodes_holding), (6, 2, 1));
}

#[test]
fn a_node_is_held_where_somebody_holds_everything_or_something_waits_without_a_freeze() {
    let of = |gate: Option<GateFacts>| Standing::of(&Machine { node: None, gate }, true);
    let open = || gate(Some(GateState::Open));
    assert_eq!(of(Some(open())), Standing::Open);
    assert_eq!(of(Some(GateFacts { holder: Some("crane".into()), ..open() })), Standing::Held);
    assert_eq!(of(Some(GateFacts { held_count: 1, ..open() })), Standing::Held);
    let frozen = GateFacts { holder: Some("crane".into()), held_count: 1, ..gate(Some(GateState::Frozen)) };
    assert_eq!(of(Some(frozen)), Standing::Frozen, "a freeze says more");
    assert_eq!(of(Some(gate(None))), Standing::Unknown);
    assert_eq!(of(None), Standing::NoAgent);
}

#[test]
fn every_standing_is_found_by_what_stands_in_its_address() {
    for standing in Standing::ALL {
        assert!(standing.key().bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-'), "{standing:?}");
    }
    let mut world = world();
    world.take(News::Node("camera".into(), Some(node(true, "hall"))));
    let fleet = Fleet::of(&world, &Query { standing: "no-agent".into(), ..Query::default() }, true);
    assert_eq!(names(&fleet), ["camera"]);
}

#[test]
fn nodes_are_found_by_name_label_standing_and_what_they_hold() {
    let found = |query: Query| {
        let fleet = Fleet::of(&world(), &query, true);
        names(&fleet).into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(found(Query { q: "DRONE".into(), ..Query::default() }), ["drone-2", "drone-1"]);
    assert_eq!(found(Query { q: "zone=field".into(), ..Query::default() }), ["drone-2", "drone-1"]);
    assert_eq!(found(Query { standing: "frozen".into(), ..Query::default() }), ["rover-1"]);
    assert_eq!(found(Query { held: "yes".into(), ..Query::default() }), ["rover-1"]);
    assert!(found(Query { q: "zone=moon".into(), ..Query::default() }).is_empty());
}

#[test]
fn whoever_may_not_see_nodes_learns_neither_labels_nor_whether_they_are_ready() {
    let fleet = Fleet::of(&world(), &Query { group: "zone".into(), ..Query::default() }, false);
    assert!(fleet.groups.is_none() && fleet.rows.iter().all(|(_, _, machine)| machine.node.is_none()));
    assert!(!fleet.counts.contains_key(&Standing::Offline));
    let query = Query { q: "zone=hall".into(), ..Query::default() };
    assert_eq!(Fleet::of(&world(), &query, false).found, 0, "no guessing either");
}

#[test]
fn nodes_are_grouped_by_a_label() {
    let fleet = Fleet::of(&world(), &Query { group: "zone".into(), ..Query::default() }, true);
    let (groups, more) = fleet.groups.unwrap();
    let sizes: Vec<(&str, usize, i64)> =
        groups.iter().map(|(value, group)| (value.as_str(), group.nodes, group.held_changes)).collect();
    assert_eq!((sizes, more), (vec![("field", 2, 0), ("hall", 4, 2)], 0));
}

#[test]
fn of_ten_thousand_nodes_one_page_is_taken() {
    let mut world = World::default();
    for number in 0..10_000 {
        world.take(News::Gate(format!("node-{number:05}"), Some(gate(Some(GateState::Open)))));
    }
    let fleet = Fleet::of(&world, &Query { page: 3, ..Query::default() }, true);
    assert_eq!((fleet.rows.len(), fleet.pages, fleet.page), (PAGE, 200, 3));
    assert_eq!(fleet.rows[0].0, "node-00100");
    let last = Fleet::of(&world, &Query { page: 999, ..Query::default() }, true);
    assert_eq!((last.page, last.rows.len()), (200, PAGE), "who asks for too much gets the last");
}

#[test]
fn a_node_that_says_the_same_again_changes_nothing() {
    let mut world = world();
    let same = News::Gate("drone-1".into(), Some(gate(Some(GateState::Open))));
    assert!(!world.take(same));
    assert!(world.take(News::Gate("drone-1".into(), Some(gate(Some(GateState::Frozen))))));
    assert!(world.take(News::Gate("drone-1".into(), None)) && world.take(News::Node("drone-1".into(), None)));
    assert!(!world.nodes.contains_key("drone-1"));
}
