//! The real Kubernetes that tests run against: built once from its Go modules, started by hand where somebody wants to
//! look at it. Where it is kept and how it is started is the testkit's knowledge.

use std::env;
use std::path::Path;

use anyhow::{Result, bail};
use clap::Subcommand;
use safepoint_testkit::{Assets, ControlPlane, Options, assets};

mod build;
mod progress;
mod world;

#[derive(Subcommand)]
pub(crate) enum Kubernetes {
    /// Builds it, unless that was done already, and prints the folder of its programs. Needs Go, and some minutes.
    Build,
    /// Prints the folder of its programs.
    Path,
    /// Runs etcd and kube-apiserver on loopback until Ctrl-C, and prints the path of a kubeconfig.
    Up {
        /// Runs kube-controller-manager and kube-scheduler too.
        #[arg(long)]
        controllers: bool,
        /// Lets etcd wait for the disk, as it does in production.
        #[arg(long)]
        durable: bool,
        /// Runs a node with real containers too, all of it in a network of its own. Needs root.
        #[arg(long)]
        node: bool,
    },
}

pub(crate) fn run(root: &Path, what: &Kubernetes) -> Result<()> {
    match *what {
        Kubernetes::Build => println!("{}", build(root)?.folder().display()),
        Kubernetes::Path => println!("{}", assets()?.folder().display()),
        Kubernetes::Up { controllers, durable, node } => {
            build(root)?;
            let options = Options { durable, controllers, scheduler: controllers, ..Options::default() };
            if node {
                return world::up(options);
            }
            up(&options)?;
        }
    }
    Ok(())
}

/// Builds it unless it is there, or the environment names another.
pub(crate) fn build(root: &Path) -> Result<Assets> {
    let named = ["KUBEBUILDER_ASSETS", "SAFEPOINT_KUBERNETES"]
        .into_iter()
        .find(|name| env::var_os(name).is_some_and(|value| !value.is_empty()));
    match named {
        None => build::unless_built(root)?,
        Some(name) => {
            eprintln!("using the Kubernetes in {name}; nothing to build");
            let assets = assets()?;
            for program in ["etcd", "kubectl"] {
                assets.program(program)?;
            }
        }
    }
    assets()
}

/// Ctrl-C ends this process, and Kubernetes with it, as anything else that ends this process would.
fn up(options: &Options) -> Result<()> {
    eprintln!("starting Kubernetes");
    let mut plane = ControlPlane::start_with(options)?;
    let kubeconfig = plane.kubeconfig_path().display();
    println!("{kubeconfig}");
    eprintln!("Kubernetes is ready at {}; it runs until Ctrl-C", plane.url());
    eprintln!("  export KUBECONFIG={kubeconfig}                 for kubectl");
    eprintln!("  export SAFEPOINT_TEST_KUBECONFIG={kubeconfig}  for tests, instead of one of their own");
    bail!(plane.watch())
}
