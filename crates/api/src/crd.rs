//! The custom resource definitions, generated from the types.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::CustomResourceExt as _;

use crate::{NodeGate, StaticPod};

/// Every definition that a cluster needs, sorted by name.
///
/// The same source always gives the same definitions in the same order, so that the manifests written from them can be
/// compared byte for byte. Rendering is left to the caller: a library that only names things needs no YAML.
#[must_use]
pub fn crds() -> Vec<CustomResourceDefinition> {
    vec![NodeGate::crd(), StaticPod::crd()]
}
