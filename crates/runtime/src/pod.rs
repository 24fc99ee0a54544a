//! One pod: a task that takes orders, looks at what is, and does what is missing.
//!
//! It is crash-only. A task that begins, for a new pod, after a restart, or after a bug, reads the same
//! files and goes on from there; nothing it needs is only in memory. Each turn of its loop takes the newest
//! order, looks at the containers that may have changed, acts, and reports.

mod act;
mod look;
pub(crate) mod memory;
mod order;
mod probing;
mod report;
mod start;
pub(crate) mod unit;
mod volumes;

use std::{path::PathBuf, sync::Arc, time::Duration};

use tokio::{
    sync::{mpsc, watch},
    task::JoinSet,
    time::Instant,
};
use tracing::warn;

use crate::{
    Found, Wanted,
    names::is_plain,
    runtime::{Order, Shared, lock},
    spec::Pod,
};
pub(crate) use memory::Memory;
use unit::Unit;

/// The record of what is wanted, in the folder of a pod.
pub(crate) const POD: &str = "pod.json";

/// How long to wait before trying again what the machine refused, or what waits for a ConfigMap.
const AGAIN: Duration = Duration::from_secs(10);

pub(crate) struct PodTask {
    shared: Arc<Shared>,
    uid: String,
    folder: PathBuf,
    /// What is wanted now; `None` for a pod that nobody spoke of.
    wanted: Option<Wanted>,
    /// What `pod.json` says.
    found: Option<Found>,
    pod: Arc<Pod>,
    /// Why the manifest cannot be honoured.
    problems: Vec<String>,
    memory: Memory,
    /// What of it is on disk.
    saved: Memory,
    /// Init containers, then containers, each in their order.
    units: Vec<Unit>,
    /// The files of the volumes are what the order says, or why they are not.
    volumes: Result<(), String>,
    volumes_fresh: bool,
    /// Shims of ours that are ending.
    leftover: Vec<std::process::Child>,
    /// Shims of which we only know the number, and that may be ours.
    strays: Vec<crate::record::Process>,
    events: mpsc::UnboundedReceiver<Event>,
    sender: mpsc::UnboundedSender<Event>,
    tasks: JoinSet<()>,
    wake: Option<Instant>,
    /// What was reported last.
    reported: Option<String>,
}

/// What the small tasks of a pod have to say. All of them name the run they speak of.
pub(crate) enum Event {
    /// Look at it: its shim ended, or told that it is up.
    Look { container: String, attempt: u32 },
    /// A probe crossed one of its thresholds.
    Probed { container: String, attempt: u32, probe: probing::Kind, outcome: Result<(), String> },
}

/// Sees one pod through, until it is forgotten.
pub(crate) async fn run(shared: Arc<Shared>, uid: &str, mut orders: watch::Receiver<Order>) {
    if !is_plain(uid) || uid.len() > 128 {
        return report::hopeless(&shared, orders).await;
    }
    let mut task = PodTask::load(shared, uid);
    let mut is_news = true;
    loop {
        is_news |= orders.has_changed().unwrap_or(false);
        let order = orders.borrow_and_update().clone();
        if order.forget && task.is_gone() {
            task.remove();
            return;
        }
        task.wake = None;
        if std::mem::take(&mut is_news) || !task.is_written() {
            task.accept(order.wanted).await;
        }
        for index in 0..task.units.len() {
            task.look(index);
        }
        task.act().await;
        task.reap();
        task.report();
        tokio::select! {
            changed = orders.changed() => match changed {
                Ok(()) => is_news = true,
                Err(_) => return,
            },
            Some(event) = task.events.recv() => task.happened(event),
            Some(_) = task.tasks.join_next(), if !task.tasks.is_empty() => {}
            () = sleep_until(task.wake) => {}
        }
        while let Ok(event) = task.events.try_recv() {
            task.happened(event);
        }
    }
}

// === impl PodTask ===

impl PodTask {
    /// Comes back to this pod in so long, or sooner.
    fn wake_in(&mut self, wait: Duration) {
        let at = Instant::now() + wait;
        self.wake = Some(self.wake.map_or(at, |wake| wake.min(at)));
    }

    /// Nothing of it runs or is about to.
    fn is_gone(&self) -> bool {
        self.units.iter().all(|unit| !unit.is_alive())
    }

    fn happened(&mut self, event: Event) {
        match event {
            Event::Look { container, attempt } => {
                if let Some(unit) = self.unit_mut(&container, attempt) {
                    unit.stale = true;
                }
            }
            Event::Probed { container, attempt, probe, outcome } => {
                self.probed(&container, attempt, probe, outcome);
            }
        }
    }

    fn unit_mut(&mut self, container: &str, attempt: u32) -> Option<&mut Unit> {
        self.units.iter_mut().find(|unit| unit.name == container && unit.attempt == Some(attempt))
    }

    fn remove(&mut self) {
        let (namespace, name) = self.names();
        for unit in &self.units {
            let _ = std::fs::remove_file(self.shared.log_link(&namespace, &name, &unit.name));
        }
        lock(&self.shared.ports).retain(|_, owner| *owner != self.uid);
        // First the record: a folder without one is nobody's pod, should the rest be interrupted.
        let _ = std::fs::remove_file(self.folder.join(POD));
        if let Err(error) = std::fs::remove_dir_all(&self.folder)
            && error.kind() != std::io::ErrorKind::NotFound
        {
            warn!(uid = %self.uid, %error, "cannot remove the folder of a pod");
        }
    }

    fn names(&self) -> (String, String) {
        match (&self.wanted, &self.found) {
            (Some(wanted), _) => (wanted.namespace.clone(), wanted.name.clone()),
            (None, Some(found)) => (found.namespace.clone(), found.name.clone()),
            (None, None) => Default::default(),
        }
    }
}

async fn sleep_until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}
