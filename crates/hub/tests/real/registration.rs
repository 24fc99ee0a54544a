//! What the real server makes of what the hub writes.

use k8s_openapi::api::admissionregistration::v1::{
    MutatingWebhookConfiguration, ValidatingWebhookConfiguration,
};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::Api;

use crate::world::shared;

#[test]
fn a_configuration_is_written_once_and_is_as_it_should_be() {
    shared(async |world| {
        let validating: Api<ValidatingWebhookConfiguration> = Api::all(world.client.clone());
        let mutating: Api<MutatingWebhookConfiguration> = Api::all(world.client.clone());
        let (one, other) =
            (validating.get("safepoint").await.unwrap(), mutating.get("safepoint").await.unwrap());
        // A server that fills something in that the hub does not expect would have it written again and again.
        assert_eq!((one.metadata.generation, other.metadata.generation), (Some(1), Some(1)));
        let url = one.webhooks.unwrap()[0].client_config.url.clone().unwrap();
        assert!(url.starts_with(&format!("https://{}/", world.hub)) && url.ends_with("/hold"), "{url}");
    });
}

#[test]
fn definitions_are_applied() {
    shared(async |world| {
        let definitions: Api<CustomResourceDefinition> = Api::all(world.client.clone());
        let found = definitions.get("nodegates.safepoint.dev").await.unwrap();
        let managers = found.metadata.managed_fields.unwrap();
        let manager =
            managers.iter().find(|fields| fields.manager.as_deref() == Some("safepoint-hub")).unwrap();
        assert_eq!(manager.operation.as_deref(), Some("Apply"));
    });
}
