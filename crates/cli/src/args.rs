//! The command line, as data.

pub(crate) mod agent;
#[cfg(test)]
mod tests;
pub(crate) mod up;

use clap::{Parser, Subcommand};
use clap_complete::Shell;

use crate::commands::Asking;

/// Decides when a change may reach a workload on an edge machine, and proves that nothing changed while it was unsafe.
///
/// A robot must not be updated in mid-motion, a drone not in mid-flight. Safepoint stands between what the cluster wants
/// and what the machine runs, and holds every change back until it is safe.
#[derive(Parser, Debug)]
#[command(name = "safepoint", version, arg_required_else_help = true, after_help = EXIT_CODES)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXIT_CODES: &str = "Exit codes:
  0  done
  1  it failed; the message says what to do
  2  the command line is wrong
  3  it was refused: something stands against it
  4  there is no such thing
  5  the agent or the cluster cannot be reached, or cannot answer now";

#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Run everything on this machine: a Kubernetes API, a node and its gate, with nothing to install.
    ///
    /// The API is durable, speaks TLS, and asks everybody for a token. kubectl and other clients find it through the
    /// kubeconfig in the data folder. Pods run as plain processes of this machine: nothing is isolated. It runs until
    /// Ctrl-C, and the pods run on.
    #[command(after_help = up::EXAMPLES)]
    Up(up::UpArgs),
    /// Run the node side alone, against any Kubernetes; or put it between this machine's kubelet and the cluster.
    ///
    /// With `--door kubelet` an unmodified kubelet runs the pods: `safepoint agent install` sets that up. Otherwise pods of
    /// this node run as plain processes, and nothing is isolated: that is for devices without a container engine.
    #[command(after_help = safepoint_daemon::EXAMPLES)]
    Agent(agent::AgentCommand),
    /// Run the cluster side alone, against any Kubernetes.
    ///
    /// It tells whoever deletes or evicts a pod that its node holds who holds it and why, carries the hold annotation of a
    /// Deployment, StatefulSet or DaemonSet to its pods, and shows on workloads what is held. Several may run; one leads.
    /// While none runs, the nodes hold all the same.
    #[command(after_help = crate::hub::EXAMPLES)]
    Hub(crate::hub::HubArgs),
    /// Bring one static pod of one node to a revision: the program of the hub's upgrade tasks.
    ///
    /// It runs in a pod that has the node's file system, on nodes with and without an agent. Killed at any moment it leaves
    /// the old manifest or the new one, whole, and the next one goes on from there.
    #[command(after_help = safepoint_daemon::TASK_EXAMPLES)]
    StaticPodUpgrade(Box<safepoint_daemon::TaskArgs>),
    #[command(flatten)]
    Asking(Asking),
    /// Print a completion script for a shell.
    #[command(after_help = COMPLETION_EXAMPLES)]
    Completion {
        /// The shell to complete in.
        shell: Shell,
    },
}

const COMPLETION_EXAMPLES: &str = "Examples:
  # bash, for this user
  safepoint completion bash > ~/.local/share/bash-completion/completions/safepoint

  # zsh, in a folder of $fpath
  safepoint completion zsh > \"${fpath[1]}/_safepoint\"

  # fish
  safepoint completion fish > ~/.config/fish/completions/safepoint.fish

  # as a plugin of kubectl, with completion: two links in a folder of $PATH
  ln -s \"$(command -v safepoint)\" ~/.local/bin/kubectl-safepoint
  ln -s \"$(command -v safepoint)\" ~/.local/bin/kubectl_complete-safepoint";
