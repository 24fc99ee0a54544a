//! A rolling restart behind a real nginx, with both examples as they are, while somebody asks all the time.

use std::fs;
use std::time::Duration;

use kube::ResourceExt;
use safepoint_hub::Features;
use safepoint_sdk::cooperation::{Cooperation, Employer, Frame};
use serde_json::json;
use tokio::task::AbortHandle;

use crate::cluster::{Cluster, Middle, until};
use crate::follower::follow;
use crate::nginx::Nginx;
use crate::restart::{RESTART, Restart};
use crate::traffic::{Load, UPSTREAM};
use crate::upstream;

fn employer() -> Employer {
    Employer::new("nginx-upstream", "Upstream", "default", UPSTREAM).selecting([("app", "web")])
}

/// The example, as a task.
fn cooperate(cluster: &mut Cluster, nginx: &Nginx) -> AbortHandle {
    let list = upstream::Nginx::new(nginx.folder(), UPSTREAM, cluster.port).unwrap();
    let frame = Frame::new(cluster.client.clone(), list).employer(employer()).namespace("default");
    cluster.run(async move { frame.run(std::future::pending()).await.unwrap() })
}

fn restart(cluster: &mut Cluster) {
    let restart = Restart::new(cluster.client.clone(), "default", "app=web", 1, Duration::ZERO).unwrap();
    cluster.run(async move { restart.run().await });
}

/// Three pods in service, which have the finalizer declared in their template.
async fn three(cluster: &mut Cluster) -> Vec<String> {
    let (key, value) = employer().declaration();
    cluster.workload(3, json!({key: value}));
    cluster.in_service(3).await;
    cluster.web().await.iter().map(ResourceExt::name_any).collect()
}

/// Marks pods, and waits until others have taken their places.
async fn mark(cluster: &Cluster, names: &[String]) {
    for name in names {
        cluster.edit(name, json!({"annotations": {RESTART: "please"}})).await;
    }
}

async fn replaced(cluster: &Cluster, names: &[String]) {
    for name in names {
        cluster.gone(name).await;
    }
    cluster.in_service(3).await;
}

async fn answered(load: &Load, more: usize) {
    let before = load.good();
    until("some more answers", async || (load.good() >= before + more).then_some(())).await;
}

/// Deletions are put off by the hub as well: the one of the example is its own operation's, and passes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rolling_restart_behind_nginx_fails_no_request() {
    let mut cluster = Cluster::with(Middle::Hub(Features { grace_delete: true })).await;
    let nginx = Nginx::start().await;
    cooperate(&mut cluster, &nginx);
    restart(&mut cluster);
    let old = three(&mut cluster).await;
    let load = Load::on(nginx.address);
    answered(&load, 50).await;
    mark(&cluster, &old).await;
    replaced(&cluster, &old).await;
    answered(&load, 50).await;
    let new: Vec<String> = cluster.web().await.iter().map(ResourceExt::name_any).collect();
    let answers = load.stop().await;
    assert!(answers.bad.is_empty(), "{answers:#?}");
    for pod in old.iter().chain(&new) {
        assert!(answers.good.contains_key(pod), "{pod} was never asked: {answers:#?}");
    }
}

/// The controller is killed again and again, wherever it happens to be; a restart waits for it meanwhile.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rolling_restart_fails_no_request_although_the_controller_is_killed_all_the_time() {
    let mut cluster = Cluster::with(Middle::NoWebhook).await;
    let nginx = Nginx::start().await;
    let mut controller = cooperate(&mut cluster, &nginx);
    restart(&mut cluster);
    let old = three(&mut cluster).await;
    let load = Load::on(nginx.address);
    answered(&load, 20).await;
    mark(&cluster, &old).await;
    // Between two and forty answers long: from before its first look to after a whole change.
    for life in 1..=12 {
        answered(&load, (life * 7) % 38 + 2).await;
        cluster.end(&controller).await;
        controller = cooperate(&mut cluster, &nginx);
    }
    replaced(&cluster, &old).await;
    answered(&load, 20).await;
    let answers = load.stop().await;
    assert!(answers.bad.is_empty(), "{answers:#?}");
}

/// The same nginx and the same list, kept by somebody who looks which pods are ready, and whom nobody waits for.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_same_restart_without_the_controller_fails_requests() {
    let mut cluster = Cluster::new().await;
    let nginx = Nginx::start().await;
    let list = upstream::Nginx::new(nginx.folder(), UPSTREAM, cluster.port).unwrap();
    cluster.workload(3, json!({}));
    cluster.in_service(3).await;
    let pods = cluster.pods.clone();
    cluster.run(follow(list, employer(), pods, "app=web"));
    until("three are listed", async || {
        let text = fs::read_to_string(nginx.folder().join("upstream.conf")).unwrap();
        (text.matches("max_fails").count() == 3).then_some(())
    })
    .await;
    let load = Load::on(nginx.address);
    answered(&load, 50).await;
    for pod in cluster.web().await {
        let name = pod.name_any();
        cluster.delete(&name).await;
        cluster.gone(&name).await;
        cluster.in_service(3).await;
        answered(&load, 50).await;
    }
    let answers = load.stop().await;
    assert!(!answers.bad.is_empty(), "nothing failed, so nothing above is shown: {answers:#?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_list_that_nginx_would_refuse_is_never_put_in_place() {
    let mut cluster = Cluster::new().await;
    let nginx = Nginx::start().await;
    cooperate(&mut cluster, &nginx);
    three(&mut cluster).await;
    let path = nginx.folder().join("upstream.conf");
    let before = fs::read_to_string(&path).unwrap();
    assert_eq!(before.matches("max_fails").count(), 3, "{before}");
    let list = upstream::Nginx::new(nginx.folder(), UPSTREAM, cluster.port).unwrap();
    let mut pod = cluster.web().await.remove(0);
    pod.status.as_mut().unwrap().pod_ip = Some("not an address".into());
    let refused = list.turn_on(&employer(), &pod).await.unwrap_err().to_string();
    assert!(refused.contains("nginx -t"), "{refused}");
    assert_eq!(fs::read_to_string(&path).unwrap(), before);
}
