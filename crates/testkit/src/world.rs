//! A world: a control plane, and one node with real containers, in a network of their own.
//!
//! Everything in it is upstream's: etcd, kube-apiserver, controllers, scheduler, kubelet, containerd, runc. Nothing in it
//! can reach anything outside, and several can run beside each other. It needs root and a few programs, which
//! `cargo xtask test` installs.
//!
//! Paths are the same inside and outside, except for what the node mounts: that only the node sees, and tests see it
//! through a container ([`World::exec_read`]).

use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::thread;

use anyhow::{Context, Result, anyhow, ensure};
use serde_json::Value;

use crate::access::Access;
use crate::assets::{Assets, assets};
use crate::control_plane::ControlPlane;
use crate::place::Place;
use crate::program::{self, Program, on_leash, tail};
use crate::shared::fresh_name;

mod containerd;
mod containers;
mod forward;
mod ground;
mod guest;
mod identity;
mod images;
mod kubelet;
mod machine;
mod needs;
mod network;
mod node;
mod options;

use containerd::Containerd;
use containers::Known;
use ground::Ground;
use machine::Machine;
use network::Network;

pub use containers::{ContainerSeen, ContainerState, SandboxSeen};
pub use ground::sweep;
pub use guest::Guest;
pub use identity::{ClientCertificate, NodeCertificate};
pub use needs::{is_root, missing_packages};
pub use options::WorldOptions;

/// An image that nobody has: pods that want it wait for it in vain.
pub const UNPULLABLE_IMAGE: &str = "missing:v1";

/// The tags of the image `app` that are there from the beginning.
const TAGS: [&str; 3] = ["v1", "v2", "v3"];

/// A control plane, and a node.
///
/// All of it ends when this is dropped, and at the latest with the process. The fields are in the order in which they go:
/// clients before servers.
#[derive(Debug)]
pub struct World {
    kubelet: Option<Program>,
    containerd: Containerd,
    machine: Machine,
    plane: ControlPlane,
    place: Place,
    _network: Network,
    /// Logs of guests, for when something is waited for in vain.
    logs: Mutex<Vec<PathBuf>>,
    known: Known,
    direct: PathBuf,
    assets: Assets,
    options: WorldOptions,
    ground: Ground,
}

impl World {
    /// Starts the control plane and the container runtime, with images. The kubelet is not started yet.
    ///
    /// # Errors
    /// When this machine lacks something that a node needs, or a program does not come up: then with the end of its log.
    pub fn start(options: &WorldOptions) -> Result<Self> {
        needs::check()?;
        let assets = assets()?;
        let ground = Ground::create()?;
        let folder = ground.path();
        let network = Network::create(folder)?;
        let place = network.place();
        ControlPlane::prepare(folder)?;
        identity::create(folder, &options.node)?;

        // The API server takes seconds, most of them on one core.
        let (plane, node) = thread::scope(|scope| {
            let node = scope.spawn(|| -> Result<_> {
                let machine = Machine::start(&place, folder)?;
                let containerd = Containerd::start(&machine, folder)?;
                import(&containerd, folder, |workshop, busybox| images::archive(workshop, busybox, &TAGS))?;
                Ok((machine, containerd))
            });
            let control = options.control_plane(folder);
            let plane = ControlPlane::start_in(&assets, place.clone(), folder, None, &control);
            (plane, node.join())
        });
        let (machine, containerd) = node.map_err(|_| anyhow!("the start of the node panicked"))??;
        let plane = plane?;
        let direct = identity::kubeconfig(folder, plane.url())?;
        Ok(Self {
            kubelet: None,
            containerd,
            machine,
            plane,
            place,
            _network: network,
            logs: Mutex::default(),
            known: Known::default(),
            direct,
            assets,
            options: options.clone(),
            ground,
        })
    }

    /// Where everything of this world is. It is removed with it.
    pub fn folder(&self) -> &Path {
        self.ground.path()
    }

    /// The name of the node.
    pub fn node(&self) -> &str {
        &self.options.node
    }

    /// The control plane. Its address is only good inside: see [`World::inside`] and [`World::in_namespace`].
    pub fn control_plane(&self) -> &ControlPlane {
        &self.plane
    }

    /// The control plane, to stop and to start parts of it.
    pub fn control_plane_mut(&mut self) -> &mut ControlPlane {
        &mut self.plane
    }

    /// A kubectl that runs inside and knows this world only.
    pub fn kubectl(&self) -> Command {
        self.plane.kubectl()
    }

    /// Runs kubectl and returns what it prints.
    ///
    /// # Errors
    /// When it fails, with what it says.
    pub fn run(&self, arguments: &[&str]) -> Result<String> {
        self.plane.run(arguments)
    }

    /// Runs kubectl with `--output=json` and returns what it prints.
    ///
    /// # Errors
    /// When it fails, with what it says.
    pub fn json(&self, arguments: &[&str]) -> Result<Value> {
        let text = self.run(&[arguments, &["--output=json"]].concat())?;
        serde_json::from_str(&text).context("kubectl printed something that is not JSON")
    }

    /// Applies objects.
    ///
    /// # Errors
    /// When kubectl fails, with what it says.
    pub fn apply(&self, yaml: &str) -> Result<()> {
        let mut kubectl = self.kubectl();
        kubectl.args(["apply", "-f", "-"]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = kubectl.spawn().context("cannot run kubectl")?;
        // A kubectl that has failed already does not read, and says why.
        let written = child.stdin.take().map(|mut stdin| stdin.write_all(yaml.as_bytes()));
        let output = child.wait_with_output().context("kubectl did not end")?;
        ensure!(
            output.status.success(),
            "kubectl apply failed: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        );
        written.transpose().context("kubectl did not read what to apply").map(drop)
    }

    /// Creates a namespace that nobody else uses, waits until pods can be made in it, and returns its name.
    ///
    /// # Errors
    /// When the server refuses, or the controllers do not do their part.
    pub fn namespace(&self) -> Result<String> {
        let name = fresh_name("test");
        self.run(&["create", "namespace", &name])?;
        let parts = ["serviceaccount/default", "configmap/kube-root-ca.crt"];
        self.run(&[&["wait", "--for=create", "--timeout=60s", "-n", &name], &parts[..]].concat())?;
        Ok(name)
    }

    /// A command that runs a program in the world's network, and is that program. Nothing else is of the world: files and
    /// processes are as outside. It ends when the world is removed, and at once only if its owner sees to that: see
    /// [`World::guest`].
    pub fn inside(&self, program: impl AsRef<OsStr>) -> Command {
        self.place.command(program)
    }

    /// Starts a program in the world's network that ends with whoever holds it, however that ends. What it prints goes to
    /// `NAME.log` in the world's folder, and its end is shown when something is waited for in vain.
    ///
    /// # Errors
    /// When it cannot be run.
    pub fn guest(
        &self,
        name: &str,
        program: impl AsRef<OsStr>,
        configure: impl FnOnce(&mut Command),
    ) -> Result<Guest> {
        let mut command = on_leash(program.as_ref(), |shell| self.place.command(shell));
        configure(&mut command);
        let program = Program::start(name, self.folder(), command)?;
        self.logs.lock().unwrap_or_else(PoisonError::into_inner).push(program.log_path().to_owned());
        Ok(Guest(program))
    }

    /// The same on the node itself: the program sees what the node mounts, and a power cut ends it.
    ///
    /// # Errors
    /// When it cannot be run.
    pub fn resident(
        &self,
        name: &str,
        program: impl AsRef<OsStr>,
        configure: impl FnOnce(&mut Command),
    ) -> Result<Guest> {
        let mut command = on_leash(program.as_ref(), |shell| self.machine.command(shell));
        configure(&mut command);
        let program = Program::start(name, self.folder(), command)?.that_forks();
        self.logs.lock().unwrap_or_else(PoisonError::into_inner).push(program.log_path().to_owned());
        Ok(Guest(program))
    }

    /// Does something in a thread that is in the world's network. Threads that it starts, and sockets that it makes, are in
    /// there as well, and stay so.
    pub fn in_namespace<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        self.place.within(work).expect("the network is there for as long as the world, and root may enter it")
    }

    /// Opens a way from outside to a port on the world's loopback, and returns the port on this machine's own. It stays
    /// open until the process ends.
    ///
    /// # Errors
    /// When no port is free.
    pub fn forward(&self, port: u16) -> Result<u16> {
        forward::open(self.place.clone(), port)
    }

    /// Opens a way from outside to the API server, and writes a kubeconfig that uses it.
    ///
    /// # Errors
    /// When no port is free, or the file cannot be written.
    pub fn outside_kubeconfig(&self) -> Result<PathBuf> {
        let inside = self.plane.url().rsplit(':').next().and_then(|port| port.parse().ok());
        let outside = self.forward(inside.context("the server's address has a port")?)?;
        let url = format!("https://127.0.0.1:{outside}");
        Ok(Access::write_as(self.folder(), "outside.kubeconfig", &url)?.kubeconfig)
    }

    /// Looks again and again until there is something.
    ///
    /// # Errors
    /// When there is nothing after two minutes: with the ends of the logs of kubelet, API server and guests.
    pub fn wait<T>(&self, what: &str, look: impl FnMut() -> Option<T>) -> Result<T> {
        program::wait_for(look).ok_or_else(|| anyhow!("waited in vain: {what}\n{}", self.ends_of_logs()))
    }

    fn ends_of_logs(&self) -> String {
        let own = ["kubelet", "kube-apiserver"].map(|name| self.folder().join(format!("{name}.log")));
        let guests = self.logs.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let end = |log: PathBuf| {
            let name = log.file_stem().unwrap_or_default().display().to_string();
            format!("{name}: {}", tail(&log))
        };
        own.into_iter().chain(guests).map(end).collect::<Vec<_>>().join("\n")
    }
}

/// Gives images to the runtime.
fn import(
    containerd: &Containerd,
    folder: &Path,
    make: impl FnOnce(&Path, &Path) -> Result<PathBuf>,
) -> Result<()> {
    let busybox = needs::find("busybox").context("busybox is missing")?;
    let workshop = tempfile::Builder::new().prefix("images-").tempdir_in(folder);
    let workshop = workshop.context("cannot make a folder for images")?;
    let archive = make(workshop.path(), &busybox)?;
    containerd.ctr(&["images", "import", &archive.to_string_lossy()]).map(drop)
}
