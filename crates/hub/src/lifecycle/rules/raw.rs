//! A PodTransitionRule as it is stored, whatever is in it.
//!
//! A watch that reads objects into their types fails as a whole where one object is strange, and then nobody is ruled by
//! anything. So the parts are taken as they are here and read one by one.

use std::borrow::Cow;

use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use safepoint_api::names::kusionstack::{GROUP, VERSION};
use serde::Deserialize;
use serde_json::Value;

/// A PodTransitionRule.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct RawRule {
    pub(crate) metadata: ObjectMeta,
    #[serde(default)]
    pub(crate) spec: Value,
    #[serde(default)]
    pub(crate) status: Value,
}

impl Resource for RawRule {
    type DynamicType = ();
    type Scope = NamespaceResourceScope;

    fn kind((): &()) -> Cow<'_, str> {
        "PodTransitionRule".into()
    }

    fn group((): &()) -> Cow<'_, str> {
        GROUP.into()
    }

    fn version((): &()) -> Cow<'_, str> {
        VERSION.into()
    }

    fn plural((): &()) -> Cow<'_, str> {
        "podtransitionrules".into()
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}
