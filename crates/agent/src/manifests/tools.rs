//! What a swap is done with: the door, who sees the pod, and the runtime that has its images.

use std::path::PathBuf;

use jiff::Timestamp as Moment;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use safepoint_api::local::{StaticPodOutcome, StaticPodStep};
use safepoint_core::Key;
use safepoint_manifest::{
    Auths, Code, Cri, CriError, Door, FileName, FirstOf, Host, ImageReady, Manifest, Outcome, PodKey,
    PodSeen, PullError, RuntimeSource, Source, Told, Upgrade, Wanted, kubelet, pull_images,
};
use serde_json::Value;

use super::read::{Read, Written, pod_of};
use crate::static_pods::Witness;

/// What a swap is done with. Cheap to clone.
#[derive(Clone)]
pub(super) struct Tools {
    pub(super) door: Door,
    pub(super) runtime: Option<PathBuf>,
    /// The kubelet's credentials for registries.
    pub(super) credentials: PathBuf,
    pub(super) witness: Witness,
}

// === impl Tools ===

impl Tools {
    /// The container runtime; none where pods are processes.
    fn cri(&self) -> Option<Result<Cri, CriError>> {
        if matches!(self.witness, Witness::Door(..)) {
            return None;
        }
        if let Some(socket) = &self.runtime {
            return Some(Ok(Cri::at(socket)));
        }
        let host = Host::here();
        Some(Cri::find(&host, kubelet::running(&host).ok().flatten().as_ref()))
    }

    /// The mirror pod knows whether its pod is ready, and is seen only through the cluster. The runtime is always there.
    fn source(&self) -> FirstOf {
        let witness = self.witness.clone();
        let name = match witness {
            Witness::Mirrors(..) => "the mirror pod",
            Witness::Door(..) => "the process door",
        };
        let mut sources: Vec<Box<dyn Source>> =
            vec![Box::new(Told::new(name, move |wanted: &Wanted| look(&witness, wanted)))];
        match self.cri() {
            Some(Ok(cri)) => sources.push(Box::new(RuntimeSource(cri))),
            Some(Err(error)) => tracing::warn!(%error, "static pods are seen through the cluster alone"),
            None => {}
        }
        FirstOf::new(sources)
    }

    /// Makes sure that the images are here before anything is stopped for them.
    pub(super) async fn pull(&self, manifest: &Manifest) -> Result<Vec<ImageReady>, Outcome> {
        // Without one, the kubelet pulls when it starts the pod, and what it says is seen.
        let Some(Ok(cri)) = self.cri() else { return Ok(Vec::new()) };
        let auths = Auths::read(&self.credentials).unwrap_or_else(|error| {
            tracing::warn!(%error, "pulling without credentials");
            Auths::none()
        });
        let mut news = |line: String| tracing::info!("{line}");
        match pull_images(&cri, manifest, &auths, &mut news).await {
            Ok(ready) => Ok(ready),
            Err(PullError::Runtime(error)) => {
                tracing::warn!(%error, "images are not pulled ahead");
                Ok(Vec::new())
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Puts a manifest in place, in that of another or where none is.
    pub(super) async fn put(self, key: Key, live: Option<FileName>, written: Written) -> Outcome {
        let read = FileName::new(&written.file)
            .map_err(|error| error.to_string())
            .and_then(|file| Read::new(file, &written.text).map_err(|error| error.to_string()));
        let (pod, read) = match (pod_of(&key), read) {
            (Some(pod), Ok(read)) => (pod, read),
            (_, Err(error)) => return Outcome::new(Code::ManifestInvalid, error),
            (None, _) => return Outcome::new(Code::ManifestInvalid, format!("{key} cannot be a pod's name")),
        };
        if let Err(outcome) = self.pull(&read.manifest).await {
            return outcome;
        }
        let mut source = self.source();
        match live {
            // What was here before Safepoint says no revision, and only what was kept can be without.
            file if read.manifest.revision().is_none() => {
                self.door.rollback(&pod, &file.unwrap_or(read.file), None, &mut source).await
            }
            None => self.door.install(&read.file, &written.text, &mut source).await,
            Some(file) => {
                // What was staged was meant for the manifest that lay there then.
                let staged = self.door.staged(&pod).ok().flatten();
                let staged = staged.filter(|it| it.record.digest == *read.manifest.digest());
                let instead_of = staged.and_then(|it| it.record.instead_of);
                let ask = Upgrade { key: pod, file, text: written.text, instead_of, anyway: false };
                self.door.upgrade(&ask, &mut source).await
            }
        }
    }

    /// Takes a manifest away.
    pub(super) async fn remove(self, pod: PodKey, file: FileName) -> Outcome {
        let mut source = self.source();
        self.door.uninstall(&pod, &file, &mut source).await
    }

    /// Goes on with what was interrupted; none if nothing was.
    pub(super) async fn resume(self, pod: PodKey) -> Option<Outcome> {
        let mut source = self.source();
        self.door.resume(&pod, &mut source).await
    }
}

/// The pods that are looked for, as a witness sees them.
fn look(witness: &Witness, wanted: &Wanted) -> Result<Vec<PodSeen>, String> {
    let pods = witness.now()?;
    let named = pods.iter().filter(|pod| {
        let of = |field: &str| pod["metadata"][field].as_str().unwrap_or_default();
        wanted.is_named(of("namespace"), of("name"), pod["spec"]["nodeName"].as_str())
    });
    Ok(named.map(|pod: &Value| PodSeen::of_pod(pod)).collect())
}

/// An outcome in the words of the wire.
pub(super) fn shown(outcome: &Outcome, tried: Option<&str>, at: Moment) -> StaticPodOutcome {
    StaticPodOutcome {
        // The words are the names of the variants, as in a termination message.
        code: format!("{:?}", outcome.code),
        cause: outcome.cause.map(|cause| format!("{cause:?}")),
        message: outcome.message.clone(),
        revision: outcome.revision.clone(),
        steps: outcome
            .steps
            .iter()
            .map(|step| StaticPodStep { at: step.at.to_string(), what: step.what.clone() })
            .collect(),
        exit_code: outcome.exit_code(),
        tried: tried.map(str::to_owned),
        at: Time(at),
    }
}

#[cfg(test)]
mod tests {
    use safepoint_manifest::{Cause, Step};

    use super::*;

    /// The upgrade task reads an outcome from the agent and leaves it behind as its own.
    #[test]
    fn an_outcome_on_the_wire_reads_as_an_outcome() {
        let at = Moment::UNIX_EPOCH;
        let mut outcome = Outcome::new(Code::RolledBack, "it crashes");
        outcome.cause = Some(Cause::CrashLoop);
        outcome.revision = Some("one".to_owned());
        outcome.steps = vec![Step { at, what: "put the old manifest back".to_owned() }];
        let text = serde_json::to_string(&shown(&outcome, Some("sha256:0"), at)).unwrap();
        assert_eq!(Outcome::parse(&text), Some(outcome));
    }
}
