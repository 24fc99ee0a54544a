//! What a driver has started itself and does not see yet.
//!
//! A view of the cluster lags behind what was written to it. Planned on such a view, a start would be made again, or its
//! place given to another node. Kubernetes numbers its versions: a view that is at least as new as a creation either shows
//! the task or has seen it come and go.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::seen::{Seen, Task};
use crate::text::Text;

/// The tasks that a driver has started and does not see yet, by node.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug, Serialize, Deserialize)]
pub struct Started {
    tasks: BTreeMap<Text, Vec<(Task, Option<u64>)>>,
}

// === impl Started ===

impl Started {
    /// Remembers a task before its creation is asked for, or after, with the version that the server gave it. Without a
    /// version nobody knows whether it is there: it counts until it is seen or everything is [listed](Self::listed) anew. A driver
    /// asks again, because neither may ever happen: see [`is_uncertain`](Self::is_uncertain).
    pub fn note(&mut self, node: &Text, task: Task, version: Option<u64>) {
        let tasks = self.tasks.entry(node.clone()).or_default();
        tasks.retain(|(known, _)| known.name != task.name);
        tasks.push((task, version));
    }

    /// Forgets a task that the server has refused, so that it was never there.
    pub fn refused(&mut self, node: &Text, task: &str) {
        if let Some(tasks) = self.tasks.get_mut(node) {
            tasks.retain(|(known, _)| &*known.name != task);
        }
        self.tasks.retain(|_, tasks| !tasks.is_empty());
    }

    /// Whether nobody knows if a task is there: it was noted without a version, and has been neither seen nor refused.
    #[must_use]
    pub fn is_uncertain(&self, node: &Text, task: &str) -> bool {
        let tasks = self.tasks.get(node).into_iter().flatten();
        tasks.into_iter().any(|(known, version)| &*known.name == task && version.is_none())
    }

    /// Adds to a view of this version what it lacks, and forgets what it shows or must have shown.
    pub fn merge(&mut self, seen: &mut [Seen], version: u64) {
        if self.tasks.is_empty() {
            return;
        }
        for node in seen.iter_mut() {
            let Some(tasks) = self.tasks.get_mut(&node.node) else { continue };
            tasks.retain(|(task, created)| {
                let shown = node.tasks.iter().any(|seen| seen.name == task.name);
                !shown && created.is_none_or(|created| created > version)
            });
            node.tasks.extend(tasks.iter().map(|(task, _)| task.clone()));
        }
        self.tasks.retain(|_, tasks| {
            tasks.retain(|(_, created)| created.is_none_or(|created| created > version));
            !tasks.is_empty()
        });
    }

    /// Everything has been listed by a request that began after the last start: there is nothing left that is not seen.
    pub fn listed(&mut self) {
        self.tasks.clear();
    }

    /// Whether everything that was started has been seen.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }
}
