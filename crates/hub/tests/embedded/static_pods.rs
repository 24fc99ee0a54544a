//! Static pods roll over a simulated fleet.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::ResourceExt;
use kube::api::{Api, ListParams};
use safepoint_api::NodeGate;
use safepoint_api::node_gate::GateState;
use safepoint_api::static_pod::{NodeUpgradeState, StaticPodStatus};
use safepoint_hub::simulated::{Nature, Options as FleetOptions};
use serde_json::{Value, json};

use crate::fleet::{NAME, NAMESPACE, QUICK, Scene, template};

fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

fn is(status: &StaticPodStatus, kind: &str) -> bool {
    status.conditions.iter().any(|condition| condition.type_ == kind && condition.status == "True")
}

fn reasons(status: &StaticPodStatus, state: NodeUpgradeState) -> BTreeMap<String, String> {
    let nodes = status.nodes.iter().filter(|node| node.state == state);
    nodes.map(|node| (node.node.clone(), node.reason.clone().unwrap_or_default())).collect()
}

async fn until<T>(what: &str, look: impl AsyncFnMut() -> Option<T>) -> T {
    crate::hub::until(what, look).await
}

async fn maps(scene: &Scene) -> Vec<ConfigMap> {
    let maps: Api<ConfigMap> = Api::namespaced(scene.admin.clone(), NAMESPACE);
    maps.list(&ListParams::default().labels("safepoint.dev/static-pod=proxy")).await.unwrap().items
}

#[tokio::test(flavor = "multi_thread")]
async fn a_template_rolls_over_the_fleet_within_its_budget_and_then_nothing_is_written() {
    let data = folder();
    let scene = Scene::new(data.path(), 30, QUICK).await;
    scene.make(template("proxy:2"), json!({"maxUnavailable": 4})).await;
    let status = scene
        .status("all are upgraded", |status| is(status, "Success") && status.upgraded_number == 30)
        .await;
    assert_eq!((status.desired_number, status.ready_number, status.failed_number), (30, 30, 0));
    assert_eq!(status.current_revision, status.update_revision);
    assert!(!is(&status, "Failed") && !is(&status, "Upgrading"));
    let (most, _) = scene.witness.most();
    assert!((1..=4).contains(&most), "{most}");
    assert!(scene.fleet.counts().most_down <= 4);
    let mirror = scene.mirror("sim-00003").await.unwrap();
    assert_eq!(mirror.annotations()["openyurt.io/static-pod-hash"], status.update_revision.unwrap());
    until("the tasks are gone", async || scene.tasks().await.is_empty().then_some(())).await;
    let maps = maps(&scene).await;
    assert_eq!(maps.len(), 1);
    assert_eq!(maps[0].immutable, Some(true));
    let object = scene.objects().get(NAME).await.unwrap();
    assert_eq!(object.finalizers(), ["safepoint.dev/static-pod"]);
    // A heartbeat of every node is an event that changes nothing.
    let before = scene.written();
    for number in 0..30 {
        scene.fleet.set_ready(number, true).await.unwrap();
    }
    scene.change(json!({"paused": true})).await;
    scene.status("the change was seen", |_| true).await;
    let written = scene.written() - before;
    assert!(written <= 3, "a status for the new generation and nothing for any node: {written}");
}

/// OpenYurt's defects 1, 2 and 21: one failed worker stopped every node, nobody was told which one and why, and a new template
/// did not help before the failed pod was deleted by hand.
#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_fails_stops_nobody_is_named_and_recovers_with_the_next_template() {
    let data = folder();
    let scene = Scene::new(data.path(), 12, QUICK).await;
    scene.fleet.set_nature(5, Nature::Fails);
    scene.make(template("proxy:bad"), json!({"maxUnavailable": 3, "retry": {"limit": 0}})).await;
    let status = scene
        .status("all but one are upgraded", |status| status.upgraded_number == 11 && is(status, "Failed"))
        .await;
    assert_eq!((status.failed_number, status.desired_number), (1, 12));
    let failed = status.nodes.iter().find(|node| node.state == NodeUpgradeState::Failed).unwrap();
    assert_eq!((&*failed.node, failed.reason.as_deref()), ("sim-00005", Some("RolledBack")));
    assert!(failed.message.as_ref().unwrap().contains("the old manifest is in place again"), "{failed:?}");
    assert_eq!(failed.attempts, Some(1));
    let events: Api<k8s_openapi::api::core::v1::Event> = Api::namespaced(scene.admin.clone(), NAMESPACE);
    let told = until("it is told", async || {
        let all = events.list(&ListParams::default()).await.unwrap().items;
        all.into_iter().find(|event| event.reason.as_deref() == Some("NodeUpgradeFailed"))
    })
    .await;
    assert!(told.message.unwrap().contains("node sim-00005"));
    scene.fleet.set_nature(5, Nature::Works);
    scene.change(json!({"template": template("proxy:good")})).await;
    let status = scene.status("all are upgraded", |status| is(status, "Success")).await;
    assert_eq!((status.upgraded_number, status.failed_number), (12, 0));
    until("the tasks are gone", async || scene.tasks().await.is_empty().then_some(())).await;
    assert!(scene.witness.most().0 <= 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn nodes_that_are_away_or_frozen_are_put_off_and_caught_up() {
    let data = folder();
    let scene = Scene::new(data.path(), 10, QUICK).await;
    scene.fleet.set_ready(2, false).await.unwrap();
    scene.fleet.set_frozen(7, true).await.unwrap();
    scene.make(template("proxy:2"), json!({"maxUnavailable": "50%"})).await;
    let status = scene
        .status("the others are upgraded", |status| status.upgraded_number == 8 && is(status, "Success"))
        .await;
    let put_off = reasons(&status, NodeUpgradeState::Deferred);
    assert_eq!(put_off["sim-00002"], "NodeNotReady");
    assert_eq!(put_off["sim-00007"], "NodeFrozen");
    assert_eq!((status.deferred_number, status.failed_number), (2, 0));
    scene.fleet.set_ready(2, true).await.unwrap();
    scene.fleet.set_frozen(7, false).await.unwrap();
    scene.status("they are caught up", |status| status.upgraded_number == 10).await;
    let gates: Api<NodeGate> = Api::all(scene.admin.clone());
    until("every node says that its gate is open", async || {
        let gates = gates.list(&ListParams::default()).await.unwrap();
        let open = |gate: &&NodeGate| gate.status.as_ref()?.state.filter(|state| *state == GateState::Open);
        (gates.iter().filter_map(|gate| open(&gate)).count() == 10).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_owners_of_nodes_are_told_and_given_the_upgrade_beforehand() {
    let data = folder();
    let scene = Scene::new(data.path(), 6, QUICK).await;
    scene.fleet.set_ready(1, false).await.unwrap();
    scene.make(template("proxy:2"), json!({"type": "OTA"})).await;
    let status = scene
        .status("owners decide", |status| status.update_revision.is_some() && status.desired_number == 6)
        .await;
    let revision = status.update_revision.unwrap();
    for node in ["sim-00000", "sim-00005"] {
        let mirror = until("it lies ready", async || {
            let mirror = scene.mirror(node).await?;
            (mirror.annotations().get("safepoint.dev/static-pod-staged") == Some(&revision)).then_some(mirror)
        })
        .await;
        let conditions = mirror.status.unwrap().conditions.unwrap();
        let told = conditions.iter().find(|condition| condition.type_ == "PodNeedUpgrade").unwrap();
        assert_eq!(told.status, "True");
        assert_eq!(told.message, Some(format!("controllerrevision: {revision}")));
        assert!(conditions.iter().any(|condition| condition.type_ == "Ready"), "what the kubelet says stays");
    }
    until("the staging tasks are gone", async || scene.tasks().await.is_empty().then_some(())).await;
    let away = scene.mirror("sim-00001").await.unwrap();
    assert!(!away.annotations().contains_key("safepoint.dev/static-pod-staged"));
    assert_eq!(scene.witness.most().0, 0, "nothing was changed on any node");
    // The template goes back to what no node lacks: nobody has to be told any more, and what was staged is no longer said.
    scene.change(json!({"upgradeStrategy": {"type": "AdvancedRollingUpdate"}})).await;
    scene.status("the cluster does it", |status| status.upgraded_number == 5).await;
    let mirror = scene.mirror("sim-00000").await.unwrap();
    let conditions = mirror.status.unwrap().conditions.unwrap();
    assert!(
        !conditions.iter().any(|condition| condition.type_ == "PodNeedUpgrade" && condition.status == "True")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn picked_nodes_get_the_pod_and_give_back_only_what_they_were_given() {
    let data = folder();
    let labels = BTreeMap::from([("zone".to_owned(), "a".to_owned())]);
    let scene = Scene::with(data.path(), FleetOptions { labels, pace: QUICK, ..FleetOptions::new(6) }).await;
    let install = |zone: &str| json!({"maxUnavailable": 6, "install": {"nodeSelector": {"zone": zone}, "unselected": "Remove"}});
    scene.make(template("proxy:1"), install("a")).await;
    let status =
        scene.status("all have it", |status| status.upgraded_number == 6 && is(status, "Success")).await;
    assert_eq!(status.desired_number, 6);
    let mirror = scene.mirror("sim-00000").await.unwrap();
    assert_eq!(mirror.annotations()["safepoint.dev/static-pod-installed"], "true");
    scene.change(json!({"template": template("proxy:2")})).await;
    scene
        .status("all have the next one", |status| status.upgraded_number == 6 && is(status, "Success"))
        .await;
    let mirror = scene.mirror("sim-00000").await.unwrap();
    assert_eq!(mirror.annotations()["safepoint.dev/static-pod-installed"], "true", "it stays known as that");
    scene.change(json!({"upgradeStrategy": install("b")})).await;
    scene.status("nobody has it", |status| status.desired_number == 0).await;
    assert!(scene.mirror("sim-00000").await.is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_that_is_deleted_takes_its_tasks_and_manifests_and_leaves_the_pods() {
    let data = folder();
    let scene = Scene::new(data.path(), 8, QUICK).await;
    scene.fleet.set_nature(0, Nature::Fails);
    scene.make(template("proxy:2"), json!({"maxUnavailable": 8})).await;
    scene
        .status("it has failed on one", |status| status.upgraded_number == 7 && status.failed_number == 1)
        .await;
    assert!(!maps(&scene).await.is_empty() && !scene.tasks().await.is_empty());
    scene.delete().await;
    until("it is gone", async || scene.objects().get_opt(NAME).await.unwrap().is_none().then_some(())).await;
    assert!(maps(&scene).await.is_empty());
    until("the tasks are gone", async || scene.tasks().await.is_empty().then_some(())).await;
    assert!(scene.mirror("sim-00003").await.is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn revisions_are_kept_to_go_back_to_and_no_more_than_asked_for() {
    let data = folder();
    let scene = Scene::new(data.path(), 3, QUICK).await;
    let upgraded = async |image: &str| {
        scene.change(json!({"template": template(image)})).await;
        let status = scene
            .status("all are upgraded", |status| is(status, "Success") && status.upgraded_number == 3)
            .await;
        status.update_revision.unwrap()
    };
    scene.make(template("proxy:0"), json!({"maxUnavailable": 3})).await;
    scene.change(json!({"revisionHistoryLimit": 2})).await;
    let mut revisions = Vec::new();
    for image in ["proxy:1", "proxy:2", "proxy:3", "proxy:4"] {
        revisions.push(upgraded(image).await);
    }
    let kept = until("the oldest are gone", async || {
        let maps = maps(&scene).await;
        (maps.len() <= 3).then_some(maps)
    })
    .await;
    let kept: Vec<String> =
        kept.iter().map(|map| map.labels()["safepoint.dev/static-pod-revision"].clone()).collect();
    for revision in &revisions[1..] {
        assert!(kept.contains(revision), "{revision} of {kept:?}");
    }
    let stored: Value = serde_json::from_str(
        &maps(&scene)
            .await
            .iter()
            .find(|map| map.labels()["safepoint.dev/static-pod-revision"] == revisions[1])
            .unwrap()
            .data
            .as_ref()
            .unwrap()["template.json"],
    )
    .unwrap();
    scene.change(json!({"template": stored})).await;
    let back =
        scene.status("all went back", |status| is(status, "Success") && status.upgraded_number == 3).await;
    assert_eq!(back.update_revision.as_ref(), Some(&revisions[1]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hub_that_takes_over_goes_on_and_makes_nothing_twice() {
    let data = folder();
    let mut scene = Scene::new(data.path(), 40, QUICK).await;
    scene.make(template("proxy:2"), json!({"maxUnavailable": 4})).await;
    for upgraded in [5, 15, 25] {
        scene.status("some are upgraded", |status| status.upgraded_number >= upgraded).await;
        scene.another_hub().await;
    }
    scene.status("all are upgraded", |status| is(status, "Success") && status.upgraded_number == 40).await;
    let counts = scene.fleet.counts();
    assert_eq!((counts.succeeded, counts.failed), (40, 0), "each node was upgraded once");
    assert!(scene.witness.most().0 <= 4, "{:?}", scene.witness.most());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_carried_out_is_refused_or_said() {
    let data = folder();
    let scene = Scene::new(data.path(), 2, QUICK).await;
    scene.make(template("proxy:2"), json!({"maxUnavailable": 2})).await;
    scene.status("all are upgraded", |status| status.upgraded_number == 2).await;
    // The webhook is asked as soon as it is registered.
    let refused = until("it is refused", async || {
        let mut bad = template("proxy:3");
        bad["spec"]["serviceAccountName"] = json!("default");
        let change = kube::api::Patch::Merge(json!({"spec": {"template": bad}}));
        let params = kube::api::PatchParams { dry_run: true, ..Default::default() };
        match scene.objects().patch(NAME, &params, &change).await {
            Err(kube::Error::Api(status)) => Some(status),
            Ok(_) | Err(_) => None,
        }
    })
    .await;
    assert!(refused.message.contains("spec.template.spec.serviceAccountName"), "{}", refused.message);
    // Another object about the same static pod.
    let mut other = scene.objects().get(NAME).await.unwrap();
    other.metadata = kube::core::ObjectMeta { name: Some("other".into()), ..Default::default() };
    other.status = None;
    scene.objects().create(&kube::api::PostParams::default(), &other).await.unwrap();
    let said = until("it is said", async || {
        let status = scene.objects().get("other").await.unwrap().status?;
        status
            .conditions
            .into_iter()
            .find(|condition| condition.type_ == "Failed" && condition.status == "True")
    })
    .await;
    assert_eq!(said.reason, "StaticPodTaken");
    assert!(said.message.contains("proxy"));
}
