//! What people ask of a StaticPod: to wait, to go on, to go back.

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{ListParams, Patch, PatchParams, PostParams};
use kube::{Api, Client, ResourceExt};
use safepoint_api::names::safepoint::static_pod::{KEY_TEMPLATE, OF, REVISION, WANTED_AT};
use safepoint_api::static_pod::PodTemplate;
use safepoint_api::{PodRef, StaticPod};
use serde::Serialize;
use serde_json::{Value, json};

use crate::Error;

/// A revision that the cluster keeps.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Revision {
    /// Its name.
    pub revision: String,
    /// When it was last wanted anew.
    pub wanted_at: String,
    /// Whether it is wanted now.
    pub current: bool,
    /// What the static pod is in it.
    #[serde(skip)]
    pub template: Option<Value>,
}

// === impl Revision ===

impl Revision {
    /// What the static pod is in it. Whoever may write ConfigMaps must not get the rights of whoever goes back: what is kept under
    /// the name of a revision has to be it.
    fn template(&self) -> Result<PodTemplate, Error> {
        let template = self.template.clone().and_then(|template| serde_json::from_value(template).ok());
        let template: PodTemplate =
            template.ok_or_else(|| Error::NoTemplate { revision: self.revision.clone() })?;
        match template.revision() {
            found if found == self.revision => Ok(template),
            found => Err(Error::OtherTemplate { revision: self.revision.clone(), found }),
        }
    }
}

/// The StaticPod as it is.
///
/// # Errors
///
/// If there is none, or the cluster does not show it.
pub async fn read(client: &Client, pod: &PodRef) -> Result<StaticPod, Error> {
    let found = Api::<StaticPod>::namespaced(client.clone(), &pod.namespace).get_opt(&pod.name).await?;
    let (namespace, name) = (pod.namespace.clone(), pod.name.clone());
    found.ok_or(Error::NoStaticPod { namespace, name })
}

/// Starts no further upgrade, or goes on.
///
/// # Errors
///
/// If the cluster does not take it.
pub async fn pause(
    client: &Client,
    pod: &PodRef,
    paused: bool,
    manager: &'static str,
) -> Result<StaticPod, Error> {
    let objects = Api::<StaticPod>::namespaced(client.clone(), &pod.namespace);
    let params = PatchParams { field_manager: Some(manager.to_owned()), ..PatchParams::default() };
    Ok(objects.patch(&pod.name, &params, &Patch::Merge(json!({"spec": {"paused": paused}}))).await?)
}

/// The revisions that are kept of an object, the newest last.
///
/// # Errors
///
/// If the cluster does not show them.
pub async fn revisions(client: &Client, object: &StaticPod) -> Result<Vec<Revision>, Error> {
    let namespace = object.namespace().unwrap_or_default();
    let maps = Api::<ConfigMap>::namespaced(client.clone(), &namespace);
    let found = maps.list(&ListParams::default().labels(OF)).await?;
    let wanted = object.spec.template.revision();
    let uid = object.metadata.uid.clone().unwrap_or_default();
    let own =
        found.items.into_iter().filter(|map| map.owner_references().iter().any(|owner| owner.uid == uid));
    let mut revisions: Vec<Revision> = own
        .filter_map(|map| {
            let revision = map.labels().get(REVISION)?.clone();
            let wanted_at = map.annotations().get(WANTED_AT).cloned().unwrap_or_default();
            let template =
                map.data.as_ref().and_then(|data| serde_json::from_str(data.get(KEY_TEMPLATE)?).ok());
            Some(Revision { current: revision == wanted, revision, wanted_at, template })
        })
        .collect();
    revisions.sort_by(|a, b| (&a.wanted_at, &a.revision).cmp(&(&b.wanted_at, &b.revision)));
    Ok(revisions)
}

/// Goes back to a revision, or to the newest that is not wanted now. Says to which.
///
/// # Errors
///
/// If it is not kept, or somebody else has changed the object meanwhile.
pub async fn roll_back(
    client: &Client,
    pod: &PodRef,
    revision: Option<&str>,
    manager: &'static str,
) -> Result<String, Error> {
    let object = read(client, pod).await?;
    let mut kept = revisions(client, &object).await?.into_iter().rev();
    let found = kept.find(|it| match revision {
        Some(revision) => it.revision == *revision,
        None => !it.current,
    });
    let found = found.ok_or(Error::NoRevision)?;
    // All of it: a merge would leave behind what the newer template has added. Only if nobody else has changed it.
    let mut changed = object;
    changed.spec.template = found.template()?;
    let objects = Api::<StaticPod>::namespaced(client.clone(), &pod.namespace);
    let params = PostParams { field_manager: Some(manager.to_owned()), ..PostParams::default() };
    objects.replace(&pod.name, &params, &changed).await?;
    Ok(found.revision)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_under_the_name_of_a_revision_has_to_be_it() {
        let template = json!({"metadata": {"labels": {"app": "proxy"}}, "spec": {"containers": [{"name": "main", "image": "proxy:1"}]}});
        let read: PodTemplate = serde_json::from_value(template.clone()).unwrap();
        let kept = |template: Option<Value>| Revision {
            revision: read.revision(),
            wanted_at: String::new(),
            current: false,
            template,
        };
        assert_eq!(kept(Some(template.clone())).template().unwrap().revision(), read.revision());
        let mut other = template;
        other["spec"]["containers"][0]["image"] = json!("evil:1");
        let refused = kept(Some(other)).template().unwrap_err().to_string();
        assert!(refused.contains("somebody has replaced it"), "{refused}");
        assert!(matches!(kept(None).template(), Err(Error::NoTemplate { .. })));
    }
}
