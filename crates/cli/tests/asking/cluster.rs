//! Through the cluster: orders in a NodeGate, answered by a real agent.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

use crate::support::{Running, Said, kubeconfig, safepoint, said};

/// Everything on one machine, with a rover whose upgrade waits.
pub(crate) struct Whole {
    folder: TempDir,
    up: Option<Running>,
}

impl Whole {
    pub(crate) fn starts() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let whole = Self::plays(folder, &["--nodes", "0"], "version 2 is held");
        // What the node knows, the cluster hears a moment later.
        while whole.far(&["changes", "--node", "rover-7", "-o", "name"]).out.is_empty() {}
        whole
    }

    /// Plays the demo until it says something.
    fn plays(folder: TempDir, more: &[&str], until: &str) -> Self {
        let args = ["up", "--demo", "--listen", "127.0.0.1:0", "--node-name", "rover-7", "--data"];
        let mut up = Running::aloud(safepoint(&args).arg(folder.path().join("data")).args(more));
        loop {
            let line = up.line();
            assert!(!line.starts_with("error: "), "{line}");
            if line.contains(until) {
                break;
            }
        }
        Self { folder, up: Some(up) }
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// Through the cluster.
    fn far(&self, args: &[&str]) -> Said {
        said(safepoint(args).env("KUBECONFIG", kubeconfig(&self.data())))
    }

    /// On the node itself.
    pub(crate) fn near(&self, args: &[&str]) -> Said {
        said(safepoint(args).env("SAFEPOINT_SOCKET", self.data().join("agent.sock")))
    }

    pub(crate) fn ends(&mut self) {
        if let Some(up) = self.up.take() {
            up.signal(Signal::TERM);
            up.ends();
            // The pods run on without it, on purpose; here they end with the test.
            for run in runs(&self.data().join("agent/runtime/pods"), 3) {
                end_run(&run);
            }
        }
    }
}

impl Drop for Whole {
    fn drop(&mut self) {
        self.ends();
    }
}

/// The folders of runs: one for each pod, container and attempt.
fn runs(folder: &Path, depth: usize) -> Vec<PathBuf> {
    if depth == 0 {
        return vec![folder.to_owned()];
    }
    let inner = fs::read_dir(folder).into_iter().flatten().flatten();
    inner.flat_map(|inner| runs(&inner.path(), depth - 1)).collect()
}

/// Ends the process of a run, if it is still that one. Its shim follows it, and its last word is how it ended: then the folder
/// can be removed.
fn end_run(run: &Path) -> Option<()> {
    let started: Value = serde_json::from_slice(&fs::read(run.join("started.json")).ok()?).ok()?;
    let pid = i32::try_from(started["pid"].as_i64()?).ok()?;
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name may contain spaces; after it, the twentieth field is when the process began.
    let begun: u64 = stat.rsplit_once(')')?.1.split_whitespace().nth(19)?.parse().ok()?;
    if Some(begun) == started["start"].as_u64() {
        kill_process(Pid::from_raw(pid)?, Signal::KILL).ok()?;
        while !run.join("exit.json").exists() {
            thread::yield_now();
        }
    }
    Some(())
}

#[test]
fn a_node_is_looked_at_and_ordered_through_the_cluster() {
    let mut whole = Whole::starts();
    let status = whole.far(&["status", "--node", "rover-7"]).done();
    assert!(status.starts_with("Node     rover-7\nState    Open"), "{status}");
    let gate = whole.far(&["status", "--node", "rover-7", "-o", "json"]).json();
    assert_eq!(gate["kind"], "NodeGate");
    assert!(whole.far(&["modules", "--node", "rover-7", "-o", "name"]).done().contains("uplink\n"));
    assert!(
        whole.far(&["status", "--node", "nobody"]).failed(4).contains("the cluster has no NodeGate nobody")
    );

    // A freeze is a state in the spec: one at a time, and the other side does not end it.
    let freeze = ["node", "freeze", "rover-7", "--reason", "lift", "--for", "30m", "--id", "lift"];
    assert_eq!(whole.far(&freeze).done(), "rover-7 is frozen\n");
    assert_eq!(whole.near(&["status", "-o", "json"]).json()["state"], "Frozen");
    assert!(whole.far(&["node", "freeze", "rover-7"]).failed(3).contains("frozen already"));
    assert!(whole.near(&["node", "unfreeze"]).failed(3).contains("the cluster holds it"));
    assert!(whole.far(&["release", "rover", "--node", "rover-7"]).failed(3).contains("frozen"));
    assert_eq!(whole.far(&["node", "unfreeze", "rover-7"]).done(), "rover-7 is not frozen\n");

    // A hold of the machine's is a veto, and an override sets it aside.
    whole.near(&["node", "freeze", "--reason", "in the air", "--id", "flight"]).done();
    let vetoed = whole.far(&["node", "unfreeze", "rover-7"]).failed(3);
    assert!(vetoed.contains("flight") && vetoed.contains("--override"), "{vetoed}");
    whole.far(&["node", "unfreeze", "rover-7", "--override", "recall", "--for", "5m"]).done();
    assert_ne!(whole.near(&["status", "-o", "json"]).json()["state"], "Frozen");
    whole.near(&["unhold", "flight"]).done();

    // An order is obeyed once, answered, and taken out again.
    assert_eq!(whole.far(&["changes", "--node", "rover-7", "-o", "name"]).done(), "pod/default/rover\n");
    assert!(whole.far(&["why", "rover", "--node", "rover-7"]).done().contains("pod default/rover"));
    assert_eq!(whole.far(&["release", "rover", "--node", "rover-7"]).done(), "released pod default/rover\n");
    let gate = whole.far(&["status", "--node", "rover-7", "-o", "json"]).json();
    assert!(gate["spec"].get("orders").is_none_or(|orders| orders.as_array().unwrap().is_empty()), "{gate}");
    whole.far(&["release", "nobody", "--node", "rover-7"]).failed(4);

    whole.ends();
    assert!(whole.far(&["status", "--node", "rover-7"]).failed(5).contains("cannot reach the cluster"));
}

#[test]
fn a_kubeconfig_that_cannot_be_read_is_named() {
    let said =
        said(&mut safepoint(&["status", "--node", "x", "--kubeconfig", "/nowhere/kubeconfig"])).failed(1);
    assert!(
        said.starts_with("error: cannot read /nowhere/kubeconfig: ") && said.contains("hint: "),
        "{said}"
    );
}

#[test]
fn the_demo_rolls_a_static_pod_over_simulated_nodes_and_this_machine() {
    let folder = tempfile::tempdir().unwrap();
    let until = "beacon is at version 2 everywhere";
    let whole = Whole::plays(folder, &["--nodes", "3", "--ready-for", "1s"], until);
    let object = whole.far(&["static-pod", "status", "beacon", "--cluster", "-o", "json"]).json();
    assert_eq!(
        (&object["status"]["desiredNumber"], &object["status"]["upgradedNumber"]),
        (&4.into(), &4.into())
    );
    let here = whole.near(&["static-pod", "status", "beacon", "-o", "json"]).json();
    assert_eq!((&here["phase"], &here["last"]["code"]), (&"Settled".into(), &"Installed".into()), "{here}");
}
