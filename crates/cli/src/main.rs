//! The `safepoint` command. It parses, calls, prints, and decides nothing.

mod args;

use std::io;
use std::process::ExitCode;

use clap::{CommandFactory, Parser};

use args::{Args, Command};

fn main() -> ExitCode {
    match Args::parse().command {
        Command::Completion { shell } => {
            // Into memory first: a reader that closes the pipe early is not an error of ours.
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Args::command(), "safepoint", &mut script);
            exit_code(io::Write::write_all(&mut io::stdout(), &script))
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
