//! The node of a world: its kubelet, its identity, its containers, and its power.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use rustix::fs::{Mode, OFlags, ResolveFlags, openat2};
use rustix::process::Signal;

use super::containerd::Containerd;
use super::identity::{ClientCertificate, NodeCertificate};
use super::images::{archive, archive_of_program};
use super::{ContainerSeen, SandboxSeen, World, identity, import, kubelet};
use crate::program;

impl World {
    /// The node's own client certificate, as a kubelet keeps it.
    pub fn node_certificate(&self) -> NodeCertificate {
        identity::node(self.folder())
    }

    /// Gives the node another client certificate, as a kubelet does before the old one expires.
    ///
    /// # Errors
    /// When it cannot be made or written.
    pub fn rotate_node_certificate(&self) -> Result<()> {
        identity::rotate(self.folder(), self.node())
    }

    /// Makes a client certificate for somebody else.
    ///
    /// # Errors
    /// When it cannot be made or written.
    pub fn issue(&self, user: &str, group: Option<&str>) -> Result<ClientCertificate> {
        identity::issue(self.folder(), user, group)
    }

    /// A kubeconfig for the kubelet that leads straight to the API server.
    pub fn direct_kubeconfig(&self) -> &Path {
        &self.direct
    }

    /// The kubelet's folder, without what it mounts there.
    pub fn kubelet_folder(&self) -> PathBuf {
        self.folder().join("kubelet")
    }

    /// Where the kubelet finds static pods.
    pub fn static_pods(&self) -> PathBuf {
        self.folder().join("static-pods")
    }

    /// The kubelet's log. It goes on when the kubelet is started again.
    pub fn kubelet_log(&self) -> PathBuf {
        self.folder().join("kubelet.log")
    }

    /// Starts the kubelet, with a kubeconfig that leads to the API server or to a proxy. It is not waited for.
    ///
    /// # Errors
    /// When it runs already, or cannot be run.
    pub fn start_kubelet(&mut self, kubeconfig: &Path) -> Result<()> {
        if self.kubelet.as_mut().is_some_and(program::Program::runs) {
            bail!("the kubelet is running already");
        }
        let (folder, group) = (self.ground.path(), self.ground.group());
        let program = kubelet::start(&self.assets, &self.machine, folder, group, &self.options, kubeconfig)?;
        self.kubelet = Some(program);
        Ok(())
    }

    /// Ends the kubelet as an operator would, and waits for its end. Containers go on.
    ///
    /// # Errors
    /// When it is not running, or does not end.
    pub fn stop_kubelet(&mut self) -> Result<()> {
        self.kubelet.take().context("the kubelet is not running")?.stop()
    }

    /// Ends the kubelet at once. Containers go on.
    ///
    /// # Errors
    /// When it is not running.
    pub fn kill_kubelet(&mut self) -> Result<()> {
        self.kubelet.take().context("the kubelet is not running")?.kill();
        Ok(())
    }

    /// The number of the kubelet's process, if it runs.
    pub fn kubelet_pid(&mut self) -> Option<u32> {
        let kubelet = self.kubelet.as_mut()?;
        kubelet.runs().then(|| kubelet.pid())
    }

    /// Waits until the kubelet says that it is well and the API server that the node is ready: this node, since its last
    /// start.
    ///
    /// # Errors
    /// When that takes too long.
    pub fn wait_node_ready(&self) -> Result<()> {
        self.wait("the kubelet is well", || kubelet::is_healthy(&self.place).then_some(()))?;
        self.wait("the node is ready", || {
            let node = self.json(&["get", "node", self.node()]).ok()?;
            let conditions = node["status"]["conditions"].as_array()?;
            let ready = conditions
                .iter()
                .any(|condition| condition["type"] == "Ready" && condition["status"] == "True");
            let current = node["status"]["nodeInfo"]["bootID"] == self.machine.boot_id();
            (ready && current).then_some(())
        })
    }

    /// All containers that the runtime has, those that have ended among them.
    ///
    /// # Errors
    /// When what the runtime keeps cannot be read.
    pub fn containers(&self) -> Result<Vec<ContainerSeen>> {
        self.known.containers(&self.machine, &self.containerd)
    }

    /// All sandboxes that the runtime runs.
    pub fn sandboxes(&self) -> Vec<SandboxSeen> {
        self.known.sandboxes(&self.machine, &self.containerd)
    }

    fn running(&self, id: &str) -> Result<u32> {
        let seen = self.containers()?.into_iter().find(|container| container.id == id);
        let pid = seen.as_ref().and_then(ContainerSeen::pid);
        pid.with_context(|| format!("container {id} does not run"))
    }

    /// Ends a container's first process at once, as a crash would.
    ///
    /// # Errors
    /// When the container does not run.
    pub fn kill_container(&self, id: &str) -> Result<()> {
        program::kill(self.running(id)?, Signal::KILL)
    }

    /// The contents of a file as a running container sees it, volumes included.
    ///
    /// # Errors
    /// When the container does not run, or has no such file.
    pub fn exec_read(&self, id: &str, path: &str) -> Result<Vec<u8>> {
        let root =
            File::open(format!("/proc/{}/root", self.running(id)?)).context("the container has ended")?;
        // Links that begin at the root begin at the container's.
        let file =
            openat2(&root, path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty(), ResolveFlags::IN_ROOT);
        let mut bytes = Vec::new();
        let file = file.with_context(|| format!("cannot open {path} in the container"))?;
        File::from(file)
            .read_to_end(&mut bytes)
            .with_context(|| format!("cannot read {path} in the container"))?;
        Ok(bytes)
    }

    /// The environment that a running container was started with.
    ///
    /// # Errors
    /// When the container does not run.
    pub fn environment(&self, id: &str) -> Result<BTreeMap<String, String>> {
        let bytes =
            fs::read(format!("/proc/{}/environ", self.running(id)?)).context("the container has ended")?;
        let text = String::from_utf8_lossy(&bytes);
        let pairs = text.split('\0').filter_map(|pair| pair.split_once('='));
        Ok(pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
    }

    /// The image `app` of a tag, which is made if there is none yet; `v1`, `v2` and `v3` are there from the beginning. It
    /// is busybox, its file `/image` says which tag it is, and unless it is told otherwise it waits to be ended. Pods
    /// have to say `imagePullPolicy: Never`, or `IfNotPresent`: there is nobody to pull from.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn image(&self, tag: &str) -> Result<String> {
        let name = format!("app:{tag}");
        let names = self.containerd.ctr(&["images", "list", "--quiet"])?;
        if !names.lines().any(|line| line.rsplit('/').next() == Some(&name)) {
            import(&self.containerd, self.folder(), |workshop, busybox| archive(workshop, busybox, &[tag]))?;
        }
        Ok(name)
    }

    /// Makes an image that has a program of this machine in its path, with the libraries that it needs.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn image_of_program(&self, name: &str, program: &Path) -> Result<()> {
        import(&self.containerd, self.folder(), |workshop, busybox| {
            archive_of_program(workshop, busybox, name, program)
        })
    }

    /// A power cut at the node, and power again: kubelet, runtime and all containers end at once, what was in memory is
    /// gone, and the runtime is started again. The kubelet is not. The control plane has power of its own.
    ///
    /// # Errors
    /// When the runtime does not come up again.
    pub fn reboot(&mut self) -> Result<()> {
        self.machine.restart()?;
        self.kubelet = None;
        self.containerd.program().kill();
        self.ground.renew_groups()?;
        self.containerd = Containerd::start(&self.machine, self.ground.path())?;
        Ok(())
    }

    /// An error if a program that should run has ended, with the end of its log.
    ///
    /// # Errors
    /// When one has ended.
    pub fn check(&mut self) -> Result<()> {
        self.plane.check()?;
        self.containerd.program().check()?;
        self.kubelet.as_mut().map_or(Ok(()), program::Program::check)
    }
}
