//! Static pods on a real API server: the nodes are simulated, everything else is Kubernetes. The hub has the rights that
//! `deploy/hub` gives it, and no others.

use std::path::Path;

use k8s_openapi::api::core::v1::{ConfigMap, Node, Pod};
use k8s_openapi::api::rbac::v1::ClusterRoleBinding;
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config, ResourceExt};
use safepoint_api::StaticPod;
use safepoint_api::static_pod::StaticPodStatus;
use safepoint_hub::simulated::{Fleet, Nature, Options as FleetOptions, Pace};
use safepoint_supervisor::Supervisor;
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::hub::{RunningHub, options, until};
use crate::world::Plane;

const PACE: Pace = Pace {
    begin: std::time::Duration::from_millis(20),
    ready: std::time::Duration::from_millis(50),
    verify: std::time::Duration::from_millis(20),
};

/// The hub's own account, with what is said of it in `deploy`.
pub(crate) async fn account(plane: &Plane) -> Client {
    let deploy = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy");
    for file in ["hub/namespace.yaml", "crds", "hub/rbac.yaml"] {
        let applied =
            plane.kubernetes.kubectl().args(["apply", "-f"]).arg(deploy.join(file)).output().unwrap();
        assert!(applied.status.success(), "{}", String::from_utf8_lossy(&applied.stderr));
    }
    let kubeconfig = Kubeconfig::read_from(plane.kubernetes.kubeconfig_path()).unwrap();
    let mut config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
    config.auth_info.impersonate = Some("system:serviceaccount:safepoint-system:safepoint-hub".to_owned());
    config.auth_info.impersonate_groups = Some(
        ["system:serviceaccounts", "system:serviceaccounts:safepoint-system", "system:authenticated"]
            .map(str::to_owned)
            .to_vec(),
    );
    Client::try_from(config).unwrap()
}

struct Scene {
    objects: Api<StaticPod>,
    pods: Api<Pod>,
}

impl Scene {
    async fn status(&self, what: &str, is: impl Fn(&StaticPodStatus) -> bool) -> StaticPodStatus {
        until(what, async || {
            let object = self.objects.get("proxy").await.unwrap();
            let status = object.status.unwrap_or_default();
            (status.observed_generation == object.metadata.generation && is(&status)).then_some(status)
        })
        .await
    }

    async fn change(&self, spec: Value) {
        let change = Patch::Merge(json!({"spec": spec}));
        self.objects.patch("proxy", &PatchParams::default(), &change).await.unwrap();
    }
}

fn template(image: &str) -> Value {
    json!({"spec": {"containers": [{"name": "main", "image": image}]}})
}

#[test]
fn a_hub_with_its_own_rights_rolls_a_static_pod_over_a_real_cluster() {
    let plane = Plane::start();
    plane.runtime.block_on(async {
        let _hub = RunningHub::leading(options(&account(&plane).await)).await;
        let client = plane.client(None).await;
        let namespace = plane.kubernetes.namespace().unwrap();
        let manifest = json!({"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": "proxy", "namespace": namespace, "annotations": {}},
            "spec": {"containers": [{"name": "main", "image": "proxy:1"}], "tolerations": [{"operator": "Exists"}]}});
        let options =
            FleetOptions { static_pods: vec![manifest], pace: PACE, ..FleetOptions::new(4) };
        let fleet = Fleet::new(client.clone(), options);
        let supervisor = Supervisor::builder(Default::default()).module(fleet.clone()).build().unwrap();
        let mut tasks = JoinSet::new();
        tasks.spawn(async move { drop(supervisor.run(CancellationToken::new()).await) });
        let scene = Scene {
            objects: Api::namespaced(client.clone(), &namespace),
            pods: Api::namespaced(client.clone(), &namespace),
        };
        until("the nodes are there", async || {
            (scene.pods.list(&ListParams::default()).await.unwrap().items.len() == 4).then_some(())
        })
        .await;

        fleet.set_nature(1, Nature::Fails);
        let object = json!({"apiVersion": "safepoint.dev/v1alpha1", "kind": "StaticPod", "metadata": {"name": "proxy"},
            "spec": {"staticPodName": "proxy", "staticPodManifest": "proxy", "template": template("proxy:2"),
                "upgradeStrategy": {"maxUnavailable": 2, "retry": {"limit": 0}}}});
        let object: StaticPod = serde_json::from_value(object).unwrap();
        scene.objects.create(&PostParams::default(), &object).await.unwrap();
        let status = scene
            .status("all but one are upgraded", |status| status.upgraded_number == 3 && status.failed_number == 1)
            .await;
        let failed = status.nodes.iter().find(|node| node.node == "sim-00001").unwrap();
        assert_eq!(failed.reason.as_deref(), Some("RolledBack"));
        assert!(fleet.counts().most_down <= 2);
        let bindings: Api<ClusterRoleBinding> = Api::all(client.clone());
        bindings.get(&format!("safepoint-static-pod-task-{namespace}")).await.unwrap();

        // A fixed template recovers without anybody cleaning up.
        fleet.set_nature(1, Nature::Works);
        scene.change(json!({"template": template("proxy:3")})).await;
        scene.status("all are upgraded", |status| status.upgraded_number == 4 && status.failed_number == 0).await;
        until("the tasks are gone", async || {
            (scene.pods.list(&ListParams::default()).await.unwrap().items.len() == 4).then_some(())
        })
        .await;

        // OpenYurt's defect 20: one condition is written, and those of the kubelet stay.
        scene.change(json!({"template": template("proxy:4"), "upgradeStrategy": {"type": "OTA"}})).await;
        let status = scene.status("owners decide", |status| status.upgraded_number == 0).await;
        let revision = status.update_revision.unwrap();
        let mirror = until("it lies ready", async || {
            let mirror = scene.pods.get("proxy-sim-00000").await.unwrap();
            (mirror.annotations().get("safepoint.dev/static-pod-staged") == Some(&revision)).then_some(mirror)
        })
        .await;
        let conditions = mirror.status.unwrap().conditions.unwrap();
        let told = conditions.iter().find(|condition| condition.type_ == "PodNeedUpgrade").unwrap();
        assert_eq!((told.status.as_str(), &told.message), ("True", &Some(format!("controllerrevision: {revision}"))));
        assert!(conditions.iter().any(|condition| condition.type_ == "Ready" && condition.status == "True"));

        // What is gone is gone: manifests, tasks, the word to the owners. The pods stay.
        scene.objects.delete("proxy", &DeleteParams::default()).await.unwrap();
        until("it is gone", async || scene.objects.get_opt("proxy").await.unwrap().is_none().then_some(())).await;
        let maps: Api<ConfigMap> = Api::namespaced(client.clone(), &namespace);
        let ours = ListParams::default().labels("safepoint.dev/static-pod");
        assert!(maps.list(&ours).await.unwrap().items.is_empty());
        let mirror = scene.pods.get("proxy-sim-00000").await.unwrap();
        let conditions = mirror.status.unwrap().conditions.unwrap();
        assert!(conditions.iter().any(|it| it.type_ == "PodNeedUpgrade" && it.status == "False"));
        let nodes: Api<Node> = Api::all(client);
        assert_eq!(nodes.list(&ListParams::default()).await.unwrap().items.len(), 4);
    });
}
