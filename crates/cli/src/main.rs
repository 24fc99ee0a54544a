//! The `safepoint` command. It parses, calls, prints, and decides nothing.

mod args;
mod called;
mod cluster;
mod commands;
mod completing;
mod hub;
mod problem;
mod show;
mod top;
mod up;

use std::io;
use std::process::ExitCode;
use std::time::Instant;

use clap::{CommandFactory, FromArgMatches};

use args::agent::AgentCommand;
use args::{Args, Command};

#[expect(clippy::disallowed_methods, reason = "the age of the process is measured from its beginning")]
fn main() -> ExitCode {
    if let Some(ended) = safepoint_daemon::shim() {
        return ended;
    }
    let begun = Instant::now();
    if called::is_completion() {
        let words: Vec<String> = std::env::args_os().skip(1).map(|it| it.to_string_lossy().into()).collect();
        let found = completing::complete(called::command(), &words);
        return exit_code(io::Write::write_all(&mut io::stdout(), found.as_bytes()));
    }
    let matches = called::command().get_matches();
    match Args::from_arg_matches(&matches).unwrap_or_else(|error| error.exit()).command {
        Command::Up(args) => {
            safepoint_daemon::log();
            ended(up::run(&args, || begun.elapsed()))
        }
        Command::Agent(AgentCommand::Run(args)) => {
            safepoint_daemon::log();
            ended(safepoint_daemon::run(&args, || begun.elapsed()))
        }
        Command::Agent(AgentCommand::Setup(setup)) => commands::install::run(setup),
        Command::Hub(args) => {
            safepoint_daemon::log();
            ended(hub::run(&args, || begun.elapsed()))
        }
        Command::StaticPodUpgrade(args) => {
            safepoint_daemon::log();
            match safepoint_daemon::upgrade_static_pod(&args) {
                Ok(code) => code,
                Err(error) => ended(Err(error)),
            }
        }
        Command::Asking(asking) => commands::run(asking),
        Command::Completion { shell } => {
            // Into memory first: a reader that closes the pipe early is not an error of ours.
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Args::command(), "safepoint", &mut script);
            exit_code(io::Write::write_all(&mut io::stdout(), &script))
        }
    }
}

fn ended(ended: anyhow::Result<()>) -> ExitCode {
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn exit_code(written: io::Result<()>) -> ExitCode {
    match written {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: cannot write to standard output: {error}");
            ExitCode::FAILURE
        }
    }
}
