//! The arguments of the agent.

use std::path::PathBuf;

use clap::Args;
use http::Uri;

use crate::door::DoorArgs;
use crate::manifests::ManifestArgs;
use crate::node::NodeArgs;

/// What `safepoint agent` was asked for.
#[derive(Args, Debug)]
pub struct AgentArgs {
    /// The kubeconfig of this node: where the cluster is, and who the node is to it.
    #[arg(long, value_name = "FILE", env = "KUBECONFIG")]
    pub kubeconfig: PathBuf,
    /// The folder that keeps the journal and the pods. Made if it is not there.
    #[arg(long, value_name = "DIR", default_value = "/var/lib/safepoint", env = "SAFEPOINT_DATA")]
    pub data: PathBuf,
    /// The unix socket of the node API. Left out: `agent.sock` in the data folder.
    #[arg(long, value_name = "PATH", env = "SAFEPOINT_SOCKET")]
    pub listen_socket: Option<PathBuf>,
    /// Another API server of the same cluster, used while those before it do not answer. May be given several times.
    #[arg(long, value_name = "URL")]
    pub server: Vec<Uri>,
    /// The node.
    #[command(flatten)]
    pub node: NodeArgs,
    /// The door.
    #[command(flatten)]
    pub door: DoorArgs,
    /// Static pods.
    #[command(flatten)]
    pub manifests: ManifestArgs,
}

/// For `--help`.
pub const EXAMPLES: &str = "Examples:
  # this machine as a node of a cluster, with its pods as host processes
  safepoint agent --kubeconfig /etc/safepoint/node.kubeconfig --listen-socket /run/safepoint/agent.sock

  # and the API that KubeEdge's clients know, on its own port
  safepoint agent --kubeconfig node.kubeconfig --compat kubeedge

  # in front of this machine's kubelet; first what that takes, file by file
  safepoint agent install --dry-run
  safepoint agent install

  # the same by hand, for a kubelet whose kubeconfig names https://127.0.0.1:10443
  safepoint agent --door kubelet --kubeconfig /etc/kubernetes/kubelet.conf

Under systemd: Type=notify, and KillMode=process so that the pods live on while the agent is restarted.";
