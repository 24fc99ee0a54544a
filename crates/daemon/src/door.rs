//! The door of the agent, as the command line wants it.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::net::{IpAddr, SocketAddr};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};
use safepoint_agent::{Door, KubeletOptions};
use safepoint_relay::{Kubeconfig, Source, Upstream, loopback_certificate};

/// How what is admitted leaves the agent.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum DoorKind {
    /// Pods run as plain processes of this machine. Nothing is isolated.
    Processes,
    /// An unmodified kubelet runs the pods. Its kubeconfig names this agent as the API server.
    Kubelet,
}

/// The door.
#[derive(Args, Debug)]
pub struct DoorArgs {
    /// How what is admitted leaves the agent.
    #[arg(long, value_enum, default_value = "processes", env = "SAFEPOINT_DOOR")]
    pub door: DoorKind,
    /// Kubelet door: where the kubelet finds its API server. On the loopback.
    #[arg(
        long,
        value_name = "ADDRESS:PORT",
        default_value = "127.0.0.1:10443",
        env = "SAFEPOINT_DOOR_LISTEN"
    )]
    pub door_listen: SocketAddr,
    /// Kubelet door: the folder with `door.crt` and `door.key`, which the door shows, and `door-ca.crt`, which the kubelet
    /// trusts. Made if they are not there. Left out: the data folder.
    #[arg(long, value_name = "DIR", env = "SAFEPOINT_DOOR_CERTIFICATES")]
    pub door_certificates: Option<PathBuf>,
    /// Kubelet door: who signs the certificates of kubelets. Left out: the certificate authority of the kubeconfig.
    #[arg(long, value_name = "FILE", env = "SAFEPOINT_CLIENT_CA")]
    pub client_ca: Option<PathBuf>,
    /// Kubelet door: the kubelet's --root-dir.
    #[arg(long, value_name = "DIR", default_value = "/var/lib/kubelet", env = "SAFEPOINT_KUBELET_ROOT")]
    pub kubelet_root: PathBuf,
}

// === impl DoorArgs ===

impl DoorArgs {
    /// The door; none for the default one.
    ///
    /// # Errors
    ///
    /// If it cannot be built as asked.
    pub fn door(&self, data: &Path, kubeconfig: &Kubeconfig, upstream: &Upstream) -> Result<Option<Door>> {
        if self.door == DoorKind::Processes {
            return Ok(None);
        }
        if !self.door_listen.ip().is_loopback() {
            bail!(
                "{} is not on the loopback: the door is for this machine's kubelet alone",
                self.door_listen
            );
        }
        let authority = match (&self.client_ca, kubeconfig.authority()) {
            (Some(file), _) => Source::File(file.clone()),
            (None, Some(source)) => source.clone(),
            (None, None) => bail!("nobody says who signs the certificates of kubelets: give --client-ca"),
        };
        let folder = self.door_certificates.as_deref().unwrap_or(data);
        make_certificate(folder, self.door_listen.ip())?;
        Ok(Some(Door::Kubelet(Box::new(KubeletOptions {
            address: self.door_listen,
            certificate: Source::File(folder.join(CERTIFICATE)),
            key: Source::File(folder.join(KEY)),
            authority,
            upstream: upstream.clone(),
            root: self.kubelet_root.clone(),
        }))))
    }
}

/// What the door shows.
pub const CERTIFICATE: &str = "door.crt";
/// What it keeps to itself.
pub const KEY: &str = "door.key";
/// What the kubelet trusts.
pub const AUTHORITY: &str = "door-ca.crt";

/// Makes the door's certificate, unless there is one.
///
/// # Errors
///
/// If it cannot be made or written.
pub fn make_certificate(folder: &Path, address: IpAddr) -> Result<()> {
    // The authority is written last: if it is there, all are.
    if folder.join(AUTHORITY).exists() {
        return Ok(());
    }
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let address = address.to_string();
    let made = loopback_certificate(&[&address, "127.0.0.1", "localhost"])?;
    write(&folder.join(KEY), &made.key, 0o600)?;
    write(&folder.join(CERTIFICATE), &made.certificate, 0o644)?;
    write(&folder.join(AUTHORITY), &made.authority, 0o644)
}

fn write(path: &Path, text: &str, mode: u32) -> Result<()> {
    let mut open = OpenOptions::new();
    let file = open.write(true).create(true).truncate(true).mode(mode).open(path);
    let written = file.and_then(|mut file| file.write_all(text.as_bytes()).and_then(|()| file.sync_all()));
    written.with_context(|| format!("cannot write {}", path.display()))
}
