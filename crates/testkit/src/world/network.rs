//! The network of a world: loopback and a bridge, and no way out.
//!
//! The namespace has no name that could outlive it: it is there for as long as a process is in it, and the first is a
//! shell that waits for our end.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use super::needs::search_path;
use crate::options::SERVICES;
use crate::place::{MARK, Place};
use crate::program::Program;

/// The address of the node, on the bridge. The kubelet refuses one on loopback.
pub(crate) const NODE_ADDRESS: &str = "10.244.0.1";
/// The bridge that pods are connected to.
pub(crate) const BRIDGE: &str = "cni0";
/// The addresses of pods.
pub(crate) const PODS: &str = "10.244.0.0/24";

/// `$1` is the bridge, `$2` the node's address with its network's size, `$3` the addresses of services: a connection to
/// one of them needs a way to go before anything can redirect it.
const SETUP: &str = r#"
set -e
ip link set lo up
ip link add "$1" type bridge
ip addr add "$2" dev "$1"
ip link set "$1" up
ip route add "$3" dev "$1"
echo connected
exec cat >/dev/null"#;

/// The network.
#[derive(Debug)]
pub(crate) struct Network {
    /// Keeps the namespace.
    holder: Program,
    folder: PathBuf,
}

impl Network {
    pub(crate) fn create(folder: &Path) -> Result<Self> {
        let mut command = Command::new("unshare");
        command
            .args(["--net", "--", "sh", "-c", SETUP, "network", BRIDGE])
            .args([&format!("{NODE_ADDRESS}/24"), SERVICES])
            .env(MARK, folder)
            .env("PATH", search_path());
        let mut holder = Program::start("network", folder, command)?;
        holder.wait_for("connected", |holder| holder.log().contains("connected").then_some(()))?;
        Ok(Self { holder, folder: folder.to_owned() })
    }

    /// Where programs run that are in it.
    pub(crate) fn place(&self) -> Place {
        let network = PathBuf::from(format!("/proc/{}/ns/net", self.holder.pid()));
        Place::World { network, folder: self.folder.clone() }
    }
}
