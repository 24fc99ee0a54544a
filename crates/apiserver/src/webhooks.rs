//! The webhooks of now, read from their configurations whenever one of those changes.

use std::sync::{PoisonError, RwLock};

use safepoint_machinery::status::Status;
use serde_json::Value;

use crate::admission::{Attributes, Hooks, Services, Warnings};
use crate::api::Api;
use crate::resource::Resource;

const MUTATING: &str = "mutatingwebhookconfigurations.admissionregistration.k8s.io";
const VALIDATING: &str = "validatingwebhookconfigurations.admissionregistration.k8s.io";

/// Whom the server asks.
pub(crate) struct Webhooks {
    hooks: RwLock<Hooks>,
    services: Services,
}

impl Webhooks {
    pub(crate) fn new(services: Services) -> Webhooks {
        Webhooks { hooks: RwLock::default(), services }
    }

    /// Reads the configurations again, if it was one of them that changed.
    pub(crate) fn refresh_after(&self, api: &Api, resource: &Resource) {
        if matches!(&*resource.collection, MUTATING | VALIDATING) {
            self.refresh(api);
        }
    }

    pub(crate) fn refresh(&self, api: &Api) {
        // Read under the lock, so that the newest state wins whoever comes last.
        let mut hooks = self.hooks.write().unwrap_or_else(PoisonError::into_inner);
        let kinds =
            [(MUTATING, "MutatingWebhookConfiguration"), (VALIDATING, "ValidatingWebhookConfiguration")];
        let mut configurations = Vec::new();
        for (collection, kind) in kinds {
            for mut configuration in api.everything(collection) {
                configuration["kind"] = kind.into();
                configurations.push(configuration);
            }
        }
        *hooks = hooks.recompile(&configurations);
    }

    /// Lets mutating webhooks change the object. `shape` brings it into shape after each.
    pub(crate) async fn mutate(
        &self,
        attributes: &mut Attributes,
        warnings: &mut Warnings,
        shape: impl Fn(&mut Value) + Send + Sync,
    ) -> Result<(), Status> {
        let hooks = self.now();
        let shape = |object: &mut Value| {
            shape(object);
            Ok(())
        };
        hooks.mutate(attributes, &self.services, warnings, shape).await
    }

    /// Asks validating webhooks.
    pub(crate) async fn validate(
        &self,
        attributes: &Attributes,
        warnings: &mut Warnings,
    ) -> Result<(), Status> {
        self.now().validate(attributes, &self.services, warnings).await
    }

    fn now(&self) -> Hooks {
        self.hooks.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
