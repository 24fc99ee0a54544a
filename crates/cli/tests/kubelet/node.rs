//! A node with Safepoint between its kubelet and the API server.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

use safepoint_testkit::{ContainerSeen, ContainerState, Guest, World, WorldOptions};
use serde_json::{Value, json};

pub(super) const PORT: u16 = 10443;

pub(super) struct Node {
    pub(super) agent: Guest,
    pub(super) world: World,
    kubeconfig: PathBuf,
}

/// Installed at once, and then held.
pub(super) fn held() -> Value {
    json!({"edge.kubeedge.io/hold-upgrade": "true", "safepoint.dev/first-install": "allow"})
}

/// A pod that nobody controls.
pub(super) fn bare_pod(name: &str, tag: &str, annotations: Value) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "annotations": annotations},
        "spec": {"terminationGracePeriodSeconds": 2,
            "containers": [{"name": "main", "image": format!("app:{tag}"), "imagePullPolicy": "Never"}]},
    })
}

/// What the runtime says of the containers of some pods: the id and process of each, by pod and container.
pub(super) type Running = BTreeMap<(String, String), (String, u32)>;

// === impl Node ===

impl Node {
    pub(super) fn new() -> Self {
        Self::with(&WorldOptions::default())
    }

    pub(super) fn with(options: &WorldOptions) -> Self {
        Self::after(options, |_| {})
    }

    /// A node whose kubelet did without Safepoint before, while something happened.
    pub(super) fn after(options: &WorldOptions, before: impl FnOnce(&mut World)) -> Self {
        let mut world = World::start(options).unwrap();
        before(&mut world);
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
        let agent = start_agent(&world);
        let kubeconfig = kubeconfig(&world);
        let mut node = Self { agent, world, kubeconfig };
        node.wait_for_agent();
        node.start_kubelet();
        node.world.wait_node_ready().unwrap();
        node
    }

    pub(super) fn start_kubelet(&mut self) {
        self.world.start_kubelet(&self.kubeconfig).unwrap();
    }

    /// Waits until the kubelet says itself that it has these pods: a Node may be ready by what the last one has said.
    pub(super) fn wait_kubelet_has(&self, pods: &[&str]) {
        self.wait("the kubelet has its pods", || {
            let said = self.world.run(&["get", "--raw", "/api/v1/nodes/node/proxy/pods"]).ok()?;
            let said: Value = serde_json::from_str(&said).ok()?;
            let items = said["items"].as_array()?;
            let has = |name: &&str| items.iter().any(|pod| pod["metadata"]["name"] == **name);
            pods.iter().all(has).then_some(())
        });
    }

    /// Waits until the agent answers.
    pub(super) fn wait_for_agent(&mut self) {
        let socket = socket(&self.world);
        self.world
            .wait("the agent answers", || {
                let asked = safepoint(&socket, &["status", "-o", "json"]);
                asked.status.success().then_some(())
            })
            .unwrap();
    }

    /// Ends the agent as a power cut would, and starts it again.
    pub(super) fn restart_agent(&mut self) {
        self.agent.kill();
        self.agent.start_again().unwrap();
        self.wait_for_agent();
    }

    /// Starts the agent anew on a machine that has been switched off.
    pub(super) fn boot_agent(&mut self) {
        self.agent.kill();
        self.agent = start_agent(&self.world);
        self.wait_for_agent();
    }

    /// Runs the command line against this node. It has to succeed.
    pub(super) fn safepoint(&self, arguments: &[&str]) -> String {
        let output = self.try_safepoint(arguments);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert!(
            output.status.success(),
            "safepoint {}: {}{}\n{}",
            arguments.join(" "),
            text(&output.stdout),
            text(&output.stderr),
            self.agent.log()
        );
        text(&output.stdout)
    }

    pub(super) fn try_safepoint(&self, arguments: &[&str]) -> Output {
        safepoint(&socket(&self.world), arguments)
    }

    pub(super) fn status(&self) -> Value {
        serde_json::from_str(&self.safepoint(&["status", "-o", "json"])).unwrap()
    }

    /// The names of what is held.
    pub(super) fn held(&self) -> Vec<String> {
        let changes: Value = serde_json::from_str(&self.safepoint(&["changes", "-o", "json"])).unwrap();
        let items = changes["items"].as_array().cloned().unwrap_or_default();
        items.iter().map(|item| item["name"].as_str().unwrap_or_default().to_owned()).collect()
    }

    pub(super) fn wait_held(&self, prefix: &str) {
        self.wait(&format!("a change of {prefix} is held"), || {
            self.held().iter().any(|name| name.starts_with(prefix)).then_some(())
        });
    }

    pub(super) fn wait<T>(&self, what: &str, look: impl FnMut() -> Option<T>) -> T {
        match self.world.wait(what, look) {
            Ok(found) => found,
            Err(error) => {
                let pods = self.world.run(&["get", "pods", "-A", "-o", "wide"]).unwrap_or_default();
                let held = self.try_safepoint(&["changes"]);
                panic!("{error:#}\n{pods}\n{}", String::from_utf8_lossy(&held.stdout));
            }
        }
    }

    pub(super) fn kubectl(&self, arguments: &[&str]) -> String {
        self.world.run(arguments).unwrap()
    }

    pub(super) fn apply(&self, object: &Value) {
        self.world.apply(&object.to_string()).unwrap();
    }

    /// The running containers of pods whose names begin so.
    pub(super) fn running(&self, prefix: &str) -> Running {
        let of = |seen: &ContainerSeen| seen.pod_name.starts_with(prefix);
        let containers = self.world.containers().unwrap();
        let running =
            containers.iter().filter(|seen| of(seen) && matches!(seen.state, ContainerState::Running { .. }));
        running
            .map(|seen| {
                (
                    (seen.pod_name.clone(), seen.name.clone()),
                    (seen.id.clone(), seen.pid().unwrap_or_default()),
                )
            })
            .collect()
    }

    /// What the file says that each image carries, for all running containers of some pods.
    pub(super) fn images(&self, prefix: &str) -> Vec<String> {
        let mut images: Vec<String> = self
            .running(prefix)
            .values()
            .filter_map(|(id, _)| self.world.exec_read(id, "/image").ok())
            .map(|text| String::from_utf8_lossy(&text).trim().to_owned())
            .collect();
        images.sort();
        images
    }

    /// Waits until so many containers of some pods run, all of this image.
    pub(super) fn wait_images(&self, prefix: &str, count: usize, tag: &str) {
        let expected = vec![tag.to_owned(); count];
        self.wait(&format!("{count} of {prefix} run {tag}"), || {
            (self.images(prefix) == expected).then_some(())
        });
    }

    pub(super) fn wait_ready(&self, prefix: &str, count: usize) {
        self.wait(&format!("{count} of {prefix} are ready"), || {
            let pods = self.world.json(&["get", "pods", "-A"]).ok()?;
            let ready = pods["items"].as_array()?.iter().filter(|pod| {
                let named = pod["metadata"]["name"].as_str().is_some_and(|name| name.starts_with(prefix));
                let conditions = pod["status"]["conditions"].as_array().into_iter().flatten();
                let mut ready = conditions.filter(|it| it["type"] == "Ready" && it["status"] == "True");
                named && ready.next().is_some() && pod["metadata"]["deletionTimestamp"].is_null()
            });
            (ready.count() == count).then_some(())
        });
    }
}

fn start_agent(world: &World) -> Guest {
    let folder = world.folder().join("agent");
    fs::create_dir_all(&folder).unwrap();
    let agent = world.resident("agent", env!("CARGO_BIN_EXE_safepoint"), |command| {
        command
            .args(["agent", "--door", "kubelet", "--trust-clock", "--node-name", world.node()])
            .arg("--kubeconfig")
            .arg(world.direct_kubeconfig())
            .arg("--data")
            .arg(&folder)
            .arg("--kubelet-root")
            .arg(world.kubelet_folder())
            .arg(format!("--door-listen=127.0.0.1:{PORT}"))
            .arg("--manifests")
            .arg(world.static_pods())
            // Short, so that tests are; long enough to see a container that ends at once.
            .args(["--ready-for=3s", "--ready-within=60s", "--compat=yurthub"])
            .env("SAFEPOINT_LOG", "info");
    });
    agent.unwrap()
}

pub(super) fn socket(world: &World) -> PathBuf {
    world.folder().join("agent/agent.sock")
}

fn safepoint(socket: &std::path::Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_safepoint"));
    command.args(arguments).arg("--socket").arg(socket).env_remove("SAFEPOINT_SOCKET").output().unwrap()
}

/// The kubelet's: the door for an API server, and the certificate that it has.
fn kubeconfig(world: &World) -> PathBuf {
    let certificate = world.node_certificate();
    let config = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "door",
        "clusters": [{"name": "door", "cluster": {
            "server": format!("https://127.0.0.1:{PORT}"),
            "certificate-authority": world.folder().join("agent/door-ca.crt")}}],
        "users": [{"name": "node", "user": {
            "client-certificate": certificate.current, "client-key": certificate.current}}],
        "contexts": [{"name": "door", "context": {"cluster": "door", "user": "node"}}],
    });
    let path = world.folder().join("door.kubeconfig");
    fs::write(&path, config.to_string()).unwrap();
    path
}
