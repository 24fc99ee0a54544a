//! Who may release what, and what the answer says.

use crate::event::{Answer, Ask, Refusal, Released};
use crate::grant::{GrantEnd, Target};
use crate::hold::Scope;
use crate::object::{HeldBy, Key};
use crate::workload::Workload;

use super::node::{Node, cam, node_with_an_update};
use super::words::*;

fn released<const N: usize>(workloads: [&Workload; N]) -> Answer {
    Answer::Released { workloads: workloads.map(Clone::clone).into(), held: vec![] }
}

#[test]
fn a_release_lets_an_update_in_place_through_and_closes_when_it_is_ready() {
    let mut node = node_with_an_update();
    let told = node.asks(&pilot(), release(&cam().workload()));
    assert_eq!(
        (told.answer(), told.admitted()),
        (released([&cam().workload()]), vec![update(&cam().revision("b"))])
    );
    assert_eq!(node.gate.grants()[&cam().workload()].target, Target::InPlace);
    assert_eq!(node.ready(&cam().revision("b")).closed(), [(cam().workload(), GrantEnd::Settled)]);
    assert_eq!(node.sees(&cam().revision("c")).admitted(), NOTHING);
}

#[test]
fn a_release_does_not_cover_an_update_that_came_after_it() {
    let mut node = node_with_an_update();
    node.asks(&pilot(), release(&cam().workload()));
    assert_eq!(node.sees(&cam().revision("c")).admitted(), NOTHING);
    assert_eq!(node.ready(&cam().revision("b")).closed(), [(cam().workload(), GrantEnd::Settled)]);
    assert_eq!(node.holds_back(), [(cam().key, HeldBy::Annotation)]);
}

#[test]
fn a_workload_is_released_by_the_name_of_its_running_or_its_wanted_pod() {
    for by in [web("a", 1), web("b", 1)] {
        let mut node = Node::running([&web("a", 1).annotated()]);
        node.sees_all([&web("b", 1).annotated(), &web("a", 1).annotated().deleting()]);
        let told = node.asks(&pilot(), release_pod(&by));
        assert_eq!(told.answer(), released([&deployment("shop", "web")]));
        assert_eq!(told.admitted(), [stop(&web("a", 1))]);
    }
}

#[test]
fn a_release_of_what_is_not_here_is_refused() {
    let mut node = node_with_an_update();
    let unknown = Answer::Refused(Refusal::NotFound);
    assert_eq!(node.asks(&pilot(), release_pod(&pod("robot", "nav"))).answer(), unknown);
    assert_eq!(node.asks(&pilot(), release(&deployment("robot", "cam"))).answer(), unknown);
    let config = Ask::Release { what: Released::Pod(Key::config_map("robot", "cam")), revision: None };
    assert_eq!(node.asks(&pilot(), config).answer(), unknown);
}

#[test]
fn a_release_of_a_revision_that_is_not_the_pending_one_is_refused() {
    let of =
        |revision: &str| Ask::Release { what: Released::Pod(cam().key), revision: Some(revision.into()) };
    let mut node = node_with_an_update();
    let told = node.asks(&pilot(), of("a"));
    let another = Refusal::AnotherRevision { workload: cam().workload(), pending: Some("b".into()) };
    assert_eq!((told.answer(), told.admitted()), (Answer::Refused(another), NOTHING.into()));
    assert_eq!(node.asks(&pilot(), of("b")).admitted(), [update(&cam().revision("b"))]);

    let of = |revision: &str| Ask::Release {
        what: Released::Workload(deployment("shop", "web")),
        revision: Some(revision.into()),
    };
    let mut node = Node::running([&web("a", 1).annotated()]);
    node.sees_all([&web("b", 1).annotated(), &web("a", 1).annotated().deleting()]);
    assert_eq!(node.asks(&pilot(), of("a")).admitted(), NOTHING);
    assert_eq!(node.asks(&pilot(), of("b")).admitted(), [stop(&web("a", 1))]);
}

#[test]
fn a_release_of_what_has_nothing_pending_is_refused_and_opens_nothing() {
    let mut node = Node::running([&cam()]);
    let nothing = Answer::Refused(Refusal::NothingPending);
    assert_eq!(node.asks(&pilot(), release_pod(&cam())).answer(), nothing);
    assert_eq!(node.asks(&pilot(), RELEASE_ALL).answer(), nothing);
    assert_eq!(node.gate.grants().len(), 0);
    assert_eq!(node.sees(&cam().revision("b")).admitted(), NOTHING);
}

#[test]
fn a_release_of_a_frozen_node_is_refused() {
    let mut node = node_with_an_update();
    node.asks(&pilot(), freeze("takeoff"));
    let frozen = Answer::Refused(Refusal::Frozen { by: ids(["takeoff"]) });
    assert_eq!(node.asks(&pilot(), release_pod(&cam())).answer(), frozen);
    assert_eq!(node.asks(&pilot(), RELEASE_ALL).answer(), frozen);
    assert_eq!(node.gate.grants().len(), 0);
}

#[test]
fn a_release_of_a_freezing_node_is_refused() {
    let mut node = node_with_an_update();
    node.sees(&pod("shop", "till"));
    node.asks(&pilot(), freeze_within(A_MINUTE, "takeoff"));
    let frozen = Answer::Refused(Refusal::Frozen { by: ids(["takeoff"]) });
    assert_eq!(node.asks(&pilot(), release_pod(&cam())).answer(), frozen);
}

#[test]
fn a_release_asked_for_again_changes_nothing() {
    let mut node = Node::running([&web("a", 1).annotated()]);
    node.sees_all([&web("b", 1).annotated(), &web("a", 1).annotated().deleting()]);
    node.asks(&pilot(), release_pod(&web("a", 1)));
    node.after(A_MINUTE);
    let open = node.gate.grants().clone();
    for ask in [release_pod(&web("b", 1)), RELEASE_ALL] {
        let told = node.asks(&local("operator"), ask);
        assert_eq!((told.answer(), told.admitted()), (released([&deployment("shop", "web")]), vec![]));
    }
    assert_eq!(node.gate.grants(), &open);
}

#[test]
fn a_release_survives_a_crash() {
    let mut node = Node::running([&web("a", 1).annotated()]);
    node.sees_all([&web("b", 1).annotated(), &web("a", 1).annotated().deleting()]);
    node.asks(&pilot(), release_pod(&web("a", 1)));
    node.crashes();
    assert_eq!(node.ended(&web("a", 1)).admitted(), [start(&web("b", 1))]);
}

#[test]
fn a_release_touches_no_other_workload() {
    let mut node = node_with_an_update();
    let nav = pod("robot", "nav").annotated();
    node.sees(&nav);
    assert_eq!(node.asks(&pilot(), release_pod(&nav)).admitted(), [start(&nav)]);
    assert_eq!(node.holds_back(), [(cam().key, HeldBy::Annotation)]);
}

#[test]
fn a_release_does_not_open_what_a_holder_keeps_back() {
    let mut node = node_with_an_update();
    node.asks(&pilot(), hold("mission", Scope::Node));
    let held = Answer::Refused(Refusal::HeldBy { by: ids(["mission"]) });
    assert_eq!(node.asks(&local("operator"), release_pod(&cam())).answer(), held);
    let vetoed = Answer::Refused(Refusal::Vetoed { by: ids(["mission"]) });
    assert_eq!(node.asks(&admin(), release_pod(&cam())).answer(), vetoed);
    assert_eq!(node.gate.grants().len(), 0);
}

#[test]
fn the_clusters_own_hold_refuses_a_release_from_the_cluster_without_a_veto() {
    let mut node = node_with_an_update();
    node.asks(&admin(), hold("audit", Scope::Node));
    let held = Answer::Refused(Refusal::HeldBy { by: ids(["audit"]) });
    assert_eq!(node.asks(&admin(), release_pod(&cam())).answer(), held);
}

#[test]
fn a_release_that_overrides_opens_what_holders_keep_back() {
    let mut node = node_with_an_update();
    node.asks(&pilot(), hold("mission", Scope::Node));
    let told = node.asks_overriding(&admin(), because("recall", A_MINUTE), release_pod(&cam()));
    assert_eq!(told.answer(), released([&cam().workload()]));
    assert_eq!(told.admitted(), [update(&cam().revision("b"))]);
    assert!(node.log().contains(&"pod robot/cam released"));
    assert_eq!(node.audit.last().unwrap().why.as_deref(), Some("recall"));
    assert_eq!(node.sees(&cam().revision("c")).admitted(), NOTHING);
}

#[test]
fn a_hold_taken_after_a_release_that_overrides_stands_against_it() {
    let mut node = Node::running([&web("a", 1).annotated()]);
    node.asks(&pilot(), hold("mission", Scope::Node));
    node.sees_all([&web("b", 1).annotated(), &web("a", 1).annotated().deleting()]);
    node.asks_overriding(&admin(), because("recall", A_MINUTE), release_pod(&web("a", 1)));
    node.asks(&local("gripper"), hold("grip", Scope::Node));
    assert_eq!(node.ended(&web("a", 1)).admitted(), NOTHING);
    assert_eq!(node.asks(&local("gripper"), let_go("grip")).admitted(), [start(&web("b", 1))]);
}

#[test]
fn a_release_of_the_node_says_what_passed_and_what_stays_held() {
    let (nav, arm) = (pod("robot", "nav").annotated(), pod("robot", "arm").annotated());
    let mut node = Node::running([&cam(), &nav, &arm]);
    node.asks(&local("gripper"), hold("grip", this_pod(&arm)));
    let (nav, arm) = (nav.revision("b"), arm.revision("b"));
    node.sees_all([&cam().revision("b"), &nav, &arm]);
    let told = node.asks(&pilot(), RELEASE_ALL);
    assert_eq!(told.admitted(), [update(&cam().revision("b")), update(&nav)]);
    let workloads = vec![cam().workload(), nav.workload()];
    assert_eq!(told.answer(), Answer::Released { workloads, held: vec![(arm.workload(), ids(["grip"]))] });
}

#[test]
fn a_release_of_a_node_of_which_everything_is_held_says_by_whom() {
    let mut node = node_with_an_update();
    node.asks(&pilot(), hold("mission", Scope::Node));
    let held = vec![(cam().workload(), ids(["mission"]))];
    assert_eq!(node.asks(&admin(), RELEASE_ALL).answer(), Answer::Released { workloads: vec![], held });
}
