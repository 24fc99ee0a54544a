//! The arguments of `safepoint agent`: it runs, unless it is told to install or to uninstall.
//!
//! What the agent needs to run (a kubeconfig, above all) is not needed to install it, so the two are told apart before the
//! arguments are read: written by hand, where a derived parser would ask for both.

use clap::{ArgMatches, Args, Command, FromArgMatches, Subcommand};
use safepoint_daemon::AgentArgs;

use crate::commands::install::{InstallArgs, UninstallArgs};

/// What `safepoint agent` was asked for.
#[derive(Debug)]
pub(crate) enum AgentCommand {
    Run(Box<AgentArgs>),
    Setup(Setup),
}

/// The commands beside running.
#[derive(Subcommand, Debug)]
pub(crate) enum Setup {
    /// Put the agent between this machine's kubelet and the cluster.
    ///
    /// Running containers are not touched. Every step is announced before it is done; if one fails, all are taken back and
    /// the kubelet goes on as before.
    #[command(after_help = crate::commands::install::INSTALL_EXAMPLES)]
    Install(InstallArgs),
    /// Let this machine's kubelet speak to the cluster itself again, and remove the agent.
    ///
    /// Running containers are not touched. Refused while changes are held: without the agent, nothing holds them.
    #[command(after_help = crate::commands::install::UNINSTALL_EXAMPLES)]
    Uninstall(UninstallArgs),
}

// === impl AgentCommand ===

impl Args for AgentCommand {
    fn augment_args(command: Command) -> Command {
        Setup::augment_subcommands(AgentArgs::augment_args(command))
            .subcommand_required(false)
            .arg_required_else_help(false)
            .subcommand_negates_reqs(true)
            .args_conflicts_with_subcommands(true)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for AgentCommand {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        match matches.subcommand_name() {
            Some(_) => Setup::from_arg_matches(matches).map(Self::Setup),
            None => AgentArgs::from_arg_matches(matches).map(|args| Self::Run(Box::new(args))),
        }
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
