//! The hub as a process: the binary as it is shipped.

use std::ffi::OsStr;
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use k8s_openapi::api::admissionregistration::v1::{
    MutatingWebhookConfiguration, ValidatingWebhookConfiguration,
};
use kube::api::{Api, DeleteParams, PostParams};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::cluster::{Cluster, pod};

pub(crate) struct Process {
    child: Child,
    health: u16,
}

impl Process {
    /// Starts it, and waits until its webhooks are asked.
    pub(crate) async fn start(binary: &OsStr, cluster: &Cluster) -> Self {
        let free = || TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let (webhooks, health) = (free(), free());
        let child = Command::new(binary)
            .args(["hub", "--kubeconfig"])
            .arg(cluster.plane.kubeconfig_path())
            .arg(format!("--webhook-address=127.0.0.1:{webhooks}"))
            .arg(format!("--webhook-url=https://127.0.0.1:{webhooks}"))
            .arg(format!("--health-address=127.0.0.1:{health}"))
            .arg("--feature-gates=GraceDeleteWebhook=true")
            .stdout(Stdio::null())
            .spawn();
        let process = Self { child: child.unwrap(), health };
        let pods = cluster.pods(&cluster.jane, "default");
        let canary = pod(99_999, &[("podopslifecycle.kusionstack.io/service-available", "1")]);
        loop {
            // What only the lifecycle grants is taken off a pod that is made.
            let made = pods.create(&PostParams::default(), &canary).await.unwrap();
            let name = made.metadata.name.clone().unwrap();
            let now = DeleteParams { grace_period_seconds: Some(0), ..DeleteParams::default() };
            let plain = made.metadata.labels.unwrap();
            if !plain.contains_key("podopslifecycle.kusionstack.io/service-available") {
                let off = serde_json::json!({"metadata": {"labels": {"kusionstack.io/control": null}}});
                pods.patch(&name, &Default::default(), &kube::api::Patch::Merge(off)).await.unwrap();
                pods.delete(&name, &now).await.unwrap();
                return process;
            }
            pods.delete(&name, &now).await.unwrap();
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// A line of what the system knows about its memory, in MiB.
    pub(crate) fn memory(&self, line: &str) -> f64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap_or_default();
        let found = status.lines().find_map(|found| found.strip_prefix(line));
        let kilobytes: f64 =
            found.and_then(|rest| rest.split_whitespace().next()?.parse().ok()).unwrap_or_default();
        kilobytes / 1_024.0
    }

    /// Waits until it has seen so many pods that take part, and has written what there was to write.
    pub(crate) async fn until_seen(&self, pods: usize) {
        let (mut before, mut quiet) = (String::new(), 0);
        while quiet < 4 {
            tokio::time::sleep(Duration::from_millis(500)).await;
            let page = self.metrics().await;
            let of =
                |name: &str| page.lines().find(|line| line.starts_with(name)).unwrap_or_default().to_owned();
            let count =
                of("safepoint_lifecycle_pods ").rsplit(' ').next().and_then(|count| count.parse().ok());
            let writes = of("safepoint_lifecycle_writes_total ");
            let seen = count.is_some_and(|count: f64| count as usize >= pods);
            quiet = if seen && writes == before { quiet + 1 } else { 0 };
            before = writes;
        }
    }

    async fn metrics(&self) -> String {
        let mut page = String::new();
        if let Ok(mut stream) = TcpStream::connect(("127.0.0.1", self.health)).await {
            let ask = b"GET /metrics HTTP/1.1\r\nhost: hub\r\nconnection: close\r\n\r\n";
            stream.write_all(ask).await.unwrap();
            let _ = stream.read_to_string(&mut page).await;
        }
        page
    }

    /// Ends it, and takes its webhooks out of the way of what follows.
    pub(crate) async fn stop(mut self, cluster: &Cluster) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let mutating: Api<MutatingWebhookConfiguration> = Api::all(cluster.admin.clone());
        let validating: Api<ValidatingWebhookConfiguration> = Api::all(cluster.admin.clone());
        let _ = mutating.delete("safepoint", &DeleteParams::default()).await;
        let _ = validating.delete("safepoint", &DeleteParams::default()).await;
        // A server goes on with the configuration that it has seen for a moment.
        tokio::time::sleep(Duration::from_secs(2)).await;
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
