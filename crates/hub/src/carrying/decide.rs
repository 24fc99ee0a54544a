//! What has to be written on a pod, given what it says and what its workload says. Pure.

use safepoint_api::names::{kubeedge, safepoint};
use serde_json::{Value, json};

use crate::pod::Marks;
use crate::seen::WorkloadFacts;

/// What has to be written on a pod.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Act {
    /// Put the annotation on, and from where it comes.
    Arm {
        /// The workload.
        from: String,
    },
    /// Take both off.
    Disarm,
}

/// Decides what has to be written on a pod; mostly nothing. `workload` is nothing where it is not known or gone.
pub(super) fn decide(marks: &Marks, ending: bool, workload: Option<&WorkloadFacts>) -> Option<Act> {
    // A workload that is gone cannot be asked: its pods stay as they are.
    let workload = workload?;
    match (marks, workload.holds) {
        // Whoever annotated the pod itself has decided about this pod.
        (Marks::Own { .. }, _) | (Marks::None, false) => None,
        (Marks::Carried { .. }, false) => Some(Act::Disarm),
        // Its end was decided before the hold: it is too late to hold it.
        (Marks::None, true) if ending => None,
        (Marks::Carried { holds: true, from }, true) if *from == workload.to_string() => None,
        (Marks::None | Marks::Carried { .. }, true) => Some(Act::Arm { from: workload.to_string() }),
    }
}

/// The annotations that are written, as a merge patch of the pod's.
pub(super) fn annotations(act: &Act) -> Value {
    match act {
        Act::Arm { from } => {
            json!({kubeedge::HOLD_UPGRADE: kubeedge::HOLD_UPGRADE_ON, safepoint::HOLD_CARRIED: from})
        }
        Act::Disarm => json!({kubeedge::HOLD_UPGRADE: null, safepoint::HOLD_CARRIED: null}),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seen::Carrier;

    fn workload(holds: bool) -> WorkloadFacts {
        WorkloadFacts { kind: Carrier::Deployment, name: "web".into(), holds }
    }

    fn carried(holds: bool) -> Marks {
        Marks::Carried { holds, from: "Deployment/web".into() }
    }

    #[test]
    fn what_a_pod_and_its_workload_say_decides_what_is_written() {
        let arm = || Some(Act::Arm { from: "Deployment/web".into() });
        for (marks, holds, expected) in [
            (Marks::None, true, arm()),
            (Marks::None, false, None),
            (carried(true), true, None),
            (carried(true), false, Some(Act::Disarm)),
            (carried(false), true, arm()),
            (carried(false), false, Some(Act::Disarm)),
            (Marks::Own { holds: true }, false, None),
            (Marks::Own { holds: true }, true, None),
            (Marks::Own { holds: false }, true, None),
        ] {
            assert_eq!(decide(&marks, false, Some(&workload(holds))), expected, "{marks:?} {holds}");
        }
    }

    #[test]
    fn the_pods_of_a_workload_that_is_gone_are_left_as_they_are() {
        for marks in [Marks::None, carried(true), Marks::Own { holds: true }] {
            assert_eq!(decide(&marks, false, None), None);
        }
    }

    #[test]
    fn a_pod_that_is_ending_is_not_armed_any_more_but_can_be_let_go() {
        assert_eq!(decide(&Marks::None, true, Some(&workload(true))), None);
        assert_eq!(decide(&carried(true), true, Some(&workload(false))), Some(Act::Disarm));
    }

    #[test]
    fn a_pod_that_was_carried_from_elsewhere_names_the_workload_it_has() {
        let marks = Marks::Carried { holds: true, from: "Deployment/old".into() };
        let arm = Act::Arm { from: "Deployment/web".into() };
        assert_eq!(decide(&marks, false, Some(&workload(true))), Some(arm));
    }
}
