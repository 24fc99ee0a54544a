//! What deletions leave to do: the contents of namespaces and of CRDs, and what was owned by something that is gone.
//!
//! One task, rung by every write. It looks at everything and does what is left; that is cheap on one machine, needs no
//! memory of its own, and makes a restart the same as any other ring.

mod definitions;
mod events;
mod namespaces;
mod owners;

use std::sync::Arc;
use std::time::Duration;

use safepoint_store::{Key, Object, Scope, WriteError};
use serde_json::json;
use tracing::warn;

use crate::api::Api;
use crate::resource::Resource;
use crate::verbs::{change_as_server, create_as_server, metadata_of, tidy_metadata};

/// The namespaces that every cluster has.
const FIRST_NAMESPACES: [&str; 4] = ["default", "kube-node-lease", "kube-public", "kube-system"];
/// Many writes that come together are looked at together.
const GATHER: Duration = Duration::from_millis(20);
/// How often to look although nothing was written.
const LOOK_AGAIN: Duration = Duration::from_secs(60);
/// How long to leave a store alone that does not take writes.
const AFTER_FAILURE: Duration = Duration::from_secs(5);

/// Writes what every cluster has from the beginning.
pub(crate) async fn seed(api: &Api) -> Result<(), String> {
    let registry = api.0.registry.get();
    let namespaces = registry.find("", "v1", "namespaces").ok_or("namespaces are not served")?;
    for name in FIRST_NAMESPACES {
        create_as_server(api, &namespaces, json!({ "metadata": { "name": name } })).await?;
    }
    Ok(())
}

/// Does what is left, whenever there may be something.
pub(crate) async fn run(api: &Api) {
    loop {
        if let Err(error) = pass(api).await {
            warn!(%error, "cannot finish deletions");
            tokio::time::sleep(AFTER_FAILURE).await;
        }
        // Time passes even if nobody writes: events get old.
        let _ = tokio::time::timeout(LOOK_AGAIN, api.0.bell.notified()).await;
        tokio::time::sleep(GATHER).await;
    }
}

async fn pass(api: &Api) -> Result<(), WriteError> {
    let registry = api.0.registry.get();
    definitions::establish(api, &registry).await?;
    namespaces::end(api, &registry).await?;
    namespaces::remove_strays(api, &registry).await?;
    events::forget_old(api, &registry).await?;
    definitions::end(api, &registry).await?;
    owners::collect(api, &registry).await
}

async fn remove_finalizer(api: &Api, resource: &Resource, key: &Key, name: &str) -> Result<(), WriteError> {
    change_as_server(api, resource, key, |mut value| {
        let finalizers = metadata_of(&mut value).get_mut("finalizers")?.as_array_mut()?;
        let before = finalizers.len();
        finalizers.retain(|finalizer| finalizer != name);
        if finalizers.len() == before {
            return None;
        }
        tidy_metadata(&mut value);
        Some(value)
    })
    .await
}

fn everything(api: &Api, collection: &str) -> Vec<Arc<Object>> {
    api.0.store.list(&Scope::collection(collection), None, usize::MAX).objects
}
