//! What can be measured on a noisy machine: instructions, which repeat, and two things beside each other in one run.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, bail};
use clap::ValueEnum;

use crate::kubernetes;
use crate::package::executable;
use crate::steps::{cargo, run as run_command};
use crate::tools;

/// What to measure.
#[derive(Clone, Copy, Default, ValueEnum)]
pub(crate) enum Bench {
    /// The instructions of the gate's decisions.
    #[default]
    Decisions,
    /// The embedded API beside kube-apiserver and etcd.
    Apiserver,
    /// What the agent costs a machine that runs 110 pods.
    Agent,
    /// What the door costs a kubelet.
    Door,
    /// A static pod that rolls over ten thousand simulated nodes.
    Fleet,
    /// Operations on a thousand pods, as the hub and as KusionStack write them.
    Lifecycle,
}

/// Measures it.
pub(crate) fn run(root: &Path, what: Bench) -> Result<()> {
    match what {
        Bench::Decisions => decisions(root),
        Bench::Apiserver => apiserver(root),
        Bench::Agent => agent(root),
        Bench::Door => door(root),
        Bench::Fleet => fleet(root),
        Bench::Lifecycle => lifecycle(root),
    }
}

/// Counts the instructions of the gate's decisions under valgrind.
fn decisions(root: &Path) -> Result<()> {
    if Command::new("valgrind").arg("--version").output().is_err() {
        bail!(
            "instruction counts need valgrind: install it (Debian: apt-get install valgrind) and run this again"
        );
    }
    let runner = tools::gungraun_runner()?;
    let mut bench =
        cargo(root, &["bench", "--package", "safepoint-core", "--bench", "step", "--bench", "plan"]);
    bench.env("GUNGRAUN_RUNNER", runner);
    run_command(bench)
}

/// Runs the binary as it is shipped, and Kubernetes as it is, beside each other.
fn apiserver(root: &Path) -> Result<()> {
    kubernetes::build(root)?;
    let binary = release_binary(root)?;
    // In the profile of the binary: most of what both need is then built once.
    let arguments =
        ["bench", "--profile", "release", "--package", "safepoint-apiserver", "--bench", "beside_kubernetes"];
    let mut bench = cargo(root, &arguments);
    bench.env("SAFEPOINT_BINARY", binary);
    run_command(bench)
}

/// Runs the agent as it is shipped.
fn agent(root: &Path) -> Result<()> {
    let bench =
        || cargo(root, &["bench", "--profile", "release", "--package", "safepoint", "--bench", "agent"]);
    println!("as a part of `safepoint`:");
    run_command(bench())?;
    println!("\nas `safepoint-agent`, which is the agent and nothing else:");
    let mut slim = bench();
    slim.env("SAFEPOINT_AGENT", built(root, "safepoint-daemon")?);
    run_command(slim)
}

/// Asks kube-apiserver through the agent as it is shipped, and past it.
fn door(root: &Path) -> Result<()> {
    kubernetes::build(root)?;
    let mut bench =
        cargo(root, &["bench", "--profile", "release", "--package", "safepoint", "--bench", "door"]);
    bench.env("SAFEPOINT_AGENT", built(root, "safepoint-daemon")?);
    run_command(bench)
}

/// Rolls a static pod over a fleet that is played beside the hub, in one process.
fn fleet(root: &Path) -> Result<()> {
    run_command(cargo(
        root,
        &["bench", "--profile", "release", "--package", "safepoint-hub", "--bench", "fleet"],
    ))
}

/// Runs the hub as it is shipped beside kube-apiserver.
fn lifecycle(root: &Path) -> Result<()> {
    kubernetes::build(root)?;
    let binary = release_binary(root)?;
    let arguments = ["bench", "--profile", "release", "--package", "safepoint-hub", "--bench", "lifecycle"];
    let mut bench = cargo(root, &arguments);
    bench.env("SAFEPOINT_BINARY", binary);
    run_command(bench)
}

/// Builds the binary as it is shipped. Where that ends up is cargo's to say.
fn release_binary(root: &Path) -> Result<PathBuf> {
    built(root, "safepoint")
}

fn built(root: &Path, package: &str) -> Result<PathBuf> {
    let message_format = "--message-format=json-render-diagnostics";
    executable(root, &["build", "--release", "--package", package, message_format])
}
