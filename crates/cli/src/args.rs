//! The command line, as data.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Parser, Subcommand};
use clap_complete::Shell;

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

const EXIT_CODES: &str =
    "Exit codes:\n  0  done\n  1  it failed; the message says what to do\n  2  the command line is wrong";

#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Run everything on this machine: a Kubernetes API with nothing to install.
    ///
    /// The API is durable, speaks TLS, and asks everybody for a token. kubectl and other clients find it through the
    /// kubeconfig in the data folder. It runs until Ctrl-C.
    #[command(after_help = UP_EXAMPLES)]
    Up {
        /// The folder that keeps everything: objects, certificates, kubeconfigs. Made if it is not there.
        #[arg(long, value_name = "DIR", default_value = "./.safepoint", env = "SAFEPOINT_DATA")]
        data: PathBuf,
        /// The address of the Kubernetes API. Port 0 lets the system pick one.
        #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:7443", env = "SAFEPOINT_LISTEN")]
        listen: SocketAddr,
    },
    /// Print a completion script for a shell.
    #[command(after_help = COMPLETION_EXAMPLES)]
    Completion {
        /// The shell to complete in.
        shell: Shell,
    },
}

const UP_EXAMPLES: &str = "Examples:
  # run, with everything in ./.safepoint
  safepoint up

  # look at it from another terminal
  kubectl --kubeconfig ./.safepoint/kubeconfig get namespaces

  # keep the data elsewhere, on any free port
  safepoint up --data /var/lib/safepoint --listen 127.0.0.1:0

Environment:
  SAFEPOINT_LOG  what to log to standard error, for example `info` or `safepoint_apiserver=debug` (default: warn)";

const COMPLETION_EXAMPLES: &str = "Examples:
  # bash, for this user
  safepoint completion bash > ~/.local/share/bash-completion/completions/safepoint

  # zsh, in a folder of $fpath
  safepoint completion zsh > \"${fpath[1]}/_safepoint\"

  # fish
  safepoint completion fish > ~/.config/fish/completions/safepoint.fish";
