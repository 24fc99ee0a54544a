//! The relay of a test, between its client and its servers.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use http::Uri;
use safepoint_relay::{
    Client as Expected, Kubeconfig, Listener, Pace, Reachable, Source, Upstream, loopback_certificate, pass,
};
use safepoint_testkit::ControlPlane;
use tempfile::TempDir;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::pki::{NODE, NODES};
use super::{Authority, Client, Pair, Version, soon};

/// A relay that runs until it is dropped.
pub(crate) struct World {
    pub(crate) upstream: Upstream,
    pub(crate) door: SocketAddr,
    /// By whom the door is known.
    pub(crate) door_authority: String,
    /// The certificate of the client, and of the relay to the server.
    pub(crate) node: Pair,
    pub(crate) stop: CancellationToken,
    pub(crate) tasks: JoinSet<()>,
    folder: TempDir,
}

/// Times for tests: a server that is gone is found out within four seconds, and not by mistake on a busy machine.
pub(crate) fn hasty() -> Pace {
    Pace {
        connect: Duration::from_secs(2),
        probe: Duration::from_secs(2),
        healthy: Duration::from_millis(50),
        away: Duration::from_millis(20),
        away_longest: Duration::from_millis(50),
        ping: Duration::from_secs(20),
        look: Duration::from_millis(10),
        idle: Duration::from_millis(50),
    }
}

/// Times with which nothing happens by itself.
pub(crate) fn calm() -> Pace {
    Pace { probe: Duration::from_secs(20), connect: Duration::from_secs(10), ..Pace::default() }
}

impl World {
    /// A relay to these servers, with times that do not disturb.
    pub(crate) async fn new(authority: &Authority, servers: &[String]) -> Self {
        Self::with_pace(authority, servers, calm()).await
    }

    pub(crate) async fn with_pace(authority: &Authority, servers: &[String], pace: Pace) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let node = authority.node();
        node.write(&folder.path().join("first.pem"));
        std::os::unix::fs::symlink("first.pem", folder.path().join("current.pem")).unwrap();
        std::fs::write(folder.path().join("ca.crt"), authority.pem()).unwrap();
        let user = "client-certificate: current.pem, client-key: current.pem";
        let config = kubeconfig(&folder, &servers[0], user);
        Self::with_config(authority, &config, &servers[1..], pace, folder, node).await
    }

    pub(crate) async fn with_token(authority: &Authority, server: &str, token: &str, pace: Pace) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("token"), token).unwrap();
        std::fs::write(folder.path().join("ca.crt"), authority.pem()).unwrap();
        let config = kubeconfig(&folder, server, "tokenFile: token");
        Self::with_config(authority, &config, &[], pace, folder, authority.node()).await
    }

    /// A relay to a real cluster, to which it is the administrator.
    pub(crate) async fn to_cluster(authority: &Authority, cluster: &ControlPlane) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("admin.crt"), cluster.admin_cert_pem()).unwrap();
        std::fs::write(folder.path().join("admin.key"), cluster.admin_key_pem()).unwrap();
        std::fs::write(folder.path().join("ca.crt"), cluster.ca_pem()).unwrap();
        let user = "client-certificate: admin.crt, client-key: admin.key";
        let config = kubeconfig(&folder, cluster.url(), user);
        Self::with_config(authority, &config, &[], calm(), folder, authority.node()).await
    }

    async fn with_config(
        authority: &Authority,
        config: &Kubeconfig,
        more: &[String],
        pace: Pace,
        folder: TempDir,
        node: Pair,
    ) -> Self {
        let more: Vec<Uri> = more.iter().map(|uri| uri.parse().unwrap()).collect();
        let upstream = Upstream::with_pace(config, &more, pace).unwrap();
        let made = loopback_certificate(&["127.0.0.1"]).unwrap();
        let expected =
            Expected { authority: authority.source(), name: NODE.to_owned(), group: NODES.to_owned() };
        let (certificate, key) =
            (Source::Bytes(made.certificate.into_bytes()), Source::Bytes(made.key.into_bytes()));
        let any = "127.0.0.1:0".parse().unwrap();
        let listener = Listener::bind(any, certificate, key, expected).await.unwrap();
        let door = listener.local_addr();
        let stop = CancellationToken::new();
        let mut tasks = JoinSet::new();
        let (passing, stopping) = (upstream.clone(), stop.clone());
        tasks.spawn(async move {
            let answer = move |request, _| {
                let upstream = passing.clone();
                async move { pass(&upstream, request).await }
            };
            listener.serve(answer, stopping).await;
        });
        let (running, stopping) = (upstream.clone(), stop.clone());
        tasks.spawn(async move { running.run(stopping).await });
        Self { upstream, door, door_authority: made.authority, node, stop, tasks, folder }
    }

    /// A file of the identity.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) async fn client(&self, version: Version) -> Client {
        self.client_as(Some(&self.node), version).await.unwrap()
    }

    pub(crate) async fn client_as(
        &self,
        own: Option<&Pair>,
        version: Version,
    ) -> Result<Client, safepoint_relay::BoxError> {
        soon(Client::connect(self.door, &self.door_authority, own, version)).await
    }

    /// Waits until the cluster is believed to be so.
    pub(crate) async fn until(&self, is_so: impl FnMut(&Reachable) -> bool) -> Reachable {
        soon(self.upstream.reachable().wait_for(is_so)).await.unwrap().clone()
    }

    pub(crate) async fn until_reached(&self) {
        self.until(|reachable| matches!(reachable, Reachable::Yes { .. })).await;
    }

    /// Waits until requests go to this server.
    pub(crate) async fn until_at(&self, uri: &str) {
        let uri: Uri = uri.parse().unwrap();
        self.until(|reachable| matches!(reachable, Reachable::Yes { server } if *server == uri)).await;
    }

    pub(crate) async fn until_lost(&self) {
        self.until(|reachable| matches!(reachable, Reachable::No { .. })).await;
    }
}

fn kubeconfig(folder: &TempDir, server: &str, user: &str) -> Kubeconfig {
    let path = folder.path().join("kubeconfig");
    let text = format!(
        "
current-context: node
contexts: [{{name: node, context: {{cluster: c, user: u}}}}]
clusters: [{{name: c, cluster: {{server: '{server}', certificate-authority: ca.crt}}}}]
users: [{{name: u, user: {{{user}}}}}]
"
    );
    std::fs::write(&path, text).unwrap();
    Kubeconfig::read(&path).unwrap()
}
