//! The custom resource definitions, generated from the types.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::CustomResourceExt as _;

use crate::names::kubernetes::{MANAGED_BY, MANAGED_BY_SAFEPOINT};
use crate::{NodeGate, PodTransitionRule, StaticPod};

/// Every definition that a cluster needs, sorted by name.
///
/// The same source always gives the same definitions in the same order, so that the manifests written from them can be
/// compared byte for byte. Rendering is left to the caller: a library that only names things needs no YAML.
#[must_use]
pub fn crds() -> Vec<CustomResourceDefinition> {
    vec![NodeGate::crd(), rules(), StaticPod::crd()]
}

/// The definition of another project's kind. The label tells whether it is ours: where the other project has put its own into
/// a cluster, that one stays.
fn rules() -> CustomResourceDefinition {
    let mut definition = PodTransitionRule::crd();
    let labels = definition.metadata.labels.get_or_insert_default();
    labels.insert(MANAGED_BY.to_owned(), MANAGED_BY_SAFEPOINT.to_owned());
    definition
}
