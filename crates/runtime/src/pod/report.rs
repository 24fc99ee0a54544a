//! Telling what is, when it differs from what was told.

use std::sync::Arc;

use tokio::sync::watch;

use super::PodTask;
use crate::{
    Health, Report, clock,
    runtime::{Order, Shared},
    status,
};

impl PodTask {
    /// Writes down what has to be remembered, then reports; each only if it is news.
    pub(super) fn report(&mut self) {
        let mut memory = self.memory.clone();
        memory.checks = self.units.iter().map(|unit| (unit.name.clone(), unit.checks)).collect();
        let is_gone = self.is_gone();
        let ended = is_gone && self.wanted.as_ref().is_some_and(|wanted| wanted.ending.is_some());
        let (namespace, name) = self.names();
        let version = match (&self.wanted, &self.found) {
            (Some(wanted), _) => wanted.version.clone(),
            (None, Some(found)) => found.version.clone(),
            (None, None) => return,
        };
        let now = clock::now();
        if memory.start.is_none() {
            memory.start = Some(now);
        }
        let scene = status::Scene {
            uid: &self.uid,
            pod: &self.pod,
            units: &self.units,
            address: self.shared.options.address,
            is_gone,
            ended,
            volumes: self.volumes.as_ref().map_err(String::as_str).copied(),
        };
        let (status, health) = status::compose(&scene, &mut memory, now);
        if memory != self.saved {
            if self.found.is_some() {
                memory.save(&self.folder);
            }
            self.saved = memory.clone();
        }
        self.memory = memory;
        let configs = self.memory.shown.iter().cloned().collect();
        let report = Report {
            namespace,
            name,
            uid: self.uid.clone(),
            version: version.clone(),
            health,
            ended,
            status,
            configs,
        };
        // As text, which takes a fraction of the memory.
        let said = format!("{version} {health:?} {ended} {:?} {}", self.memory.shown, report.status);
        if self.reported.as_ref() != Some(&said) {
            self.shared.report(report);
            self.reported = Some(said);
        }
    }
}

/// A pod whose uid can be no folder: it fails, and that is all there is to say until it is forgotten.
pub(super) async fn hopeless(shared: &Arc<Shared>, mut orders: watch::Receiver<Order>) {
    loop {
        let order = orders.borrow_and_update().clone();
        if order.forget {
            return;
        }
        if let Some(wanted) = order.wanted {
            let message = "the uid of the pod is no name for a folder";
            shared.report(Report {
                namespace: wanted.namespace,
                name: wanted.name,
                uid: wanted.uid,
                version: wanted.version,
                health: Health::Finished,
                ended: wanted.ending.is_some(),
                status: status::refusal(message, clock::now()),
                configs: Default::default(),
            });
        }
        if orders.changed().await.is_err() {
            return;
        }
    }
}
