//! The Node: its lease, its conditions, and itself where nobody else registers it.
//!
//! In front of a kubelet only `ChangeFreeze` is ours. Where the agent runs the pods itself it is the node: it registers,
//! says that it is ready, and renews the lease, so that the cluster does not take it for dead.

use std::time::Duration;

use safepoint_nodeapi::view;
use safepoint_supervisor::{Ctx, Fault, Module, Spec};
use serde_json::{Value, json};
use tokio::time::{MissedTickBehavior, interval};

use super::{Patience, something, written};
use crate::cluster::{CallError, Cluster, Patch, Resource};
use crate::digest;
use crate::keeper::{self, Desk};
use crate::link::Link;

/// The name of the module.
pub(crate) const NAME: &str = "node-status";
/// As the kubelet does.
const RENEW: Duration = Duration::from_secs(10);
const LEASE_SECONDS: u64 = 40;
/// The status is written this often even if nothing has changed, as the kubelet does: somebody else may have.
const AGAIN: Duration = Duration::from_secs(300);
/// So many pods the node takes.
const PODS: u32 = 110;

/// The module.
pub(crate) struct NodeStatus {
    pub(crate) node: String,
    pub(crate) cluster: Cluster,
    pub(crate) desk: Desk,
    pub(crate) link: Link,
    /// What the agent says of the machine, where it is the node; none in front of a kubelet.
    pub(crate) machine: Option<Machine>,
}

/// What is known of the machine.
#[derive(Clone, Debug)]
pub(crate) struct Machine {
    pub(crate) address: String,
}

// === impl NodeStatus ===

impl Module for NodeStatus {
    fn spec(&self) -> Spec {
        Spec::new(NAME).after([keeper::NAME])
    }

    async fn run(&self, ctx: Ctx) -> Result<(), Fault> {
        let (mut effects, mut starts, mut link) =
            (self.desk.effects(), self.desk.starts(), self.link.watch());
        let mut renew = interval(RENEW);
        renew.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut again = interval(AGAIN);
        again.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut sent = None;
        let mut patience = Patience::default();
        ctx.ready();
        loop {
            tokio::select! {
                done = self.write(&mut sent) => match done? {
                    Ok(()) => patience.worked(),
                    Err(error) => {
                        tracing::debug!(%error, "cannot write the status of the node");
                        patience.failed();
                    }
                },
                () = ctx.cancelled() => return Ok(()),
            }
            tokio::select! {
                more = something(&mut effects), if patience.is_well() => if !more { return Ok(()) },
                changed = starts.changed() => if changed.is_err() { return Ok(()) },
                changed = link.changed() => {
                    changed.map_err(Fault::transient)?;
                    // While it was away the cluster may have declared the node lost.
                    sent = None;
                }
                _ = again.tick() => sent = None,
                () = patience.wait() => {}
                _ = renew.tick() => {
                    if self.machine.is_some() {
                        tokio::select! {
                            renewed = self.renew() => if let Err(error) = renewed {
                                tracing::debug!(%error, "cannot renew the lease");
                            },
                            () = ctx.cancelled() => return Ok(()),
                        }
                    }
                }
                () = ctx.cancelled() => return Ok(()),
            }
        }
    }
}

impl NodeStatus {
    async fn write(&self, sent: &mut Option<safepoint_core::Digest>) -> Result<Result<(), CallError>, Fault> {
        let looked = self.desk.look(|gate, _| (view::change_freeze(gate), gate.wall())).await;
        let (freeze, now) = looked.map_err(Fault::transient)?;
        let mut freeze = serde_json::to_value(freeze).map_err(Fault::transient)?;
        // A Node's conditions have no generation, and two times.
        if let Value::Object(members) = &mut freeze {
            members.remove("observedGeneration");
        }
        let digest = digest::of(&[&freeze]);
        if sent.as_ref() == Some(&digest) {
            return Ok(Ok(()));
        }
        freeze["lastHeartbeatTime"] = json!(written(now));
        let mut conditions = vec![freeze];
        let mut status = json!({});
        if let Some(machine) = &self.machine {
            let since = match self.register().await {
                Ok(since) => since.unwrap_or_else(|| written(now)),
                Err(error) => return Ok(Err(error)),
            };
            status = machine.status();
            conditions.push(json!({"type": "Ready", "status": "True", "reason": "AgentReady",
                "message": "the agent runs pods as host processes",
                "lastHeartbeatTime": written(now), "lastTransitionTime": since}));
        }
        status["conditions"] = Value::Array(conditions);
        let node = Resource::core("nodes").named(&self.node).part("status");
        let done = self.cluster.patch(&node, Patch::Strategic, &json!({"status": status})).await;
        if done.is_ok() {
            *sent = Some(digest);
        }
        Ok(done.map(drop))
    }

    /// Makes the Node if there is none. Returns since when it has been ready, if it is.
    async fn register(&self) -> Result<Option<String>, CallError> {
        let nodes = Resource::core("nodes");
        let node = match self.cluster.get(&nodes.named(&self.node)).await {
            Err(error) if error.code() == Some(404) => {
                let labels = json!({"kubernetes.io/hostname": self.node, "kubernetes.io/os": std::env::consts::OS,
                    "kubernetes.io/arch": architecture()});
                let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": self.node, "labels": labels}});
                match self.cluster.create(&nodes, &node).await {
                    Err(error) if error.code() == Some(409) => return Ok(None),
                    made => made?,
                }
            }
            found => found?,
        };
        let conditions = node["status"]["conditions"].as_array().into_iter().flatten();
        let mut ready =
            conditions.filter(|condition| condition["type"] == "Ready" && condition["status"] == "True");
        Ok(ready.next().and_then(|condition| condition["lastTransitionTime"].as_str()).map(str::to_owned))
    }

    async fn renew(&self) -> Result<(), CallError> {
        let now = self
            .desk
            .look(|gate, _| gate.wall())
            .await
            .map_err(|error| CallError::Unreachable(error.to_string()))?;
        let leases = Resource::of_group_in("coordination.k8s.io", "v1", "kube-node-lease", "leases");
        let seconds = written(now);
        let micro = format!("{}.000000Z", seconds.trim_end_matches('Z'));
        let spec =
            json!({"holderIdentity": self.node, "leaseDurationSeconds": LEASE_SECONDS, "renewTime": micro});
        let change = json!({"spec": spec});
        match self.cluster.patch(&leases.named(&self.node), Patch::Merge, &change).await {
            Err(error) if error.code() == Some(404) => {
                let lease = json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
                    "metadata": {"name": self.node, "namespace": "kube-node-lease"}, "spec": spec});
                self.cluster.create(&leases, &lease).await.map(drop)
            }
            done => done.map(drop),
        }
    }
}

// === impl Machine ===

impl Machine {
    fn status(&self) -> Value {
        let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default().trim().to_owned();
        let cpus = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let memory = read("/proc/meminfo")
            .lines()
            .find_map(|line| {
                line.strip_prefix("MemTotal:")?.trim().strip_suffix(" kB").map(|kib| format!("{kib}Ki"))
            })
            .unwrap_or_else(|| "0".into());
        let capacity = json!({"cpu": cpus.to_string(), "memory": memory, "pods": PODS.to_string()});
        json!({
            "capacity": capacity, "allocatable": capacity,
            "addresses": [{"type": "InternalIP", "address": self.address}],
            "nodeInfo": {
                "machineID": read("/etc/machine-id"), "systemUUID": read("/etc/machine-id"),
                "bootID": read("/proc/sys/kernel/random/boot_id"), "kernelVersion": read("/proc/sys/kernel/osrelease"),
                "osImage": os_image(), "operatingSystem": std::env::consts::OS, "architecture": architecture(),
                "containerRuntimeVersion": concat!("process://", env!("CARGO_PKG_VERSION")),
                "kubeletVersion": concat!("safepoint-", env!("CARGO_PKG_VERSION")), "kubeProxyVersion": "",
            },
        })
    }
}

/// As Go calls it.
fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

fn os_image() -> String {
    let release = std::fs::read_to_string("/etc/os-release").unwrap_or_default();
    let name = release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="));
    name.unwrap_or("unknown").trim_matches('"').to_owned()
}
