//! Services as employers.
//!
//! A Service that goes has to wait until its pods are off: after that nobody would know whose their finalizers are. So it gets a
//! finalizer itself, before the first pod is switched on for it. One that stops to be an employer stays, without the finalizer.

use k8s_openapi::api::core::v1::Service;
use kube::api::{Api, ListParams, Patch, PatchParams};
use kube::{Client, ResourceExt};
use safepoint_api::names::kusionstack::{CONTROL, CONTROL_ON};
use safepoint_api::names::safepoint::lifecycle::COOPERATION_FINALIZER_PREFIX;
use serde_json::json;

use super::Employer;
use super::work::PAGE;
use crate::pods::{Missed, missed};

/// The longest name part of a finalizer.
const LONGEST: usize = 63;

/// The finalizer by which this controller keeps a Service until its pods are off.
pub(super) fn finalizer(controller: &str) -> String {
    format!("{COOPERATION_FINALIZER_PREFIX}{}", &controller[..controller.floor_char_boundary(LONGEST)])
}

/// Puts the finalizer on the Service, or takes it off. Others stay.
pub(super) async fn keep(
    client: &Client,
    service: &Service,
    finalizer: &str,
    kept: bool,
) -> Result<(), Missed> {
    let mut finalizers = service.finalizers().to_vec();
    if finalizers.iter().any(|found| found == finalizer) == kept {
        return Ok(());
    }
    finalizers.retain(|found| found != finalizer);
    if kept {
        finalizers.push(finalizer.to_owned());
    }
    let services: Api<Service> = Api::namespaced(client.clone(), &service.namespace().unwrap_or_default());
    let metadata = json!({"resourceVersion": service.metadata.resource_version, "finalizers": finalizers});
    let patch = Patch::Merge(json!({ "metadata": metadata }));
    match services.patch(&service.name_any(), &PatchParams::default(), &patch).await.map_err(missed) {
        Ok(_) => Ok(()),
        // One that is gone needs nothing more.
        Err(Missed::Gone) if !kept => Ok(()),
        Err(missed) => Err(missed),
    }
}

/// Takes the finalizer off a Service whose pods are off. One that is gone needs nothing, and one that is an employer again
/// keeps it.
///
/// It is read first: of one that lost its label no more is told, and it may have changed since.
pub(super) async fn let_go(client: &Client, employer: &Employer, finalizer: &str) -> Result<(), Missed> {
    let services: Api<Service> = Api::namespaced(client.clone(), employer.namespace());
    let service = match services.get(employer.name()).await.map_err(missed) {
        Ok(service) => service,
        Err(Missed::Gone) => return Ok(()),
        Err(missed) => return Err(missed),
    };
    let employs = service.labels().get(CONTROL).is_some_and(|value| value == CONTROL_ON);
    if employs && service.metadata.deletion_timestamp.is_none() {
        return Ok(());
    }
    keep(client, &service, finalizer, false).await
}

/// The Services that have the finalizer and are no employers, by namespace and name.
pub(super) async fn left(
    client: &Client,
    namespace: Option<&str>,
    finalizer: &str,
) -> Result<Vec<(String, String)>, kube::Error> {
    let services: Api<Service> = match namespace {
        Some(namespace) => Api::namespaced(client.clone(), namespace),
        None => Api::all(client.clone()),
    };
    let mut asked = ListParams::default().labels(&format!("{CONTROL}!={CONTROL_ON}")).limit(PAGE);
    let mut left = Vec::new();
    loop {
        let page = services.list_metadata(&asked).await?;
        let ours =
            page.items.iter().filter(|service| service.finalizers().iter().any(|found| found == finalizer));
        left.extend(ours.map(|service| (service.namespace().unwrap_or_default(), service.name_any())));
        match page.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => asked = asked.continue_token(&token),
            None => return Ok(left),
        }
    }
}
