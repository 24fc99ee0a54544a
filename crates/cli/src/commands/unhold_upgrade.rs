//! `safepoint unhold-upgrade`: the command of KubeEdge's `keadm ctl`, for scripts that have it.
//!
//! Grammar, texts and exit codes are KubeEdge's: a success prints nothing, every error is exit code 1 and comes with the
//! usage. The facts are in `docs/compatibility.md`. [`release`](super::release) is our own verb and says what it did.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use safepoint_api::PodRef;
use safepoint_api::local::{Release, reason};
use safepoint_api::names::kubeedge::keadm;
use safepoint_api::names::kubeedge::metaserver::{NODE_NOT_FOUND_PREFIX, NOT_PENDING, POD_NOT_FOUND_PREFIX};
use safepoint_sdk::{Client, Error};

pub(super) const LONG_ABOUT: &str = "Unhold an upgrade for a pod or node-wide

The same as `keadm ctl unhold-upgrade`: it prints nothing when it has worked. `safepoint release` does the same and says \
what was released.";

pub(super) const EXAMPLES: &str = "Examples:
  # one pod
  safepoint unhold-upgrade pod web-1 -n shop

  # everything that waits on this node
  safepoint unhold-upgrade node

Exit codes:
  0  released; nothing is printed
  1  anything else, with the message of keadm";

const USAGE: &str = "Usage:
  safepoint unhold-upgrade <resource-type> [<name>] [--namespace namespace] [flags]

Flags:
  -h, --help               help for unhold-upgrade
  -n, --namespace string   Specify a namespace (default \"default\")
";

#[derive(Args, Debug)]
pub(crate) struct UnholdUpgradeArgs {
    /// `pod` or `node`, and its name. A node without a name is this one.
    #[arg(value_name = "RESOURCE-TYPE [NAME]")]
    words: Vec<String>,
    /// The namespace of the pod.
    #[arg(short, long, default_value = keadm::DEFAULT_NAMESPACE)]
    namespace: String,
    /// The agent's socket.
    #[arg(long, value_name = "PATH", env = "SAFEPOINT_SOCKET", hide_env_values = true)]
    socket: Option<PathBuf>,
}

pub(crate) async fn unhold_upgrade(args: UnholdUpgradeArgs) -> ExitCode {
    let client = args.socket.map_or_else(Client::new, Client::at);
    let words: Vec<&str> = args.words.iter().map(String::as_str).collect();
    let done = match &*words {
        [] => Err("requires at least 1 arg(s), only received 0".to_owned()),
        ["pod"] => Err(keadm::POD_NAME_REQUIRED.to_owned()),
        ["pod", name, ..] => pod(&client, &args.namespace, name).await,
        ["node", name @ ..] => node(&client, name.first().copied()).await,
        [other, ..] => Err(format!("{}{other}", keadm::UNKNOWN_RESOURCE_PREFIX)),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("Error: {message}\n{USAGE}");
            ExitCode::FAILURE
        }
    }
}

async fn pod(client: &Client, namespace: &str, name: &str) -> Result<(), String> {
    let pod = PodRef { namespace: namespace.to_owned(), name: name.to_owned() };
    let released = client.release(&Release { pod: Some(pod), ..Release::default() }).await;
    let error = match released {
        Ok(_) => return Ok(()),
        Err(error) => error,
    };
    let not_found = format!("{POD_NOT_FOUND_PREFIX}pods {name:?} not found");
    Err(match error.reason() {
        Some(reason::NOT_FOUND) => keadm::refused("pods", 404, &not_found),
        Some(reason::NOTHING_HELD) => keadm::refused("pods", 400, NOT_PENDING),
        _ => told("pods", &error),
    })
}

async fn node(client: &Client, name: Option<&str>) -> Result<(), String> {
    if let Some(name) = name {
        let status = client.status().await.map_err(|error| told("nodes", &error))?;
        if status.node != name {
            let not_found = format!("{NODE_NOT_FOUND_PREFIX}nodes {name:?} not found");
            return Err(keadm::refused("nodes", 404, &not_found));
        }
    }
    match client.release(&Release { node: true, ..Release::default() }).await {
        // Something waits and none of it may pass: silence would be taken for a release.
        Ok(released) if released.workloads.is_empty() && !released.held.is_empty() => {
            Err(keadm::refused("nodes", 409, "nothing was released: holds stand against it"))
        }
        Ok(_) => Ok(()),
        Err(error) if error.reason() == Some(reason::NOTHING_HELD) => Ok(()),
        Err(error) => Err(told("nodes", &error)),
    }
}

fn told(resource: &str, error: &Error) -> String {
    match error.refusal() {
        Some(failure) => keadm::refused(resource, failure.code, &failure.message),
        None => format!("{}{error}", keadm::NOT_SENT_PREFIX),
    }
}
