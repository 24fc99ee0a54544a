//! Operations, from the wish to the pod that is back in service.

use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use safepoint_sdk::operation::{Error, Operation, Operations, Permission};
use serde_json::json;

use crate::cluster::{Cluster, IN_SERVICE, Middle};
use crate::middle::condition;

fn patcher(cluster: &Cluster) -> Operations<Operation> {
    Operations::new(cluster.client.clone(), Operation::new("patcher", "update")).unwrap()
}

fn has(pod: &Pod, key: &str) -> bool {
    let (prefix, id) = key.split_once('/').unwrap();
    pod.labels().contains_key(&format!("{prefix}.podopslifecycle.kusionstack.io/{id}"))
}

/// A pod in service.
async fn serving(cluster: &Cluster, name: &str) -> Pod {
    cluster.pod(name, json!({})).await;
    cluster.until(name, "in service", |pod| pod.labels().contains_key(IN_SERVICE)).await
}

async fn granted(cluster: &Cluster, operations: &Operations<Operation>, name: &str) -> Pod {
    cluster
        .until(name, "the operation may act", |pod| operations.allow_ops(pod, Duration::ZERO).is_granted())
        .await
}

#[tokio::test]
async fn an_operation_acts_on_a_pod_that_is_out_of_service_and_brings_it_back() {
    let cluster = Cluster::new().await;
    let operations = patcher(&cluster);
    let pod = serving(&cluster, "web-0").await;
    assert_eq!(operations.allow_ops(&pod, Duration::ZERO), Permission::NotBegun);
    let begun = operations.begin(&pod).await.unwrap();
    assert!(begun.wrote && operations.is_during_ops(&begun.pod));
    let pod = granted(&cluster, &operations, "web-0").await;
    assert_eq!(condition(&pod, "Ready"), Some(false));
    assert!(!pod.labels().contains_key(IN_SERVICE));
    let delay = Duration::from_secs(3600);
    assert!(matches!(operations.allow_ops(&pod, delay), Permission::After(rest) if rest <= delay));
    assert!(!operations.begin(&pod).await.unwrap().wrote);
    assert!(operations.finish(&pod).await.unwrap().wrote);
    let pod = cluster.until("web-0", "back", |pod| pod.labels().contains_key(IN_SERVICE)).await;
    assert!(!operations.is_during_ops(&pod));
    assert!(!operations.finish(&pod).await.unwrap().wrote);
}

#[tokio::test]
async fn a_pod_that_was_changed_meanwhile_is_decided_on_again() {
    let cluster = Cluster::new().await;
    let operations = patcher(&cluster);
    let old = serving(&cluster, "web-0").await;
    let unknown = json!({"annotations": {"example.com/later": "kept"}, "labels": {"tier": "front"}});
    cluster.edit("web-0", unknown).await;
    let begun = operations.begin(&old).await.unwrap();
    assert!(begun.wrote);
    assert_eq!(begun.pod.labels()["tier"], "front");
    assert_eq!(begun.pod.annotations()["example.com/later"], "kept");
    // An old view of the same pod does not begin it twice either.
    assert!(!operations.begin(&old).await.unwrap().wrote);
}

#[tokio::test]
async fn another_pod_of_the_same_name_is_not_taken_for_the_one_that_was_meant() {
    let cluster = Cluster::new().await;
    let operations = patcher(&cluster);
    let old = serving(&cluster, "web-0").await;
    cluster.delete("web-0").await;
    cluster.gone("web-0").await;
    assert!(matches!(operations.begin(&old).await, Err(Error::Gone { .. })));
    serving(&cluster, "web-0").await;
    assert!(matches!(operations.begin(&old).await, Err(Error::Gone { .. })));
    assert!(!has(&cluster.get("web-0").await, "operating/patcher"));
}

#[tokio::test]
async fn a_cancelled_operation_gives_the_pod_back_without_having_acted() {
    let cluster = Cluster::new().await;
    let operations = patcher(&cluster);
    let pod = serving(&cluster, "web-0").await;
    assert!(!operations.cancel(&pod).await.unwrap().wrote, "there was nothing to cancel");
    let _ = operations.begin(&pod).await.unwrap();
    let pod = granted(&cluster, &operations, "web-0").await;
    assert!(operations.cancel(&pod).await.unwrap().wrote);
    let back = cluster.until("web-0", "back", |pod| pod.labels().contains_key(IN_SERVICE)).await;
    assert!(!has(&back, "operating/patcher") && !has(&back, "undo-operation-type/patcher"));
}

#[tokio::test]
async fn an_operation_whose_aim_has_changed_begins_afresh() {
    change_the_aim(&Cluster::new().await).await;
}

/// Nobody clears away in the same write: the begin waits for the controller.
#[tokio::test]
async fn an_operation_begins_afresh_also_where_no_webhook_answers() {
    change_the_aim(&Cluster::with(Middle::NoWebhook).await).await;
}

async fn change_the_aim(cluster: &Cluster) {
    let scaling = Operation::new("patcher", "scale-in");
    let scaling = Operations::new(cluster.client.clone(), scaling).unwrap();
    let operations = patcher(cluster);
    let pod = serving(cluster, "web-0").await;
    let _ = operations.begin(&pod).await.unwrap();
    let pod = granted(cluster, &operations, "web-0").await;
    let error = scaling.begin(&pod).await.unwrap_err();
    assert!(matches!(error, Error::OtherType { .. }) && !error.is_passing(), "{error}");
    let begun = scaling.begin_with_cleaning_old(&pod).await.unwrap();
    assert!(begun.wrote && scaling.is_during_ops(&begun.pod));
    assert!(!has(&begun.pod, "operate/patcher"), "the old permission was not taken over");
    let pod = granted(cluster, &scaling, "web-0").await;
    let _ = scaling.finish(&pod).await.unwrap();
    cluster.until("web-0", "back", |pod| pod.labels().contains_key(IN_SERVICE)).await;
}

#[tokio::test]
async fn two_operations_share_one_time_out_of_service() {
    let cluster = Cluster::new().await;
    let second = Operations::new(cluster.client.clone(), Operation::new("labeller", "label")).unwrap();
    let first = patcher(&cluster);
    let pod = serving(&cluster, "web-0").await;
    let _ = first.begin(&pod).await.unwrap();
    let _ = second.begin(&pod).await.unwrap();
    let pod = granted(&cluster, &first, "web-0").await;
    let _ = first.finish(&pod).await.unwrap();
    let pod = granted(&cluster, &second, "web-0").await;
    assert!(!pod.labels().contains_key(IN_SERVICE), "the second one is not done");
    let _ = second.finish(&pod).await.unwrap();
    cluster.until("web-0", "back", |pod| pod.labels().contains_key(IN_SERVICE)).await;
}

#[tokio::test]
async fn a_pod_that_does_not_take_part_is_refused_in_words_that_help() {
    let cluster = Cluster::new().await;
    let pod = cluster.pod("web-0", json!({"labels": {"kusionstack.io/control": "false"}})).await;
    let error = patcher(&cluster).begin(&pod).await.unwrap_err();
    assert!(error.to_string().contains("kusionstack.io/control=true"), "{error}");
}

#[tokio::test]
async fn names_that_no_label_can_have_are_refused_at_once() {
    let cluster = Cluster::new().await;
    for (id, kind) in [("a b", "update"), ("patcher", ""), ("", "update")] {
        let made = Operations::new(cluster.client.clone(), Operation::new(id, kind));
        assert!(matches!(made, Err(Error::Name { .. })), "{id} {kind}");
    }
}

/// Caches are late. A call that believed one said that all was well, and did nothing.
#[tokio::test]
async fn what_an_old_pod_does_not_show_is_ended_all_the_same() {
    let cluster = Cluster::new().await;
    let operations = patcher(&cluster);
    let old = serving(&cluster, "web-0").await;
    for cancels in [true, false] {
        let _ = operations.begin(&cluster.get("web-0").await).await.unwrap();
        granted(&cluster, &operations, "web-0").await;
        let ended = if cancels { operations.cancel(&old).await } else { operations.finish(&old).await };
        assert!(ended.unwrap().wrote, "cancels: {cancels}");
        let back = cluster.until("web-0", "back", |pod| pod.labels().contains_key(IN_SERVICE)).await;
        assert!(!has(&back, "operating/patcher"));
    }
}

#[tokio::test]
async fn whether_there_is_anything_to_end_is_not_guessed_while_the_api_server_is_away() {
    // Nobody listens there.
    let config = kube::Config::new("http://127.0.0.1:9".parse().unwrap());
    let client = kube::Client::try_from(config).unwrap();
    let operations = Operations::new(client, Operation::new("patcher", "update")).unwrap();
    let pod: Pod = serde_json::from_value(json!({"metadata": {"name": "web-0", "uid": "a"}})).unwrap();
    let error = operations.cancel(&pod).await.unwrap_err();
    assert!(matches!(error, Error::Away { .. }) && error.is_passing(), "{error}");
}

#[tokio::test]
async fn what_an_old_pod_does_not_show_is_cleaned_before_the_new_begin() {
    let cluster = Cluster::new().await;
    let scaling = Operations::new(cluster.client.clone(), Operation::new("patcher", "scale-in")).unwrap();
    let operations = patcher(&cluster);
    let old = serving(&cluster, "web-0").await;
    let _ = operations.begin(&old).await.unwrap();
    granted(&cluster, &operations, "web-0").await;
    let begun = scaling.begin_with_cleaning_old(&old).await.unwrap();
    assert!(begun.wrote && scaling.is_during_ops(&begun.pod));
    granted(&cluster, &scaling, "web-0").await;
    // The same type is begun anew as well, and does not take over what was granted to the one before.
    let begun = scaling.begin_with_cleaning_old(&old).await.unwrap();
    assert!(begun.wrote && scaling.is_during_ops(&begun.pod) && !has(&begun.pod, "operate/patcher"));
}
