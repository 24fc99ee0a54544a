//! The container runtime of a node: Debian's containerd, with a root, a state and a socket of its own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use super::images::PAUSE;
use super::machine::Machine;
use super::needs;
use super::network::{BRIDGE, PODS};
use crate::place::MARK;
use crate::program::Program;

/// On the machine, whose `/run` is its own.
pub(super) const SOCKET: &str = "/run/containerd/containerd.sock";

/// The runtime.
#[derive(Debug)]
pub(crate) struct Containerd {
    program: Program,
    folder: PathBuf,
    /// Enters the machine's mounts, where the socket is.
    mounts: PathBuf,
}

impl Containerd {
    /// Starts it, and waits until it answers.
    pub(crate) fn start(machine: &Machine, folder: &Path) -> Result<Self> {
        let network = folder.join("cni");
        fs::create_dir_all(&network).with_context(|| format!("cannot make {}", network.display()))?;
        fs::write(network.join("10-world.conflist"), pod_network().to_string())
            .context("cannot write the configuration of the pods' network")?;
        let config = folder.join("containerd.toml");
        fs::write(&config, settings(folder, &network)?).context("cannot write containerd.toml")?;

        let mut command = machine.command("containerd");
        command.arg("--config").arg(&config);
        // What the kubelet speaks to is ready last, after it has looked at the containers that are there; a kubelet that
        // comes earlier gives up. The log may be that of an earlier start as well.
        let boots = |log: &str| log.matches("Start streaming server").count();
        let before = boots(&fs::read_to_string(folder.join("containerd.log")).unwrap_or_default());
        let program = Program::start("containerd", folder, command)?.that_forks();
        let mounts = PathBuf::from(format!("/proc/{}/ns/mnt", machine.pid()));
        let mut containerd = Self { program, folder: folder.to_owned(), mounts };
        containerd.program.wait_for("serving", |program| (boots(&program.log()) > before).then_some(()))?;
        Ok(containerd)
    }

    /// Where it keeps what outlasts a machine's restart.
    pub(crate) fn root(&self) -> PathBuf {
        self.folder.join("containerd")
    }

    /// Runs its own client, among what the kubelet's containers are among.
    pub(crate) fn ctr(&self, arguments: &[&str]) -> Result<String> {
        let mut mount = std::ffi::OsString::from("--mount=");
        mount.push(&self.mounts);
        let mut command = Command::new("nsenter");
        command.arg(mount).args(["--", "ctr", "--address", SOCKET, "--namespace", "k8s.io"]).args(arguments);
        let output = command.env(MARK, &self.folder).output().context("cannot run nsenter")?;
        if !output.status.success() {
            bail!("ctr {} failed: {}", arguments.join(" "), String::from_utf8_lossy(&output.stderr).trim());
        }
        String::from_utf8(output.stdout).context("ctr printed something that is not text")
    }

    pub(crate) fn program(&mut self) -> &mut Program {
        &mut self.program
    }
}

/// The oom score may only be lowered by whom the kernel lets, which is not every root; without the restriction no
/// sandbox would start for the others. Annotations of the kubelet are passed on because one of them counts attempts.
fn settings(folder: &Path, network: &Path) -> Result<String> {
    let root = folder.join("containerd");
    let plugins = needs::network_plugins()?;
    Ok(format!(
        r#"version = 2
root = {root:?}
state = "/run/containerd"
disabled_plugins = ["io.containerd.internal.v1.opt"]
[grpc]
address = {SOCKET:?}
[plugins."io.containerd.grpc.v1.cri"]
restrict_oom_score_adj = true
disable_apparmor = true
sandbox_image = {PAUSE:?}
[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = {plugins:?}
conf_dir = {network:?}
[plugins."io.containerd.grpc.v1.cri".containerd]
snapshotter = "overlayfs"
default_runtime_name = "runc"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
container_annotations = ["io.kubernetes.container.*"]
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
SystemdCgroup = false
"#
    ))
}

/// Nothing leaves, so nothing is masqueraded. Addresses are given out anew after a machine's restart.
fn pod_network() -> Value {
    json!({
        "cniVersion": "0.4.0",
        "name": "world",
        "plugins": [
            {
                "type": "bridge",
                "bridge": BRIDGE,
                "isGateway": true,
                "ipMasq": false,
                "hairpinMode": true,
                "ipam": { "type": "host-local", "subnet": PODS, "dataDir": "/run/cni" },
            },
            { "type": "portmap", "capabilities": { "portMappings": true } },
        ],
    })
}
