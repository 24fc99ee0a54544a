//! The resource definitions of Safepoint, put into the cluster.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, Patch, PatchParams, PostParams};
use kube::runtime::conditions::is_crd_established;
use kube::runtime::wait::await_condition;
use kube::{Client, ResourceExt};
use safepoint_api::names::kubernetes::{MANAGED_BY, MANAGED_BY_SAFEPOINT};
use safepoint_api::names::safepoint::GROUP;
use safepoint_supervisor::{Ctx, Fault, Module, Spec};

/// The owner of the fields that the hub applies.
const MANAGER: &str = "safepoint-hub";

/// Installs the definitions, once.
pub struct Definitions {
    /// The cluster, as somebody who may.
    pub client: Client,
    /// What has to be ready first.
    pub after: &'static str,
}

// === impl Definitions ===

impl Definitions {
    /// The name of the module.
    pub const NAME: &str = "definitions";
}

impl Module for Definitions {
    fn spec(&self) -> Spec {
        let spec = Spec::new(Self::NAME).one_shot();
        if self.after.is_empty() { spec } else { spec.after([self.after]) }
    }

    async fn run(&self, ctx: Ctx) -> Result<(), Fault> {
        let api: Api<CustomResourceDefinition> = Api::all(self.client.clone());
        for definition in safepoint_api::crds() {
            let name = definition.name_any();
            install(&api, definition).await.map_err(Fault::transient)?;
            // Whoever comes next wants to use it.
            tokio::select! {
                served = await_condition(api.clone(), &name, is_crd_established()) => drop(served.map_err(Fault::transient)?),
                () = ctx.cancelled() => return Ok(()),
            }
        }
        Ok(())
    }
}

/// Applies a definition, so that what others have added to it stays. A server that knows no apply gets it written as a whole.
async fn install(
    api: &Api<CustomResourceDefinition>,
    mut definition: CustomResourceDefinition,
) -> Result<(), kube::Error> {
    let name = definition.name_any();
    let found = api.get_opt(&name).await?;
    if found.as_ref().is_some_and(|found| found.spec == definition.spec || is_of_others(found)) {
        return Ok(());
    }
    let params = PatchParams::apply(MANAGER).force();
    match api.patch(&name, &params, &Patch::Apply(&definition)).await {
        Ok(_) => return Ok(()),
        Err(kube::Error::Api(status)) if status.code == 415 => {}
        // Somebody else looks after the definitions here.
        Err(kube::Error::Api(status)) if status.code == 403 && found.is_some() => {
            tracing::warn!(
                name,
                status.message,
                "a definition may be of another version: it may not be changed"
            );
            return Ok(());
        }
        Err(error) => return Err(error),
    }
    match found {
        None => api.create(&PostParams::default(), &definition).await.map(drop),
        Some(found) => {
            definition.metadata.resource_version = found.metadata.resource_version;
            api.replace(&name, &PostParams::default(), &definition).await.map(drop)
        }
    }
}

/// Whether a definition of a kind that is not ours was put here by those whose it is. It stays as it is.
fn is_of_others(found: &CustomResourceDefinition) -> bool {
    found.spec.group != GROUP && found.labels().get(MANAGED_BY).is_none_or(|by| by != MANAGED_BY_SAFEPOINT)
}
