//! A node whose files are in a folder and whose systemd is played by the test: it starts what the units say, as they say it.
//!
//! `systemctl` is a script that hands its arguments to the test through a pipe and waits for an answer.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::thread;

use safepoint_testkit::{ContainerState, Guest, World, WorldOptions};
use serde_json::{Value, json};

const AGENT: &str = "safepoint-agent.service";
/// What the waiting thread says in the pipe when the command has ended.
const ENDED: &str = "ended";

/// A node as kubeadm leaves one, with a kubelet that runs.
pub(super) struct Node {
    agent: Option<Guest>,
    pub(super) world: World,
    /// What systemctl was asked for.
    pub(super) asked: Vec<String>,
    /// Makes the agent end whenever the kubelet is started.
    pub(super) agent_dies_with_the_restart: bool,
}

/// How a command ended.
pub(super) struct Ended {
    pub(super) status: ExitStatus,
    pub(super) text: String,
}

/// The running containers: by pod, the id and process of each.
pub(super) type Running = BTreeMap<String, (String, u32)>;

impl Node {
    pub(super) fn new() -> Self {
        let world = World::start(&WorldOptions::default()).unwrap();
        for manifest in [
            include_str!("../../../../deploy/crds/nodegates.safepoint.dev.yaml"),
            include_str!("../../../../deploy/agent/rbac.yaml"),
            include_str!("../../../../deploy/agent/policy.yaml"),
        ] {
            world.apply(manifest).unwrap();
        }
        world.run(&["wait", "--for=condition=Established", "crd/nodegates.safepoint.dev"]).unwrap();
        let gate = json!({"apiVersion": "safepoint.dev/v1alpha1", "kind": "NodeGate", "metadata": {"name": world.node()}, "spec": {}});
        world.apply(&gate.to_string()).unwrap();
        let mut node = Self { agent: None, world, asked: Vec::new(), agent_dies_with_the_restart: false };
        node.furnish();
        node.world.start_kubelet(&node.at("etc/kubernetes/kubelet.conf")).unwrap();
        node.world.wait_node_ready().unwrap();
        node
    }

    pub(super) fn at(&self, path: &str) -> PathBuf {
        self.world.folder().join("root").join(path)
    }

    fn furnish(&self) {
        let write = |path: &str, text: &str| {
            let path = self.at(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text).unwrap();
            path
        };
        let script = |path: &str, text: &str| {
            let path = write(path, &format!("#!/bin/sh\n{text}\n"));
            fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
        };
        fs::create_dir_all(self.at("var/lib")).unwrap();
        write("etc/kubernetes/kubelet.conf", &fs::read_to_string(self.world.direct_kubeconfig()).unwrap());
        write("etc/kubernetes/pki/ca.crt", &fs::read_to_string(self.world.node_certificate().ca).unwrap());
        write("usr/lib/systemd/system/kubelet.service", "[Service]\nExecStart=/usr/bin/kubelet\n");
        let kubelet = self.world.kubelet_folder();
        write(
            "usr/lib/systemd/system/kubelet.service.d/10-kubeadm.conf",
            &format!(
                "[Service]\nEnvironment=\"KUBELET_KUBECONFIG_ARGS=--kubeconfig=/etc/kubernetes/kubelet.conf\"\nExecStart=\n\
                 ExecStart=/usr/bin/kubelet $KUBELET_KUBECONFIG_ARGS --root-dir={}\n",
                kubelet.display()
            ),
        );
        script("usr/bin/kubelet", "echo Kubernetes v1.36.4");
        let folder = self.world.folder().display();
        script(
            "../bin/systemctl",
            &format!("echo \"$*\" >{folder}/requests\nread -r code <{folder}/replies\nexit \"$code\""),
        );
        script("../bin/journalctl", &format!("tail -n 20 {folder}/agent.log"));
        for pipe in ["requests", "replies"] {
            let made = Command::new("mkfifo").arg(self.world.folder().join(pipe)).status().unwrap();
            assert!(made.success());
        }
    }

    /// Runs `safepoint agent …` on this node, playing systemd meanwhile.
    pub(super) fn agent(&mut self, arguments: &[&str]) -> Ended {
        let log = self.world.folder().join("command.log");
        let mut command = self.world.inside(env!("CARGO_BIN_EXE_safepoint"));
        let path = format!("{}:{}", self.at("../bin").display(), std::env::var("PATH").unwrap());
        command.arg("agent").args(arguments).arg("--root").arg(self.at("")).env("PATH", path);
        let output = File::create(&log).unwrap();
        command.stdin(Stdio::null()).stdout(output.try_clone().unwrap()).stderr(output);
        let mut child = command.spawn().unwrap();
        let requests = self.world.folder().join("requests");
        let waiting = thread::spawn({
            let requests = requests.clone();
            move || {
                let status = child.wait().unwrap();
                writeln!(OpenOptions::new().write(true).open(requests).unwrap(), "{ENDED}").unwrap();
                status
            }
        });
        loop {
            let mut request = String::new();
            File::open(&requests).unwrap().read_to_string(&mut request).unwrap();
            if request.trim() == ENDED {
                break;
            }
            let code = u8::from(self.systemctl(request.trim()).is_none());
            let mut replies =
                OpenOptions::new().write(true).open(self.world.folder().join("replies")).unwrap();
            writeln!(replies, "{code}").unwrap();
        }
        Ended { status: waiting.join().unwrap(), text: fs::read_to_string(log).unwrap() }
    }

    /// Does what systemd would do.
    fn systemctl(&mut self, request: &str) -> Option<()> {
        self.asked.push(request.to_owned());
        match request {
            "daemon-reload" | "enable safepoint-agent.service" => Some(()),
            "start safepoint-agent.service" => self.start_agent(),
            "disable --now safepoint-agent.service" => {
                // It may have ended by itself.
                drop(self.agent.take().map(|mut agent| agent.stop()));
                Some(())
            }
            "restart kubelet.service" => {
                self.world.stop_kubelet().ok()?;
                if self.agent_dies_with_the_restart {
                    self.agent.as_mut()?.kill();
                    self.agent_dies_with_the_restart = false;
                }
                let kubeconfig = self.kubeconfig_of_units();
                self.world.start_kubelet(&kubeconfig).ok()
            }
            _ => None,
        }
    }

    fn start_agent(&mut self) -> Option<()> {
        let unit = fs::read_to_string(self.at("etc/systemd/system").join(AGENT)).ok()?.replace("\\\n", " ");
        let value = |key: &str| unit.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
        fs::create_dir_all(self.at("run").join(value("RuntimeDirectory")?)).ok()?;
        let words: Vec<&str> = value("ExecStart")?.split_whitespace().collect();
        let agent = self.world.resident("agent", words[0], |command| {
            command.args(&words[1..]).env("SAFEPOINT_LOG", "info");
        });
        self.agent = Some(agent.ok()?);
        Some(())
    }

    /// Which kubeconfig the kubelet's units name.
    pub(super) fn kubeconfig_of_units(&self) -> PathBuf {
        let ours = fs::read_to_string(self.at("etc/systemd/system/kubelet.service.d/zz-safepoint.conf"));
        let named = |text: &str| {
            let rest = text.split("KUBELET_KUBECONFIG_ARGS=--kubeconfig=").nth(1)?;
            Some(PathBuf::from(rest.split(['"', ' ']).next()?))
        };
        ours.ok().and_then(|text| named(&text)).unwrap_or_else(|| self.at("etc/kubernetes/kubelet.conf"))
    }

    /// Asks the agent.
    pub(super) fn ask(&self, arguments: &[&str]) -> Value {
        let mut command = Command::new(env!("CARGO_BIN_EXE_safepoint"));
        command.args(arguments).args(["-o", "json", "--socket"]).arg(self.at("run/safepoint/agent.sock"));
        let output = command.output().unwrap();
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
            panic!("{arguments:?}: {error}: {}", String::from_utf8_lossy(&output.stderr));
        })
    }

    pub(super) fn deploy(&self, name: &str, replicas: u32) {
        let deployment = json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "namespace": "default"},
            "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": name}},
                "template": {"metadata": {"labels": {"app": name}}, "spec": {"terminationGracePeriodSeconds": 1,
                    "containers": [{"name": "main", "image": "app:v1", "imagePullPolicy": "Never"}]}}},
        });
        self.world.apply(&deployment.to_string()).unwrap();
        let of = format!("deployment/{name}");
        self.world.run(&["rollout", "status", "--timeout=120s", &of]).unwrap();
    }

    pub(super) fn running(&self) -> Running {
        let containers = self.world.containers().unwrap();
        let running = containers.iter().filter_map(|seen| match seen.state {
            ContainerState::Running { pid } => Some((seen.pod_name.clone(), (seen.id.clone(), pid))),
            ContainerState::Created | ContainerState::Exited { .. } => None,
        });
        running.collect()
    }

    /// Everything on disk that is the machine's and not the agent's: paths and bytes.
    pub(super) fn files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut found = BTreeMap::new();
        collect(&self.at(""), &mut found);
        found
    }
}

fn collect(folder: &Path, found: &mut BTreeMap<PathBuf, Vec<u8>>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.ends_with("run") {
            continue;
        }
        if path.is_dir() {
            found.insert(path.clone(), Vec::new());
            collect(&path, found);
        } else {
            found.insert(path.clone(), fs::read(&path).unwrap());
        }
    }
}
