//! Orders from the cluster, through the NodeGate, and the veto of the machine.

use serde_json::{Value, json};

use super::world::{NODE, World, held};

const GATE: &str = "/apis/safepoint.dev/v1alpha1/nodegates/rover-7";

async fn until_gate(world: &World, what: &str, is: impl Fn(&Value) -> bool) -> Value {
    world
        .until(what, async |world| {
            let gate = world.get(GATE).await.1;
            is(&gate).then_some(gate)
        })
        .await
}

/// Writes this into the spec of the gate. The hub makes the gate when it sees the node, which may be later than the node runs pods.
async fn wish(world: &World, spec: Value) {
    world.until("the NodeGate is there", async |world| (world.get(GATE).await.0 == 200).then_some(())).await;
    world.merge(GATE, json!({ "spec": spec })).await;
}

async fn order(world: &World, order: Value) -> Value {
    let id = order["id"].as_str().unwrap().to_owned();
    wish(world, json!({"orders": [order]})).await;
    let gate = until_gate(world, "the order is answered", |gate| {
        gate["status"]["orders"]
            .as_array()
            .is_some_and(|orders| orders.iter().any(|order| order["id"] == id.as_str()))
    })
    .await;
    gate["status"]["orders"]
        .as_array()
        .unwrap()
        .iter()
        .find(|order| order["id"] == id.as_str())
        .unwrap()
        .clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_admin_releases_a_held_upgrade_from_the_cluster_once() {
    let mut world = World::new().await;
    let uid = world.pod("rover", held()).await;
    world.until_ready("rover").await;
    let before = world.run_of(&uid);
    world.push("rover", "rover:v2").await;
    let gate = until_gate(&world, "the NodeGate shows it", |gate| gate["status"]["heldCount"] == 1).await;
    assert_eq!(gate["status"]["held"][0]["name"], "rover");
    let release = json!({"id": "r-1", "release": {"pod": {"namespace": "default", "name": "rover"}}});
    let answer = order(&world, release).await;
    assert_eq!(answer["phase"], "Obeyed", "{answer}");
    let after = world.until("it runs anew", async |world| world.run(&uid).filter(|run| *run != before)).await;
    world.until_ready("rover").await;

    // The same order is there after a restart and is not obeyed again.
    world.push("rover", "rover:v3").await;
    world.until_held("rover").await;
    world.kill_agent();
    world.start_agent();
    until_gate(&world, "the agent has read its orders", |gate| {
        gate["status"]["observedGeneration"] == gate["metadata"]["generation"]
            && gate["status"]["heldCount"] == 1
    })
    .await;
    assert!(after.is_alive() && world.run_of(&uid) == after);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_order_for_another_revision_than_the_pending_one_is_refused() {
    let world = World::new().await;
    world.pod("rover", held()).await;
    world.until_ready("rover").await;
    world.push("rover", "rover:v2").await;
    world.until_held("rover").await;
    let release = json!({"id": "r-1", "release": {"pod": {"namespace": "default", "name": "rover"}, "revision": "abc"}});
    let answer = order(&world, release).await;
    assert_eq!(
        (&answer["phase"], &answer["reason"]),
        (&json!("Refused"), &json!("AnotherRevision")),
        "{answer}"
    );
    assert_eq!(world.why("rover").await["verdict"], "Held");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_machine_vetoes_a_thaw_and_an_override_sets_its_veto_aside_on_record() {
    let world = World::new().await;
    assert_eq!(world.freeze("mission").await.0, 201);
    let answer = order(&world, json!({"id": "t-1", "thaw": {}})).await;
    assert_eq!(answer["phase"], "Vetoed", "{answer}");
    assert_eq!(world.state().await, "Frozen");
    let over = json!({"id": "t-2", "thaw": {}, "override": {"reason": "fire in the hangar", "for": "1h"}});
    let answer = order(&world, over).await;
    assert_eq!(answer["phase"], "Obeyed", "{answer}");
    world.until("the node opens", async |world| (world.state().await == "Open").then_some(())).await;
    let status = world.local("GET", "/v1/status", None).await.1;
    assert!(status["holds"][0]["suspendedUntil"].is_string(), "it is on record and comes back: {status}");
    let log = world.local("GET", "/v1/log", None).await.1.to_string();
    assert!(log.contains("overridden") && log.contains("fire in the hangar"), "{log}");
}

/// A hold of the freeze's name had the freeze refused, and the cluster was told that it was obeyed.
#[tokio::test(flavor = "multi_thread")]
async fn no_program_can_take_the_name_of_the_clusters_freeze_before_it_does() {
    let world = World::new().await;
    for (path, id) in
        [("/v1/holds", "cluster"), ("/v1/holds", "cluster.audit"), ("/v1/freeze", "cluster.audit")]
    {
        let body = json!({"id": id, "reason": "mine", "scope": {"kind": "Node"}});
        let body = if path == "/v1/freeze" { json!({"id": id, "reason": "mine"}) } else { body };
        let (code, refused) = world.local("POST", path, Some(body)).await;
        assert_eq!((code, &refused["reason"]), (400, &json!("BadRequest")), "{refused}");
        assert!(refused["message"].as_str().unwrap().contains("names of the cluster's"), "{refused}");
    }
    world.until("the NodeGate is there", async |world| (world.get(GATE).await.0 == 200).then_some(())).await;
    world.merge(GATE, json!({"spec": {"freeze": {"id": "audit", "reason": "audit"}}})).await;
    let gate = until_gate(&world, "it is frozen", |gate| gate["status"]["state"] == "Frozen").await;
    assert_eq!(gate["status"]["holds"][0]["id"], "cluster.audit", "{gate}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_freeze_in_the_spec_freezes_and_taking_it_out_thaws() {
    let mut world = World::new().await;
    let uid = world.pod("rover", json!({})).await;
    world.until_ready("rover").await;
    let before = world.run_of(&uid);
    wish(&world, json!({"freeze": {"reason": "audit", "holder": "fleet-ops"}})).await;
    let gate = until_gate(&world, "it is frozen", |gate| gate["status"]["state"] == "Frozen").await;
    assert_eq!(
        (&gate["status"]["holder"], &gate["status"]["reason"]),
        (&json!("fleet-ops"), &json!("audit"))
    );
    let node = world.get(&format!("/api/v1/nodes/{NODE}")).await.1;
    let conditions = node["status"]["conditions"].as_array().unwrap();
    assert!(
        conditions
            .iter()
            .any(|condition| condition["type"] == "ChangeFreeze" && condition["status"] == "True"),
        "{node}"
    );
    world.push("rover", "rover:v2").await;
    world.until_held("rover").await;

    // Whoever deletes the NodeGate takes nothing back: the hub makes it anew, and the node stays frozen.
    world.delete(GATE).await;
    let uid_of = |gate: &Value| gate["metadata"]["uid"].clone();
    let old = uid_of(&gate);
    until_gate(&world, "the NodeGate is there again, and shows a frozen node", |gate| {
        uid_of(gate) != old && gate["status"]["state"] == "Frozen"
    })
    .await;
    world.kill_agent();
    world.start_agent();
    assert!(before.is_alive() && world.state().await == "Frozen");

    // Ordered anew and taken back, it ends.
    wish(&world, json!({"freeze": {"reason": "audit"}})).await;
    until_gate(&world, "the agent has read it", |gate| {
        gate["status"]["observedGeneration"] == gate["metadata"]["generation"]
    })
    .await;
    wish(&world, json!({"freeze": null})).await;
    world.until("the node opens", async |world| (world.state().await == "Open").then_some(())).await;
    world.until("the update passes", async |world| world.run(&uid).filter(|run| *run != before)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_freeze_whose_lease_has_ended_is_not_taken_again_under_its_id() {
    let mut world = World::new().await;
    world.until("the NodeGate is there", async |world| (world.get(GATE).await.0 == 200).then_some(())).await;
    let freeze = json!({"id": "night", "reason": "night", "lease": {"for": "2s", "onExpiry": "ThawIfSafe"}});
    wish(&world, json!({"freeze": freeze})).await;
    world.until("it is frozen", async |world| (world.state().await == "Frozen").then_some(())).await;
    world.until("it has ended", async |world| (world.state().await == "Open").then_some(())).await;
    world.kill_agent();
    world.start_agent();
    until_gate(&world, "the agent has read its orders", |gate| {
        gate["status"]["observedGeneration"] == gate["metadata"]["generation"]
            && gate["status"]["state"] == "Open"
    })
    .await;
    assert_eq!(world.state().await, "Open");
}

/// The NodeGate went on naming the version that was held first, so that a release for what it named was refused.
#[tokio::test(flavor = "multi_thread")]
async fn the_cluster_is_told_of_a_newer_version_of_what_is_held_already() {
    let world = World::new().await;
    world.pod("rover", held()).await;
    world.until_ready("rover").await;
    let named = async |world: &World, not: &Value| {
        let revision = world.get(GATE).await.1["status"]["held"][0]["toRevision"].clone();
        (revision.is_string() && revision != *not).then_some(revision)
    };
    world.push("rover", "rover:v2").await;
    let first = world.until("the first is named", async |world| named(world, &Value::Null).await).await;
    world.push("rover", "rover:v3").await;
    let second = world.until("the second is named", async |world| named(world, &first).await).await;
    assert_eq!(second, world.why("rover").await["change"]["toRevision"]);
}
