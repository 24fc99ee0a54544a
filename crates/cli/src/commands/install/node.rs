//! What the cluster says of this node, asked as the node itself.

use std::path::Path;
use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::Node;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config};
use safepoint_api::NodeGate;

/// What was heard.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Heard {
    pub(super) ready: bool,
    /// When the kubelet last renewed its lease, in its own words.
    pub(super) renewed: Option<String>,
}

/// The cluster, as the node.
pub(super) struct NodeApi {
    client: Client,
    node: String,
}

// === impl NodeApi ===

impl NodeApi {
    pub(super) async fn new(kubeconfig: &Path, node: &str) -> Result<Self, String> {
        let failed = |error: &dyn std::fmt::Display| format!("cannot use {}: {error}", kubeconfig.display());
        let read = Kubeconfig::read_from(kubeconfig).map_err(|error| failed(&error))?;
        let config = Config::from_custom_kubeconfig(read, &KubeConfigOptions::default()).await;
        let mut config = config.map_err(|error| failed(&error))?;
        config.connect_timeout = Some(Duration::from_secs(5));
        config.read_timeout = Some(Duration::from_secs(10));
        let client = Client::try_from(config).map_err(|error| failed(&error))?;
        Ok(Self { client, node: node.to_owned() })
    }

    /// Whether the node is ready, and when its lease was renewed.
    pub(super) async fn ask(&self) -> Result<Heard, String> {
        let nodes: Api<Node> = Api::all(self.client.clone());
        let node = nodes.get(&self.node).await.map_err(|error| self.words(&error))?;
        let leases: Api<Lease> = Api::namespaced(self.client.clone(), "kube-node-lease");
        let lease = leases.get_opt(&self.node).await.map_err(|error| self.words(&error))?;
        let conditions = node.status.and_then(|status| status.conditions).unwrap_or_default();
        let ready = conditions.iter().any(|found| found.type_ == "Ready" && found.status == "True");
        let renewed = lease.and_then(|lease| lease.spec?.renew_time).map(|time| time.0.to_string());
        Ok(Heard { ready, renewed })
    }

    /// What the agent will miss, if anything. It works without.
    pub(super) async fn rights(&self) -> Option<String> {
        let gates: Api<NodeGate> = Api::all(self.client.clone());
        match gates.get_opt(&self.node).await {
            Ok(Some(_)) => None,
            Err(kube::Error::Api(status)) if status.code == 403 => Some(
                "nodes may not read NodeGates, so that orders from the cluster do not arrive: apply deploy/agent".to_owned(),
            ),
            _ => Some(format!(
                "the cluster has no NodeGate {}, so that orders from it do not arrive: apply deploy/crds and deploy/agent, \
                 and run the hub",
                self.node
            )),
        }
    }

    fn words(&self, error: &kube::Error) -> String {
        match error {
            kube::Error::Api(status) => format!("the cluster says of node {}: {}", self.node, status.message),
            other => {
                let mut words = "the cluster cannot be reached".to_owned();
                let mut cause = std::error::Error::source(other);
                while let Some(source) = cause {
                    words = format!("{words}: {source}");
                    cause = source.source();
                }
                words
            }
        }
    }
}
