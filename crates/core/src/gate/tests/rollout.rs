//! One release lets one rollout through, however many waves it comes in, and nothing that is pushed after it.

use crate::event::{Alarm, Answer};
use crate::grant::{GrantEnd, Target};
use crate::object::{Health, HeldBy};
use crate::time::Span;

use super::node::Node;
use super::words::*;

fn old(number: usize) -> Object {
    web("a", number).annotated()
}

fn new(number: usize) -> Object {
    web("b", number).annotated()
}

fn newest(number: usize) -> Object {
    web("c", number).annotated()
}

/// Two pods of revision `a` of which the first is being replaced by revision `b`, and that has been released.
fn node_in_the_middle_of_a_rollout() -> Node {
    let mut node = Node::running([&old(1), &old(2)]);
    node.sees_all([&new(1), &old(1).deleting()]);
    assert_eq!(node.asks(&pilot(), release(&deployment("shop", "web"))).admitted(), [stop(&old(1))]);
    assert_eq!(node.ended(&old(1)).admitted(), [start(&new(1))]);
    node
}

#[test]
fn a_deployment_of_eight_passes_in_waves_through_one_release() {
    let all: [Object; 8] = std::array::from_fn(|index| old(index + 1));
    let mut node = Node::running(all.each_ref());
    let web = deployment("shop", "web");

    // The controller may have two more and two fewer: it makes four new pods and gives up two old ones.
    let told = node.sees_all([&new(1), &new(2), &new(3), &new(4), &old(1).deleting(), &old(2).deleting()]);
    assert_eq!(told.admitted(), NOTHING);
    let told = node.asks(&pilot(), release(&web));
    assert_eq!(told.answer(), Answer::Released { workloads: vec![web.clone()], held: vec![] });
    assert_eq!(told.admitted(), [stop(&old(1)), stop(&old(2))]);
    assert_eq!(node.ended(&old(1)).admitted(), NOTHING);
    assert_eq!(node.ended(&old(2)).admitted(), [1, 2, 3, 4].map(|number| start(&new(number))));

    // They are ready, so it gives up four more and makes the last four, with uids that nobody has seen before.
    for number in 1..=4 {
        assert_eq!(node.ready(&new(number)).closed(), []);
    }
    let gone = [3, 4, 5, 6].map(|number| old(number).deleting());
    assert_eq!(node.sees_all(gone.each_ref()).admitted(), [3, 4, 5, 6].map(|number| stop(&old(number))));
    assert_eq!(node.sees_all([&new(5), &new(6), &new(7), &new(8)]).admitted(), NOTHING);
    for number in 3..=5 {
        assert_eq!(node.ended(&old(number)).admitted(), NOTHING);
    }
    assert_eq!(node.ended(&old(6)).admitted(), [5, 6, 7, 8].map(|number| start(&new(number))));

    // And at last the last two old ones.
    for number in 5..=8 {
        assert_eq!(node.ready(&new(number)).closed(), []);
    }
    assert_eq!(
        node.sees_all([&old(7).deleting(), &old(8).deleting()]).admitted(),
        [stop(&old(7)), stop(&old(8))]
    );
    assert_eq!(node.ended(&old(7)).closed(), []);
    assert_eq!(node.ended(&old(8)).closed(), [(web, GrantEnd::Settled)]);
    assert_eq!(node.runs(), [1, 2, 3, 4, 5, 6, 7, 8].map(|number| format!("web-b-{number}")));

    assert_eq!(node.sees_all([&newest(1), &new(1).deleting()]).admitted(), NOTHING);
}

#[test]
fn a_rollout_goes_on_after_a_crash_between_two_waves() {
    let mut node = node_in_the_middle_of_a_rollout();
    node.crashes();
    node.ready(&old(2));
    assert_eq!(node.ready(&new(1)).closed(), []);
    assert_eq!(node.sees_all([&new(2), &old(2).deleting()]).admitted(), [stop(&old(2))]);
    node.crashes();
    assert_eq!(node.ended(&old(2)).admitted(), [start(&new(2))]);
    node.ready(&new(1));
    assert_eq!(node.ready(&new(2)).closed(), [(deployment("shop", "web"), GrantEnd::Settled)]);
}

#[test]
fn a_grant_stays_open_until_the_new_pod_is_ready() {
    let mut node = Node::running([&old(1)]);
    node.sees_all([&new(1), &old(1).deleting()]);
    node.asks(&pilot(), release_pod(&old(1)));
    node.ended(&old(1));
    for health in [Health::Pulling, Health::Unready] {
        assert_eq!(node.reports(&new(1), health).closed(), []);
    }
    assert_eq!(node.ready(&new(1)).closed(), [(deployment("shop", "web"), GrantEnd::Settled)]);
    assert_eq!(
        node.log(),
        ["deployment shop/web released", "the release of deployment shop/web is over (Settled)"]
    );
}

#[test]
fn a_newer_revision_is_held_and_no_further_old_pod_is_given_up_for_it() {
    let mut node = node_in_the_middle_of_a_rollout();
    assert_eq!(node.sees(&newest(1)).admitted(), NOTHING);
    assert_eq!(node.sees_all([&old(2).deleting(), &new(1).deleting()]).admitted(), NOTHING);
    assert_eq!(node.runs(), ["web-a-2", "web-b-1"]);
    assert!(node.gate.grants()[&deployment("shop", "web")].superseded);
}

#[test]
fn a_newer_revision_passes_with_a_release_of_its_own() {
    let mut node = node_in_the_middle_of_a_rollout();
    node.ready(&new(1));
    node.sees(&newest(1));
    node.sees_all([&old(2).deleting(), &new(1).deleting()]);
    let told = node.asks(&pilot(), release(&deployment("shop", "web")));
    assert_eq!(told.admitted(), [stop(&old(2)), stop(&new(1))]);
    node.ended(&old(2));
    assert_eq!(node.ended(&new(1)).admitted(), [start(&newest(1))]);
}

#[test]
fn a_newer_revision_that_comes_first_is_what_a_release_lets_through() {
    let mut node = Node::running([&old(1)]);
    node.sees_all([&new(1), &newest(1), &old(1).deleting()]);
    node.asks(&pilot(), release(&deployment("shop", "web")));
    assert_eq!(node.ended(&old(1)).admitted(), [start(&newest(1))]);
    assert_eq!(node.holds_back(), [(new(1).key, HeldBy::Annotation)]);
}

#[test]
fn a_daemon_set_is_bound_to_the_first_successor_that_shows_up() {
    let lidar = daemon_set("robot", "lidar");
    let was = pod("robot", "lidar-1").of(&lidar).annotated();
    let mut node = Node::running([&was]);
    node.sees(&was.clone().deleting());
    assert_eq!(node.asks(&pilot(), release(&lidar)).admitted(), [stop(&was)]);
    assert_eq!(node.gate.grants()[&lidar].target, Target::FirstSuccessor);
    assert_eq!(node.ended(&was).closed(), []);

    let first = pod("robot", "lidar-2").of(&lidar).annotated().revision("b").born(2);
    assert_eq!(node.sees(&first).admitted(), [start(&first)]);
    assert_eq!(node.gate.grants()[&lidar].target, Target::Revision("b".into()));
    let second = pod("robot", "lidar-3").of(&lidar).annotated().revision("c").born(3);
    assert_eq!(node.sees_all([&second, &first.clone().deleting()]).admitted(), NOTHING);
}

#[test]
fn a_daemon_set_whose_successor_is_here_settles() {
    let lidar = daemon_set("robot", "lidar");
    let was = pod("robot", "lidar-1").of(&lidar).annotated();
    let next = pod("robot", "lidar-2").of(&lidar).annotated().revision("b").born(2);
    let mut node = Node::running([&was]);
    node.sees(&was.clone().deleting());
    node.asks(&pilot(), release(&lidar));
    node.ended(&was);
    node.sees(&next);
    assert_eq!(node.ready(&next).closed(), [(lidar, GrantEnd::Settled)]);
}

#[test]
fn of_one_name_the_old_pod_ends_before_the_new_one_starts() {
    let was = pod("shop", "db-0").of(&stateful_set("shop", "db", 0)).annotated();
    let next = was.clone().uid("db-0-again").revision("b").born(2);
    let mut node = Node::running([&was]);
    assert_eq!(node.sees(&was.clone().deleting()).admitted(), NOTHING);
    assert_eq!(node.sees(&next).admitted(), NOTHING);
    assert_eq!(node.asks(&pilot(), release_pod(&was)).admitted(), [stop(&was)]);
    assert_eq!(node.ticks().admitted(), NOTHING);
    assert_eq!(node.ended(&was).admitted(), [start(&next)]);
    assert_eq!(node.ready(&next).closed(), [(was.workload(), GrantEnd::Settled)]);
}

#[test]
fn each_ordinal_is_released_on_its_own() {
    let [zero, one] = [0, 1].map(|ordinal| {
        pod("shop", &format!("db-{ordinal}")).of(&stateful_set("shop", "db", ordinal)).annotated()
    });
    let mut node = Node::running([&zero, &one]);
    node.sees_all([&zero.clone().deleting(), &one.deleting()]);
    assert_eq!(node.asks(&pilot(), release_pod(&zero)).admitted(), [stop(&zero)]);
    assert_eq!(node.runs(), ["db-0", "db-1"]);
}

#[test]
fn what_is_not_annotated_keeps_the_order_of_ends_and_starts_too() {
    let was = pod("shop", "db-0").of(&stateful_set("shop", "db", 0));
    let next = was.clone().uid("db-0-again").revision("b");
    let mut node = Node::running([&was]);
    assert_eq!(node.sees(&next).admitted(), [stop(&was)]);
    assert_eq!(node.ended(&was).admitted(), [start(&next)]);
}

#[test]
fn a_release_that_does_not_settle_closes_at_its_deadline_with_an_alarm() {
    let mut node = node_in_the_middle_of_a_rollout();
    let web = deployment("shop", "web");
    assert_eq!(node.after(Span(Span::from_mins(10).0 - 1)).0, []);
    let told = node.after(Span(1));
    assert_eq!(told.alarms(), [Alarm::ReleaseExpired(web.clone())]);
    assert_eq!(told.closed(), [(web, GrantEnd::Expired)]);
    assert_eq!(node.sees_all([&new(2), &old(2).deleting()]).admitted(), NOTHING);
}
