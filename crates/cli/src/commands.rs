//! The commands that ask an agent: over its socket, or through the cluster.

pub(crate) mod events;
pub(crate) mod hold;
pub(crate) mod install;
pub(crate) mod log;
pub(crate) mod man;
pub(crate) mod modules;
pub(crate) mod names;
pub(crate) mod node;
pub(crate) mod release;
pub(crate) mod run;
pub(crate) mod static_pod;
pub(crate) mod status;
pub(crate) mod top;
pub(crate) mod unhold;
pub(crate) mod unhold_upgrade;
pub(crate) mod via;
pub(crate) mod why;

use std::process::ExitCode;

use clap::Subcommand;
use safepoint_api::names::kubeedge::keadm;

use crate::problem::{Done, Problem};

/// What can be asked of an agent.
#[derive(Subcommand, Debug)]
pub(crate) enum Asking {
    /// Show what the gate does and why: holds, held changes, what is not settled, modules in trouble.
    #[command(after_help = status::STATUS_EXAMPLES)]
    Status(status::StatusArgs),
    /// Watch one node or the fleet in the terminal, as it changes.
    ///
    /// Nothing is ordered from there: what can be done is shown as a command to type.
    #[command(after_help = top::EXAMPLES)]
    Top(top::TopArgs),
    /// List the changes that wait.
    #[command(visible_alias = "held", after_help = status::CHANGES_EXAMPLES)]
    Changes(status::ChangesArgs),
    /// List who holds.
    #[command(after_help = status::HOLDS_EXAMPLES)]
    Holds(status::HoldsArgs),
    /// Say why a pod waits, who holds it and what would let it through.
    #[command(after_help = why::EXAMPLES)]
    Why(why::WhyArgs),
    /// Show the audit log: who did what, when and why.
    #[command(after_help = log::EXAMPLES)]
    Log(log::LogArgs),
    /// Show what happens, as it happens, until Ctrl-C.
    #[command(after_help = events::EXAMPLES)]
    Events(events::EventsArgs),
    /// Hold changes back from now on: of a pod, a workload, a namespace, certain labels, or the whole node.
    ///
    /// A hold without --for never ends by itself. One with --for ends then: nothing on the machine can object, because an
    /// agent cannot be given safety signals yet. With `--on-expiry stay` it stays, marked orphaned, with an alarm.
    #[command(after_help = hold::EXAMPLES)]
    Hold(hold::HoldArgs),
    /// Hold no longer.
    ///
    /// A hold of the cluster's is not dropped here. With --override it is put out of force for a while, on record.
    #[command(after_help = unhold::EXAMPLES)]
    Unhold(unhold::UnholdArgs),
    /// Hold changes back while a command runs.
    ///
    /// The command is not started if the hold cannot be taken. The hold is renewed while the command runs and dropped when
    /// it has ended. If this process is killed, the hold STAYS, orphaned, with an alarm: a dead holder never opens the gate.
    #[command(after_help = run::EXAMPLES)]
    Run(run::RunArgs),
    /// Let pending upgrades through, each as one unit: the stop of the old and the start of the new.
    #[command(after_help = release::EXAMPLES)]
    Release(release::ReleaseArgs),
    #[command(about = keadm::ABOUT, long_about = unhold_upgrade::LONG_ABOUT, after_help = unhold_upgrade::EXAMPLES)]
    UnholdUpgrade(unhold_upgrade::UnholdUpgradeArgs),
    /// Freeze a node, or end its freezes.
    #[command(subcommand)]
    Node(node::NodeCommand),
    /// List the parts of the agent, or start one of them afresh.
    #[command(after_help = modules::EXAMPLES)]
    Modules(modules::ModulesArgs),
    /// Look at static pods, apply what waits for them, go back: on this machine, or through the cluster.
    #[command(subcommand)]
    StaticPod(static_pod::StaticPodCommand),
    /// Write manual pages into a folder.
    #[command(hide = true)]
    Man(man::ManArgs),
}

/// Carries a command out.
pub(crate) fn run(asking: Asking) -> ExitCode {
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            let problem = Problem::failed(format!("cannot start: {error}"));
            problem.tell();
            return problem.exit.into();
        }
    };
    runtime.block_on(async {
        match asking {
            Asking::Status(args) => ended(status::status(args).await),
            Asking::Top(args) => ended(top::top(args).await),
            Asking::Changes(args) => ended(status::changes(args).await),
            Asking::Holds(args) => ended(status::holds(args).await),
            Asking::Why(args) => ended(why::why(args).await),
            Asking::Log(args) => ended(log::log(args).await),
            Asking::Events(args) => ended(events::events(args).await),
            Asking::Hold(args) => ended(hold::hold(args).await),
            Asking::Unhold(args) => ended(unhold::unhold(args).await),
            Asking::Release(args) => ended(release::release(args).await),
            Asking::Node(node::NodeCommand::Freeze(args)) => ended(node::freeze(args).await),
            Asking::Node(node::NodeCommand::Unfreeze(args)) => ended(node::unfreeze(args).await),
            Asking::Modules(args) => ended(modules::modules(args).await),
            Asking::StaticPod(command) => ended(static_pod::static_pod(command).await),
            Asking::Man(args) => ended(man::man(&args)),
            // These two have exit codes of their own.
            Asking::Run(args) => run::run(args).await,
            Asking::UnholdUpgrade(args) => unhold_upgrade::unhold_upgrade(args).await,
        }
    })
}

fn ended(done: Done) -> ExitCode {
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            problem.tell();
            problem.exit.into()
        }
    }
}
