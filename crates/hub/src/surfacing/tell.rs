//! Writes Events and conditions on workloads.

use std::fmt::Debug;
use std::hash::{DefaultHasher, Hash, Hasher};

use k8s_openapi::api::apps::v1::{DaemonSet, Deployment, StatefulSet};
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::api::{Api, ListParams, Patch, PatchParams};
use kube::core::NamespaceResourceScope;
use kube::{Client, Resource, ResourceExt};
use safepoint_api::names::kubeedge::condition::{HELD_UPGRADE, REASON_ACTIVE};
use safepoint_api::names::safepoint::REASON_RELEASED;
use safepoint_api::names::safepoint::event::UPGRADE_HELD;
use serde::de::DeserializeOwned;
use serde_json::json;

use super::held::{Summary, Top};
use crate::clock::Clock;
use crate::event::{self, Told};
use crate::seen::Carrier;

/// Deployments are read in pages.
const PAGE: u32 = 500;

/// Writes.
pub(super) struct Teller {
    pub(super) client: Client,
    pub(super) clock: Clock,
}

// === impl Teller ===

impl Teller {
    /// The Deployments that are shown as held.
    pub(super) async fn shown(&self) -> Result<Vec<Top>, kube::Error> {
        let api: Api<Deployment> = Api::all(self.client.clone());
        let mut params = ListParams::default().limit(PAGE);
        let mut shown = Vec::new();
        loop {
            let page = match api.list(&params).await {
                Ok(page) => page,
                // There are none here: the embedded API does not serve them.
                Err(kube::Error::Api(status)) if status.code == 404 => return Ok(shown),
                Err(error) => return Err(error),
            };
            shown.extend(page.items.iter().filter(|found| is_shown(found)).map(|found| Top {
                kind: Carrier::Deployment,
                namespace: found.namespace().unwrap_or_default(),
                name: found.name_any(),
            }));
            match page.metadata.continue_.filter(|token| !token.is_empty()) {
                Some(token) => params = params.continue_token(&token),
                None => return Ok(shown),
            }
        }
    }

    /// Says what is held, or that nothing is any more.
    pub(super) async fn tell(
        &self,
        top: &Top,
        summary: Option<&Summary>,
        is_transition: bool,
    ) -> Result<(), kube::Error> {
        if let (Some(summary), true) = (summary, is_transition) {
            self.event(top, summary).await?;
        }
        match top.kind {
            Carrier::Deployment => self.condition(top, summary, is_transition).await,
            Carrier::DaemonSet | Carrier::StatefulSet => Ok(()),
        }
    }

    async fn condition(
        &self,
        top: &Top,
        summary: Option<&Summary>,
        is_transition: bool,
    ) -> Result<(), kube::Error> {
        let api: Api<Deployment> = Api::namespaced(self.client.clone(), &top.namespace);
        let now = Time(self.clock.now());
        let mut condition = match summary {
            Some(summary) => {
                json!({"type": HELD_UPGRADE, "status": "True", "reason": REASON_ACTIVE, "message": summary.text})
            }
            None => json!({"type": HELD_UPGRADE, "status": "False", "reason": REASON_RELEASED,
                "message": "nothing is held any more"}),
        };
        condition["lastUpdateTime"] = json!(now);
        if is_transition {
            condition["lastTransitionTime"] = json!(now);
        }
        // The controller of Deployments keeps conditions that are not its own.
        let change = Patch::Strategic(json!({"status": {"conditions": [condition]}}));
        match api.patch_status(&top.name, &PatchParams::default(), &change).await {
            // It is gone, and with it whatever was to be said.
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
            written => written.map(drop),
        }
    }

    async fn event(&self, top: &Top, summary: &Summary) -> Result<(), kube::Error> {
        let about = match top.kind {
            Carrier::Deployment => self.about::<Deployment>(top).await?,
            Carrier::DaemonSet => self.about::<DaemonSet>(top).await?,
            Carrier::StatefulSet => self.about::<StatefulSet>(top).await?,
        };
        let Some(about) = about else { return Ok(()) };
        let story = story(&about, summary);
        // It is what somebody wanted.
        let told = Told { about, story, reason: UPGRADE_HELD, warning: false, text: summary.text.clone() };
        told.tell(&self.client, self.clock.now()).await
    }

    async fn about<K>(&self, top: &Top) -> Result<Option<ObjectReference>, kube::Error>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + Debug + DeserializeOwned,
    {
        let api: Api<K> = Api::namespaced(self.client.clone(), &top.namespace);
        let found = api.get_metadata_opt(&top.name).await?;
        let uid = found.and_then(|found| found.uid());
        Ok(uid.map(|uid| event::about(&K::api_version(&()), &K::kind(&()), &top.namespace, &top.name, &uid)))
    }
}

/// The same for the same beginning, so that a hub that is started again does not tell it again.
fn story(about: &ObjectReference, summary: &Summary) -> String {
    let mut hasher = DefaultHasher::new();
    (&about.kind, &about.uid, UPGRADE_HELD, summary.since.as_millisecond()).hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

fn is_shown(deployment: &Deployment) -> bool {
    let conditions = deployment.status.iter().flat_map(|status| status.conditions.iter().flatten());
    conditions.into_iter().any(|condition| condition.type_ == HELD_UPGRADE && condition.status == "True")
}
