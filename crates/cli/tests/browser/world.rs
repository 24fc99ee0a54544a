//! Everything on one machine, with a dashboard.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::SystemTime;

use serde_json::{Value, json};

pub(super) const NODE: &str = "rover-7";

pub(super) struct World {
    folder: tempfile::TempDir,
    /// All processes end with it, pods included.
    up: Child,
    pub(super) dashboard: String,
    pub(super) token: String,
}

/// Somebody who watches the NodeGate with kubectl.
pub(super) struct Watcher {
    kubectl: Child,
    held: mpsc::Receiver<i64>,
}

/// What time it is, in milliseconds, as a page has it.
pub(super) fn now() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    since.as_millis().try_into().unwrap()
}

// === impl Watcher ===

impl Watcher {
    /// When it was heard that something is held.
    pub(super) fn held_at(&self) -> i64 {
        self.held.recv().expect("kubectl hears that something is held")
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        let _ = self.kubectl.kill();
        let _ = self.kubectl.wait();
    }
}

// === impl World ===

impl World {
    /// A machine, started with more arguments.
    pub(super) fn start(more: &[&str]) -> Self {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let mut up = Command::new("unshare")
            .args(["--pid", "--mount-proc", "--fork", "--kill-child", env!("CARGO_BIN_EXE_safepoint"), "up"])
            .args(["--listen=127.0.0.1:0", "--dashboard-address=127.0.0.1:0", "--node-name", NODE, "--data"])
            .arg(folder.path().join("data"))
            .args(more)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(up.stdout.take().unwrap()).lines().map_while(Result::ok);
        let mut dashboard = None;
        for line in lines.by_ref() {
            if let Some(rest) = line.strip_prefix("dashboard") {
                dashboard = rest.split_whitespace().next().map(str::to_owned);
            }
            if line.starts_with("ready in") {
                break;
            }
        }
        std::thread::spawn(move || lines.for_each(drop));
        let kubeconfig = fs::read_to_string(folder.path().join("data/kubeconfig")).unwrap();
        let token = kubeconfig.lines().find_map(|line| line.trim().strip_prefix("token: "));
        let token = token.unwrap().trim_matches('"').to_owned();
        Self { dashboard: dashboard.expect("it says where the dashboard is"), token, up, folder }
    }

    fn kubeconfig(&self) -> PathBuf {
        self.folder.path().join("data/kubeconfig")
    }

    fn kubectl_command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(safepoint_testkit::assets().unwrap().program("kubectl").unwrap());
        command.arg("--kubeconfig").arg(self.kubeconfig());
        // Not at home: what a server at this address could do yesterday says nothing.
        command.arg("--cache-dir").arg(self.folder.path().join("cache")).args(args);
        command
    }

    /// Watches the NodeGate, of a node that holds nothing yet, and returns once that has begun.
    pub(super) fn watch(&self) -> Watcher {
        let number = "jsonpath={.status.heldCount}{\"\\n\"}";
        let mut command = self.kubectl_command(&["get", "nodegate", NODE, "--watch", "-o", number]);
        let mut kubectl = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(kubectl.stdout.take().unwrap()).lines().map_while(Result::ok);
        assert_eq!(lines.next().as_deref(), Some("0"));
        let (tell, held) = mpsc::channel();
        std::thread::spawn(move || {
            if lines.any(|number| number != "0") {
                let _ = tell.send(now());
            }
        });
        Watcher { kubectl, held }
    }

    /// Somebody on the machine asks its agent.
    pub(super) fn on_the_node(&self, args: &[&str]) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_safepoint"));
        let output =
            command.args(args).env("SAFEPOINT_SOCKET", self.folder.path().join("data/agent.sock")).output();
        let output = output.unwrap();
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    }

    pub(super) fn kubectl(&self, args: &[&str]) -> String {
        let output = self.kubectl_command(args).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "kubectl {args:?}: {said}");
        String::from_utf8(output.stdout).unwrap()
    }

    pub(super) fn apply(&self, object: &Value) {
        let path = self.folder.path().join("object.json");
        fs::write(&path, object.to_string()).unwrap();
        self.kubectl(&["apply", "-f", path.to_str().unwrap()]);
    }

    /// A rover whose upgrades wait, and which runs.
    pub(super) fn rover(&self) {
        self.apply(&json!({"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": "rover", "namespace": "default", "annotations":
                {"edge.kubeedge.io/hold-upgrade": "true", "safepoint.dev/first-install": "allow"}},
            "spec": {"containers": [{"name": "drive", "image": "rover:v1", "command": ["sleep", "infinity"]}]}}));
        self.kubectl(&["wait", "--for=condition=Ready", "pod/rover", "--timeout=300s"]);
    }

    pub(super) fn push(&self, version: &str) {
        self.kubectl(&["set", "image", "pod/rover", &format!("drive=rover:{version}")]);
    }

    /// A beacon that comes to all nodes, four at a time, once it is not paused any more.
    pub(super) fn beacon(&self) {
        // The hub defines the kind when it starts, which may be now.
        for what in ["create", "condition=Established"] {
            self.kubectl(&[
                "wait",
                &format!("--for={what}"),
                "crd/staticpods.safepoint.dev",
                "--timeout=300s",
            ]);
        }
        self.apply(&json!({"apiVersion": "safepoint.dev/v1alpha1", "kind": "StaticPod",
            "metadata": {"name": "beacon", "namespace": "default"},
            "spec": {"staticPodName": "beacon", "staticPodManifest": "beacon", "paused": true,
                "template": beacon("v1"),
                "upgradeStrategy": {"type": "AdvancedRollingUpdate", "maxUnavailable": 4,
                    "install": {"nodeSelector": {}}}}}));
    }

    pub(super) fn pause_beacon(&self, paused: bool) {
        self.change_beacon(&json!({"spec": {"paused": paused}}));
    }

    pub(super) fn push_beacon(&self, version: &str) {
        self.change_beacon(&json!({"spec": {"template": beacon(version)}}));
    }

    fn change_beacon(&self, change: &Value) {
        self.kubectl(&["patch", "staticpod", "beacon", "--type=merge", "-p", &change.to_string()]);
    }
}

fn beacon(version: &str) -> Value {
    let main =
        json!({"name": "main", "image": format!("beacon:{version}"), "command": ["sleep", "infinity"]});
    json!({"metadata": {"labels": {"app": "beacon"}}, "spec": {"containers": [main]}})
}

impl Drop for World {
    fn drop(&mut self) {
        let _ = self.up.kill();
        let _ = self.up.wait();
    }
}
