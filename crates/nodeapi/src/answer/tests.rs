//! Every answer of the gate has a code, a word and a sentence.

use safepoint_core::{
    Age, Answer, Blocker, BlockerReason, Gate, Holder, Origin, Refusal, Span, Stamp, Subject, Timestamp,
    WorkloadKind,
};

use super::*;
use crate::testing::{MORNING, TestNode};

fn answered(about: &About, answer: Answer) -> Result<Done, Failure> {
    TestNode::new().gate(|gate: &Gate| outcome(gate, about, answer))
}

fn hold() -> About {
    About::Hold("mission".into())
}

fn workload() -> Workload {
    Workload { kind: WorkloadKind::Deployment, namespace: "shop".into(), name: "web".into(), ordinal: None }
}

fn blocker(name: &str) -> Blocker {
    let subject = Subject::Part(name.into());
    Blocker { reason: BlockerReason::NotReady, subject, message: "is not ready".into() }
}

#[test]
fn every_refusal_has_a_code_a_reason_and_says_what_to_do() {
    let by = || vec![HoldId::from("lift")];
    let holder = Holder { name: "nav (uid 1000)".into(), origin: Origin::Local };
    for (refusal, code, reason, said) in [
        (
            Refusal::Unsettled { blockers: vec![blocker("journal")], barrier_kept: false },
            409,
            reason::UNSETTLED,
            "--hold-barrier",
        ),
        (
            Refusal::Unsettled { blockers: vec![blocker("journal")], barrier_kept: true },
            409,
            reason::UNSETTLED,
            "the barrier stays up",
        ),
        (Refusal::Frozen { by: by() }, 409, reason::FROZEN, "`safepoint node unfreeze`"),
        (Refusal::HeldBy { by: by() }, 409, reason::HELD, "`safepoint unhold lift`"),
        (Refusal::Vetoed { by: by() }, 409, reason::VETOED, "override"),
        (Refusal::Overridden { until: Age(60_000) }, 409, reason::OVERRIDDEN, "2026-11-15T08:01:00Z"),
        (Refusal::Sealed, 409, reason::SEALED, "`safepoint status`"),
        (Refusal::NothingPending, 409, reason::NOTHING_HELD, "`safepoint changes`"),
        (
            Refusal::AnotherRevision { workload: workload(), pending: Some("c".into()) },
            409,
            reason::ANOTHER_REVISION,
            "deployment shop/web: what is pending is revision c",
        ),
        (
            Refusal::AnotherRevision { workload: workload(), pending: None },
            409,
            reason::ANOTHER_REVISION,
            "not known yet",
        ),
        (Refusal::NotFound, 404, reason::NOT_FOUND, "there is no hold mission"),
        (Refusal::NameTaken { by: holder }, 409, reason::NAME_TAKEN, "nav (uid 1000)"),
        (Refusal::OverrideIncomplete, 400, reason::BAD_REQUEST, "say why"),
        (Refusal::OrderExpired, 409, reason::NOT_FOUND, "time"),
        (Refusal::EmptyLease, 400, reason::BAD_REQUEST, "lease"),
    ] {
        let failure = answered(&hold(), Answer::Refused(refusal)).unwrap_err();
        assert_eq!((failure.code, &*failure.reason), (code, reason));
        assert!(failure.message.contains(said), "{said} in {}", failure.message);
    }
}

#[test]
fn what_was_done_is_no_failure() {
    let since = Stamp { age: Age(0), at: MORNING };
    for (answer, done) in [
        (Answer::Holding { in_flight: vec![] }, Done::Holding { in_flight: vec![] }),
        (Answer::Renewed, Done::Renewed),
        (Answer::Dropped { until: None }, Done::Dropped { until: None }),
        (Answer::Frozen { since }, Done::Frozen),
        (Answer::Thawing, Done::Thawing),
        (Answer::StillFrozen { by: vec![] }, Done::StillFrozen { by: vec![] }),
        (
            Answer::Released { workloads: vec![workload()], held: vec![] },
            Done::Released { workloads: vec![workload()], held: vec![] },
        ),
    ] {
        assert_eq!(answered(&About::Node, answer), Ok(done));
    }
    assert!(answered(&About::Node, Answer::DecidedBefore).is_err());
}

#[test]
fn a_sentence_names_three_blockers_and_counts_the_rest() {
    let blockers = ["a", "b", "c", "d", "e"].map(blocker).into();
    let refusal = Refusal::Unsettled { blockers, barrier_kept: false };
    let failure = answered(&About::Node, Answer::Refused(refusal)).unwrap_err();
    assert!(failure.message.contains("c is not ready (NotReady) and 2 more;"), "{}", failure.message);
    assert_eq!((failure.blockers.len(), failure.retry_after), (5, Some(5)));
}

#[test]
fn a_time_to_come_is_counted_from_the_gates_last_event() {
    let node = TestNode::new();
    node.after(Span::from_mins(1));
    let refusal = Answer::Refused(Refusal::Overridden { until: Age(120_000) });
    let failure = node.gate(|gate| outcome(gate, &hold(), refusal)).unwrap_err();
    assert!(failure.message.ends_with("2026-11-15T08:02:00Z"), "{}", failure.message);
    assert_eq!(view::time(Timestamp(0)).0.to_string(), "1970-01-01T00:00:00Z");
}
