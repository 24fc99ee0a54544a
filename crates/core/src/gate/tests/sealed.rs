//! A record that cannot be read: frozen because it may have been, and sealed until somebody has said what runs.

use crate::event::{Answer, Ask, Effect, Event, Refusal};
use crate::freeze::Mode;
use crate::hold::{Holder, OnExpiry, Scope};
use crate::record::Record;

use super::node::Node;
use super::told::Told;
use super::words::*;

const SEAL: &str = "unreadable-record";

fn cam() -> Object {
    pod("robot", "cam").annotated()
}

fn sealed() -> Answer {
    Answer::Refused(Refusal::Sealed)
}

fn operator() -> Holder {
    local("operator")
}

/// The agent has asked the kubelet what runs.
fn finds<const N: usize>(node: &mut Node, running: [&Object; N]) -> Told {
    let running = running.map(|object| (object.key.clone(), object.version.clone()));
    node.step(Event::Adopted(running.into()))
}

#[test]
fn a_gate_without_a_readable_record_is_frozen_and_sealed() {
    let mut node = Node::sealed();
    assert_eq!((node.mode(), node.gate.is_sealed()), (Mode::Frozen, true));
    assert_eq!(&*node.hold(SEAL).unwrap().reason, "checksum mismatch");
    assert_eq!(node.lists([&cam()]).admitted(), NOTHING);
    assert_eq!(node.log(), ["the record could not be read: the node is frozen"]);
}

/// The seal was in memory only. An agent that was restarted after its record had been lost found an empty one, took the
/// node for new and open, and ended or started whatever the next list said. The seal's own rows are now the first that
/// are written.
#[test]
fn a_seal_survives_a_restart_and_a_power_cut() {
    let mut node = Node::sealed();
    assert!(node.written.iter().any(|record| matches!(record, Record::Node(row) if row.sealed)));
    node.crashes();
    assert_eq!((node.mode(), node.gate.is_sealed()), (Mode::Frozen, true));
    node.is_off_for(A_MINUTE);
    assert_eq!((node.mode(), node.gate.is_sealed()), (Mode::Frozen, true));
    assert_eq!(node.lists([&cam()]).admitted(), NOTHING);
    node.crashes();
    assert_eq!(node.asks(&operator(), Ask::Thaw).answer(), sealed());
}

#[test]
fn a_record_that_is_lost_again_and_again_is_sealed_again_and_again() {
    let mut node = Node::sealed();
    for _ in 0..3 {
        node.lists([&cam()]);
        node.asks(&pilot(), hold("mission", Scope::Node));
        node.loses_its_record();
        node.crashes();
        assert_eq!((node.mode(), node.gate.is_sealed(), node.gate.holds().len()), (Mode::Frozen, true, 1));
    }
    finds(&mut node, [&cam()]);
    node.loses_its_record();
    assert!(node.gate.is_sealed());
}

/// A pod that was running, and whose end had been held, was seen with a deletion timestamp by a gate that did not know
/// that it ran. It was confirmed to the cluster as gone, and its uid buried, while it was still flying.
#[test]
fn a_sealed_gate_confirms_no_end_and_buries_nothing() {
    let mut node = Node::sealed();
    assert_eq!(node.sees(&cam().deleting()).0, []);
    assert_eq!(node.lists([&cam().deleting()]).0, []);
    node.sees(&cam().uid("two"));
    node.sees(&cam().uid("three"));
    node.loses(&cam().uid("three"));
    assert_eq!(node.records.buried.len(), 0);

    finds(&mut node, [&cam()]);
    assert_eq!(node.lists([&cam().deleting()]).discarded(), []);
    assert_eq!(node.runs(), ["cam"]);
}

/// A thaw of a sealed gate broke the seal. The gate then held nothing to be running, and every annotated pod that had
/// been running all the time waited as a first install, invisible to its kubelet, which ended it.
#[test]
fn nobody_opens_a_sealed_gate() {
    let mut node = Node::sealed();
    node.lists([&cam()]);
    for caller in [operator(), admin(), local("safepoint")] {
        for ask in [Ask::Thaw, let_go(SEAL), RELEASE_ALL, release_pod(&cam()), release(&cam().workload())] {
            assert_eq!(node.asks(&caller, ask.clone()).0[1..], []);
            assert_eq!(node.asks(&caller, ask.clone()).answer(), sealed());
            assert_eq!(node.asks_overriding(&caller, because("fire", A_MINUTE), ask).answer(), sealed());
        }
    }
    assert_eq!((node.mode(), node.gate.is_sealed(), node.gate.grants().len()), (Mode::Frozen, true, 0));
    node.after(A_MINUTE);
    assert_eq!((node.mode(), node.hold(SEAL).unwrap().in_force()), (Mode::Frozen, true));
}

#[test]
fn a_lease_that_ends_by_itself_does_not_open_a_sealed_gate() {
    let mut node = Node::sealed();
    node.asks(&pilot(), hold_for(A_MINUTE, OnExpiry::ThawIfSafe, "mission"));
    node.asks(&pilot(), freeze_for(A_MINUTE, OnExpiry::ThawIfSafe, "takeoff"));
    node.after(A_MINUTE);
    assert_eq!((node.mode(), node.gate.is_sealed(), node.gate.holds().len()), (Mode::Frozen, true, 1));
}

#[test]
fn what_was_found_running_breaks_the_seal_but_not_the_freeze() {
    let mut node = Node::sealed();
    node.lists([&cam(), &pod("shop", "till")]);
    let told = finds(&mut node, [&cam()]);
    assert_eq!((told.0.contains(&Effect::Relist), told.admitted()), (true, vec![]));
    assert_eq!((node.mode(), node.gate.is_sealed()), (Mode::Frozen, false));
    assert_eq!(node.runs(), ["cam"]);
    assert_eq!(*node.log().last().unwrap(), "adopted what was found running: 1");
    node.crashes();
    assert_eq!((node.mode(), node.gate.is_sealed()), (Mode::Frozen, false));
    assert_eq!(
        node.why(&cam()),
        "nothing is held; pod robot/cam has not been reported since the agent started"
    );
}

#[test]
fn an_operator_on_the_machine_thaws_it_when_it_is_known_what_runs() {
    for ask in [Ask::Thaw, let_go(SEAL)] {
        let mut node = Node::sealed();
        finds(&mut node, [&cam()]);
        let told = node.asks(&operator(), ask);
        assert!(told.0.contains(&Effect::Relist));
        assert_eq!((node.mode(), node.hold(SEAL)), (Mode::Thawing, None));
        assert_eq!(node.lists([&cam(), &pod("shop", "till")]).admitted(), [start(&pod("shop", "till"))]);
        // What runs is no first install: it runs, and its upgrade is held as ever.
        assert_eq!(node.sees(&cam().revision("b")).admitted(), NOTHING);
        assert_eq!(node.asks(&pilot(), release_pod(&cam())).admitted(), [update(&cam().revision("b"))]);
    }
}

#[test]
fn what_the_cluster_took_away_meanwhile_ends_only_after_the_thaw() {
    let till = pod("shop", "till");
    let mut node = Node::sealed();
    node.lists([]);
    assert_eq!(finds(&mut node, [&till, &cam()]).admitted(), NOTHING);
    assert_eq!(node.lists([]).admitted(), NOTHING);
    node.asks(&operator(), Ask::Thaw);
    assert_eq!(node.lists([]).admitted(), [stop(&till)]);
    assert_eq!(node.runs(), ["cam", "till"]);
}

#[test]
fn the_cluster_needs_an_override_even_when_the_seal_is_broken() {
    let mut node = Node::sealed();
    finds(&mut node, [&cam()]);
    let vetoed = Answer::Refused(Refusal::Vetoed { by: ids([SEAL]) });
    assert_eq!(node.asks(&admin(), Ask::Thaw).answer(), vetoed);
    assert_eq!(
        node.asks_overriding(&admin(), because("fire", A_MINUTE), Ask::Thaw).answer(),
        Answer::Thawing
    );
}

#[test]
fn another_freeze_outlasts_the_one_for_the_lost_record() {
    let mut node = Node::sealed();
    assert!(matches!(node.asks(&pilot(), freeze("takeoff")).answer(), Answer::Frozen { .. }));
    finds(&mut node, [&cam()]);
    node.asks(&operator(), let_go(SEAL));
    assert_eq!((node.mode(), node.gate.is_sealed()), (Mode::Frozen, false));
}

/// Whether the gate was sealed used to be read off the name of a hold, so anybody could seal a node, or take the place
/// of the hold that did.
#[test]
fn the_name_of_the_seal_is_a_name_like_any_other() {
    let mut node = Node::new();
    assert_eq!(node.asks(&pilot(), hold(SEAL, Scope::Namespace("none".into()))).answer(), holding());
    assert!(!node.gate.is_sealed());
    assert_eq!(node.sees(&pod("shop", "till")).admitted(), [start(&pod("shop", "till"))]);

    let mut node = Node::sealed();
    let Answer::Refused(Refusal::NameTaken { by }) = node.asks(&pilot(), freeze(SEAL)).answer() else {
        panic!("the name was given away");
    };
    assert_eq!(&*by.name, "safepoint");
    let taken = Answer::Refused(Refusal::NameTaken { by });
    assert_eq!(node.asks(&pilot(), hold(SEAL, Scope::Node)).answer(), taken);
    assert_eq!(node.asks(&admin(), hold(SEAL, Scope::Node)).answer(), taken);
}
