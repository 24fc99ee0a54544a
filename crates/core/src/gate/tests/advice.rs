//! What is said to somebody who wants to get a change through: whom to ask, what a release would do, and what it is
//! not.

use crate::event::{Answer, Reading, Refusal};
use crate::explain::{Ending, ReleaseWould, Why};
use crate::freeze::{BlockerReason, Subject};
use crate::gate::{Cause, Config};
use crate::hold::{OnExpiry, Scope};
use crate::object::Health;
use crate::time::Span;

use super::node::Node;
use super::words::*;

fn cam() -> Object {
    pod("robot", "cam")
}

/// A sentence without the part that says for how long: `... has been held ... because what`.
fn why(node: &Node, object: &Object) -> String {
    let sentence = node.why(object);
    let (what, rest) = sentence.split_once(" has been held for ").unwrap();
    let (_, why) = rest.split_once(" because ").unwrap();
    format!("{what} is held because {why}")
}

/// Only the first of two annotated users was named. Whoever released that one was told nothing, saw nothing pass, and
/// asked again, to be told about the other.
#[test]
fn configuration_of_two_annotated_workloads_names_both() {
    let settings = config_map("robot", "settings");
    let [cam, nav] = [cam(), pod("robot", "nav")].map(|pod| pod.using([&settings]).annotated());
    let mut node = Node::running([&settings, &cam, &nav]);
    node.sees(&settings.clone().revision("b"));
    let sentence = "the update of configmap robot/settings is held because pod robot/cam is annotated to hold its \
                    upgrades and pod robot/nav is annotated to hold its upgrades; it passes when pod robot/cam is \
                    released and pod robot/nav is released; a release of pod robot/cam and pod robot/nav lets this \
                    one change through";
    assert_eq!(why(&node, &settings), sentence);
    let explanation = node.explains(&settings);
    let workloads = vec![cam.workload(), nav.workload()];
    assert_eq!(explanation.causes, workloads.clone().into_iter().map(Cause::Annotated).collect::<Vec<_>>());
    assert_eq!(explanation.endings, workloads.clone().into_iter().map(Ending::Release).collect::<Vec<_>>());
    assert_eq!(explanation.release, ReleaseWould::Open { workloads, changes: 1 });
    // One of them is released: the other is still named, alone.
    node.asks(&pilot(), release_pod(&cam));
    assert_eq!(node.explains(&settings).causes, [Cause::Annotated(nav.workload())]);
}

/// An orphaned hold whose lease is up was said to end when its lease is up. It waits for nothing but the safety signal.
#[test]
fn an_orphaned_hold_that_may_still_end_by_itself_says_how() {
    let config = Config { signals: vec!["landed".into()], ..Config::default() };
    let mut node = Node::with(config).also_running([&cam()]);
    node.asks(&pilot(), freeze_for(A_MINUTE, OnExpiry::ThawIfSafe, "takeoff"));
    node.asks(&pilot(), hold_for(A_MINUTE, OnExpiry::ThawIfSafe, "mission"));
    node.sees(&cam().revision("b"));
    node.after(Span::from_mins(2));
    let sentence = "the update of pod robot/cam to revision b is held because the node is kept frozen by \
                    flight-control (takeoff), orphaned: \"takeoff\" and it is held by flight-control (mission), \
                    orphaned: \"a mission is flown\"; it passes when the node is thawed (by itself once the lease is \
                    up and it is safe) and hold mission is dropped (by itself once the lease is up and it is safe); \
                    a release would be refused until then";
    assert_eq!(why(&node, &cam()), sentence);
    node.reads("landed", Reading::Safe);
    assert_eq!(node.gate.holds().len(), 0);
}

/// A pod that was failing was said to be in the middle of a change that had been let through. Nothing had been.
#[test]
fn a_pod_that_is_not_well_is_said_to_be_not_well() {
    let mut node = Node::running([&cam()]);
    for (health, message) in [
        (Health::Unready, "is not ready"),
        (Health::Pulling, "is pulling its image"),
        (Health::Starting, "is starting"),
    ] {
        node.reports(&cam(), health);
        assert_eq!(node.why(&cam()), format!("nothing is held; pod robot/cam {message}"));
    }
    node.reports(&cam(), Health::Unready);
    let unready = blocker(BlockerReason::PodUnsettled, Subject::Object(cam().key), "is not ready");
    assert_eq!(node.gate.explain(&cam().key), Why::Unsettled(unready));
    node.crashes();
    assert_eq!(
        node.why(&cam()),
        "nothing is held; pod robot/cam has not been reported since the agent started"
    );
}

#[test]
fn configuration_that_has_not_reached_its_pods_says_so() {
    let settings = config_map("robot", "settings");
    let mut node = Node::new();
    node.sees(&settings);
    assert_eq!(node.why(&settings), "nothing is held; configmap robot/settings has not reached its pods yet");
}

/// A release is for a whole workload, and one pod that a holder holds is enough to refuse it. The explanation of
/// another pod of the same workload looked at that pod alone, and promised a release that was then refused.
#[test]
fn a_release_that_a_held_sibling_would_refuse_is_not_promised() {
    let [one, two] = [web("a", 1), web("a", 2)].map(Object::annotated);
    let mut node = Node::running([&one, &two]);
    node.asks(&pilot(), hold("mission", this_pod(&one)));
    node.sees_all([&one.revision("b"), &two.clone().revision("b")]);
    assert_eq!(node.explains(&two).causes, [Cause::Annotated(two.workload())]);
    assert_eq!(node.explains(&two).release, ReleaseWould::BeRefused);
    let held = Answer::Refused(Refusal::HeldBy { by: ids(["mission"]) });
    assert_eq!(node.asks(&pilot(), release_pod(&two)).answer(), held);
}

#[test]
fn a_release_says_how_many_changes_pass_with_it() {
    let [one, two] = [web("a", 1), web("a", 2)].map(Object::annotated);
    let mut node = Node::running([&one, &two]);
    node.sees_all([&one.clone().deleting(), &two.deleting(), &web("b", 1).annotated()]);
    let open = ReleaseWould::Open { workloads: vec![one.workload()], changes: 3 };
    assert_eq!(node.explains(&one).release, open);
    assert!(node.why(&one).ends_with("; a release of deployment shop/web lets 3 changes through"));
}

/// Something was killed and made again under its name, of the same revision: it read like a plain end, or like a
/// replacement of a revision by itself.
#[test]
fn a_replacement_by_the_same_revision_names_no_revision() {
    let cam = cam().annotated();
    let mut node = Node::running([&cam]);
    node.sees(&cam.clone().uid("next"));
    let sentence = "the replacement of pod robot/cam is held because pod robot/cam is annotated to hold its \
                    upgrades; it passes when pod robot/cam is released; a release of pod robot/cam lets this one \
                    change through";
    assert_eq!(why(&node, &cam), sentence);
    assert!(node.explains(&cam).replaced);
    node.loses(&cam.clone().uid("next"));
    assert!(!node.explains(&cam).replaced);
    assert!(node.why(&cam).starts_with("the end of pod robot/cam has been held"));
}

#[test]
fn an_update_that_keeps_its_revision_names_none() {
    let mut node = Node::running([&cam()]);
    node.asks(&pilot(), hold("mission", Scope::Node));
    node.sees(&cam().labelled("app", "cam"));
    assert!(node.why(&cam()).starts_with("the update of pod robot/cam has been held"));
}
