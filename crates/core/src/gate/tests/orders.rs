//! Orders from the cluster, and the veto that each side has over the other.

use crate::event::{Answer, Ask, Order, Refusal};
use crate::freeze::Mode;
use crate::hold::Scope;
use crate::time::Timestamp;

use super::node::{MORNING, Node, cam, node_with_an_update};
use super::words::*;

/// An order that is meant for so many milliseconds from the morning on.
fn order_for(millis: i64) -> Order {
    Order { id: "order-1".into(), expires: Some(Timestamp(MORNING.0 + millis)) }
}

#[test]
fn an_order_is_obeyed_once() {
    let mut node = node_with_an_update();
    let told = node.is_ordered(&admin(), order("release-1"), release_pod(&cam()));
    assert_eq!(told.admitted(), [update(&cam().revision("b"))]);
    node.ready(&cam().revision("b"));
    node.sees(&cam().revision("c"));
    let told = node.is_ordered(&admin(), order("release-1"), release_pod(&cam()));
    assert_eq!((told.answer(), told.admitted()), (Answer::DecidedBefore, vec![]));
}

#[test]
fn an_order_is_not_obeyed_again_after_a_crash() {
    let mut node = Node::new();
    node.is_ordered(&admin(), order("hold-1"), hold("audit", Scope::Node));
    node.asks(&admin(), let_go("audit"));
    node.crashes();
    let told = node.is_ordered(&admin(), order("hold-1"), hold("audit", Scope::Node));
    assert_eq!((told.answer(), node.hold("audit")), (Answer::DecidedBefore, None));
}

/// An order that found nothing to release was forgotten. Delivered again after a reconnect, it released a revision that
/// did not exist when the admin gave it.
#[test]
fn an_order_that_was_refused_is_not_obeyed_later() {
    let mut node = Node::running([&cam()]);
    let nothing = Answer::Refused(Refusal::NothingPending);
    assert_eq!(node.is_ordered(&admin(), order("release-1"), RELEASE_ALL).answer(), nothing);
    node.sees(&cam().revision("b"));
    node.crashes();
    let told = node.is_ordered(&admin(), order("release-1"), RELEASE_ALL);
    assert_eq!((told.answer(), told.admitted()), (Answer::DecidedBefore, vec![]));
}

#[test]
fn an_order_that_was_vetoed_does_not_wait_for_the_veto_to_go() {
    let mut node = node_with_an_update();
    node.asks(&pilot(), hold("mission", Scope::Node));
    let vetoed = Answer::Refused(Refusal::Vetoed { by: ids(["mission"]) });
    assert_eq!(node.is_ordered(&admin(), order("release-1"), release_pod(&cam())).answer(), vetoed);
    node.asks(&pilot(), let_go("mission"));
    let told = node.is_ordered(&admin(), order("release-1"), release_pod(&cam()));
    assert_eq!((told.answer(), told.admitted()), (Answer::DecidedBefore, vec![]));
}

/// Only orders that had been carried out at once were remembered, so a freeze, which is answered later, never was. When
/// the hub delivered the order again after the thaw, in the middle of an upgrade, the node froze again.
#[test]
fn a_freeze_that_was_ordered_and_thawed_is_not_taken_again() {
    let mut node = Node::new();
    node.is_ordered(&admin(), order("freeze-1"), freeze("audit"));
    assert_eq!(node.is_ordered(&admin(), order("freeze-1"), freeze("audit")).answer(), Answer::DecidedBefore);
    node.is_ordered(&admin(), order("thaw-1"), Ask::Thaw);
    node.lists([]);
    node.crashes();
    let told = node.is_ordered(&admin(), order("freeze-1"), freeze("audit"));
    assert_eq!((told.answer(), node.mode()), (Answer::DecidedBefore, Mode::Open));
}

#[test]
fn an_order_that_came_with_a_clock_in_doubt_may_be_obeyed_when_the_clock_is_right() {
    let mut node = node_with_an_update();
    node.trusts_its_clock(false);
    let expired = Answer::Refused(Refusal::OrderExpired);
    assert_eq!(node.is_ordered(&admin(), order_for(60_000), release_pod(&cam())).answer(), expired);
    node.trusts_its_clock(true);
    let told = node.is_ordered(&admin(), order_for(60_000), release_pod(&cam()));
    assert_eq!(told.admitted(), [update(&cam().revision("b"))]);
}

#[test]
fn the_newest_sixty_four_orders_are_remembered() {
    let mut node = Node::new();
    for number in 0..=64 {
        node.is_ordered(&admin(), order(&format!("thaw-{number}")), Ask::Thaw);
    }
    let decided = &node.records.node.as_ref().unwrap().decided;
    assert_eq!((decided.len(), decided[0].as_str(), decided[63].as_str()), (64, "thaw-1", "thaw-64"));
}

#[test]
fn an_order_that_opens_is_obeyed_until_it_expires() {
    for (millis, obeyed) in [(60_000, true), (59_999, false)] {
        let mut node = node_with_an_update();
        node.after(A_MINUTE);
        let told = node.is_ordered(&admin(), order_for(millis), release_pod(&cam()));
        assert_eq!(told.answer() != Answer::Refused(Refusal::OrderExpired), obeyed);
        assert_eq!(!told.admitted().is_empty(), obeyed);
    }
}

#[test]
fn an_expired_order_thaws_and_drops_nothing() {
    let mut node = Node::new();
    node.asks(&admin(), freeze("audit"));
    let expired = Answer::Refused(Refusal::OrderExpired);
    for ask in [Ask::Thaw, let_go("audit"), RELEASE_ALL] {
        assert_eq!(node.is_ordered(&admin(), order_for(-1), ask).answer(), expired);
    }
    assert_eq!(node.mode(), Mode::Frozen);
}

#[test]
fn a_clock_that_cannot_be_trusted_obeys_no_order_that_opens_and_expires() {
    let mut node = node_with_an_update();
    node.trusts_its_clock(false);
    let expired = Answer::Refused(Refusal::OrderExpired);
    assert_eq!(node.is_ordered(&admin(), order_for(60_000), release_pod(&cam())).answer(), expired);
    let told = node.is_ordered(&admin(), order("for-ever"), release_pod(&cam()));
    assert_eq!(told.admitted(), [update(&cam().revision("b"))]);
}

#[test]
fn a_clock_that_cannot_be_trusted_obeys_an_order_that_closes() {
    let mut node = Node::new();
    node.trusts_its_clock(false);
    let told = node.is_ordered(&admin(), order_for(60_000), hold("audit", Scope::Node));
    assert_eq!(told.answer(), holding());
    assert!(matches!(node.is_ordered(&admin(), order("2"), freeze("f")).answer(), Answer::Frozen { .. }));
}

#[test]
fn a_freeze_on_the_machine_vetoes_a_thaw_from_the_cluster() {
    let mut node = Node::new();
    node.asks(&pilot(), freeze("takeoff"));
    let vetoed = Answer::Refused(Refusal::Vetoed { by: ids(["takeoff"]) });
    assert_eq!(node.is_ordered(&admin(), order("thaw-1"), Ask::Thaw).answer(), vetoed);
    assert_eq!(node.mode(), Mode::Frozen);
}

#[test]
fn a_freeze_from_the_cluster_vetoes_a_thaw_on_the_machine() {
    let mut node = Node::new();
    node.asks(&admin(), freeze("audit"));
    let vetoed = Answer::Refused(Refusal::Vetoed { by: ids(["audit"]) });
    assert_eq!(node.asks(&pilot(), Ask::Thaw).answer(), vetoed);
}

#[test]
fn neither_side_drops_the_others_hold() {
    for (mine, theirs) in [(pilot(), admin()), (admin(), pilot())] {
        let mut node = Node::new();
        node.asks(&mine, hold("mission", Scope::Node));
        let vetoed = Answer::Refused(Refusal::Vetoed { by: ids(["mission"]) });
        assert_eq!(node.asks(&theirs, let_go("mission")).answer(), vetoed);
        assert!(node.hold("mission").is_some());
    }
}
