//! A controller's wish is withdrawn when its reason is gone.

use k8s_openapi::api::apps::v1::{DaemonSet, Deployment, StatefulSet};
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::ResourceExt;
use kube::api::{Api, DeleteParams, Patch, PatchParams};
use serde_json::{Value, json};

use crate::hub::until;
use crate::world::{HOLD, World, shared};

const CONTROLLERS: &str = "system:serviceaccount:kube-system:";

/// Waits until a controller's wish for the end of a pod is noted.
async fn wished(world: &World<'_>, controller: &str, pod: &str) {
    let user = format!("{CONTROLLERS}{controller}");
    until("the wish of a controller is noted", async || {
        world.wish(pod).await.filter(|wish| wish["by"] == user.as_str())
    })
    .await;
}

async fn withdrawn(world: &World<'_>, pod: &str) {
    until("the wish is withdrawn", async || world.wish(pod).await.is_none().then_some(())).await;
}

/// Lets a pod run that is held.
async fn run_held(world: &World<'_>, pod: &str) {
    world.run(pod).await;
    world.annotate::<Pod>(pod, json!({HOLD: "true"})).await;
    world.until_put_off(pod, true).await;
}

/// Waits until the janitor has looked at everything: a wish that never had a ground is gone.
async fn a_round(world: &World<'_>) {
    world.deployment("canary", 1).await;
    let pod = world.pods_of("canary", 1).await[0].name_any();
    run_held(world, &pod).await;
    let user = format!("{CONTROLLERS}taint-eviction-controller");
    let pods: Api<Pod> = Api::namespaced(world.plane.client(Some(&user)).await, &world.namespace);
    let refused = pods.delete(&pod, &DeleteParams::default()).await;
    assert!(matches!(refused, Err(kube::Error::Api(status)) if status.code == 409));
    wished(world, "taint-eviction-controller", &pod).await;
    withdrawn(world, &pod).await;
}

fn image(image: &str) -> Patch<Value> {
    let containers = json!([{"name": "main", "image": image}]);
    Patch::Strategic(json!({"spec": {"template": {"spec": {"containers": containers}}}}))
}

#[test]
fn a_deployment_that_is_scaled_up_again_does_not_want_its_pods_gone_any_more() {
    shared(async |world| {
        world.deployment("web", 3).await;
        let pods: Vec<String> = world.pods_of("web", 3).await.iter().map(ResourceExt::name_any).collect();
        for pod in &pods {
            run_held(&world, pod).await;
        }
        let replicas = async |count: u32| {
            let change = Patch::Merge(json!({"spec": {"replicas": count}}));
            world.api::<Deployment>().patch("web", &PatchParams::default(), &change).await.unwrap();
        };
        let wishes = async || {
            let mut wished = 0;
            for pod in &pods {
                wished += usize::from(world.wish(pod).await.is_some());
            }
            wished
        };
        replicas(1).await;
        until("two ends are wished", async || (wishes().await == 2).then_some(())).await;
        a_round(&world).await;
        until("two are still to go, whichever", async || (wishes().await == 2).then_some(())).await;
        replicas(2).await;
        until("one is withdrawn", async || (wishes().await == 1).then_some(())).await;
        replicas(3).await;
        until("all are withdrawn", async || (wishes().await == 0).then_some(())).await;
        assert_eq!(world.pods_of("web", 3).await.len(), 3);
    });
}

#[test]
fn a_stateful_set_that_is_rolled_back_does_not_want_its_pod_gone_any_more() {
    shared(async |world| {
        world.stateful_set("db", 1, "RollingUpdate").await;
        world.pods_of("db", 1).await;
        run_held(&world, "db-0").await;
        let sets = world.api::<StatefulSet>();
        sets.patch("db", &PatchParams::default(), &image("rover:v2")).await.unwrap();
        wished(&world, "statefulset-controller", "db-0").await;
        a_round(&world).await;
        assert!(world.wish("db-0").await.is_some(), "it is still to be replaced");
        sets.patch("db", &PatchParams::default(), &image("rover:v1")).await.unwrap();
        withdrawn(&world, "db-0").await;
    });
}

#[test]
fn a_daemon_set_that_is_rolled_back_does_not_want_its_pod_gone_any_more() {
    shared(async |world| {
        world.daemon_set("lidar").await;
        let pod = world.pods_of("lidar", 1).await[0].name_any();
        run_held(&world, &pod).await;
        let sets = world.api::<DaemonSet>();
        sets.patch("lidar", &PatchParams::default(), &image("rover:v2")).await.unwrap();
        wished(&world, "daemon-set-controller", &pod).await;
        a_round(&world).await;
        assert!(world.wish(&pod).await.is_some(), "it is still to be replaced");
        sets.patch("lidar", &PatchParams::default(), &image("rover:v1")).await.unwrap();
        withdrawn(&world, &pod).await;
    });
}

#[test]
fn a_taint_that_is_lifted_drives_nobody_out_any_more() {
    shared(async |world| {
        world.deployment("web", 1).await;
        let pod = world.pods_of("web", 1).await[0].name_any();
        run_held(&world, &pod).await;
        let nodes: Api<Node> = Api::all(world.client.clone());
        let taints = async |taints: Value| {
            let change = Patch::Merge(json!({"spec": {"taints": taints}}));
            nodes.patch(&world.node, &PatchParams::default(), &change).await.unwrap();
        };
        taints(json!([{"key": "broken", "effect": "NoExecute"}])).await;
        until("the wish is noted", async || world.wish(&pod).await).await;
        taints(json!([])).await;
        withdrawn(&world, &pod).await;
    });
}

#[test]
fn a_persons_deletion_stands_whatever_the_controller_wants() {
    shared(async |world| {
        world.deployment("web", 1).await;
        let pod = world.pods_of("web", 1).await[0].name_any();
        run_held(&world, &pod).await;
        let deleted = world.kubectl(&["delete", "pod", &pod, "--as=jane", "--as-group=system:masters"]);
        assert!(!deleted.status.success());
        until("the wish is noted", async || world.wish(&pod).await).await;
        a_round(&world).await;
        assert_eq!(world.wish(&pod).await.unwrap()["by"], "jane");
    });
}
