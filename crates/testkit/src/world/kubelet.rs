//! The kubelet of a world: upstream's own, on the world's machine.

use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};

use super::machine::Machine;
use super::network::NODE_ADDRESS;
use super::options::WorldOptions;
use crate::assets::Assets;
use crate::place::Place;
use crate::program::{self, Program};

/// Where the kubelet says that it is well, unless it is told otherwise.
const HEALTH: u16 = 10248;

/// Writes its configuration and starts it. It is not waited for: what it needs may not be there.
pub(crate) fn start(
    assets: &Assets,
    machine: &Machine,
    folder: &Path,
    group: &str,
    options: &WorldOptions,
    kubeconfig: &Path,
) -> Result<Program> {
    for name in ["static-pods", "pod-logs", "kubelet"] {
        let path = folder.join(name);
        fs::create_dir_all(&path).with_context(|| format!("cannot make {}", path.display()))?;
    }
    let config = folder.join("kubelet.json");
    fs::write(&config, format!("{:#}\n", options.kubelet(folder, group)))
        .with_context(|| format!("cannot write {}", config.display()))?;
    let mut command = program::kubernetes(assets, "kubelet", |path| machine.command(path))?;
    command
        .arg(format!("--config={}", config.display()))
        .arg(format!("--kubeconfig={}", kubeconfig.display()))
        .arg(format!("--root-dir={}", folder.join("kubelet").display()))
        .arg(format!("--hostname-override={}", options.node))
        .arg(format!("--node-ip={NODE_ADDRESS}"))
        .arg("--v=2")
        .args(&options.kubelet_flags);
    Ok(Program::start("kubelet", folder, command)?.that_forks())
}

/// Whether it says that it is well.
pub(crate) fn is_healthy(place: &Place) -> bool {
    let ask = || -> std::io::Result<String> {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, HEALTH))?;
        stream.set_read_timeout(Some(Duration::from_secs(5)))?;
        stream.write_all(b"GET /healthz HTTP/1.0\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    };
    place.within(ask).is_ok_and(|answer| answer.is_ok_and(|answer| answer.contains(" 200 OK")))
}
