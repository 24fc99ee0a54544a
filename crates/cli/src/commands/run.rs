//! `safepoint run -- CMD`: hold while a command runs.
//!
//! Its exit code is that of the command. What can go wrong before has the codes of `env` and `timeout`, which no sensible
//! command uses: 125 the hold could not be taken, 126 the command cannot be executed, 127 there is no such command.

use std::io::{self, IsTerminal};
use std::os::unix::process::ExitStatusExt;
use std::process::{ExitCode, ExitStatus};

use clap::Args;
use rustix::process::{Pid, Signal, kill_process};
use safepoint_api::Span;
use safepoint_api::names::safepoint::environment;
use safepoint_sdk::{Hold, reason, scope};
use tokio::process::Command;
use tokio::signal::unix::{Signal as Incoming, SignalKind, signal};

use super::hold::ScopeArgs;
use super::via::{Expiry, Here};
use crate::problem::Problem;
use crate::show::progress::Progress;
use crate::show::words;

pub(super) const EXAMPLES: &str = "Examples:
  # nothing on this machine changes while the mission runs
  safepoint run -- ./mission.sh field-7

  # start only when nothing is half done; wait a minute for that
  safepoint run --settled-within 1m --reason \"field 7\" -- ./mission.sh

  # hold one workload only
  safepoint run --workload deployment/arm -n robot -- ./calibrate

Exit codes:
  that of the command; 128 and the number of the signal if one ended it
  125  the hold could not be taken; the command was not started
  126  the command cannot be executed
  127  there is no such command";

#[derive(Args, Debug)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    scope: ScopeArgs,
    /// Why. Left out: that the command runs.
    #[arg(long)]
    reason: Option<String>,
    /// How long the hold stands without a sign of life from this process. Renewed at a third of it.
    #[arg(long, value_name = "TIME", default_value = "30s")]
    lease: Span,
    /// What happens when this process has died and the lease is over.
    #[arg(long, value_enum, value_name = "WHAT", default_value = "stay")]
    on_expiry: Expiry,
    /// Freeze the node first: start the command when nothing is half done, and not at all if that takes longer.
    #[arg(long, value_name = "TIME")]
    settled_within: Option<Span>,
    /// The hold's name. Left out, the agent makes one up.
    #[arg(long)]
    id: Option<String>,
    /// Who holds, in a word that means something to an operator. Left out, it is the user.
    #[arg(long = "as", value_name = "NAME")]
    holder: Option<String>,
    #[command(flatten)]
    here: Here,
    /// The command and its arguments.
    #[arg(last = true, required = true, value_name = "CMD")]
    command: Vec<String>,
}

/// The hold could not be taken.
const NOT_HELD: u8 = 125;

pub(crate) async fn run(args: RunArgs) -> ExitCode {
    let here = args.here.clone();
    // Signals are listened to before there is anything to end: one that comes in between is not lost.
    let mut signals = match Signals::new() {
        Ok(signals) => signals,
        Err(error) => return not_held(&Problem::failed(format!("cannot listen for signals: {error}"))),
    };
    let command = args.command.clone();
    let hold = tokio::select! {
        hold = take(args) => match hold {
            Ok(hold) => hold,
            Err(problem) => return not_held(&problem),
        },
        // The command was not started. A freeze that was still waited for is taken back.
        number = signals.next() => return ExitCode::from(exit_of(number)),
    };
    if !hold.in_flight().is_empty() {
        let caught = words::count(hold.in_flight().len(), "change");
        here.tell(&format!(
            "warning: {caught} may have been caught half done; --settled-within waits for that"
        ));
    }
    let code = match with(&command, &hold, &mut signals, &here).await {
        Ok(status) => code_of(status),
        Err(error) => {
            Problem::failed(format!("cannot run {}: {error}", command[0])).tell();
            if error.kind() == io::ErrorKind::NotFound { 127 } else { 126 }
        }
    };
    let id = hold.id().to_owned();
    match hold.release().await {
        Ok(()) => {}
        Err(error) if error.reason() == Some(reason::NOT_FOUND) => {
            here.tell(&format!("warning: somebody had ended hold {id} before the command was done"));
        }
        Err(error) => Problem::from(error).hint(format!("end it with `safepoint unhold {id}`")).tell(),
    }
    ExitCode::from(code)
}

fn not_held(problem: &Problem) -> ExitCode {
    problem.tell();
    eprintln!("The command was not started.");
    ExitCode::from(NOT_HELD)
}

async fn take(args: RunArgs) -> Result<Hold, Problem> {
    let scope = args.scope.read()?.unwrap_or_else(scope::node);
    let reason = args.reason.unwrap_or_else(|| {
        let words: String = args.command.join(" ").chars().take(200).collect();
        format!("running {words}")
    });
    let mut taking = Hold::on(scope, reason)
        .client(args.here.client())
        .lease(args.lease.into())
        .on_expiry(args.on_expiry.into());
    if let Some(id) = args.id {
        taking = taking.id(id);
    }
    if let Some(holder) = args.holder {
        taking = taking.holder(holder);
    }
    let Some(deadline) = args.settled_within else { return Ok(taking.take().await?) };
    let client = args.here.client();
    let waiting = taking.settled_within(deadline.into()).take();
    Ok(super::node::watched(&client, Progress::new(args.here.quiet), waiting).await?)
}

/// Runs the command to its end.
async fn with(command: &[String], hold: &Hold, signals: &mut Signals, here: &Here) -> io::Result<ExitStatus> {
    let mut child = Command::new(&command[0]);
    child.args(&command[1..]).env(environment::HOLD, hold.id());
    // What the command asks is asked of the same agent, wherever it goes.
    if let Ok(socket) = std::path::absolute(here.client().socket()) {
        child.env(safepoint_sdk::ENVIRONMENT, socket);
    }
    let mut child = child.spawn()?;
    let mut told = false;
    loop {
        tokio::select! {
            status = child.wait() => return status,
            number = signals.next() => {
                // A child that has not been waited for still has its pid to itself.
                if let Some(pid) = child.id().and_then(|pid| i32::try_from(pid).ok()).and_then(Pid::from_raw)
                    && let Some(signal) = Signal::from_named_raw(number)
                    && !signals.reach_it_anyway(number)
                {
                    let _ = kill_process(pid, signal);
                }
            }
            lost = hold.lost(), if !told => {
                told = true;
                here.tell(&format!("warning: the command is no longer protected: {lost}"));
            }
        }
    }
}

fn code_of(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| status.signal().map(|number| 128 + number)).unwrap_or(1);
    u8::try_from(code).unwrap_or(1)
}

fn exit_of(number: i32) -> u8 {
    u8::try_from(128 + number).unwrap_or(1)
}

/// The signals that are passed on.
struct Signals {
    all: Vec<(i32, Incoming)>,
    terminal: bool,
}

// === impl Signals ===

impl Signals {
    fn new() -> io::Result<Self> {
        let kinds = [
            SignalKind::interrupt(),
            SignalKind::quit(),
            SignalKind::terminate(),
            SignalKind::hangup(),
            SignalKind::user_defined1(),
            SignalKind::user_defined2(),
        ];
        let listen = |kind: SignalKind| Ok((kind.as_raw_value(), signal(kind)?));
        let all = kinds.into_iter().map(listen).collect::<io::Result<_>>()?;
        Ok(Self { all, terminal: io::stdin().is_terminal() })
    }

    /// The number of the next one.
    async fn next(&mut self) -> i32 {
        std::future::poll_fn(|cx| {
            let mut all = self.all.iter_mut();
            match all.find_map(|(number, signal)| signal.poll_recv(cx).is_ready().then_some(*number)) {
                Some(number) => std::task::Poll::Ready(number),
                None => std::task::Poll::Pending,
            }
        })
        .await
    }

    /// A terminal sends Ctrl-C to everybody in the foreground: passed on, the command would get it twice.
    const fn reach_it_anyway(&self, number: i32) -> bool {
        self.terminal
            && (number == SignalKind::interrupt().as_raw_value()
                || number == SignalKind::quit().as_raw_value())
    }
}
