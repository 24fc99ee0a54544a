//! Carries the hold annotation from a workload to its pods, where the nodes read it.
//!
//! People annotate what they know: the Deployment, StatefulSet or DaemonSet. Its pods get the annotation as metadata and the
//! template does not, so that arming or disarming a hold is never itself a rollout. New pods are born with it (`hook`); pods
//! that run already, and those that were made while no hub answered, get it from the controller here.

mod decide;
mod hook;
mod owners;

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use k8s_openapi::api::core::v1::Pod;
use kube::Client;
use kube::api::{Api, Patch, PatchParams};
use safepoint_supervisor::{Ctx, Fault, Module, Spec};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep_until};

use crate::facts::{Count, Facts};
use crate::seen::{PodFacts, Seen, Uid, WorkloadFacts};
use decide::{Act, annotations, decide};
pub(crate) use hook::Carry;
pub(crate) use owners::Owners;

/// A workload may have ten thousand pods: so many are written at once.
const AT_ONCE: usize = 16;

/// What could not be written is tried again this much later.
const AGAIN: Duration = Duration::from_secs(5);

/// The controller as a module.
pub(crate) struct Carrying {
    pub(crate) client: Client,
    pub(crate) seen: Arc<Seen>,
    pub(crate) owners: Owners,
    pub(crate) facts: Arc<Facts>,
    pub(crate) after: Vec<&'static str>,
}

/// What has to be written on one pod.
struct Task {
    uid: Uid,
    pod: PodFacts,
    workload: WorkloadFacts,
    act: Act,
}

// === impl Carrying ===

impl Module for Carrying {
    fn spec(&self) -> Spec {
        Spec::new("carrying").after(self.after.iter().copied())
    }

    async fn run(&self, ctx: Ctx) -> Result<(), Fault> {
        let dirty = self.seen.dirty_pods();
        ctx.ready();
        let (mut waiting, mut writing) = (Vec::new(), FuturesUnordered::new());
        let (mut failed, mut retry_at): (Vec<Uid>, Option<Instant>) = (Vec::new(), None);
        loop {
            while writing.len() < AT_ONCE
                && let Some(task) = waiting.pop()
            {
                writing.push(self.write(task));
            }
            let again = async {
                match retry_at {
                    Some(at) => sleep_until(at).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                Some(done) = writing.next(), if !writing.is_empty() => if let Some(uid) = done {
                    failed.push(uid);
                    // Whoever failed first decides, however much happens meanwhile.
                    retry_at = retry_at.or_else(|| Some(Instant::now() + AGAIN));
                },
                // What waits was decided by what was known then: nothing new is taken on before it is done.
                changed = dirty.next(), if waiting.is_empty() => {
                    waiting = changed.into_iter().filter_map(|uid| self.task(uid)).collect();
                }
                () = again => {
                    retry_at = None;
                    self.seen.soil(failed.drain(..));
                }
                () = ctx.cancelled() => return Ok(()),
            }
        }
    }
}

impl Carrying {
    fn task(&self, uid: Uid) -> Option<Task> {
        let index = self.seen.index();
        let pod = index.pod(&uid)?;
        let workload = index.workload(pod.owner.as_ref()?)?;
        let act = decide(&pod.marks, pod.ending, Some(workload))?;
        Some(Task { pod: pod.clone(), workload: workload.clone(), uid, act })
    }

    /// Writes one pod. Returns it if it has to be tried again.
    async fn write(&self, task: Task) -> Option<Uid> {
        let Task { uid, pod, workload, act } = task;
        // The pod may have been armed by a replica that sees further than this one. Taking a hold off is not done on hearsay.
        if act == Act::Disarm {
            match self.owners.is_armed(&pod.namespace, &workload).await {
                Ok(Some(false)) => {}
                // It is armed, or gone: the watch will say so.
                Ok(Some(true) | None) => return None,
                Err(error) => {
                    tracing::debug!(%error, %workload, "cannot ask whether a workload is armed; it is tried again");
                    return Some(uid);
                }
            }
        }
        let pods: Api<Pod> = Api::namespaced(self.client.clone(), &pod.namespace);
        let count = match act {
            Act::Arm { .. } => Count::PodsArmed,
            Act::Disarm => Count::PodsDisarmed,
        };
        match pods
            .patch_metadata(&pod.name, &PatchParams::default(), &Patch::Merge(change(&uid, &pod, &act)))
            .await
        {
            Ok(_) => {
                tracing::info!(namespace = &*pod.namespace, pod = &*pod.name, ?act, "carried a hold");
                self.facts.count(count);
                None
            }
            // It is gone, it has changed, or another one has its name: it is looked at again when that is seen.
            Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409 | 422) => None,
            Err(error) => {
                tracing::warn!(namespace = &*pod.namespace, pod = &*pod.name, %error, "cannot carry a hold; it is tried again");
                Some(uid)
            }
        }
    }
}

/// Written only if nobody has changed the pod since it was looked at: its owner may have just decided differently.
fn change(uid: &str, pod: &PodFacts, act: &Act) -> Value {
    json!({"metadata": {"uid": uid, "resourceVersion": &*pod.version, "annotations": annotations(act)}})
}

/// The annotations that arm a pod, as a merge patch.
pub(crate) fn arming(from: &str) -> Value {
    annotations(&Act::Arm { from: from.to_owned() })
}
