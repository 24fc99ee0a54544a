//! The resource definitions of Safepoint, put into the cluster that the embedded default is.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, PostParams};
use kube::runtime::conditions::is_crd_established;
use kube::runtime::wait::await_condition;
use kube::{Client, ResourceExt};
use safepoint_supervisor::{Ctx, Fault, Module, Spec};

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
        Spec::new(Self::NAME).one_shot().after([self.after])
    }

    async fn run(&self, ctx: Ctx) -> Result<(), Fault> {
        let api: Api<CustomResourceDefinition> = Api::all(self.client.clone());
        for mut definition in safepoint_api::crds() {
            let name = definition.name_any();
            match api.get_opt(&name).await.map_err(Fault::transient)? {
                None => {
                    drop(api.create(&PostParams::default(), &definition).await.map_err(Fault::transient)?);
                }
                Some(found) if found.spec == definition.spec => {}
                Some(found) => {
                    definition.metadata.resource_version = found.metadata.resource_version;
                    api.replace(&name, &PostParams::default(), &definition)
                        .await
                        .map_err(Fault::transient)?;
                }
            }
            // Whoever comes next wants to use it.
            tokio::select! {
                served = await_condition(api.clone(), &name, is_crd_established()) => drop(served.map_err(Fault::transient)?),
                () = ctx.cancelled() => return Ok(()),
            }
        }
        Ok(())
    }
}
