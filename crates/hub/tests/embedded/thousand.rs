//! A fleet of a thousand nodes, some of which are away, frozen or broken.

use safepoint_api::static_pod::NodeUpgradeState;
use safepoint_hub::simulated::Nature;
use serde_json::json;

use crate::fleet::{QUICK, Scene, template};

const NODES: usize = 1_000;

/// In every twenty nodes one is away and one is frozen; in every hundred, one fails.
#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_nodes_are_upgraded_within_the_budget_and_the_rest_is_put_off_or_failed_with_reasons() {
    let data = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let scene = Scene::new(data.path(), NODES, QUICK).await;
    for number in 0..NODES {
        match number {
            _ if number % 20 == 3 => scene.fleet.set_ready(number, false).await.unwrap(),
            _ if number % 20 == 7 => scene.fleet.set_frozen(number, true).await.unwrap(),
            _ if number % 100 == 50 => scene.fleet.set_nature(number, Nature::Fails),
            _ => {}
        }
    }
    let before = scene.written();
    scene.make(template("proxy:2"), json!({"maxUnavailable": "10%", "retry": {"limit": 0}})).await;
    let status = scene
        .status("all others are upgraded", |status| {
            status.upgraded_number == 890 && status.failed_number == 10
        })
        .await;
    assert_eq!((status.desired_number, status.deferred_number), (1_000, 100));
    let (most, events) = scene.witness.most();
    assert!(most <= 100 && events > NODES, "{most} were down at one of {events} events");
    assert!(status.nodes_truncated && status.nodes.len() == 110, "the upgraded ones are left out");
    for node in &status.nodes {
        let number: usize = node.node["sim-".len()..].parse().unwrap();
        let (state, reason) = match number {
            _ if number % 20 == 3 => (NodeUpgradeState::Deferred, "NodeNotReady"),
            _ if number % 20 == 7 => (NodeUpgradeState::Deferred, "NodeFrozen"),
            _ => (NodeUpgradeState::Failed, "RolledBack"),
        };
        assert_eq!((node.state, node.reason.as_deref()), (state, Some(reason)), "{}", node.node);
    }
    // A task is made and removed, and a word is said about all of them now and then: nothing is written for single nodes.
    let written = scene.written() - before;
    assert!(written < 2 * NODES + 200, "{written}: {:?}", scene.writes());
    assert!(scene.metrics().await.contains("safepoint_static_pod_tasks_started_total 900"));
    for number in 0..NODES {
        match number % 20 {
            3 => scene.fleet.set_ready(number, true).await.unwrap(),
            7 => scene.fleet.set_frozen(number, false).await.unwrap(),
            _ => {}
        }
    }
    scene
        .status("they are caught up", |status| status.upgraded_number == 990 && status.deferred_number == 0)
        .await;
    // Those that have failed are mended, and tried again from the beginning.
    for number in (0..NODES).filter(|number| number % 100 == 50) {
        scene.fleet.set_nature(number, Nature::Works);
    }
    let now = crate::clock::Shifted::new().now();
    scene.change(json!({"restartedAt": now.to_string()})).await;
    let status = scene.status("all are upgraded", |status| status.upgraded_number == 1_000).await;
    assert_eq!((status.failed_number, status.deferred_number), (0, 0));
    assert!(scene.witness.most().0 <= 100);
    assert!(scene.fleet.counts().most_down <= 100);
}
