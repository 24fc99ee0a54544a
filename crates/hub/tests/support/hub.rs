//! A hub that runs beside a test.

use std::net::SocketAddr;
use std::time::Duration;

use kube::Client;
use safepoint_hub::{Hub, Options};
use safepoint_supervisor::{Config, Handle, Supervisor};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// Longer than anything takes on a busy machine; nothing is measured by it.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// A running hub. It ends at once when it is dropped.
pub(crate) struct RunningHub {
    pub(crate) address: SocketAddr,
    pub(crate) handle: Handle,
    pub(crate) tasks: JoinSet<()>,
}

impl RunningHub {
    /// Starts a hub as the options say, and waits until it answers.
    pub(crate) async fn start(options: Options) -> Self {
        let hub = Self::begin(Hub::bind(options).unwrap());
        hub.until("webhooks").await;
        hub
    }

    /// Starts a hub that leads, and waits until the webhooks are registered.
    pub(crate) async fn leading(options: Options) -> Self {
        let hub = Self::start(options).await;
        for module in
            ["registration", "carrying", "surfacing", "janitor", "gates", "lifecycle", "transition-rules"]
        {
            hub.until(module).await;
        }
        hub
    }

    pub(crate) fn begin(hub: Hub) -> Self {
        let address = hub.address();
        let (builder, registered) = hub.register(Supervisor::builder(Config::default())).unwrap();
        let supervisor = builder.build().unwrap();
        let handle = supervisor.handle();
        registered.supervised_by(handle.clone());
        let mut tasks = JoinSet::new();
        tasks.spawn(async move { drop(supervisor.run(CancellationToken::new()).await) });
        Self { address, handle, tasks }
    }

    /// Waits until a module works.
    pub(crate) async fn until(&self, module: &str) {
        let mut health = self.handle.health();
        let works = health.wait_for(|health| health.modules[module].state.is_serving());
        let waited = tokio::time::timeout(PATIENCE, works).await.map(drop);
        let health = &self.handle.health().borrow().modules.clone();
        assert!(waited.is_ok(), "{module} does not come up: {health:#?}");
    }

    /// Ends it as if the process had been killed.
    pub(crate) async fn kill(mut self) {
        self.tasks.shutdown().await;
    }
}

/// Looks again and again until there is something.
pub(crate) async fn until<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let found = async {
        loop {
            if let Some(found) = look().await {
                return found;
            }
            tokio::time::sleep(Duration::from_millis(25)).await;
        }
    };
    match tokio::time::timeout(PATIENCE, found).await {
        Ok(found) => found,
        Err(_) => panic!("it never came: {what}"),
    }
}

/// Options of a hub for this client.
pub(crate) fn options(client: &Client) -> Options {
    Options::new(client.clone())
}
