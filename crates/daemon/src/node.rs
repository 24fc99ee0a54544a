//! What `safepoint up` and `safepoint agent` have in common: the node.

use std::net::{Ipv4Addr, SocketAddr};
use std::str::FromStr;

use clap::Args;
use safepoint_agent::Compat;

/// The node side.
#[derive(Args, Debug)]
pub struct NodeArgs {
    /// The name of this node. Left out: the name of the machine.
    #[arg(long = "node-name", value_name = "NAME", env = "SAFEPOINT_NODE")]
    pub name: Option<String>,
    /// The group whose members may hold, release and freeze, beside root and the user that runs this.
    #[arg(long, value_name = "GROUP", env = "SAFEPOINT_GROUP")]
    pub group: Option<String>,
    /// Also answer the clients of another system: kubeedge, yurthub or horizon, on its usual port or on another one of the
    /// loopback, such as `kubeedge=127.0.0.1:20550`. May be given several times.
    #[arg(long, value_name = "SYSTEM[=ADDRESS:PORT]")]
    pub compat: Vec<CompatAddress>,
    /// Trust the machine's clock. Without, it is trusted once systemd says that it was set from the network.
    #[arg(long)]
    pub trust_clock: bool,
}

/// A compatible API and where it answers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CompatAddress(
    /// Which.
    pub Compat,
    /// Where.
    pub SocketAddr,
);

// === impl CompatAddress ===

impl FromStr for CompatAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, address) = match text.split_once('=') {
            Some((name, address)) => (name, Some(address)),
            None => (text, None),
        };
        let (compat, port) = match name {
            "kubeedge" => (Compat::KubeEdge, 10550),
            "yurthub" => (Compat::YurtHub, 10267),
            "horizon" => (Compat::Horizon, 8510),
            other => return Err(format!("there is no {other:?}: kubeedge, yurthub or horizon")),
        };
        let address = match address {
            Some(address) => {
                address.parse().map_err(|error| format!("{address:?}: {error}, as in 127.0.0.1:{port}"))?
            }
            None => SocketAddr::from((Ipv4Addr::LOCALHOST, port)),
        };
        match address.ip().is_loopback() {
            true => Ok(Self(compat, address)),
            false => {
                Err(format!("{address} is not on the loopback: who calls is known on this machine alone"))
            }
        }
    }
}

// === impl NodeArgs ===

impl NodeArgs {
    /// The node's name, which is also the name of a Kubernetes object.
    ///
    /// # Errors
    ///
    /// If it cannot be one.
    pub fn name(&self) -> Result<String, String> {
        let given = self.name.clone();
        let host = || rustix::system::uname().nodename().to_string_lossy().into_owned();
        let name = given.unwrap_or_else(|| host().to_ascii_lowercase());
        let problems = safepoint_machinery::names::dns1123_subdomain(&name);
        match problems.is_empty() {
            true => Ok(name),
            false => Err(format!(
                "{name:?} cannot be the name of a node ({}); give one with --node-name",
                problems.join("; ")
            )),
        }
    }
}
