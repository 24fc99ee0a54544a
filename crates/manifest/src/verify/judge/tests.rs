//! Series of looks, one each second.

use std::collections::BTreeSet;
use std::time::Duration;

use super::{Judge, Target, Verdict};
use crate::journal::Failure;
use crate::outcome::Cause;
use crate::verify::{Blind, PodSeen, Rules};

fn rules() -> Rules {
    Rules {
        stretch: Duration::from_secs(3),
        within: Duration::from_secs(10),
        every: Duration::from_secs(1),
        restarts: 0,
    }
}

fn new() -> Target {
    Target::Ready { revision: Some("new".into()), others: BTreeSet::from(["0".into()]), is_new: true }
}

fn pod(uid: &str, revision: &str, ready: bool, restarts: u32) -> PodSeen {
    PodSeen { uid: uid.into(), revision: Some(revision.into()), ready, restarts, ..PodSeen::default() }
}

/// What a series of looks comes to, and at which of them.
fn judged(target: Target, looks: &[Result<Vec<PodSeen>, Blind>]) -> (usize, Verdict) {
    let mut judge = Judge::new(target, rules());
    for (number, look) in looks.iter().enumerate() {
        let at = Duration::from_secs(u64::try_from(number).unwrap());
        let verdict = judge.look(look.as_deref(), at);
        if verdict != Verdict::Wait {
            return (number, verdict);
        }
    }
    (looks.len(), Verdict::Wait)
}

fn cause(verdict: &Verdict) -> Option<Cause> {
    match verdict {
        Verdict::Bad(failure) => Some(failure.cause),
        Verdict::Wait | Verdict::Good => None,
    }
}

#[test]
fn a_pod_that_is_ready_for_the_stretch_is_good() {
    let looks = vec![Ok(vec![pod("1", "new", true, 0)]); 9];
    assert_eq!(judged(new(), &looks), (3, Verdict::Good));
}

#[test]
fn a_pod_that_is_not_ready_in_between_begins_again() {
    let (yes, no) = (Ok(vec![pod("1", "new", true, 0)]), Ok(vec![pod("1", "new", false, 0)]));
    let looks = [yes.clone(), yes.clone(), no, yes.clone(), yes.clone(), yes.clone(), yes];
    assert_eq!(judged(new(), &looks), (6, Verdict::Good));
}

#[test]
fn the_old_pod_is_not_taken_for_the_new_one() {
    let (at, verdict) = judged(new(), &vec![Ok(vec![pod("0", "old", true, 0)]); 20]);
    assert_eq!((at, cause(&verdict)), (10, Some(Cause::NotSeen)));
    // Not even if its manifest said the same revision.
    let (at, verdict) = judged(new(), &vec![Ok(vec![pod("0", "new", true, 0)]); 20]);
    assert_eq!((at, cause(&verdict)), (10, Some(Cause::NotSeen)));
    // Both are there while one ends.
    let both = vec![Ok(vec![pod("1", "new", true, 0), pod("0", "old", true, 7)]); 9];
    assert_eq!(judged(new(), &both), (3, Verdict::Good));
}

#[test]
fn any_restart_of_a_new_pod_is_one_too_many() {
    let looks = [Ok(vec![]), Ok(vec![pod("1", "new", true, 1)])];
    assert_eq!(cause(&judged(new(), &looks).1), Some(Cause::Restarted));
}

#[test]
fn of_a_pod_that_ran_before_only_further_restarts_count() {
    let old = || Target::Ready { revision: Some("old".into()), others: BTreeSet::new(), is_new: false };
    let looks = vec![Ok(vec![pod("0", "old", true, 41)]); 9];
    assert_eq!(judged(old(), &looks), (3, Verdict::Good));
    // Its start is one, and what was seen before may have been its former life.
    let at = |ready, restarts| Ok(vec![pod("0", "old", ready, restarts)]);
    let back =
        [at(true, 41), at(false, 42), at(false, 43), at(true, 43), at(true, 43), at(true, 43), at(true, 43)];
    assert_eq!(judged(old(), &back), (6, Verdict::Good));
    let crashing = [at(false, 41), at(true, 42), at(false, 42), at(true, 43), at(true, 44)];
    let (at, verdict) = judged(old(), &crashing);
    assert_eq!((at, cause(&verdict)), (4, Some(Cause::Restarted)));
}

#[test]
fn what_cannot_become_ready_is_not_waited_for() {
    let failure = Failure::new(Cause::ImageUnavailable, "there is no such image");
    let bad = PodSeen { failure: Some(failure.clone()), ..pod("1", "new", false, 0) };
    assert_eq!(judged(new(), &[Ok(vec![bad])]), (0, Verdict::Bad(failure)));
}

#[test]
fn a_pod_that_is_never_ready_is_bad_in_the_end_with_what_it_did_instead() {
    let seen = PodSeen { note: "main waits for a probe".into(), ..pod("1", "new", false, 0) };
    let (at, verdict) = judged(new(), &vec![Ok(vec![seen]); 20]);
    assert_eq!((at, cause(&verdict)), (10, Some(Cause::NotReady)));
    let Verdict::Bad(failure) = verdict else { panic!() };
    assert!(failure.detail.ends_with("main waits for a probe"), "{}", failure.detail);
}

#[test]
fn a_source_that_is_blind_for_a_while_proves_nothing_either_way() {
    let (yes, blind) = (Ok(vec![pod("1", "new", true, 0)]), Err(Blind("the kubelet restarts".into())));
    let looks = [yes.clone(), blind.clone(), blind.clone(), blind.clone(), yes];
    assert_eq!(judged(new(), &looks), (4, Verdict::Good));
    let (at, verdict) = judged(new(), &vec![blind; 20]);
    assert_eq!((at, cause(&verdict)), (13, Some(Cause::NotSeen)));
}

#[test]
fn gone_is_gone_as_soon_as_nothing_is_there() {
    let there = Ok(vec![pod("0", "old", true, 0)]);
    assert_eq!(judged(Target::Gone, &[there.clone(), Ok(vec![])]), (1, Verdict::Good));
    let (at, verdict) = judged(Target::Gone, &vec![there; 20]);
    assert_eq!((at, cause(&verdict)), (10, Some(Cause::Ended)));
}

#[test]
fn a_pod_without_a_revision_is_matched_by_having_none() {
    let target = Target::Ready { revision: None, others: BTreeSet::from(["1".into()]), is_new: false };
    let plain = |uid: &str| PodSeen { revision: None, ..pod(uid, "", true, 0) };
    let looks = vec![Ok(vec![pod("1", "new", true, 0), plain("0")]); 9];
    assert_eq!(judged(target.clone(), &looks), (3, Verdict::Good));
    assert_eq!(judged(target, &vec![Ok(vec![plain("1")]); 5]).1, Verdict::Wait);
}
