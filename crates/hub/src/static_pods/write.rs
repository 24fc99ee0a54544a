//! Carries out what a pass wants done.
//!
//! Every write is bound to the object that was looked at, and is safe to be done twice: another hub may believe to lead.

use std::collections::{BTreeMap, HashSet};
use std::sync::{Mutex, PoisonError};

use futures::StreamExt;
use futures::stream;
use k8s_openapi::api::core::v1::{ConfigMap, Pod, ServiceAccount};
use k8s_openapi::api::rbac::v1::ClusterRoleBinding;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use kube::Client;
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams, Preconditions};
use safepoint_api::StaticPod;
use safepoint_api::names::openyurt::pod_condition::{MESSAGE_PREFIX, NEED_UPGRADE};
use safepoint_api::names::safepoint::static_pod as words;
use safepoint_api::names::safepoint::{GROUP, VERSION};
use safepoint_core::{Revision, Text};
use serde_json::{Value, json};

use super::acts::{Acts, Done, Mark, Note, Remove, Start};
use super::manifest::MapFacts;
use super::news::News;
use super::status;
use super::task::SERVICE_ACCOUNT;
use crate::clock::Clock;
use crate::event::{self, Told};
use crate::facts::{Count, Facts};

/// So much is written at once for one StaticPod.
const AT_ONCE: usize = 64;

/// Which StaticPod.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(crate) struct Object {
    pub(crate) namespace: Text,
    pub(crate) name: Text,
    pub(crate) uid: Text,
}

/// Writes.
pub(crate) struct Writer<'a> {
    pub(crate) client: &'a Client,
    pub(crate) clock: &'a Clock,
    pub(crate) facts: &'a Facts,
    /// Namespaces in which tasks have an account.
    pub(crate) accounts: Mutex<HashSet<Text>>,
}

// === impl Writer ===

impl Writer<'_> {
    /// Does it all, in order, and says what became of it.
    pub(crate) async fn carry_out(&self, object: &Object, acts: Acts) -> Vec<Done> {
        let Acts { hold, make, renew, find, start, remove, mark, note, forget, let_go, status, news } = acts;
        let mut done = Vec::new();
        if hold {
            done.extend(self.finalizer(object, true).await);
        }
        if let Some(map) = make {
            done.push(self.make(object, &map).await);
        }
        if let Some((map, at)) = renew {
            done.push(self.renew(object, map, at).await);
        }
        if !start.is_empty() {
            done.extend(self.account(&object.namespace).await);
        }
        let mut finds = stream::iter(find).map(|start| self.find(object, start)).buffer_unordered(AT_ONCE);
        while let Some(found) = finds.next().await {
            done.extend(found);
        }
        // On each node in order: a retry is there before the failure that it is counted from is gone.
        let mut nodes: BTreeMap<Text, (Vec<Start>, Vec<Remove>)> = BTreeMap::new();
        for start in start {
            nodes.entry(start.node.clone()).or_default().0.push(start);
        }
        for remove in remove {
            nodes.entry(remove.node.clone()).or_default().1.push(remove);
        }
        let tasks = stream::iter(nodes).map(|(_, (start, remove))| self.tasks(object, start, remove));
        let mut tasks = tasks.buffer_unordered(AT_ONCE);
        while let Some(written) = tasks.next().await {
            done.extend(written);
        }
        let mut marks = stream::iter(mark).map(|mark| self.mark(object, mark)).buffer_unordered(AT_ONCE);
        while let Some(marked) = marks.next().await {
            done.extend(marked);
        }
        let mut notes = stream::iter(note).map(|note| self.note(object, note)).buffer_unordered(AT_ONCE);
        while let Some(noted) = notes.next().await {
            done.extend(noted);
        }
        for (revision, map) in forget {
            done.push(self.forget(object, revision, map).await);
        }
        let undone = done.iter().any(|done| {
            matches!(
                done,
                Done::Trouble(_) | Done::Again | Done::Later | Done::NotStarted { .. } | Done::Unanswered(_)
            )
        });
        if let Some(status) = status {
            done.extend(self.tell(object, status).await);
        }
        for news in news {
            done.extend(self.event(object, news).await);
        }
        if let_go && !undone {
            done.extend(self.finalizer(object, false).await);
        }
        done
    }

    /// Puts the finalizer on, or takes it off.
    async fn finalizer(&self, object: &Object, on: bool) -> Option<Done> {
        let api: Api<StaticPod> = Api::namespaced(self.client.clone(), &object.namespace);
        let found = match api.get_metadata_opt(&object.name).await {
            Ok(found) => found.filter(|found| found.metadata.uid.as_deref() == Some(&object.uid)),
            Err(error) => return Some(trouble("cannot read the StaticPod", &error)),
        };
        let Some(found) = found else { return Some(Done::LetGo) };
        let mut finalizers = found.metadata.finalizers.unwrap_or_default();
        let is_on = finalizers.iter().any(|known| known == words::FINALIZER);
        if is_on == on {
            return (!on).then_some(Done::LetGo);
        }
        finalizers.retain(|known| known != words::FINALIZER);
        if on {
            finalizers.push(words::FINALIZER.to_owned());
        }
        let change = json!({"metadata": {"uid": &*object.uid, "resourceVersion": found.metadata.resource_version,
            "finalizers": finalizers}});
        match api.patch_metadata(&object.name, &PatchParams::default(), &Patch::Merge(change)).await {
            Ok(_) => (!on).then_some(Done::LetGo),
            Err(error) => Some(trouble("cannot write the finalizer", &error)),
        }
    }

    async fn make(&self, object: &Object, map: &ConfigMap) -> Done {
        let maps: Api<ConfigMap> = Api::namespaced(self.client.clone(), &object.namespace);
        let made = match maps.create(&PostParams::default(), map).await {
            Err(kube::Error::Api(status)) if status.code == 409 => maps
                .get_metadata_opt(map.metadata.name.as_deref().unwrap_or_default())
                .await
                .map(|found| found.map(|found| found.metadata)),
            made => made.map(|made| Some(made.metadata)),
        };
        match made {
            Ok(Some(meta)) if !is_owned(&meta, &object.uid) => Done::Trouble(format!(
                "ConfigMap {} is somebody else's: delete it",
                meta.name.unwrap_or_default()
            )),
            Ok(Some(meta)) => match read_map(&meta) {
                Some((revision, map)) => Done::Made(revision, map),
                None => Done::Again,
            },
            Ok(None) => Done::Again,
            Err(error) => trouble("cannot write the manifest", &error),
        }
    }

    async fn renew(&self, object: &Object, map: MapFacts, at: String) -> Done {
        let maps: Api<ConfigMap> = Api::namespaced(self.client.clone(), &object.namespace);
        let change = json!({"metadata": {"uid": &*map.uid, "annotations": {words::WANTED_AT: at}}});
        match maps.patch_metadata(&map.name, &PatchParams::default(), &Patch::Merge(change)).await {
            Ok(written) => match read_map(&written.metadata) {
                Some((revision, map)) => Done::Renewed(revision, map),
                None => Done::Again,
            },
            Err(error) => trouble("cannot write the manifest", &error),
        }
    }

    async fn forget(&self, object: &Object, revision: Revision, map: MapFacts) -> Done {
        let maps: Api<ConfigMap> = Api::namespaced(self.client.clone(), &object.namespace);
        match maps.delete(&map.name, &only(&map.uid, None)).await {
            Ok(_) => Done::Forgotten(revision),
            // Gone, or another one has its name.
            Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => Done::Forgotten(revision),
            Err(error) => trouble("cannot remove a revision", &error),
        }
    }

    /// Makes the account that tasks ask the kubelet as, where it is not there. A server without RBAC needs no rights.
    async fn account(&self, namespace: &Text) -> Option<Done> {
        if self.accounts.lock().unwrap_or_else(PoisonError::into_inner).contains(namespace) {
            return None;
        }
        let account = json!({"metadata": {"name": SERVICE_ACCOUNT, "labels": {"app.kubernetes.io/managed-by": "safepoint"}}});
        let account: ServiceAccount =
            serde_json::from_value(account).expect("an account that is written here is one");
        let accounts: Api<ServiceAccount> = Api::namespaced(self.client.clone(), namespace);
        let made = accounts.create(&PostParams::default(), &account).await.map(drop);
        if let Err(error) = is_there(made) {
            return Some(trouble("cannot make the service account of the tasks", &error));
        }
        let binding = json!({
            "metadata": {"name": format!("{SERVICE_ACCOUNT}-{namespace}"), "labels": {"app.kubernetes.io/managed-by": "safepoint"}},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": SERVICE_ACCOUNT},
            "subjects": [{"kind": "ServiceAccount", "name": SERVICE_ACCOUNT, "namespace": &**namespace}],
        });
        let binding: ClusterRoleBinding =
            serde_json::from_value(binding).expect("a binding that is written here is one");
        let bindings: Api<ClusterRoleBinding> = Api::all(self.client.clone());
        let bound = bindings.create(&PostParams::default(), &binding).await.map(drop);
        if let Err(error) = is_there(bound) {
            // A task that may not ask the kubelet asks the container runtime: it sees less and works.
            tracing::warn!(%error, namespace = &**namespace, "tasks may not ask the kubelet");
        }
        self.accounts.lock().unwrap_or_else(PoisonError::into_inner).insert(namespace.clone());
        None
    }

    /// Starts tasks on one node, and then removes others from it.
    async fn tasks(&self, object: &Object, start: Vec<Start>, remove: Vec<Remove>) -> Vec<Done> {
        let mut done = Vec::new();
        for start in start {
            done.extend(self.start(object, start).await);
        }
        for remove in remove {
            done.push(self.remove(object, remove).await);
        }
        done
    }

    async fn start(&self, object: &Object, start: Start) -> Vec<Done> {
        let pod = start.making(&object.namespace, (&object.name, &object.uid)).pod();
        let pods: Api<Pod> = Api::namespaced(self.client.clone(), &object.namespace);
        match pods.create(&PostParams::default(), &pod).await {
            Ok(pod) => {
                self.facts.count(Count::TasksStarted);
                let Start { node, task, .. } = start;
                vec![Done::Started { node, task, pod: Some(Box::new(pod)) }]
            }
            Err(kube::Error::Api(status)) if status.code == 409 => self.find(object, start).await,
            Err(error @ kube::Error::Api(_)) => {
                let Start { node, task, .. } = start;
                vec![Done::NotStarted { node, task }, trouble("cannot start a task", &error)]
            }
            // Whether the server has heard of it is not known.
            Err(error) => {
                tracing::warn!(%error, node = &*start.node, "no answer to the start of a task");
                vec![Done::Unanswered(start)]
            }
        }
    }

    /// Looks whether a task is there.
    async fn find(&self, object: &Object, start: Start) -> Vec<Done> {
        let name = start.making(&object.namespace, (&object.name, &object.uid)).name();
        let pods: Api<Pod> = Api::namespaced(self.client.clone(), &object.namespace);
        let found = match pods.get_metadata_opt(&name).await {
            Ok(found) => found.map(|found| found.metadata),
            Err(error) => {
                tracing::warn!(%error, name, "no answer to the question whether a task is there");
                return vec![Done::Unanswered(start)];
            }
        };
        let Start { node, task, .. } = start;
        match found {
            Some(metadata) if is_owned(&metadata, &object.uid) => {
                // What staging tasks say of themselves is not known from this: the watch will tell.
                let pod = task.is_some().then(|| Box::new(Pod { metadata, ..Pod::default() }));
                vec![Done::Started { node, task, pod }]
            }
            Some(_) => {
                let text =
                    format!("pod {name} is somebody else's and stands in the way of a task: delete it");
                vec![Done::NotStarted { node, task }, Done::Trouble(text)]
            }
            None => vec![Done::NotStarted { node, task }],
        }
    }

    async fn remove(&self, object: &Object, remove: Remove) -> Done {
        let Remove { node, name, uid, version } = remove;
        let pods: Api<Pod> = Api::namespaced(self.client.clone(), &object.namespace);
        match pods.delete(&name, &only(&uid, Some(&version))).await {
            Ok(_) => {
                self.facts.count(Count::TasksRemoved);
                Done::Removed { node, uid }
            }
            Err(kube::Error::Api(status)) if status.code == 404 => Done::Removed { node, uid },
            // It has changed since it was looked at, or its node holds it: it is looked at again.
            Err(kube::Error::Api(status)) if status.code == 409 => Done::Later,
            Err(error) => trouble("cannot remove a task", &error),
        }
    }

    /// Tells a node's owner by one condition. Only this one is written: the kubelet writes its own at the same time (OpenYurt's
    /// defect 20).
    async fn mark(&self, object: &Object, mark: Mark) -> Option<Done> {
        let pods: Api<Pod> = Api::namespaced(self.client.clone(), &object.namespace);
        let (status, reason) = match &mark.revision {
            Some(_) => ("True", "NewRevision"),
            None => ("False", "NothingToUpgrade"),
        };
        let condition = json!({"type": NEED_UPGRADE, "status": status, "reason": reason,
            "message": format!("{MESSAGE_PREFIX}{}", mark.about), "lastTransitionTime": Time(self.clock.now())});
        let change = json!({"metadata": {"uid": &*mark.uid}, "status": {"conditions": [condition]}});
        match pods.patch_status(&mark.name, &PatchParams::default(), &Patch::Strategic(change)).await {
            Ok(_) => Some(Done::Marked(mark)),
            // The mirror pod is gone, or is another one: that will be seen.
            Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => None,
            Err(error) => Some(trouble("cannot tell a node's owner", &error)),
        }
    }

    async fn note(&self, object: &Object, note: Note) -> Option<Done> {
        let pods: Api<Pod> = Api::namespaced(self.client.clone(), &object.namespace);
        let change =
            json!({"metadata": {"uid": &*note.uid, "annotations": {words::STAGED: note.revision.as_str()}}});
        match pods.patch_metadata(&note.name, &PatchParams::default(), &Patch::Merge(change)).await {
            Ok(_) => Some(Done::Noted(note)),
            Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => None,
            Err(error) => Some(trouble("cannot note what is staged", &error)),
        }
    }

    async fn tell(
        &self,
        object: &Object,
        status: Box<safepoint_api::static_pod::StaticPodStatus>,
    ) -> Option<Done> {
        let api: Api<StaticPod> = Api::namespaced(self.client.clone(), &object.namespace);
        let change: Value = json!({"metadata": {"uid": &*object.uid}, "status": status::patch(&status)});
        match api.patch_status(&object.name, &PatchParams::default(), &Patch::Merge(change)).await {
            Ok(_) => {
                self.facts.count(Count::RolloutStatuses);
                Some(Done::Told(status))
            }
            Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => None,
            Err(error) => Some(trouble("cannot write the status", &error)),
        }
    }

    async fn event(&self, object: &Object, news: News) -> Option<Done> {
        let News { reason, warning, text, name } = news;
        let about = event::about(
            &format!("{GROUP}/{VERSION}"),
            "StaticPod",
            &object.namespace,
            &object.name,
            &object.uid,
        );
        let told = Told { about, story: name, reason, warning, text };
        if let Err(error) = told.tell(self.client, self.clock.now()).await {
            tracing::debug!(%error, reason, "an event is lost");
        }
        None
    }
}

/// The revision and the facts of a ConfigMap of ours.
pub(crate) fn read_map(meta: &ObjectMeta) -> Option<(Revision, MapFacts)> {
    let revision = meta.labels.as_ref()?.get(words::REVISION)?;
    let at = meta.annotations.as_ref().and_then(|all| all.get(words::WANTED_AT));
    let facts = MapFacts {
        name: meta.name.as_deref()?.into(),
        uid: meta.uid.as_deref()?.into(),
        wanted_at: super::manifest::read_stamp(at.map(String::as_str)),
    };
    Some((Revision::from(revision.as_str()), facts))
}

/// Whether the StaticPod with this uid is the controller.
fn is_owned(meta: &ObjectMeta, uid: &str) -> bool {
    let mut owners = meta.owner_references.iter().flatten();
    owners.any(|owner| owner.controller == Some(true) && owner.uid == uid)
}

/// What is there already is as good as made. A kind that is not served, or a namespace that ends, takes nothing.
fn is_there(made: Result<(), kube::Error>) -> Result<(), kube::Error> {
    match made {
        Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => Ok(()),
        made => made,
    }
}

/// Only the object with this uid, in this version.
fn only(uid: &str, version: Option<&str>) -> DeleteParams {
    let preconditions =
        Preconditions { uid: Some(uid.to_owned()), resource_version: version.map(str::to_owned) };
    DeleteParams { preconditions: Some(preconditions), ..DeleteParams::default() }
}

/// Whether something was refused because its namespace is being deleted.
fn is_ending(status: &kube::core::Status) -> bool {
    let causes = status.details.iter().flat_map(|details| &details.causes);
    causes.into_iter().any(|cause| cause.reason == "NamespaceTerminating")
}

/// What the operator is told. What passes by itself is not.
fn trouble(what: &str, error: &kube::Error) -> Done {
    tracing::warn!(%error, "{what}; it is tried again");
    match error {
        kube::Error::Api(status) if is_ending(status) => Done::NamespaceEnds,
        kube::Error::Api(status) if matches!(status.code, 400 | 403 | 422) => {
            Done::Trouble(format!("{what}: {}", status.message))
        }
        kube::Error::Api(status) if status.code == 409 => Done::Later,
        _ => Done::Again,
    }
}

#[cfg(test)]
mod tests;
