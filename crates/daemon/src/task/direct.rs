//! The task on a node without an agent: the manifest is swapped from here.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::time::Duration;

use safepoint_manifest::{
    Auths, Code, Credentials, Cri, Door, FirstOf, Folder, Host, ImageReady, Kubelet, KubeletSource, Manifest,
    Outcome, PullError, RuntimeSource, Source, Trust, Upgrade, kubelet, pull_images,
};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::{End, Task, TaskArgs, TaskMode};
use crate::manifests::CREDENTIALS;

/// Who we are to the kubelet, if we run in a pod.
const TOKEN: &str = "/var/run/secrets/kubernetes.io/serviceaccount/token";
/// Where kubelets are.
const KUBELET_ROOT: &str = "/var/lib/kubelet";
/// How often it is looked whether a swap that should stop has begun.
const LOOK: Duration = Duration::from_millis(100);

/// Does what the task is for.
pub(super) async fn upgrade(host: &Host, task: Task, args: &TaskArgs, stop: &CancellationToken) -> End {
    let unknown = |error: &dyn std::fmt::Display| Outcome::new(Code::FolderUnknown, error.to_string());
    let folder = match Folder::find(host, args.manifests.as_deref()) {
        Ok(folder) => folder,
        Err(error) => return End::Outcome(unknown(&error)),
    };
    let data = match host.resolve(&args.data) {
        Ok(data) => data,
        Err(error) => return End::Outcome(unknown(&error)),
    };
    let mut door = Door::new(folder, data).with_rules(args.rules.rules());
    if let Some(node) = &args.node {
        door = door.with_node(node);
    }
    let kubelet = kubelet::running(host).ok().flatten();
    let work = work(host, &door, kubelet.as_ref(), &task);
    tokio::select! {
        outcome = work => End::Outcome(outcome),
        () = may_stop(&door, &task, stop) => {
            let text = format!("the task for {} was ended before anything had changed", task.pod);
            End::Outcome(Outcome::new(Code::Abandoned, text))
        }
    }
}

/// Somebody has asked to stop, and nothing is touched that would have to be finished: a swap that has begun is seen through,
/// so that the node is left with a pod that is well.
async fn may_stop(door: &Door, task: &Task, stop: &CancellationToken) {
    stop.cancelled().await;
    loop {
        let standing = door.standing(&task.pod).ok().flatten();
        if standing.is_none_or(|standing| !standing.is_open || standing.phase == "Prepared") {
            return;
        }
        sleep(LOOK).await;
    }
}

async fn work(host: &Host, door: &Door, kubelet: Option<&Kubelet>, task: &Task) -> Outcome {
    let Task { pod, file, mode, manifest } = task;
    let mut source = source(host, kubelet);
    let Some(manifest) = manifest else { return door.uninstall(pod, file, &mut source).await };
    let images = match pull(host, kubelet, manifest).await {
        Ok(images) => images,
        Err(outcome) => return outcome,
    };
    let text = manifest.text().to_owned();
    let ask = Upgrade { key: pod.clone(), file: file.clone(), text, instead_of: None, anyway: false };
    match mode {
        TaskMode::Upgrade | TaskMode::Remove => door.upgrade(&ask, &mut source).await,
        TaskMode::Install => door.install(file, manifest.text(), &mut source).await,
        TaskMode::Stage => match door.stage(&ask, images) {
            Ok(_) => Outcome::new(Code::Unchanged, format!("the manifest of {pod} lies ready")),
            Err(outcome) => outcome,
        },
    }
}

/// Who sees the pod: the kubelet, which knows whether it is ready, else the runtime.
fn source(host: &Host, kubelet: Option<&Kubelet>) -> FirstOf {
    let mut sources: Vec<Box<dyn Source>> = Vec::new();
    if let Some(kubelet) = kubelet {
        match of_kubelet(host, kubelet) {
            Ok(source) => sources.push(Box::new(source)),
            Err(why) => tracing::info!(%why, "the kubelet is not asked"),
        }
    }
    match Cri::find(host, kubelet) {
        Ok(cri) => sources.push(Box::new(RuntimeSource(cri))),
        Err(error) => tracing::info!(%error, "the container runtime is not asked"),
    }
    FirstOf::new(sources)
}

fn of_kubelet(host: &Host, kubelet: &Kubelet) -> Result<KubeletSource, String> {
    let token = std::fs::read_to_string(TOKEN).map_err(|error| format!("there is no token: {error}"))?;
    // The token is good elsewhere, so it is shown to nobody but the node's own kubelet.
    let certificate = kubelet.certificate.as_deref().ok_or("its certificate is not a file")?;
    let certificate = host.resolve(certificate).map_err(|error| error.to_string())?;
    let trust = Trust::Pinned(Trust::read(&certificate).map_err(|error| error.to_string())?);
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, kubelet.port));
    KubeletSource::new(address, trust, Credentials::Token(token.trim().to_owned()))
        .map_err(|error| error.to_string())
}

/// Makes sure that the images are here before anything is stopped for them. Where the runtime cannot be asked, the kubelet
/// pulls them.
async fn pull(
    host: &Host,
    kubelet: Option<&Kubelet>,
    manifest: &Manifest,
) -> Result<Vec<ImageReady>, Outcome> {
    let Ok(cri) = Cri::find(host, kubelet) else { return Ok(Vec::new()) };
    let path = host.resolve(&Path::new(KUBELET_ROOT).join(CREDENTIALS)).ok();
    let auths = path.and_then(|path| Auths::read(&path).ok()).unwrap_or_default();
    match pull_images(&cri, manifest, &auths, &mut |line| tracing::info!("{line}")).await {
        Ok(ready) => Ok(ready),
        Err(PullError::Runtime(error)) => {
            tracing::warn!(%error, "images are not pulled ahead");
            Ok(Vec::new())
        }
        Err(error) => Err(error.into()),
    }
}
