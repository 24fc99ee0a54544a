//! Finding the cluster, and what its errors mean for a person.

use std::error::Error as _;
use std::path::{Path, PathBuf};

use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use safepoint_orders::{Error, Gate};

use super::{Cluster, MANAGER};
use crate::commands::via::Access;
use crate::problem::{Exit, Problem};

/// Where `safepoint up` puts it, in the folder it was started in.
const NEARBY: &str = "./.safepoint/kubeconfig";

// === impl Cluster ===

impl Cluster {
    /// The gate of this node, through the cluster that a kubeconfig names.
    pub(crate) async fn connect(node: &str, access: &Access, quiet: bool) -> Result<Self, Problem> {
        Ok(Self { gate: Gate::new(client(access).await?, node, MANAGER), quiet })
    }
}

/// The cluster that a kubeconfig names.
pub(crate) async fn client(access: &Access) -> Result<Client, Problem> {
    let file = access.kubeconfig.clone().or_else(nearby);
    let read = match &file {
        Some(file) => Kubeconfig::read_from(file),
        None => Kubeconfig::read(),
    };
    let unreadable = |error: &dyn std::fmt::Display| {
        let file = file.as_deref().map_or_else(|| "the kubeconfig".into(), Path::to_string_lossy);
        Problem::failed(format!("cannot read {file}: {error}"))
            .hint("say where it is with --kubeconfig or $KUBECONFIG")
    };
    let kubeconfig = read.map_err(|error| unreadable(&error))?;
    let options = KubeConfigOptions::default();
    let config = Config::from_custom_kubeconfig(kubeconfig, &options).await;
    let config = config.map_err(|error| unreadable(&error))?;
    Client::try_from(config).map_err(|error| problem(&error))
}

fn nearby() -> Option<PathBuf> {
    let nearby = Path::new(NEARBY);
    (std::env::var_os("KUBECONFIG").is_none_or(|named| named.is_empty()) && nearby.exists())
        .then(|| nearby.into())
}

/// Why something could not be asked, and what to do.
pub(crate) fn asked(error: &Error) -> Problem {
    match error {
        Error::Cluster(error) => problem(error),
        Error::NoGate { .. } => Problem::new(Exit::NotFound, error.to_string())
            .hint("no agent has reported from a node of that name: `kubectl get nodegates` lists those that have"),
        Error::Occupied { .. } => Problem::new(Exit::Refused, error.to_string())
            .hint("end that with `safepoint node unfreeze NODE` first, or change it with its --id"),
        Error::NoStaticPod { .. } => {
            Problem::new(Exit::NotFound, error.to_string()).hint("`safepoint static-pod list --cluster` lists them")
        }
        Error::NoRevision => Problem::new(Exit::NotFound, error.to_string())
            .hint("`safepoint static-pod history --cluster` lists those that it keeps; --local goes back on this machine alone"),
        _ => Problem::failed(error.to_string()),
    }
}

/// An error of the cluster's, in plain words.
pub(crate) fn problem(error: &kube::Error) -> Problem {
    match error {
        kube::Error::Api(status) => {
            let exit = match status.code {
                404 => Exit::NotFound,
                409 => Exit::Refused,
                _ => Exit::Failed,
            };
            let problem = Problem::new(exit, format!("the cluster says no: {}", status.message));
            match status.code {
                401 | 403 => {
                    problem.hint("the kubeconfig's user needs to get and patch nodegates.safepoint.dev")
                }
                404 => problem.hint("the definitions are in deploy/crds: `kubectl apply -f deploy/crds`"),
                422 => Problem { exit: Exit::Usage, ..problem },
                _ => problem,
            }
        }
        other => {
            let mut message = "cannot reach the cluster".to_owned();
            let mut cause = other.source();
            while let Some(source) = cause {
                message = format!("{message}: {source}");
                cause = source.source();
            }
            Problem::new(Exit::Unreachable, message)
                .hint("is it running? `kubectl get nodes` with the same kubeconfig tells")
        }
    }
}
