//! Writes and lists: one client and its waiting, sixteen clients and their throughput.

use std::time::Duration;

use anyhow::Result;
use http::Method;
use tokio::task::JoinSet;

use super::blocks::{Pair, Server};
use super::client::{Connection, now};
use super::pods::{at_step, collection, pod};
use super::report::{Report, Unit};
use super::starting::PODS;

/// How many write at once where throughput is measured.
pub(crate) const CLIENTS: usize = 16;
const BLOCKS: u64 = 10;
/// Writes of one client in a block.
const SINGLE: u64 = 100;
/// Writes of all clients together in a block.
const TOGETHER: u64 = 1_600;
const LISTS: u64 = 20;

/// Clients that write at once, each over its own connection.
pub(crate) struct Load {
    connections: Vec<Connection>,
}

pub(crate) async fn measure(servers: &Pair<Server>, report: &mut Report) -> Result<()> {
    for namespace in ["listed", "single", "together"] {
        servers.try_map(async |server| create_namespace(server, namespace).await).await?;
    }
    let mut loads = servers.try_map(async |server| Load::connect(server, CLIENTS).await).await?;
    let mut ones = servers.try_map(async |server| server.access.connect().await).await?;
    loads.try_map_mut(async |load| load.create("listed", "pod", PODS).await).await?;
    for block in 0..BLOCKS {
        let times = ones.try_map_mut(async |one| create_one_by_one(one, block).await).await?;
        report.add_times("a create", &times);
        let times = ones.try_map_mut(async |one| update_one_by_one(one, block).await).await?;
        report.add_times("an update", &times);
        let times = ones.try_map_mut(async |one| list(one).await).await?;
        report.add_times("a list of 1,000 pods", &times);
        let stem = format!("new-{block}");
        let rates = loads.try_map_mut(async |load| load.create("together", &stem, TOGETHER).await).await?;
        report.add("creates by 16 clients", Unit::PerSecond, &rates);
        let rates = loads.try_map_mut(async |load| load.update(block).await).await?;
        report.add("updates by 16 clients", Unit::PerSecond, &rates);
    }
    Ok(())
}

pub(crate) async fn create_namespace(server: &Server, name: &str) -> Result<()> {
    let namespace = serde_json::json!({ "metadata": { "name": name } });
    server
        .access
        .connect()
        .await?
        .call(Method::POST, "/api/v1/namespaces", namespace.to_string().into())
        .await?;
    Ok(())
}

async fn create_one_by_one(one: &mut Connection, block: u64) -> Result<Vec<Duration>> {
    one.wake().await?;
    let mut times = Vec::new();
    for number in 0..SINGLE {
        let body = pod(&format!("pod-{block}-{number}"), "node-1");
        let begin = now();
        one.call(Method::POST, &collection("single"), body).await?;
        times.push(begin.elapsed());
    }
    Ok(times)
}

async fn update_one_by_one(one: &mut Connection, block: u64) -> Result<Vec<Duration>> {
    let path = format!("{}/pod-{block}-0", collection("single"));
    one.wake().await?;
    let mut current = one.get(&path).await?;
    let mut times = Vec::new();
    for step in 1..=SINGLE {
        let body = at_step(&current, step)?;
        let begin = now();
        current = one.call(Method::PUT, &path, body).await?;
        times.push(begin.elapsed());
    }
    Ok(times)
}

async fn list(one: &mut Connection) -> Result<Vec<Duration>> {
    one.wake().await?;
    let mut times = Vec::new();
    for _ in 0..LISTS {
        let begin = now();
        one.get(&collection("listed")).await?;
        times.push(begin.elapsed());
    }
    Ok(times)
}

// === impl Load ===

impl Load {
    pub(crate) async fn connect(server: &Server, clients: usize) -> Result<Load> {
        let mut connections = Vec::new();
        for _ in 0..clients {
            connections.push(server.access.connect().await?);
        }
        Ok(Load { connections })
    }

    /// Creates so many pods, and says how many in a second.
    pub(crate) async fn create(&mut self, namespace: &str, stem: &str, pods: u64) -> Result<f64> {
        let clients = self.connections.len();
        let (path, stem) = (collection(namespace), stem.to_owned());
        let rate = self.all(pods, |mut connection, client| {
            let (path, stem) = (path.clone(), stem.clone());
            async move {
                // Together they are numbered through.
                for number in (client..pods).step_by(clients) {
                    let body = pod(&format!("{stem}-{number}"), "node-1");
                    connection.call(Method::POST, &path, body).await?;
                }
                Ok(connection)
            }
        });
        rate.await
    }

    /// Updates pods, each client its own, and says how many updates in a second.
    async fn update(&mut self, block: u64) -> Result<f64> {
        let stem = format!("pod-{block}");
        let clients = self.connections.len() as u64;
        self.create("together", &stem, clients).await?;
        let rate = self.all(TOGETHER, |mut connection, client| {
            let path = format!("{}/{stem}-{client}", collection("together"));
            async move {
                let mut current = connection.get(&path).await?;
                for step in 1..=TOGETHER / clients {
                    current = connection.call(Method::PUT, &path, at_step(&current, step)?).await?;
                }
                Ok(connection)
            }
        });
        rate.await
    }

    /// Lets all clients work at once, and says how many writes in a second that were.
    async fn all<F>(&mut self, writes: u64, work: impl Fn(Connection, u64) -> F) -> Result<f64>
    where
        F: Future<Output = Result<Connection>> + Send + 'static,
    {
        for connection in &mut self.connections {
            connection.wake().await?;
        }
        let mut tasks = JoinSet::new();
        let begin = now();
        for (connection, client) in self.connections.drain(..).zip(0..) {
            tasks.spawn(work(connection, client));
        }
        while let Some(done) = tasks.join_next().await {
            self.connections.push(done??);
        }
        Ok(writes as f64 / begin.elapsed().as_secs_f64())
    }
}
