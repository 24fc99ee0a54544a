//! From a write to the watch that shows it: with one watch, and with a thousand.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use http::Method;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::task::JoinSet;

use super::blocks::{Pair, Server};
use super::client::{Access, Connection, Events, now};
use super::pods::{at_step, collection, pod, revision};
use super::report::Report;
use super::writing::create_namespace;

/// As many as there are kubelets in a cluster of that size.
pub(crate) const WATCHES: usize = 1_000;
const BLOCKS: u64 = 10;
const WRITES: u64 = 50;
/// Writes in a block when each of them wakes a thousand.
const COSTLY_WRITES: u64 = 10;
/// The node whose pod is written.
const NODE: usize = 500;

/// A pod that is written, and those who watch.
struct Watched {
    writer: Connection,
    path: String,
    current: bytes::Bytes,
    step: u64,
    /// When an event arrived anywhere.
    arrivals: UnboundedReceiver<Instant>,
    /// How many watches an event arrives at.
    concerned: usize,
    _watches: JoinSet<()>,
}

pub(crate) async fn measure(servers: &Pair<Server>, report: &mut Report) -> Result<()> {
    servers.try_map(async |server| create_namespace(server, "watched").await).await?;
    let everything = |_| "/api/v1/namespaces/watched/pods?watch=true".to_owned();

    let mut one =
        servers.try_map(async |server| Watched::begin(server, "one", 1, 1, everything).await).await?;
    for _ in 0..BLOCKS {
        let times = one.try_map_mut(async |watched| watched.measure(WRITES).await).await?;
        report.add_times("a write until its event, 1 watch", &times);
    }
    drop(one);

    let mut nodes =
        servers.try_map(async |server| Watched::begin(server, "nodes", WATCHES, 1, by_node).await).await?;
    for _ in 0..BLOCKS {
        let times = nodes.try_map_mut(async |watched| watched.measure(WRITES).await).await?;
        report.add_times("the same, 1,000 watches of a node each, one of them concerned", &times);
    }
    drop(nodes);

    let begin = async |server: &Server| Watched::begin(server, "all", WATCHES, WATCHES, everything).await;
    let mut all = servers.try_map(begin).await?;
    for _ in 0..BLOCKS {
        let times = all.try_map_mut(async |watched| watched.measure(COSTLY_WRITES).await).await?;
        report.add_times("the same, 1,000 watches, until the last of them has it", &times);
    }
    Ok(())
}

/// As a kubelet watches: the pods of its node.
pub(crate) fn by_node(node: usize) -> String {
    format!("/api/v1/pods?watch=true&fieldSelector=spec.nodeName%3Dnode-{node}")
}

/// Begins so many watches after a revision, each over its own connection.
pub(crate) async fn watch(
    access: &Access,
    watches: usize,
    revision: &str,
    path: impl Fn(usize) -> String,
) -> Result<Vec<Events>> {
    let mut all = Vec::new();
    for number in 0..watches {
        let path = format!("{}&resourceVersion={revision}", path(number));
        all.push(access.connect().await?.watch(&path).await?);
    }
    Ok(all)
}

impl Watched {
    async fn begin(
        server: &Server,
        name: &str,
        watches: usize,
        concerned: usize,
        path: impl Fn(usize) -> String,
    ) -> Result<Watched> {
        let mut writer = server.access.connect().await?;
        let body = pod(name, &format!("node-{NODE}"));
        let current = writer.call(Method::POST, &collection("watched"), body).await?;
        let from = revision(&writer.get("/api/v1/pods?limit=1").await?)?;
        let (arrived, arrivals) = unbounded_channel();
        let mut tasks = JoinSet::new();
        for mut events in watch(&server.access, watches, &from, path).await? {
            let arrived = arrived.clone();
            tasks.spawn(async move { while events.next().await.is_ok() && arrived.send(now()).is_ok() {} });
        }
        let path = format!("{}/{name}", collection("watched"));
        Ok(Watched { writer, path, current, step: 0, arrivals, concerned, _watches: tasks })
    }

    async fn measure(&mut self, writes: u64) -> Result<Vec<Duration>> {
        self.writer.wake().await?;
        let mut times = Vec::new();
        for _ in 0..writes {
            self.step += 1;
            let body = at_step(&self.current, self.step)?;
            let begin = now();
            self.current = self.writer.call(Method::PUT, &self.path, body).await?;
            let mut last = begin;
            for _ in 0..self.concerned {
                last = last.max(self.arrivals.recv().await.context("a watch ended")?);
            }
            times.push(last - begin);
        }
        Ok(times)
    }
}
