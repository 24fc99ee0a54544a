//! Under which name a freeze of the cluster is taken.

use safepoint_core::{Config, Event, Gate, Now, Request, RequestId, Scope, Timestamp};

use super::*;

const NOW: Now = Now { monotonic: Span::from_secs(1), boot: 1, wall: Timestamp(0), trusted: true };

/// What the gate answers, if it answers at once.
fn asked(gate: &mut Gate, origin: Origin, ask: Ask) -> Option<Answer> {
    let caller = Holder { name: "somebody".into(), origin };
    let request = Request { id: RequestId(1), caller, order: None, overriding: None, ask };
    let effects = gate.step(Event::Asked(request), NOW).effects;
    effects.into_iter().find_map(|effect| match effect {
        Effect::Answer(_, answer) => Some(answer),
        _ => None,
    })
}

/// The name that a freeze without an id gets, and what becomes of it.
fn frozen(gate: &mut Gate, kept: &BTreeMap<String, Vec<u8>>) -> (String, Option<Answer>) {
    let freeze = serde_json::from_value(serde_json::json!({"reason": "audit"})).unwrap();
    let id = free(&hold_id(&freeze), &apart(gate.holds()).1, kept);
    let ask = Ask::Freeze {
        id: id.clone(),
        reason: "audit".into(),
        lease: None,
        settle: SETTLE,
        keep_barrier: false,
    };
    let answer = asked(gate, Origin::Remote, ask);
    (id.to_string(), answer)
}

fn local_hold(gate: &mut Gate, id: &str) {
    let ask = Ask::Hold { id: id.into(), reason: "flying".into(), scope: Scope::Node, lease: None };
    assert!(matches!(asked(gate, Origin::Local, ask), Some(Answer::Holding { .. })));
}

/// A program took a hold of that name, the freeze was refused each time, and the status said that it was obeyed.
#[test]
fn a_hold_that_has_the_name_of_the_clusters_freeze_does_not_keep_it_from_freezing() {
    let mut gate = Gate::new(Config::default(), NOW);
    local_hold(&mut gate, "cluster");
    let (id, answer) = frozen(&mut gate, &BTreeMap::new());
    assert_eq!(id, "cluster~2");
    assert!(!matches!(answer, Some(Answer::Refused(Refusal::NameTaken { .. }))), "{answer:?}");
    assert!(gate.holds()[&HoldId::from(id)].is_freeze());
}

#[test]
fn a_freeze_has_its_own_name_where_it_is_free_and_keeps_the_one_it_has() {
    let mut gate = Gate::new(Config::default(), NOW);
    local_hold(&mut gate, "mission");
    assert_eq!(frozen(&mut gate, &BTreeMap::new()).0, "cluster");
    assert_eq!(frozen(&mut gate, &BTreeMap::new()).0, "cluster", "it is the same one");
    let begun = [(format!("{TAKEN}cluster~2"), Vec::new())].into();
    assert_eq!(frozen(&mut gate, &begun).0, "cluster~2");
}
