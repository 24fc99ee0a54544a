//! What happens at a gate, as Events: about the pod that it happens to, about the Node, and about the NodeGate with who and why.

use serde_json::{Value, json};

use super::world::{World, held};

const GATE: &str = "/apis/safepoint.dev/v1alpha1/nodegates/rover-7";

/// Waits for an Event about something, with words in its message.
async fn until_told(world: &World, kind: &str, reason: &str, words: &str) -> Value {
    world
        .until(&format!("{reason} about a {kind}: {words}"), async |world| {
            let events = world.get("/api/v1/events").await.1;
            let told = |event: &&Value| {
                event["involvedObject"]["kind"] == kind
                    && event["reason"] == reason
                    && event["message"].as_str().is_some_and(|message| message.contains(words))
            };
            events["items"].as_array()?.iter().find(told).cloned()
        })
        .await
}

#[tokio::test(flavor = "multi_thread")]
async fn every_transition_is_told_with_who_and_why() {
    let world = World::new().await;
    world.until("the NodeGate is there", async |world| (world.get(GATE).await.0 == 200).then_some(())).await;
    let uid = world.pod("rover", held()).await;
    world.until_ready("rover").await;
    world.push("rover", "rover:v2").await;
    let event = until_told(&world, "Pod", "UpgradeHeld", "is annotated to hold its upgrades").await;
    assert_eq!(event["involvedObject"]["uid"], uid.as_str());
    assert_eq!(world.release("rover").await.0, 200);
    until_told(&world, "Pod", "ChangeAdmitted", "the update of pod default/rover").await;
    until_told(&world, "Pod", "UpgradeNoLongerHeld", "pod default/rover").await;
    until_told(&world, "Node", "ReleaseSettled", "pod default/rover").await;

    let hold = json!({"id": "arm", "reason": "the arm moves", "scope": {"kind": "Node"}});
    let (code, answer) = world.local("POST", "/v1/holds", Some(hold)).await;
    assert_eq!(code, 201, "{answer}");
    until_told(&world, "NodeGate", "Recorded", "hold arm on").await;
    assert_eq!(world.local("DELETE", "/v1/holds/arm", None).await.0, 200);
    until_told(&world, "NodeGate", "Recorded", "hold arm dropped, by ").await;

    let (code, frozen) = world.freeze("mission-7").await;
    assert_eq!(code, 201, "{frozen}");
    until_told(&world, "Node", "GateFrozen", ": mission").await;
    let event = until_told(&world, "NodeGate", "Recorded", ": mission").await;
    let gate = world.get(GATE).await.1;
    assert_eq!(
        event["involvedObject"]["uid"], gate["metadata"]["uid"],
        "so that `kubectl describe` shows it"
    );
    assert_eq!(world.thaw().await.0, 200);
    until_told(&world, "Node", "GateOpen", "the node is ").await;
}
