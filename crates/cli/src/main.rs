//! The `safepoint` command. It parses, calls, prints, and decides nothing.

mod agent;
mod args;
mod cluster;
mod commands;
mod problem;
mod show;
mod supervise;
mod up;

use std::io;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use clap::{CommandFactory, Parser};

use args::{Args, Command};

#[expect(clippy::disallowed_methods, reason = "the age of the process is measured from its beginning")]
fn main() -> ExitCode {
    // Before anything else: there is one of these for every container, and it must stay small.
    let mut words = std::env::args_os().skip(1);
    if words.next().is_some_and(|word| word == "shim")
        && let Some(folder) = words.next()
    {
        return safepoint_runtime::shim(Path::new(&folder));
    }
    let begun = Instant::now();
    match Args::parse().command {
        Command::Up(args) => {
            log();
            ended(up::run(&args, || begun.elapsed()))
        }
        Command::Agent(args) => {
            log();
            ended(agent::run(&args, || begun.elapsed()))
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

/// Logs go to standard error: standard output is for what was asked for.
fn log() {
    let filter = tracing_subscriber::EnvFilter::try_from_env("SAFEPOINT_LOG")
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new("warn"));
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(io::stderr).with_target(false).init();
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
