//! Somebody without the lifecycle: looks every second which pods are ready, and lists those. Nobody waits for it.

use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use kube::api::{Api, ListParams};
use safepoint_sdk::cooperation::{BoxError, Cooperation, Employer, Member};

use super::upstream::Nginx;

/// Does so until it is dropped.
pub(crate) async fn follow(list: Nginx, employer: Employer, pods: Api<Pod>, selector: &'static str) {
    loop {
        if let Err(error) = look(&list, &employer, &pods, selector).await {
            eprintln!("the list is not changed: {error}");
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

async fn look(list: &Nginx, employer: &Employer, pods: &Api<Pod>, selector: &str) -> Result<(), BoxError> {
    let mut ready = pods.list(&ListParams::default().labels(selector)).await?.items;
    ready.retain(|pod| is_ready(pod) && pod.metadata.deletion_timestamp.is_none());
    for pod in &ready {
        list.turn_on(employer, pod).await?;
    }
    for Member { namespace, name, uid, .. } in list.members(employer).await? {
        if !ready.iter().any(|pod| pod.uid() == uid) {
            list.turn_off(employer, &Member::named(namespace, name, uid)).await?;
        }
    }
    Ok(())
}

fn is_ready(pod: &Pod) -> bool {
    let conditions = pod.status.iter().flat_map(|status| status.conditions.iter().flatten());
    conditions.into_iter().any(|condition| condition.type_ == "Ready" && condition.status == "True")
}
