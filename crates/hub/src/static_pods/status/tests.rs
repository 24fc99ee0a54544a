//! What a plan looks like.

use safepoint_core::rollout::{Failure, Order, Phase, Presence, Seen, Task, Work, plan};

use super::*;

const NOW: Timestamp = Timestamp(1_794_700_800_000);
const LATER: Timestamp = Timestamp(NOW.0 + 3_600_000);

fn fleet(nodes: usize, change: impl Fn(usize, &mut Seen)) -> (Order, Vec<Seen>) {
    let node = |number: usize| {
        let mut seen = Seen::running(&format!("n{number:05}"), Revision::from("new"));
        change(number, &mut seen);
        seen
    };
    (Order::new(Revision::from("new")), (0..nodes).map(node).collect())
}

fn shown_at((order, seen): &(Order, Vec<Seen>), before: &StaticPodStatus, now: Timestamp) -> StaticPodStatus {
    status(&plan(order, seen, now), &order.target, Some(3), Said::default(), before, now)
}

fn fail(seen: &mut Seen) {
    seen.pod = safepoint_core::rollout::Pod::Present { revision: None, ready: Some(Timestamp(0)) };
    seen.tasks.push(Task {
        name: "t".into(),
        work: Work::Upgrade,
        revision: "new".into(),
        attempt: 1,
        phase: Phase::Failed(Failure { code: "RolledBack".into(), text: "no".into(), at: NOW }),
        removing: false,
    });
}

/// OpenYurt never wrote the generation: nobody could tell what the counts belonged to.
#[test]
fn the_counts_say_which_generation_they_belong_to() {
    let fleet = fleet(3, |_, _| {});
    let status = shown_at(&fleet, &StaticPodStatus::default(), NOW);
    assert_eq!((status.observed_generation, status.upgraded_number, status.desired_number), (Some(3), 3, 3));
    assert_eq!(status.current_revision.as_deref(), Some("new"));
    assert!(status.conditions.iter().all(|condition| condition.observed_generation == Some(3)));
}

#[test]
fn what_stays_the_same_stays_since_then() {
    let old = |number, seen: &mut Seen| {
        if number == 1 {
            seen.presence = Presence::Away { since: NOW };
            seen.pod = safepoint_core::rollout::Pod::Present { revision: None, ready: None };
        }
    };
    let first = shown_at(&fleet(3, old), &StaticPodStatus::default(), NOW);
    let second = shown_at(&fleet(3, old), &first, LATER);
    assert_eq!(first, second);
    assert_eq!(first.nodes[1].reason.as_deref(), Some("NodeNotReady"));
    let third = shown_at(&fleet(3, |_, _| {}), &second, LATER);
    assert_eq!(third.nodes[0].since, first.nodes[0].since);
    assert_ne!(third.nodes[1].since, first.nodes[1].since);
}

#[test]
fn a_status_that_was_written_and_read_is_the_same() {
    let first = shown_at(
        &fleet(3, |number, seen| {
            if number == 0 {
                fail(seen);
            }
        }),
        &StaticPodStatus::default(),
        NOW,
    );
    let mut read = patch(&first);
    read.as_object_mut().unwrap().retain(|_, value| !value.is_null());
    assert_eq!(serde_json::from_value::<StaticPodStatus>(read).unwrap(), first);
    assert!(patch(&StaticPodStatus::default())["canaryPhase"].is_null());
}

/// OpenYurt's defect 21.
#[test]
fn in_a_large_fleet_the_upgraded_nodes_are_left_out_and_the_failed_ones_are_not() {
    let fleet = fleet(2_000, |number, seen| match number {
        0..900 => {
            seen.pod = safepoint_core::rollout::Pod::Present { revision: None, ready: Some(Timestamp(0)) }
        }
        1_990.. => fail(seen),
        _ => {}
    });
    let status = shown_at(&fleet, &StaticPodStatus::default(), NOW);
    assert!(status.nodes_truncated);
    assert_eq!(status.nodes.len(), limits::NODES);
    let failed: Vec<_> = status.nodes.iter().filter(|node| node.state == NodeUpgradeState::Failed).collect();
    assert_eq!(failed.len(), 10);
    assert!(
        failed.iter().all(|node| node.reason.as_deref() == Some("RolledBack") && node.retry_at.is_some())
    );
    assert!(status.nodes.iter().all(|node| node.state != NodeUpgradeState::Upgraded));
    assert!(status.nodes.is_sorted_by(|one, other| one.node < other.node));
}
