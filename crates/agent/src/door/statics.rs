//! The static pods of a machine without a kubelet: what its folder of manifests asks for runs, beside what the gate admits.
//!
//! The gate has no part in them here, as it has none in what a kubelet reads from its folder: who may change a manifest is
//! decided before it is written. Of two pods of one name, the new one starts when nothing is left of the old one.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use safepoint_core::{Key, Uid};
use safepoint_runtime::{Found, Report, Wanted};
use serde_json::Value;

use super::folder::{Asked, StaticPod, is_static};
use super::show::GRACE;

/// What is asked for, and what the runtime has.
#[derive(Default)]
pub(super) struct Statics {
    asked: BTreeMap<Key, StaticPod>,
    running: BTreeMap<Uid, Running>,
}

struct Running {
    key: Key,
    manifest: Arc<Value>,
    is_ending: bool,
    /// The runtime has been told since the agent began.
    is_told: bool,
}

// === impl Statics ===

impl Statics {
    /// Takes up what an agent before this one has left running. It is asked for until the folder says something else.
    pub(super) fn adopt(&mut self, found: &[Found]) {
        for found in found.iter().filter(|found| is_static(&found.manifest)) {
            let (key, uid) = (Key::pod(&found.namespace, &found.name), Uid::from(found.uid.as_str()));
            if found.ending.is_none() {
                let manifest = Arc::clone(&found.manifest);
                self.asked.insert(key.clone(), StaticPod { key: key.clone(), uid: uid.clone(), manifest });
            }
            let running = Running {
                key,
                manifest: Arc::clone(&found.manifest),
                is_ending: found.ending.is_some(),
                is_told: false,
            };
            self.running.insert(uid, running);
        }
    }

    pub(super) fn has(&self, uid: &Uid) -> bool {
        self.running.contains_key(uid)
    }

    /// The folder has been read. What has to be told to the runtime.
    pub(super) fn ask(&mut self, asked: Asked) -> Vec<Wanted> {
        if asked.is_complete {
            self.asked.clear();
        }
        self.asked.extend(asked.pods);
        self.next()
    }

    /// Takes a report. What has to be told to the runtime, now that something may have ended.
    pub(super) fn take(&mut self, report: &Report) -> Vec<Wanted> {
        if !report.ended {
            return Vec::new();
        }
        self.running.remove(&Uid::from(report.uid.as_str()));
        self.next()
    }

    fn next(&mut self) -> Vec<Wanted> {
        let Self { asked, running } = self;
        let mut wanted = Vec::new();
        for (uid, pod) in running.iter_mut() {
            let is_asked = asked.get(&pod.key).is_some_and(|asked| asked.uid == *uid);
            let is_news = !pod.is_told || (!is_asked && !pod.is_ending);
            // What has begun to end ends, even if it is asked for again: it is started anew then.
            pod.is_ending |= !is_asked;
            pod.is_told = true;
            if is_news {
                wanted.push(order(uid, &pod.key, &pod.manifest, pod.is_ending));
            }
        }
        for (key, pod) in asked {
            if running.values().any(|running| running.key == *key) {
                continue;
            }
            let begun = Running {
                key: key.clone(),
                manifest: Arc::clone(&pod.manifest),
                is_ending: false,
                is_told: true,
            };
            running.insert(pod.uid.clone(), begun);
            wanted.push(order(&pod.uid, key, &pod.manifest, false));
        }
        wanted
    }

    /// What runs, by uid: manifests only.
    pub(super) fn all(&self) -> BTreeMap<Uid, Arc<Value>> {
        self.running.iter().map(|(uid, pod)| (uid.clone(), Arc::clone(&pod.manifest))).collect()
    }
}

fn order(uid: &Uid, key: &Key, manifest: &Arc<Value>, is_ending: bool) -> Wanted {
    let grace =
        || manifest["spec"]["terminationGracePeriodSeconds"].as_u64().map_or(GRACE, Duration::from_secs);
    Wanted {
        namespace: key.namespace.to_string(),
        name: key.name.to_string(),
        uid: uid.to_string(),
        // The same uid is the same contents.
        version: uid.to_string(),
        manifest: Arc::clone(manifest),
        configs: Arc::default(),
        ending: is_ending.then(grace),
    }
}

#[cfg(test)]
mod tests;
