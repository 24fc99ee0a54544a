//! `safepoint agent install` and `safepoint agent uninstall`: the agent between this machine's kubelet and the cluster, and
//! out of the way again.
//!
//! `facts` looks around, `plan` decides, `carry_out` does it or takes it back, `record` knows what was there before.

mod carry_out;
mod facts;
mod kubeconfig;
mod machine;
mod node;
mod plan;
mod preview;
mod record;
mod root;
mod uninstall;
mod unit;

#[cfg(test)]
mod tests;

use std::io::{self, BufRead, IsTerminal, Write};
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use safepoint_api::Span;

use carry_out::{Failure, Unready, carry_out, take_back, tell};
use facts::{Facts, Layout};
use machine::{Machine, System};
use plan::{Places, Step, Wanted, plan};
use record::Record;
use root::Root;

use crate::args::agent::Setup;
use crate::problem::{Done, Exit, Problem};

pub(crate) use uninstall::UninstallArgs;

pub(crate) const INSTALL_EXAMPLES: &str = "Examples:
  # what it would do, with every file and every command
  safepoint agent install --dry-run

  # do it, with members of the group `operators` allowed to hold and to release
  sudo safepoint agent install --group operators

  # from a script
  sudo safepoint agent install --yes --timeout 5m";

pub(crate) const UNINSTALL_EXAMPLES: &str = "Examples:
  # what it would do
  safepoint agent uninstall --dry-run

  # do it, and keep the audit log and everything else that the agent knows
  sudo safepoint agent uninstall --keep-data

  # do it although changes are held: they reach the machine at once
  sudo safepoint agent uninstall --force";

/// What both commands are told.
#[derive(Args, Debug)]
pub(crate) struct Common {
    /// Say what would be done, with the contents of every file, and change nothing.
    #[arg(long)]
    dry_run: bool,
    /// For trying it out: everything is read and written below this folder.
    #[arg(long, value_name = "DIR", default_value = "/", hide_default_value = true)]
    root: PathBuf,
    /// The agent's data folder.
    #[arg(long, value_name = "DIR", default_value = "/var/lib/safepoint")]
    data: PathBuf,
    /// How long each thing that is waited for may take.
    #[arg(long, value_name = "TIME", default_value = "2m")]
    timeout: Span,
    /// Do not ask whether to go on.
    #[arg(short, long)]
    yes: bool,
}

#[derive(Args, Debug)]
pub(crate) struct InstallArgs {
    #[command(flatten)]
    common: Common,
    /// How the kubelet of this machine is run.
    #[arg(long, value_enum, default_value = "auto")]
    layout: Layout,
    /// The name of this node. Left out: as its certificate has it.
    #[arg(long, value_name = "NAME")]
    node_name: Option<String>,
    /// Where the kubelet will find its API server. On the loopback.
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:10443")]
    door_listen: SocketAddr,
    /// The unix socket of the node API.
    #[arg(long, value_name = "PATH", default_value = "/run/safepoint/agent.sock")]
    socket: PathBuf,
    /// The group whose members may hold, release and freeze, beside root.
    #[arg(long, value_name = "GROUP")]
    group: Option<String>,
}

/// Carries one of the two out.
pub(crate) fn run(setup: Setup) -> ExitCode {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let done = match runtime {
        Err(error) => Err(Problem::failed(format!("cannot start: {error}"))),
        Ok(runtime) => runtime.block_on(async {
            match setup {
                Setup::Install(args) => install(args).await,
                Setup::Uninstall(args) => uninstall::uninstall(args).await,
            }
        }),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            problem.tell();
            problem.exit.into()
        }
    }
}

async fn install(args: InstallArgs) -> Done {
    let InstallArgs { common, layout, node_name, door_listen, socket, group } = args;
    let root = common.root()?;
    let program = std::env::current_exe()
        .map_err(|error| Problem::failed(format!("cannot tell where this program is: {error}")))?;
    let data = common.data.clone();
    let wanted = Wanted { root, program, data, socket, listen: door_listen, group };
    let places = Places::new(&wanted);
    check_not_installed(&places.data)?;
    let facts = Facts::gather(&wanted.root, layout, node_name.as_deref())?;
    check_wanted(&wanted, &facts)?;
    let steps = plan(&facts, &wanted);
    let mut out = io::stdout();
    tell(&mut out, &format!("node {}, whose kubelet is run by {}", facts.node, facts.unit));
    for warning in &facts.warnings {
        tell(&mut out, &format!("warning: {warning}"));
    }
    if common.dry_run {
        preview::preview(&steps, &mut out);
        tell(&mut out, "nothing was changed: this was a dry run");
        return Ok(());
    }
    common.check_root("install")?;
    common.ask("The kubelet will be restarted; running containers are not touched. Go on?")?;
    let mut machine = System {
        socket: places.socket.clone(),
        kubeconfig: places.upstream.clone(),
        node: facts.node.clone(),
        unit: facts.unit.clone(),
        patience: common.patience(),
    };
    perform(&steps, &facts, &wanted, &mut machine, &mut out).await?;
    tell(&mut out, "installed: changes reach this node's kubelet through the agent");
    tell(&mut out, "see it with `safepoint status`; take it back with `safepoint agent uninstall`");
    Ok(())
}

/// Carries the plan out; if that fails, takes it back.
async fn perform(
    steps: &[Step],
    facts: &Facts,
    wanted: &Wanted,
    machine: &mut impl Machine,
    out: &mut dyn Write,
) -> Done {
    let places = Places::new(wanted);
    let begun = Record::begin(&places, facts);
    let mut record = begun.map_err(|error| {
        Problem::failed(format!("cannot keep a record in {}: {error}", places.data.display()))
    })?;
    let done = carry_out(steps, wanted.listen.ip(), &mut record, machine, out).await;
    let Err(Failure { step, cause, log }) = done else { return Ok(()) };
    tell(out, &format!("failed: {step}: {cause}"));
    tell(out, "taking everything back");
    let taken = take_back(&mut record, false, Unready::GoOn, machine, out).await;
    let log = log.map_or_else(String::new, |log| format!("\n{log}"));
    Err(match taken {
        Ok(()) => Problem::failed(format!(
            "not installed, and everything is as it was. What failed: {step}: {cause}{log}"
        )),
        Err(left) => Problem::failed(format!(
            "not installed. What failed: {step}: {cause}{log}\nand not everything could be taken back: {left}"
        ))
        .hint("once that is mended, `safepoint agent uninstall` takes the rest back"),
    })
}

// === impl Common ===

impl Common {
    fn root(&self) -> Result<Root, Problem> {
        Root::new(&self.root)
            .map_err(|error| Problem::usage(format!("--root {}: {error}", self.root.display())))
    }

    fn patience(&self) -> Duration {
        self.timeout.into()
    }

    fn check_root(&self, what: &str) -> Done {
        if self.root == Path::new("/") && !rustix::process::geteuid().is_root() {
            return Err(Problem::failed(format!("only root may {what} the agent")).hint(
                "run it with sudo; --dry-run shows what it would do, and needs no rights but to read",
            ));
        }
        Ok(())
    }

    fn ask(&self, question: &str) -> Done {
        if self.yes {
            return Ok(());
        }
        if !io::stdin().is_terminal() {
            return Err(Problem::usage("nobody is there to be asked whether to go on")
                .hint("say --yes; --dry-run shows what would be done"));
        }
        anstream::eprint!("{question} [y/N] ");
        let mut answer = String::new();
        let read = io::stdin().lock().read_line(&mut answer);
        match read.is_ok() && matches!(answer.trim(), "y" | "Y" | "yes") {
            true => Ok(()),
            false => Err(Problem::new(Exit::Refused, "nothing was changed")),
        }
    }
}

fn check_not_installed(data: &Path) -> Done {
    match Record::read(data) {
        Ok(None) => Ok(()),
        Ok(Some(record)) if record.complete => {
            Err(Problem::new(Exit::Refused, "the agent is installed on this node already").hint(
                "for a newer version replace the program and run `systemctl restart safepoint-agent`; for other settings run \
                 `safepoint agent uninstall --keep-data` first",
            ))
        }
        Ok(Some(_)) => Err(Problem::new(Exit::Refused, "an earlier installation was cut off")
            .hint("`safepoint agent uninstall` takes back what it did; then install again")),
        Err(problem) => Err(Problem::failed(problem)),
    }
}

fn check_wanted(wanted: &Wanted, facts: &Facts) -> Done {
    let Wanted { listen, program, group, .. } = wanted;
    if !listen.ip().is_loopback() {
        return Err(Problem::usage(format!(
            "{listen} is not on the loopback: the door is for this machine's kubelet alone"
        )));
    }
    let places = Places::new(wanted);
    for path in [program, &places.data, &places.socket, &places.folder, &facts.kubelet_root] {
        if !path.is_absolute() || !unit::is_plain(path) {
            return Err(Problem::usage(format!("{} cannot stand in a unit of systemd", path.display()))
                .hint("use absolute paths without blanks, quotes, % and $"));
        }
    }
    if let Some(group) = group.as_ref().filter(|group| !unit::is_plain(Path::new(group))) {
        return Err(Problem::usage(format!("{group:?} cannot be a group")));
    }
    let problems = safepoint_machinery::names::dns1123_subdomain(&facts.node);
    if !problems.is_empty() {
        return Err(Problem::usage(format!(
            "{:?} cannot be the name of a node: {}",
            facts.node,
            problems.join("; ")
        )));
    }
    // The agent would be its own cluster.
    if facts.kubeconfig == places.kubelet || facts.access.server == format!("https://{listen}") {
        return Err(Problem::new(Exit::Refused, "the kubelet is pointed at an agent already, and there is no record of that")
            .hint(format!(
                "remove what points it there (zz-safepoint.conf below /etc/systemd/system/{}.d) and restart it first",
                facts.unit
            )));
    }
    // Port 0 would be another one at every start.
    if listen.port() == 0 {
        return Err(Problem::usage("the door needs a port that stays the same"));
    }
    TcpListener::bind(listen).map(drop).map_err(|error| {
        Problem::failed(format!("cannot listen on {listen}: {error}"))
            .hint("stop what uses it, or choose another port with --door-listen")
    })
}
