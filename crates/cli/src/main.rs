//! The `safepoint` command. It parses, calls, prints, and decides nothing.

mod args;
mod up;

use std::io;
use std::process::ExitCode;
use std::time::Instant;

use clap::{CommandFactory, Parser};

use args::{Args, Command};

#[expect(clippy::disallowed_methods, reason = "the age of the process is measured from its beginning")]
fn main() -> ExitCode {
    let begun = Instant::now();
    match Args::parse().command {
        Command::Up { data, listen } => {
            log();
            match up::run(&up::Up { data, listen }, || begun.elapsed()) {
                Ok(()) => ExitCode::SUCCESS,
                Err(error) => {
                    eprintln!("error: {error:#}");
                    ExitCode::FAILURE
                }
            }
        }
        Command::Completion { shell } => {
            // Into memory first: a reader that closes the pipe early is not an error of ours.
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Args::command(), "safepoint", &mut script);
            exit_code(io::Write::write_all(&mut io::stdout(), &script))
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
