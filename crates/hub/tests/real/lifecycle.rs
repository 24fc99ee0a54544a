//! The pod lifecycle on a real API server, with a kubelet that is held to what kubelets may do.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet, StatefulSet};
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kube::api::{Api, ListParams, Patch, PatchParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config, ResourceExt};
use safepoint_core::lifecycle::SERVICE_READY;
use safepoint_hub::{Features, Options};
use serde_json::{Value, json};

use crate::core_lifecycle::{PROTECTION, wire};
use crate::hub::{RunningHub, options, until};
use crate::lifecycle_stories as stories;
use crate::review;
use crate::stage::{Stage, condition, labels_of};
use crate::world::{Plane, World, shared};

pub(crate) async fn stage(world: &World<'_>) -> Stage {
    let client = async |user: &str, group: &str| {
        let kubeconfig = Kubeconfig::read_from(world.plane.kubernetes.kubeconfig_path()).unwrap();
        let mut config =
            Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
        config.auth_info.impersonate = Some(user.to_owned());
        config.auth_info.impersonate_groups = Some(vec![group.to_owned(), "system:authenticated".to_owned()]);
        // A client that asks again by itself would never show that an eviction is put off.
        config.default_retry = false;
        Client::try_from(config).unwrap()
    };
    Stage {
        hub: world.client.clone(),
        jane: client("jane", "system:masters").await,
        kubelet: client(&format!("system:node:{}", world.node), "system:nodes").await,
        namespace: world.namespace.clone(),
        node: world.node.clone(),
    }
}

macro_rules! told {
    ($($story:ident)*) => {$(
        #[test]
        fn $story() {
            shared(async |world| stories::$story(stage(&world).await).await);
        }
    )*};
}

told! {
    mutations readiness deletions table weakness_1_and_2 weakness_3 weakness_4 weakness_6_and_7 weakness_8 weakness_9
    weakness_14 weakness_16 weakness_19 a_kubelets_writes_are_its_own cancelled graceful_deletion a_service_that_is_gone
}

#[test]
fn checks() {
    shared(async |world| {
        let configurations: Api<ValidatingWebhookConfiguration> = Api::all(world.client.clone());
        let configuration = configurations.get("safepoint").await.unwrap();
        stories::checks(stage(&world).await, async |pod: Value| review::ask(&configuration, pod).await).await;
    });
}

/// Why a kubelet's writes are not asked about: an API server that lets a webhook change a label in one refuses it.
#[test]
fn a_kubelet_may_not_change_labels_with_a_status() {
    shared(async |world| {
        let stage = stage(&world).await;
        stage.undeclared("web").await;
        let change = json!({"metadata": {"labels": {"a": "b"}}, "status": {"conditions": [{"type": "Ready", "status": "True"}]}});
        let pods = stage.pods(&stage.kubelet);
        let refused = pods.patch_status("web", &PatchParams::default(), &Patch::Strategic(change)).await;
        assert!(matches!(refused, Err(kube::Error::Api(status)) if status.code == 403));
    });
}

/// The rights of `deploy/hub` are enough for it.
#[test]
fn a_hub_that_ends_in_the_middle_is_followed_by_one_that_goes_on() {
    let plane = Plane::start();
    plane.runtime.block_on(async {
        let client = crate::static_pods::account(&plane).await;
        let hub = || Options { features: Features { grace_delete: true }, ..options(&client) };
        let first = RunningHub::leading(hub()).await;
        let world = plane.world(first.address).await;
        world.asked().await;
        let stage = stage(&world).await;
        stage.serving("web").await;
        stage.serving("old").await;
        stage.begin("web", "1", "update").await;
        assert_eq!(stage.delete("old", false).await.unwrap_err().code, 403);
        until("both prepare", async || {
            let (one, other) = (stage.labels("web").await, stage.labels("old").await);
            (one.contains("preparing/1") && other.contains("preparing/pod-delete")).then_some(())
        })
        .await;
        first.kill().await;
        // Everybody goes on writing, and nobody is refused.
        for name in ["web", "old"] {
            stage.act(name).await;
            stage.act(name).await;
        }
        let second = RunningHub::leading(hub()).await;
        stage.until_may_act("web", "1").await;
        second.kill().await;
        stage.finish("web", "1").await;
        let _third = RunningHub::leading(hub()).await;
        stage.settle("web").await;
        stage.until("web", &["service-available"], true).await;
        stage.until_gone("old").await;
    });
}

/// A template whose pods take part.
fn controlled(name: &str, node: &str) -> Value {
    json!({"metadata": {"labels": {"app": name, "kusionstack.io/control": "true"}},
        "spec": {"nodeName": node, "terminationGracePeriodSeconds": 1, "containers": [{"name": "main", "image": "rover:v1"}]}})
}

async fn deployment(world: &World<'_>, stage: &Stage, name: &str, replicas: u32) -> Vec<String> {
    let _: Deployment = world
        .create(json!({"metadata": {"name": name}, "spec": {"replicas": replicas,
            "selector": {"matchLabels": {"app": name}}, "template": controlled(name, &world.node)}}))
        .await;
    let pods = world.pods_of(name, usize::try_from(replicas).unwrap()).await;
    let names: Vec<String> = pods.iter().map(ResourceExt::name_any).collect();
    for name in &names {
        stage.settle(name).await;
    }
    names
}

/// Everybody around the pods acts until it is so.
async fn until_acting(stage: &Stage, app: &str, what: &str, is_so: impl Fn(&[Pod]) -> bool) {
    let of_app = kube::api::ListParams::default().labels(&format!("app={app}"));
    until(what, async || {
        let pods = stage.pods(&stage.hub).list(&of_app).await.unwrap().items;
        if is_so(&pods) {
            return Some(());
        }
        for pod in pods {
            let name = pod.name_any();
            if pod.metadata.deletion_timestamp.is_some() {
                let last = kube::api::DeleteParams { grace_period_seconds: Some(0), ..Default::default() };
                if !pod.finalizers().is_empty() {
                    stage.protect(&name, false).await;
                }
                let _ = stage.pods(&stage.kubelet).delete(&name, &last).await;
            } else {
                stage.act(&name).await;
            }
        }
        None
    })
    .await;
}

#[test]
fn kubectl_drain_waits_until_the_pods_are_out_of_service_and_ends() {
    shared(async |world| {
        let stage = stage(&world).await;
        stage.serving("arm").await;
        stage.label(&stage.jane, "arm", &[("example.com/app", Some("arm"))]).await;
        let mut kubectl = world.plane.kubernetes.kubectl();
        let arguments =
            ["drain", &world.node, "--force", "--timeout=120s", "--pod-selector=example.com/app=arm"];
        let mut drain =
            kubectl.args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(drain.stderr.take().unwrap()).lines();
        let retries =
            lines.find(|line| line.as_ref().unwrap().contains("will retry after 5s")).unwrap().unwrap();
        assert!(retries.contains("being managed by PodOpsLifecycle with finalizers"), "{retries}");
        stage.until_gone("arm").await;
        let rest: Vec<String> = lines.map(|line| line.unwrap()).collect();
        assert!(drain.wait().unwrap().success(), "{rest:?}");
    });
}

/// An API server asks webhooks about an eviction before it looks at budgets: the hub has to.
#[test]
fn evictions_of_all_pods_at_once_keep_to_the_disruption_budget() {
    shared(async |world| {
        let stage = stage(&world).await;
        let names = deployment(&world, &stage, "web", 3).await;
        let budgets = world.api::<PodDisruptionBudget>();
        let _: PodDisruptionBudget = world
            .create(json!({"metadata": {"name": "web"}, "spec": {"minAvailable": 2,
                "selector": {"matchLabels": {"app": "web"}}}}))
            .await;
        until("the budget is counted", async || {
            let status = budgets.get("web").await.unwrap().status?;
            (status.disruptions_allowed == 1).then_some(())
        })
        .await;
        for name in &names {
            assert_eq!(stage.evict(name).await.unwrap_err().code, 429);
        }
        until_acting(&stage, "web", "one is replaced", |pods| {
            let here = || pods.iter().filter(|pod| pod.metadata.deletion_timestamp.is_none());
            let ready = here().filter(|pod| condition(pod, "Ready") == Some(true)).count();
            assert!(ready >= 2, "the budget wants two of them");
            ready == 3 && here().any(|pod| !names.contains(&pod.name_any()))
        })
        .await;
    });
}

#[test]
fn a_deployment_is_scaled_down_through_the_lifecycle_and_as_many_go_as_are_too_many() {
    shared(async |world| {
        let stage = stage(&world).await;
        let before = deployment(&world, &stage, "web", 3).await;
        let scale = Patch::Merge(json!({"spec": {"replicas": 2}}));
        world.api::<Deployment>().patch("web", &PatchParams::default(), &scale).await.unwrap();
        until_acting(&stage, "web", "two are left, in service", |pods| {
            pods.len() == 2 && pods.iter().all(|pod| labels_of(pod).contains("service-available"))
        })
        .await;
        let left = world.pods_of("web", 2).await;
        assert!(left.iter().all(|pod| before.contains(&pod.name_any())), "those that stay were not touched");
        assert!(left.iter().all(|pod| !labels_of(pod).contains("to-delete")));
    });
}

/// Weakness 16, for those who cannot take a label off: a controller.
#[test]
fn a_deployment_that_is_scaled_up_again_keeps_its_pods() {
    shared(async |world| {
        let stage = stage(&world).await;
        let before = deployment(&world, &stage, "web", 2).await;
        let replicas = async |count: u32| {
            let change = Patch::Merge(json!({"spec": {"replicas": count}}));
            world.api::<Deployment>().patch("web", &PatchParams::default(), &change).await.unwrap();
        };
        replicas(1).await;
        let wished = until("one is to go", async || {
            let mut all = Vec::new();
            for name in &before {
                all.push((name.clone(), stage.labels(name).await.contains("preparing/pod-delete")));
            }
            all.into_iter().find(|(_, wished)| *wished)
        })
        .await;
        replicas(2).await;
        until("nobody wants it gone any more", async || {
            (!stage.labels(&wished.0).await.contains("to-delete")).then_some(())
        })
        .await;
        stage.settle(&wished.0).await;
        let after: Vec<String> = world.pods_of("web", 2).await.iter().map(ResourceExt::name_any).collect();
        assert_eq!(after, before);
    });
}

#[test]
fn a_rollout_replaces_every_pod_and_none_dies_in_service() {
    shared(async |world| {
        let stage = stage(&world).await;
        let before = deployment(&world, &stage, "web", 2).await;
        let restarted = world.kubectl(&["rollout", "restart", "deployment/web"]);
        assert!(restarted.status.success(), "{restarted:?}");
        until_acting(&stage, "web", "all are new, and in service", |pods| {
            let in_service = |pod: &Pod| {
                condition(pod, SERVICE_READY) == Some(true) && pod.metadata.deletion_timestamp.is_some()
            };
            assert!(!pods.iter().any(in_service), "one was deleted with its gate open");
            let is_new =
                |pod: &Pod| !before.contains(&pod.name_any()) && labels_of(pod).contains("service-available");
            pods.len() == 2 && pods.iter().all(is_new)
        })
        .await;
    });
}

#[test]
fn a_stateful_set_replaces_its_pod_under_the_same_name() {
    shared(async |world| {
        let stage = stage(&world).await;
        let _: StatefulSet = world
            .create(json!({"metadata": {"name": "db"}, "spec": {"replicas": 1, "serviceName": "db",
                "selector": {"matchLabels": {"app": "db"}}, "template": controlled("db", &world.node)}}))
            .await;
        let before = world.pods_of("db", 1).await.remove(0);
        stage.settle("db-0").await;
        assert_eq!(stage.delete("db-0", false).await.unwrap_err().code, 403);
        until_acting(&stage, "db", "it is a new one, in service", |pods| {
            pods.len() == 1
                && pods[0].uid() != before.uid()
                && labels_of(&pods[0]).contains("service-available")
                && !labels_of(&pods[0]).contains("to-delete")
        })
        .await;
    });
}

#[test]
fn what_nobody_here_knows_of_a_pod_is_kept() {
    shared(async |world| {
        let stage = stage(&world).await;
        let spec = json!({"hostUsers": false, "initContainers": [{"name": "side", "image": "side:v1", "restartPolicy": "Always"}]});
        stage.make("web", wire(&[]), spec, json!({"annotations": {"note": "kept"}})).await;
        stage.settle("web").await;
        let pod = serde_json::to_value(stage.get("web").await).unwrap();
        assert_eq!(pod["spec"]["initContainers"][0]["restartPolicy"], "Always");
        assert_eq!(
            (&pod["spec"]["hostUsers"], &pod["metadata"]["annotations"]["note"]),
            (&json!(false), &json!("kept"))
        );
    });
}

/// The order in which a ReplicaSet takes pods changes while they grow older, and it asks again at once.
#[test]
fn a_replica_set_that_chooses_others_each_time_loses_as_many_pods_as_it_has_too_many() {
    shared(async |world| {
        let user = "system:serviceaccount:kube-system:replicaset-controller";
        let stage = Stage { jane: world.plane.client(Some(user)).await, ..stage(&world).await };
        let sets: Api<ReplicaSet> = Api::namespaced(world.client.clone(), &world.namespace);
        let mut labels = wire(&[]);
        labels.insert("app".into(), "web".into());
        let declared = json!({"expectedFinalizers": {"Elb/shop/web": PROTECTION}}).to_string();
        let set = json!({"metadata": {"name": "web"}, "spec": {"replicas": 4, "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": labels, "annotations": {"pod.kusionstack.io/available-conditions": declared}},
                "spec": {"nodeName": world.node, "terminationGracePeriodSeconds": 1,
                    "containers": [{"name": "main", "image": "rover:v1"}]}}}});
        sets.create(&PostParams::default(), &serde_json::from_value(set).unwrap()).await.unwrap();
        let pods = stage.pods(&stage.hub);
        let named = async |more: &str| {
            let listed = pods.list(&ListParams::default().labels(&format!("app=web{more}"))).await.unwrap();
            listed.items.iter().map(ResourceExt::name_any).collect::<Vec<_>>()
        };
        let wished = async || named(",collaset.kusionstack.io/to-delete").await;
        let all = until("all are there", async || Some(named("").await).filter(|all| all.len() == 4)).await;
        for name in &all {
            stage.settle(name).await;
        }
        let fewer = Patch::Merge(json!({"spec": {"replicas": 2}}));
        sets.patch("web", &PatchParams::default(), &fewer).await.unwrap();
        // Beside the ReplicaSet itself somebody asks in its name: for all of them at once, and again one by one.
        let asked = futures::future::join_all(all.iter().map(|name| stage.delete(name, false))).await;
        assert!(asked.iter().all(Result::is_err), "{asked:?}");
        assert_eq!(wished().await.len(), 2);
        for name in &all {
            stage.delete(name, false).await.unwrap_err();
        }
        let leaving = wished().await;
        assert_eq!(leaving.len(), 2);
        for name in &leaving {
            stage.until_gone(name).await;
        }
        let mut left = named("").await;
        left.sort();
        let mut stayed: Vec<_> = all.into_iter().filter(|name| !leaving.contains(name)).collect();
        stayed.sort();
        assert_eq!(left, stayed, "the other two serve, and no new one was needed");
    });
}
