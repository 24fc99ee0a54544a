//! The container runtime as a source: it answers without any API server, and before the kubelet does.
//!
//! It knows of no probes. A pod is taken for ready while all its containers run; that they stay so for a stretch and are not
//! restarted is the rest.

use std::collections::BTreeMap;

use safepoint_api::names::openyurt::STATIC_POD_HASH;

use super::{Blind, Looking, PodSeen, Source, Wanted};
use crate::cri::{Container, ContainerState, Cri, CriError, Sandbox};
use crate::journal::Failure;
use crate::manifest::{PullPolicy, Role};
use crate::outcome::Cause;

#[cfg(test)]
mod tests;

/// A container runtime that is asked.
#[derive(Clone, Debug)]
pub struct RuntimeSource(pub Cri);

impl Source for RuntimeSource {
    fn name(&self) -> String {
        format!("the container runtime at {}", self.0.socket().display())
    }

    fn look<'a>(&'a mut self, wanted: &'a Wanted) -> Looking<'a> {
        Box::pin(async move { self.pods(wanted).await.map_err(|error| Blind(error.to_string())) })
    }
}

// === impl RuntimeSource ===

impl RuntimeSource {
    async fn pods(&self, wanted: &Wanted) -> Result<Vec<PodSeen>, CriError> {
        let mut sandboxes = self.0.sandboxes(wanted.key.namespace()).await?;
        sandboxes.retain(|it| it.ready && wanted.is_named(&it.namespace, &it.pod, None));
        sandboxes.sort_by_key(|it| it.created);
        let mut pods = Vec::new();
        for sandbox in sandboxes {
            let containers = self.0.containers(&sandbox.id).await?;
            let mut pod = seen(&sandbox, &containers, wanted);
            if !pod.ready {
                self.explain(&mut pod, &containers, wanted).await?;
            }
            pods.push(pod);
        }
        Ok(pods)
    }

    /// Finds out more of a pod that does not run.
    async fn explain(
        &self,
        pod: &mut PodSeen,
        containers: &[Container],
        wanted: &Wanted,
    ) -> Result<(), CriError> {
        for it in &wanted.containers {
            let Some(container) = newest(containers, &it.name) else {
                if self.0.image(&it.image).await?.is_none() {
                    let words = format!("{}: image {} is not on the node", it.name, it.image);
                    if it.pull == PullPolicy::Never {
                        pod.failure.get_or_insert(Failure::new(Cause::ImageUnavailable, &words));
                    }
                    add(&mut pod.note, &words);
                }
                continue;
            };
            if container.state == ContainerState::Exited
                && let Some(detail) = self.0.container(&container.id).await?
                && !(it.role == Role::Init && detail.exit_code == 0)
            {
                add(
                    &mut pod.note,
                    &format!("{} has ended with {} ({})", it.name, detail.exit_code, detail.reason),
                );
            }
        }
        Ok(())
    }
}

fn add(note: &mut String, words: &str) {
    if !note.is_empty() {
        note.push_str(", ");
    }
    note.push_str(words);
}

fn newest<'a>(containers: &'a [Container], name: &str) -> Option<&'a Container> {
    containers.iter().filter(|it| it.name == name).max_by_key(|it| it.attempt)
}

/// What a sandbox and its containers say of a pod.
fn seen(sandbox: &Sandbox, containers: &[Container], wanted: &Wanted) -> PodSeen {
    let missing: Vec<_> = wanted
        .containers
        .iter()
        // One that runs first is through, or the others would not be there.
        .filter(|it| it.role != Role::Init)
        .filter(|it| newest(containers, &it.name).is_none_or(|it| it.state != ContainerState::Running))
        .map(|it| it.name.as_str())
        .collect();
    let mut attempts = BTreeMap::new();
    for container in containers {
        let most = attempts.entry(container.name.as_str()).or_insert(0_u32);
        *most = container.attempt.max(*most);
    }
    let restarts = attempts.into_values().fold(sandbox.attempt, u32::saturating_add);
    PodSeen {
        uid: sandbox.uid.clone(),
        revision: sandbox.annotations.get(STATIC_POD_HASH).cloned(),
        ready: missing.is_empty(),
        restarts,
        failure: None,
        note: if missing.is_empty() {
            String::new()
        } else {
            format!("{} does not run", missing.join(" and "))
        },
    }
}
