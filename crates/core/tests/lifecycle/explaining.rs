//! Phases and explanations.

use safepoint_core::Span;
use safepoint_core::lifecycle::{
    Blocked, BlockedBy, Mark, Nanos, Phase, RuleStates, StageState, Timeouts, Wait, explain, phase,
};

use crate::support::{NOW, PROTECTION, Pod};

fn sentence(pod: &Pod) -> String {
    explain(&pod.view, &pod.rules, &Timeouts::default(), NOW).to_string()
}

#[test]
fn every_phase_has_its_word_and_says_what_it_waits_for() {
    let mut pod = Pod::declared();
    assert_eq!(sentence(&pod), "the pod is in service");
    let rule = Blocked { rule: "half".into(), by: BlockedBy::Rejected("2 of 4 are out".into()) };
    pod.rules.pre_check = StageState::Waiting(vec![rule]);
    pod.begin("1", "update");
    assert_eq!(
        sentence(&pod),
        "the pod is in PreCheck; 1 (update) is in PreCheck for a moment and waits until the rules agree: half says no (2 of 4 are out)"
    );
    pod.rules = RuleStates::PASSED;
    let _ = pod.look();
    assert_eq!(phase(&pod.view), Phase::Preparing);
    pod.kubelet();
    assert!(sentence(&pod).ends_with(&format!("waits until {PROTECTION} are removed")));
    pod.cooperate();
    assert!(
        sentence(&pod)
            .ends_with("1 (update) is in Operating for a moment and waits until its controller has finished")
    );
    pod.finish("1");
    assert_eq!(phase(&pod.view), Phase::PostCheck);
    let _ = pod.look();
    assert_eq!(phase(&pod.view), Phase::Completing);
    assert!(sentence(&pod).ends_with(&format!(
        "waits until the kubelet says that it is ready and the pod is registered with {PROTECTION}"
    )));
    pod.rest();
    assert_eq!(phase(&pod.view), Phase::ServiceAvailable);
    pod.view.deleting = true;
    assert_eq!(phase(&pod.view), Phase::Deleting);
}

#[test]
fn a_pod_that_stays_offline_or_is_wished_gone_says_how_to_end_that() {
    let mut pod = Pod::serving();
    pod.view.marks.clear();
    pod.view.marks.insert(Mark::StayOffline, "".into());
    pod.view.marks.insert(Mark::ToDelete, "".into());
    assert_eq!(phase(&pod.view), Phase::Offline);
    let sentence = sentence(&pod);
    assert!(sentence.contains("until the label podopslifecycle.kusionstack.io/stay-offline is taken off"));
    assert!(sentence.ends_with("(take the label collaset.kusionstack.io/to-delete off to keep it)"));
}

#[test]
fn a_phase_that_takes_long_raises_an_alarm_and_moves_nothing() {
    let mut pod = Pod::serving();
    pod.begin("1", "update");
    let _ = pod.look();
    let timeouts = Timeouts { preparing: Some(Span::from_secs(60)), ..Timeouts::default() };
    let before = pod.view.clone();
    let at = |seconds| {
        explain(&before, &RuleStates::PASSED, &timeouts, Nanos(NOW.0 + Nanos::from_secs(seconds).0))
    };
    assert!(at(60).alarms.is_empty());
    assert_eq!(at(61).alarms[0].phase, Phase::Preparing);
    assert!(pod.look().is_empty(), "time moves nothing");
    assert_eq!(at(61).operations[0].waits, [Wait::NotReady, Wait::Finalizers(vec![PROTECTION.into()])]);
}
