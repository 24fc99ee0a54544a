//! Which workload a new pod belongs to. The watches may not have seen a workload that is as young as its pod: then the API
//! server is asked.

use std::sync::Arc;

use k8s_openapi::api::apps::v1::{DaemonSet, Deployment, ReplicaSet, StatefulSet};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::Api;
use kube::core::NamespaceResourceScope;
use kube::{Client, Resource};
use serde::de::DeserializeOwned;

use crate::pod::Owner;
use crate::seen::{Carrier, Index, Kind, Seen, WorkloadFacts};

/// Finds workloads.
#[derive(Clone)]
pub(crate) struct Owners {
    pub(crate) client: Client,
    pub(crate) seen: Arc<Seen>,
}

// === impl Owners ===

impl Owners {
    /// The workload of a pod with this controller, if there is one and it can be told.
    pub(crate) async fn workload(&self, namespace: &str, owner: &Owner) -> Option<WorkloadFacts> {
        if !matches!(&*owner.kind, "ReplicaSet" | "DaemonSet" | "StatefulSet") {
            return None;
        }
        if let Some(known) = self.known(&owner.uid) {
            return Some(known);
        }
        let mut found = Index::default();
        match &*owner.kind {
            "DaemonSet" => self.ask::<DaemonSet>(namespace, owner, Carrier::DaemonSet, &mut found).await?,
            "StatefulSet" => {
                self.ask::<StatefulSet>(namespace, owner, Carrier::StatefulSet, &mut found).await?;
            }
            _ => {
                let set = self.get::<ReplicaSet>(namespace, owner).await?;
                let above = Owner::of(&set).filter(|above| above.kind == "Deployment")?;
                if let Some(known) = self.known(&above.uid) {
                    return Some(known);
                }
                self.ask::<Deployment>(namespace, &above, Carrier::Deployment, &mut found).await?;
                found.apply(Kind::ReplicaSet, set);
            }
        }
        found.workload(&owner.uid).cloned()
    }

    /// Whether a workload is armed now, by the word of the API server. Nothing if it is gone.
    pub(crate) async fn is_armed(
        &self,
        namespace: &str,
        workload: &WorkloadFacts,
    ) -> Result<Option<bool>, kube::Error> {
        let meta = match workload.kind {
            Carrier::Deployment => self.find::<Deployment>(namespace, &workload.name).await?,
            Carrier::DaemonSet => self.find::<DaemonSet>(namespace, &workload.name).await?,
            Carrier::StatefulSet => self.find::<StatefulSet>(namespace, &workload.name).await?,
        };
        Ok(meta.map(|meta| WorkloadFacts::read(workload.kind, meta).holds))
    }

    fn known(&self, uid: &str) -> Option<WorkloadFacts> {
        self.seen.index().workload(uid).cloned()
    }

    async fn ask<K>(&self, namespace: &str, owner: &Owner, kind: Carrier, found: &mut Index) -> Option<()>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
            + Clone
            + std::fmt::Debug
            + DeserializeOwned,
    {
        found.apply(Kind::Carrier(kind), self.get::<K>(namespace, owner).await?);
        Some(())
    }

    /// The object that is meant, and not another one of its name.
    async fn get<K>(&self, namespace: &str, owner: &Owner) -> Option<ObjectMeta>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
            + Clone
            + std::fmt::Debug
            + DeserializeOwned,
    {
        match self.find::<K>(namespace, &owner.name).await {
            Ok(found) => found.filter(|found| found.uid.as_deref() == Some(&owner.uid)),
            Err(error) => {
                tracing::debug!(%error, kind = owner.kind, name = owner.name, "cannot look a workload up");
                None
            }
        }
    }

    async fn find<K>(&self, namespace: &str, name: &str) -> Result<Option<ObjectMeta>, kube::Error>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
            + Clone
            + std::fmt::Debug
            + DeserializeOwned,
    {
        let api: Api<K> = Api::namespaced(self.client.clone(), namespace);
        Ok(api.get_metadata_opt(name).await?.map(|found| found.metadata))
    }
}
