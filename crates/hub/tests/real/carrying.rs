//! The annotation on a workload: carried to its pods, old and new, and never a rollout.

use futures::StreamExt;
use k8s_openapi::api::apps::v1::{DaemonSet, Deployment, StatefulSet};
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PropagationPolicy, WatchEvent, WatchParams};
use serde_json::json;

use crate::hub::until;
use crate::world::{CARRIED, HOLD, is_carried, is_plain, shared, uids};

#[test]
fn arming_and_disarming_a_deployment_reaches_its_pods_and_replaces_none() {
    shared(async |world| {
        world.deployment("web", 3).await;
        let before = world.pods_of("web", 3).await;
        let template = world.api::<Deployment>().get("web").await.unwrap().spec.unwrap().template;
        world.annotate::<Deployment>("web", json!({HOLD: "true"})).await;
        let armed = world.pods_when("web", 3, is_carried).await;
        assert_eq!(uids(&armed), uids(&before));
        assert!(armed.iter().all(|pod| pod.annotations()[CARRIED] == "Deployment/web"));
        world.annotate::<Deployment>("web", json!({HOLD: null})).await;
        let disarmed = world.pods_when("web", 3, is_plain).await;
        assert_eq!(uids(&disarmed), uids(&before));
        let after = world.api::<Deployment>().get("web").await.unwrap();
        assert_eq!(after.spec.unwrap().template, template);
        assert_eq!(world.replica_sets().await, 1);
    });
}

#[test]
fn stateful_sets_and_daemon_sets_are_carried_too() {
    shared(async |world| {
        world.stateful_set("db", 2, "RollingUpdate").await;
        world.daemon_set("lidar").await;
        let before = (world.pods_of("db", 2).await, world.pods_of("lidar", 1).await);
        world.annotate::<StatefulSet>("db", json!({HOLD: "true"})).await;
        world.annotate::<DaemonSet>("lidar", json!({HOLD: "true"})).await;
        let armed =
            (world.pods_when("db", 2, is_carried).await, world.pods_when("lidar", 1, is_carried).await);
        assert_eq!((uids(&armed.0), uids(&armed.1)), (uids(&before.0), uids(&before.1)));
        assert_eq!(armed.0[0].annotations()[CARRIED], "StatefulSet/db");
        assert_eq!(armed.1[0].annotations()[CARRIED], "DaemonSet/lidar");
        world.annotate::<StatefulSet>("db", json!({HOLD: "no"})).await;
        world.annotate::<DaemonSet>("lidar", json!({HOLD: "True"})).await;
        world.pods_when("db", 2, is_plain).await;
        world.pods_when("lidar", 1, is_plain).await;
    });
}

#[test]
fn pods_that_an_armed_workload_makes_are_born_armed() {
    shared(async |world| {
        world.deployment("web", 1).await;
        world.annotate::<Deployment>("web", json!({HOLD: "true"})).await;
        world.pods_when("web", 1, is_carried).await;
        let pods = world.api::<Pod>();
        let since = pods.list(&ListParams::default()).await.unwrap().metadata.resource_version.unwrap();
        let mut events = std::pin::pin!(pods.watch(&WatchParams::default(), &since).await.unwrap());
        // A rollout makes a ReplicaSet that is as young as its pods.
        let change = json!({"spec": {"replicas": 4, "template": {"spec": {"containers": [{"name": "main", "image": "rover:v2"}]}}}});
        let change = Patch::Strategic(change);
        world.api::<Deployment>().patch("web", &PatchParams::default(), &change).await.unwrap();
        let mut born = 0;
        while born < 3 {
            if let WatchEvent::Added(pod) = events.next().await.unwrap().unwrap() {
                assert!(is_carried(&pod), "{pod:?}");
                born += 1;
            }
        }
    });
}

#[test]
fn a_workload_that_is_armed_from_the_beginning_has_armed_pods_from_the_beginning() {
    shared(async |world| {
        let pods = world.api::<Pod>();
        let since = pods.list(&ListParams::default()).await.unwrap().metadata.resource_version.unwrap();
        let mut events = std::pin::pin!(pods.watch(&WatchParams::default(), &since).await.unwrap());
        world
            .create::<Deployment>(
                json!({"metadata": {"name": "web", "annotations": {HOLD: "true"}}, "spec": {"replicas": 2,
            "selector": {"matchLabels": {"app": "web"}}, "template": {"metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "main", "image": "rover:v1"}]}}}}),
            )
            .await;
        let mut born = 0;
        while born < 2 {
            if let WatchEvent::Added(pod) = events.next().await.unwrap().unwrap() {
                assert!(is_carried(&pod), "{pod:?}");
                born += 1;
            }
        }
    });
}

#[test]
fn a_pod_that_its_owner_has_annotated_is_never_touched() {
    shared(async |world| {
        world.deployment("web", 2).await;
        let pods = world.pods_of("web", 2).await;
        let (own, other) = (pods[0].name_any(), pods[1].name_any());
        world.annotate::<Pod>(&own, json!({HOLD: "false"})).await;
        world.annotate::<Deployment>("web", json!({HOLD: "true"})).await;
        let carried = async |name: &str, wanted: bool| {
            until("the other pod is looked at", async || {
                let pod = world.api::<Pod>().get(name).await.unwrap();
                (is_carried(&pod) == wanted).then_some(())
            })
            .await;
        };
        carried(&other, true).await;
        world.annotate::<Deployment>("web", json!({HOLD: null})).await;
        carried(&other, false).await;
        let own = world.api::<Pod>().get(&own).await.unwrap();
        assert_eq!(own.annotations()[HOLD], "false");
        assert!(!own.annotations().contains_key(CARRIED));
        // What was carried and then taken over by its owner is the owner's.
        world.annotate::<Deployment>("web", json!({HOLD: "true"})).await;
        carried(&other, true).await;
        world.annotate::<Pod>(&other, json!({CARRIED: null})).await;
        world.annotate::<Deployment>("web", json!({HOLD: null})).await;
        world.deployment("canary", 1).await;
        world.annotate::<Deployment>("canary", json!({HOLD: "true"})).await;
        world.pods_when("canary", 1, is_carried).await;
        assert_eq!(world.api::<Pod>().get(&other).await.unwrap().annotations()[HOLD], "true");
    });
}

#[test]
fn the_pods_of_a_workload_that_is_gone_stay_as_they_are() {
    shared(async |world| {
        world.deployment("web", 1).await;
        world.annotate::<Deployment>("web", json!({HOLD: "true"})).await;
        let before = world.pods_when("web", 1, is_carried).await;
        let orphan =
            DeleteParams { propagation_policy: Some(PropagationPolicy::Orphan), ..DeleteParams::default() };
        world.api::<Deployment>().delete("web", &orphan).await.unwrap();
        until("it is gone", async || {
            world.api::<Deployment>().get_opt("web").await.unwrap().is_none().then_some(())
        })
        .await;
        world.deployment("canary", 1).await;
        world.annotate::<Deployment>("canary", json!({HOLD: "true"})).await;
        world.pods_when("canary", 1, is_carried).await;
        let after = world.pods_of("web", 1).await;
        assert_eq!(uids(&after), uids(&before));
        assert!(is_carried(&after[0]));
    });
}

#[test]
fn a_deletion_is_put_off_by_the_annotation_of_the_workload() {
    shared(async |world| {
        world.deployment("web", 1).await;
        let pod = world.pods_of("web", 1).await[0].name_any();
        world.run(&pod).await;
        assert!(!world.is_put_off(&pod).await);
        world.annotate::<Deployment>("web", json!({HOLD: "true"})).await;
        world.until_put_off(&pod, true).await;
        let deployment = json!({"kind": "Deployment", "namespace": world.namespace, "name": "web"});
        let grant = json!({"workload": deployment, "since": "2026-11-15T12:00:00Z", "by": "order-1"});
        world.gate(json!({"state": "Open", "grants": [grant]})).await;
        world.until_put_off(&pod, false).await;
    });
}

#[test]
fn a_wish_never_comes_before_the_hold_that_put_it_off() {
    shared(async |world| {
        world.deployment("web", 1).await;
        let pod = world.pods_of("web", 1).await[0].name_any();
        world.run(&pod).await;
        let pods = world.api::<Pod>();
        let since = pods.list(&ListParams::default()).await.unwrap().metadata.resource_version.unwrap();
        let mut events = std::pin::pin!(pods.watch(&WatchParams::default(), &since).await.unwrap());
        // As a node that sees both in the wrong order would end the pod, whichever way the two are raced.
        world.annotate::<Deployment>("web", json!({HOLD: "true"})).await;
        world.until_put_off(&pod, true).await;
        assert!(pods.delete(&pod, &DeleteParams::default()).await.is_err());
        loop {
            let WatchEvent::Modified(seen) = events.next().await.unwrap().unwrap() else { continue };
            if seen.annotations().contains_key("safepoint.dev/end-wished") {
                assert!(is_carried(&seen), "{seen:?}");
                break;
            }
        }
    });
}
