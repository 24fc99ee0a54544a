//! Follows what is kept for the time without a cluster, and what the machine has room for.

use std::sync::Arc;
use std::time::Duration;

use safepoint_core::{Event, Needs};
use safepoint_supervisor::Fault;
use serde_json::Value;
use tokio::time::{Instant, sleep_until};

use super::spare::Spare;
use crate::cluster::{Cluster, Query, Resource};
use crate::keeper::Desk;
use crate::needs;
use crate::seen::SeenPods;
use crate::uplink::feed::{Feed, News};

/// Services change all the time somewhere; they are written down so often at most, and the first time soon.
const BREATH: Duration = Duration::from_secs(60);
const SOON: Duration = Duration::from_secs(1);

/// Who follows.
pub(super) struct Spares {
    pub(super) node: String,
    pub(super) cluster: Cluster,
    pub(super) desk: Desk,
    pub(super) seen: Arc<SeenPods>,
    pub(super) spare: Arc<Spare>,
}

// === impl Spares ===

impl Spares {
    pub(super) async fn run(self) -> Result<(), Fault> {
        tokio::try_join!(self.follow_node(), self.follow_services(), self.follow_room()).map(drop)
    }

    async fn follow_node(&self) -> Result<(), Fault> {
        let query = Query::field("metadata.name", &self.node);
        let mut feed = Feed::new(self.cluster.clone(), Resource::core("nodes"), query);
        loop {
            let node = match feed.next().await {
                News::Listed(nodes) => {
                    nodes.into_iter().find(|node| node["metadata"]["name"] == self.node.as_str())
                }
                News::Changed(node) => Some(node),
                News::Gone(_) | News::Live | News::Lost(_) => None,
            };
            if let Some(node) = node {
                if let Some(row) = self.spare.set_node(&node) {
                    self.desk.keep(vec![row]).await.map_err(Fault::transient)?;
                }
                self.report_room(&node).await?;
            }
        }
    }

    async fn follow_services(&self) -> Result<(), Fault> {
        let query = Query::unequal_field("spec.clusterIP", "None");
        let mut feed = Feed::new(self.cluster.clone(), Resource::core("services"), query);
        let mut write: Option<Instant> = None;
        let mut is_kept = false;
        loop {
            // A feed must not be dropped while it speaks.
            let next = feed.next();
            tokio::pin!(next);
            let news = loop {
                let due = async {
                    match write {
                        Some(at) => sleep_until(at).await,
                        None => std::future::pending().await,
                    }
                };
                tokio::select! {
                    news = &mut next => break news,
                    () = due => {
                        write = None;
                        is_kept = true;
                        if let Some(row) = self.spare.services_to_keep() {
                            self.desk.keep(vec![row]).await.map_err(Fault::transient)?;
                        }
                    }
                }
            };
            match news {
                News::Listed(services) => self.spare.set_services(&services),
                News::Changed(service) => self.spare.set_service(&service, true),
                News::Gone(service) => self.spare.set_service(&service, false),
                News::Live | News::Lost(_) => continue,
            }
            let wait = if is_kept { BREATH } else { SOON };
            write.get_or_insert_with(|| Instant::now() + wait);
        }
    }

    /// Static pods take room as well, and the gate does not know of them.
    async fn follow_room(&self) -> Result<(), Fault> {
        let (mut seen, mut starts) = (self.seen.changes(), self.desk.starts());
        loop {
            if let Some(node) = self.spare.node().and_then(|text| serde_json::from_str::<Value>(&text).ok()) {
                self.report_room(&node).await?;
            }
            tokio::select! {
                changed = seen.changed() => changed.map_err(Fault::transient)?,
                changed = starts.changed() => changed.map_err(Fault::transient)?,
            }
        }
    }

    async fn report_room(&self, node: &Value) -> Result<(), Fault> {
        // Before the cluster has listed them nobody knows of the static pods, and too much room is worse than none.
        if !self.seen.is_listed() {
            return Ok(());
        }
        let mut room: Needs = needs::of_node(node);
        for needs in self.seen.mirrors_need() {
            for (name, amount) in needs.iter() {
                if let Some(room) = room.get_mut(name) {
                    *room = room.saturating_sub(*amount);
                }
            }
        }
        self.desk.bring(Event::RoomReported(room), Vec::new()).await.map_err(Fault::transient)
    }
}
