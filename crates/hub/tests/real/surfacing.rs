//! What is held shows on the workload.

use k8s_openapi::api::apps::v1::{Deployment, DeploymentCondition};
use k8s_openapi::api::core::v1::Event;
use kube::api::{ListParams, Patch, PatchParams};
use serde_json::{Value, json};

use crate::hub::until;
use crate::world::{HOLD, World, shared};

pub(crate) fn held(world: &World<'_>, kind: &str, name: &str) -> Value {
    json!({"kind": "Pod", "namespace": world.namespace, "name": "p", "change": "Stop", "since": "2026-11-15T12:00:00Z",
        "why": "because", "heldBy": [HOLD], "workload": {"kind": kind, "namespace": world.namespace, "name": name}})
}

pub(crate) async fn condition(world: &World<'_>, name: &str) -> Option<DeploymentCondition> {
    let status = world.api::<Deployment>().get(name).await.unwrap().status?;
    status.conditions?.into_iter().find(|condition| condition.type_ == "HeldUpgrade")
}

pub(crate) async fn events(world: &World<'_>, kind: &str) -> Vec<Event> {
    let of = ListParams::default().fields(&format!("involvedObject.kind={kind},reason=UpgradeHeld"));
    world.api::<Event>().list(&of).await.unwrap().items
}

#[test]
fn a_deployment_whose_changes_are_held_says_so_until_they_are_not() {
    shared(async |world| {
        world.deployment("web", 1).await;
        world.gate(json!({"state": "Open", "held": [held(&world, "Deployment", "web")]})).await;
        let shown = until("the condition", async || condition(&world, "web").await).await;
        assert_eq!((&*shown.status, shown.reason.as_deref()), ("True", Some("UpdateHoldActive")));
        let text = shown.message.unwrap();
        let node = &world.node;
        assert!(text.contains(&format!("held on node {node} (annotated to hold its upgrades)")), "{text}");
        assert!(
            text.contains(&format!(
                "`safepoint release deployment/web -n {} --node {node}`",
                world.namespace
            )),
            "{text}"
        );
        let told = events(&world, "Deployment").await;
        assert_eq!((told.len(), told[0].message.as_deref()), (1, Some(&*text)));
        let described = world.kubectl(&["describe", "deployment", "web"]);
        let described = String::from_utf8(described.stdout).unwrap();
        assert!(described.contains("HeldUpgrade") && described.contains("UpgradeHeld"), "{described}");

        // The controller of Deployments writes its own conditions all the time and leaves ours.
        let more = Patch::Merge(json!({"spec": {"replicas": 2}}));
        world.api::<Deployment>().patch("web", &PatchParams::default(), &more).await.unwrap();
        world.pods_of("web", 2).await;
        until("the controller has looked", async || {
            let web = world.api::<Deployment>().get("web").await.unwrap();
            (web.status.unwrap().observed_generation == web.metadata.generation).then_some(())
        })
        .await;
        assert_eq!(condition(&world, "web").await.unwrap().status, "True");

        world.gate(json!({"state": "Open"})).await;
        let over = until("nothing is held", async || {
            condition(&world, "web").await.filter(|condition| condition.status == "False")
        })
        .await;
        assert_eq!(over.reason.as_deref(), Some("Released"));
        assert_eq!(events(&world, "Deployment").await.len(), 1);
    });
}

#[test]
fn stateful_sets_and_daemon_sets_get_an_event() {
    shared(async |world| {
        world.stateful_set("db", 1, "RollingUpdate").await;
        world.daemon_set("lidar").await;
        let both = [
            held(&world, "StatefulSet", "db"),
            held(&world, "DaemonSet", "lidar"),
            held(&world, "DaemonSet", "gone"),
        ];
        world.gate(json!({"state": "Open", "held": both})).await;
        for kind in ["StatefulSet", "DaemonSet"] {
            let told =
                until("the event", async || Some(events(&world, kind).await).filter(|told| !told.is_empty()))
                    .await;
            assert_eq!((told.len(), told[0].type_.as_deref()), (1, Some("Normal")));
        }
    });
}
