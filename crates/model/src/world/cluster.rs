//! The cluster side, as small as it can be: workloads with revisions, and controllers that make pods follow them.

use std::collections::BTreeMap;
use std::sync::Arc;

use safepoint_core::{Digest, Key, Labels, Revision, Timestamp, Uid, Version, Workload, WorkloadKind};

use crate::setting::{Plan, Setting, Style};

/// Objects as the API server has them.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Cluster {
    /// The wanted revision of each workload, and whether it is annotated to be held.
    pub workloads: Vec<(u8, bool)>,
    /// Pods by name.
    pub pods: BTreeMap<Key, ApiPod>,
    /// The version of the ConfigMap.
    pub config: u8,
    /// Whether the ConfigMap is there.
    pub has_config: bool,
    /// The next uid.
    pub uids: u8,
}

/// A pod as the API server has it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ApiPod {
    /// Its uid, which is also when it was born.
    pub uid: u8,
    /// Which workload it belongs to.
    pub workload: usize,
    /// The revision it was made from or patched to.
    pub revision: u8,
    /// Whether its end was asked for.
    pub deleting: bool,
    /// Whether it carries the hold annotation.
    pub hold: bool,
}

/// The key of the one ConfigMap.
#[must_use]
pub fn config_key() -> Key {
    Key::config_map("m", "config")
}

/// The workload with this number.
#[must_use]
pub fn workload(number: usize, plan: &Plan) -> Workload {
    let (kind, ordinal) = match plan.style {
        Style::InPlace => (WorkloadKind::Pod, None),
        Style::SameName => (WorkloadKind::StatefulSet, Some(0)),
        Style::NewName => (WorkloadKind::DaemonSet, None),
        Style::Surge => (WorkloadKind::Deployment, None),
    };
    Workload { kind, namespace: "m".into(), name: format!("w{number}").into(), ordinal }
}

/// The number in a uid, a digest or a pod's name such as `u3`, `r2`, `w1-u3`.
#[must_use]
pub fn number(text: &str) -> u8 {
    let digits = text.split('-').next().unwrap_or(text).trim_start_matches(char::is_alphabetic);
    digits.parse().unwrap_or_default()
}

// === impl Cluster ===

impl Cluster {
    /// A cluster in which every workload runs its first revision.
    #[must_use]
    pub fn new(setting: &Setting) -> Self {
        let workloads = setting.plans.iter().map(|plan| (1, plan.annotated)).collect();
        let mut cluster = Self { workloads, pods: BTreeMap::new(), config: 1, has_config: true, uids: 1 };
        for number in 0..setting.plans.len() {
            cluster.create(setting, number);
        }
        cluster
    }

    fn create(&mut self, setting: &Setting, workload: usize) {
        let uid = self.uids;
        self.uids += 1;
        let name = match setting.plans[workload].style {
            Style::InPlace | Style::SameName => format!("w{workload}"),
            Style::NewName | Style::Surge => format!("w{workload}-u{uid}"),
        };
        let (revision, hold) = self.workloads[workload];
        self.pods.insert(Key::pod("m", &name), ApiPod { uid, workload, revision, deleting: false, hold });
    }

    /// One step of a workload's controller, if it has one to take.
    pub fn control(
        &mut self,
        setting: &Setting,
        workload: usize,
        ready: impl Fn(&Key, &Uid) -> bool,
    ) -> bool {
        let wanted = self.workloads[workload].0;
        let pods = || self.pods.iter().filter(|(_, pod)| pod.workload == workload);
        let stale =
            pods().find(|(_, pod)| pod.revision != wanted && !pod.deleting).map(|(key, _)| key.clone());
        match (setting.plans[workload].style, stale) {
            (Style::InPlace, Some(key)) => self.update(&key, |pod| pod.revision = wanted),
            (Style::InPlace, None) => pods().next().is_none() && self.make(setting, workload),
            (Style::SameName | Style::NewName, Some(key)) => self.update(&key, |pod| pod.deleting = true),
            (Style::SameName | Style::NewName, None) => {
                pods().next().is_none() && self.make(setting, workload)
            }
            (Style::Surge, stale) => {
                let current = pods().find(|(_, pod)| pod.revision == wanted && !pod.deleting);
                let Some((key, pod)) = current else { return self.make(setting, workload) };
                let available = ready(key, &Uid::from(format!("u{}", pod.uid)));
                match stale {
                    Some(old) if available => self.update(&old, |pod| pod.deleting = true),
                    Some(_) | None => false,
                }
            }
        }
    }

    fn make(&mut self, setting: &Setting, workload: usize) -> bool {
        self.create(setting, workload);
        true
    }

    fn update(&mut self, key: &Key, change: impl FnOnce(&mut ApiPod)) -> bool {
        self.pods.get_mut(key).map(change).is_some()
    }

    /// Takes a pod out of the API, if it is still this one.
    pub fn remove(&mut self, key: &Key, uid: &Uid) {
        if self.pods.get(key).is_some_and(|pod| pod.uid == number(uid.as_str())) {
            self.pods.remove(key);
        }
    }

    /// The object of this name as the gate is shown it.
    #[must_use]
    pub fn version(&self, setting: &Setting, key: &Key) -> Option<Version> {
        if *key == config_key() {
            if !self.has_config {
                return None;
            }
            let digest = Digest::from(format!("c{}", self.config));
            return Some(version("uc", None, "c", digest, Timestamp(0)));
        }
        let pod = self.pods.get(key)?;
        let plan = &setting.plans[pod.workload];
        let revision = format!("r{}", pod.revision);
        let digest = Digest::from(revision.clone());
        let born = Timestamp(i64::from(pod.uid));
        let mut version =
            version(&format!("u{}", pod.uid), Some(workload(pod.workload, plan)), &revision, digest, born);
        version.deleting = pod.deleting;
        version.hold = pod.hold;
        if plan.configured {
            version.uses = Arc::from([config_key()]);
        }
        Some(version)
    }

    /// Everything that the gate is shown.
    #[must_use]
    pub fn versions(&self, setting: &Setting) -> Vec<(Key, Version)> {
        let config = setting.plans.iter().any(|plan| plan.configured).then(config_key);
        let keys = self.pods.keys().cloned().chain(config);
        keys.filter_map(|key| self.version(setting, &key).map(|version| (key, version))).collect()
    }
}

fn version(
    uid: &str,
    workload: Option<Workload>,
    revision: &str,
    digest: Digest,
    born: Timestamp,
) -> Version {
    Version {
        uid: Uid::from(uid),
        workload,
        revision: Revision::from(revision),
        digest,
        labels: Arc::new(Labels::new()),
        hold: false,
        first_install_allowed: false,
        deleting: false,
        uses: Arc::from([]),
        needs: Arc::default(),
        born,
    }
}
