//! Builds, checks and measures Safepoint. `cargo xtask test` is all that continuous integration runs.

mod bench;
mod book;
mod crds;
mod kubernetes;
mod model;
mod package;
mod reference;
mod steps;
mod suites;
mod test;
mod tidy;
mod tools;
mod wire;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

/// Builds, checks and measures Safepoint.
#[derive(Parser)]
#[command(bin_name = "cargo xtask")]
struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Checks everything: format, lints, tests, documentation, packages, the model, tidiness, dependencies.
    Test,
    /// Explores every interleaving of the small worlds and checks the six invariants in each state.
    Model {
        /// With a wider bound: minutes instead of seconds.
        #[arg(long)]
        deep: bool,
    },
    /// Replays the event log of a failing run and tells its story.
    Replay {
        /// The log, as a failing test or `cargo xtask model` wrote it.
        log: PathBuf,
    },
    /// Writes the custom resource definitions to deploy/crds and into the chart.
    Crds,
    /// Writes the pages for looking things up, into docs/reference.
    Reference,
    /// Builds the documentation as a book, into target/book.
    Book,
    /// Checks what a compiler does not: generated files are current, and the tree keeps its own rules.
    Tidy,
    /// Checks the dependencies against the advisory database, which is fetched for it.
    Advisories,
    /// Measures what can be measured on a noisy machine: instructions, or two things beside each other.
    Bench {
        #[arg(value_enum, default_value_t)]
        what: bench::Bench,
    },
    /// Builds what people install, into target/package: all of it, or one part.
    Package {
        #[arg(value_enum)]
        what: Option<package::Package>,
        /// Checks all of it instead, with a program that is built faster.
        #[arg(long, conflicts_with = "what")]
        check: bool,
    },
    /// Builds and runs the real Kubernetes that tests run against.
    Kubernetes {
        #[command(subcommand)]
        what: kubernetes::Kubernetes,
    },
    /// Writes the tables by which the embedded API reads and writes built-in kinds, from the Go types of Kubernetes.
    Wire,
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Without a backtrace, which would push what failed out of sight.
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    let root = steps::root();
    match Args::parse().command {
        Command::Test => test::run(&root),
        Command::Model { deep } => model::run(&root, deep),
        Command::Replay { log } => model::replay(&log),
        Command::Crds => crds::write(&root),
        Command::Reference => reference::write(&root),
        Command::Book => book::build(&root),
        Command::Tidy => tidy::run(&root),
        Command::Advisories => tools::deny(&root, &["advisories"]),
        Command::Bench { what } => bench::run(&root, what),
        Command::Package { check: true, .. } => package::checked(&root),
        Command::Package { what, .. } => package::run(&root, what),
        Command::Kubernetes { what } => kubernetes::run(&root, &what),
        Command::Wire => wire::write(&root),
    }
}
