//! Static pods of the node.

use std::time::Duration;

use http::Method;
use safepoint_api::local::{
    PutStaticPod, RemoveStaticPod, RollBack, StaticPodHistory, StaticPodList, StaticPodState,
};

use super::{Client, name};
use crate::{Error, transport};

/// A manifest that is laid ready, or comes from the cluster, is answered for when its images have been pulled.
const PULLING: Duration = Duration::from_secs(30 * 60);

// === impl Client ===

impl Client {
    /// The static pods of the node, and what waits for them.
    ///
    /// # Errors
    /// `NoManifests` if the agent looks after none.
    pub async fn static_pods(&self) -> Result<StaticPodList, Error> {
        self.get("/v1/static-pods").await
    }

    /// One static pod: what is in place, what waits, and what became of the last swap.
    ///
    /// # Errors
    /// `NotFound` if it is none of this node's.
    pub async fn static_pod(&self, namespace: &str, pod: &str) -> Result<StaticPodState, Error> {
        self.get(&path(namespace, pod, "")).await
    }

    /// The manifests of a static pod that were good, oldest first.
    ///
    /// # Errors
    /// `NotFound` if it is none of this node's.
    pub async fn static_pod_history(&self, namespace: &str, pod: &str) -> Result<StaticPodHistory, Error> {
        self.get(&path(namespace, pod, "/history")).await
    }

    /// Gives a static pod another manifest, as soon as the gate lets it pass, or lays it ready.
    ///
    /// # Errors
    /// `ManifestMissing`, `ManifestExists`, `ManifestInvalid`, `RevisionMissing`, `ImageUnavailable` and others, by name.
    pub async fn put_static_pod(
        &self,
        namespace: &str,
        pod: &str,
        put: &PutStaticPod,
    ) -> Result<StaticPodState, Error> {
        let (path, body) = (path(namespace, pod, ""), transport::json(put)?);
        transport::ask(self.asking(Method::PUT, &path, Some(body), PULLING)).await
    }

    /// Takes a static pod away.
    ///
    /// # Errors
    /// `ManifestMissing` if it is not there; `Frozen` or `Held` if it may not wait and would have to.
    pub async fn remove_static_pod(
        &self,
        namespace: &str,
        pod: &str,
        remove: &RemoveStaticPod,
    ) -> Result<StaticPodState, Error> {
        self.send(Method::DELETE, &path(namespace, pod, ""), remove).await
    }

    /// Applies what waits for a static pod, or what the cluster has for it. Returns when that has begun; what comes from the
    /// cluster has its images pulled first.
    ///
    /// # Errors
    /// `NothingStaged`, `ImageUnavailable`, `Frozen`, `Held`, `NotFound`.
    pub async fn upgrade_static_pod(&self, namespace: &str, pod: &str) -> Result<StaticPodState, Error> {
        let (path, body) = (path(namespace, pod, "/upgrade"), transport::json(&serde_json::json!({}))?);
        transport::ask(self.asking(Method::POST, &path, Some(body), PULLING)).await
    }

    /// Goes back to an earlier manifest. Returns when that has begun.
    ///
    /// # Errors
    /// `NoHistory`, `Frozen`, `Held`, `NotFound`.
    pub async fn roll_back_static_pod(
        &self,
        namespace: &str,
        pod: &str,
        to: &RollBack,
    ) -> Result<StaticPodState, Error> {
        self.send(Method::POST, &path(namespace, pod, "/rollback"), to).await
    }

    /// What waits for a static pod is not wanted any more.
    ///
    /// # Errors
    /// `NotFound` if it is none of this node's.
    pub async fn withdraw_static_pod(&self, namespace: &str, pod: &str) -> Result<StaticPodState, Error> {
        self.send(Method::DELETE, &path(namespace, pod, "/next"), &serde_json::json!({})).await
    }
}

fn path(namespace: &str, pod: &str, rest: &str) -> String {
    format!("/v1/static-pods/{}/{}{rest}", name(namespace), name(pod))
}
