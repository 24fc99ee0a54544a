//! Services as employers.

use k8s_openapi::api::core::v1::Service;
use kube::ResourceExt;
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use serde_json::json;

use crate::cluster::{Cluster, until};
use crate::cooperating::{Board, frame};

async fn service(cluster: &Cluster, app: &str) -> Api<Service> {
    let services: Api<Service> = Api::default_namespaced(cluster.client.clone());
    let service = json!({"metadata": {"name": "front", "labels": {"kusionstack.io/control": "true"}},
        "spec": {"selector": {"app": app}, "ports": [{"port": 80}]}});
    services.create(&PostParams::default(), &serde_json::from_value(service).unwrap()).await.unwrap();
    services
}

fn is_kept(pod: &k8s_openapi::api::core::v1::Pod) -> bool {
    pod.finalizers()
        .iter()
        .any(|finalizer| finalizer.starts_with("prot.podopslifecycle.kusionstack.io/board-"))
}

#[tokio::test]
async fn a_service_employs_what_it_selects_and_goes_when_all_of_that_is_off() {
    let mut cluster = Cluster::new().await;
    let board = Board::default();
    let services = service(&cluster, "web").await;
    cluster.pod("web-0", json!({})).await;
    cluster.pod("web-1", json!({"labels": {"app": "other"}})).await;
    let task = frame(&cluster, &board).services("board");
    let task = cluster.run(async move { task.run(std::future::pending()).await.unwrap() });
    cluster.until("web-0", "kept", is_kept).await;
    assert_eq!(board.on(), ["web-0"]);
    let kept = services.get("front").await.unwrap();
    assert_eq!(kept.finalizers(), ["cooperation.safepoint.dev/board"]);

    // It selects others from now on.
    let other = Patch::Merge(json!({"spec": {"selector": {"app": "other"}}}));
    services.patch("front", &PatchParams::default(), &other).await.unwrap();
    cluster.until("web-1", "kept", is_kept).await;
    let left = cluster.until("web-0", "let go", |pod| !is_kept(pod)).await;
    assert!(!left.annotations().contains_key("pod.kusionstack.io/available-conditions"));
    until("only the other one is on", async || (board.on() == ["web-1"]).then_some(())).await;

    // It goes while nobody looks, and waits until somebody does.
    cluster.end(&task).await;
    services.delete("front", &DeleteParams::default()).await.unwrap();
    assert!(services.get("front").await.unwrap().metadata.deletion_timestamp.is_some());
    let task = frame(&cluster, &board).services("board");
    cluster.run(async move { task.run(std::future::pending()).await.unwrap() });
    until("the Service is gone", async || services.get_opt("front").await.unwrap().is_none().then_some(()))
        .await;
    assert!(board.on().is_empty());
    cluster.until("web-1", "let go", |pod| !is_kept(pod)).await;
}

/// The label was all that told us of the Service, so the finalizer stayed, and kept it for ever when it was deleted later.
#[tokio::test]
async fn a_service_that_loses_its_label_keeps_nothing_of_ours_and_stays() {
    let mut cluster = Cluster::new().await;
    let board = Board::default();
    let services = service(&cluster, "web").await;
    cluster.pod("web-0", json!({})).await;
    let run = |cluster: &mut Cluster| {
        let task = frame(cluster, &board).services("board");
        cluster.run(async move { task.run(std::future::pending()).await.unwrap() })
    };
    let label = async |value: Option<&str>| {
        let patch = Patch::Merge(json!({"metadata": {"labels": {"kusionstack.io/control": value}}}));
        services.patch("front", &PatchParams::default(), &patch).await.unwrap()
    };
    let pods = cluster.pods.clone();
    let free = async || {
        until("the Service is let go", async || {
            services.get("front").await.unwrap().finalizers().is_empty().then_some(())
        })
        .await;
        let left = pods.get("web-0").await.unwrap();
        assert!(!is_kept(&left) && board.on().is_empty(), "it was let go before its pods were off");
        assert!(!left.annotations().contains_key("pod.kusionstack.io/available-conditions"));
    };
    let task = run(&mut cluster);
    cluster.until("web-0", "kept", is_kept).await;
    label(None).await;
    free().await;

    // It is one again, and stops to be one while nobody looks.
    label(Some("true")).await;
    cluster.until("web-0", "kept", is_kept).await;
    cluster.end(&task).await;
    label(None).await;
    assert!(!services.get("front").await.unwrap().finalizers().is_empty());
    run(&mut cluster);
    free().await;
}
