//! The command line, as data.

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
  safepoint completion fish > ~/.config/fish/completions/safepoint.fish";
