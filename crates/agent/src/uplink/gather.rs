//! What the cluster wants, put together so that the gate can judge it.
//!
//! A pod is shown to the gate only when the ConfigMaps and Secrets that it uses have been looked at, so that the first
//! thing the gate hears of a pod is never half of the truth. A complete list is claimed only when it is one: of pods when
//! all of them were listed, of configuration when each that is used has been looked at since. Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use safepoint_core::{Event, Key, Kind, Sighting, Uid, Version};
use serde_json::Value;

use crate::journal::Body;
use crate::version::{self, Unreadable};

/// What is to be done.
#[derive(Debug)]
pub(crate) enum Step {
    /// A ConfigMap or Secret is used now.
    Follow(Key),
    /// It is used no longer.
    Leave(Key),
    /// The gate is to hear of this.
    Observe(Event, Vec<Body>),
}

/// What has been seen so far.
#[derive(Debug)]
pub(crate) struct Gather {
    node: String,
    /// What each pod that is there uses; none before they were listed.
    pods: Option<BTreeMap<Key, Arc<[Key]>>>,
    configs: BTreeMap<Key, Config>,
    /// Not told yet.
    news: BTreeMap<Key, Item>,
    /// What the gate knew when this began: the versions of configuration, and the uids of pods.
    known: Known,
    /// The kinds of which the gate has not had a complete list since we were asked for one.
    owed: BTreeSet<Kind>,
}

/// What the gate knows.
#[derive(Clone, Default, Debug)]
pub(crate) struct Known {
    pub(crate) configs: BTreeMap<Key, Version>,
    pub(crate) pods: BTreeSet<Uid>,
}

#[derive(Debug)]
enum Config {
    /// Nobody has answered yet.
    Asked,
    /// The server is there and has no answer. Unknown is not absent: what the machine has stays.
    Unclear,
    /// It is this one; none where there is none, or where we may not look.
    Known(Option<Box<Version>>),
}

#[derive(Debug)]
enum Item {
    Present(Box<Version>, Body),
    Gone(Uid),
}

// === impl Gather ===

impl Gather {
    pub(crate) fn new(node: &str, known: Known) -> Self {
        Self {
            known,
            node: node.to_owned(),
            pods: None,
            configs: BTreeMap::new(),
            news: BTreeMap::new(),
            owed: BTreeSet::from([Kind::Pod, Kind::ConfigMap, Kind::Secret]),
        }
    }

    /// These pods run here already, whoever started them.
    pub(crate) fn knows(&mut self, pods: impl IntoIterator<Item = Uid>) {
        self.known.pods.extend(pods);
    }

    /// All pods of this node.
    pub(crate) fn pods_listed(&mut self, pods: &[Value]) -> Result<Vec<Step>, Unreadable> {
        let mut read = Vec::with_capacity(pods.len());
        for pod in pods {
            // One that cannot be read makes the list incomplete, and a list that is not complete must not be believed.
            read.extend(version::of_pod(&self.node, pod)?.map(|(key, version)| (key, version, pod)));
        }
        self.pods = Some(BTreeMap::new());
        self.news.retain(|key, _| key.kind != Kind::Pod);
        for (key, version, pod) in read {
            self.pod(key, version, pod);
        }
        self.owed.insert(Kind::Pod);
        Ok(self.steps())
    }

    /// A pod of this node is new or has changed.
    pub(crate) fn pod_changed(&mut self, pod: &Value) -> Result<Vec<Step>, Unreadable> {
        if let Some((key, version)) = version::of_pod(&self.node, pod)? {
            self.pod(key, version, pod);
        }
        Ok(self.steps())
    }

    /// A pod is gone, from the cluster or from this node.
    pub(crate) fn pod_gone(&mut self, pod: &Value) -> Result<Vec<Step>, Unreadable> {
        if let Some((key, version)) = version::of_pod(&self.node, pod)? {
            self.pods.as_mut().and_then(|pods| pods.remove(&key));
            self.news.insert(key, Item::Gone(version.uid));
        }
        Ok(self.steps())
    }

    /// A ConfigMap or Secret is this now; none where there is none, or where we may not look.
    pub(crate) fn config_is(&mut self, key: &Key, object: Option<&Value>) -> Result<Vec<Step>, Unreadable> {
        if !self.configs.contains_key(key) {
            return Ok(Vec::new());
        }
        let read =
            object.map(|object| version::of_config(key.kind, object).map(|(_, version)| (version, object)));
        match read.transpose()? {
            Some((version, object)) => {
                let body = body(key, &version, object);
                self.news.insert(key.clone(), Item::Present(Box::new(version.clone()), body));
                self.configs.insert(key.clone(), Config::Known(Some(Box::new(version))));
            }
            None => self.config_gone(key, Config::Known(None)),
        }
        Ok(self.steps())
    }

    /// The server has no answer for a ConfigMap or Secret. Pods that use it do not wait for it any longer.
    pub(crate) fn config_unclear(&mut self, key: &Key) -> Vec<Step> {
        if let Some(config @ Config::Asked) = self.configs.get_mut(key) {
            *config = Config::Unclear;
        }
        self.steps()
    }

    /// The server will not say what a ConfigMap or Secret is. That is no word about it, so it is what the gate has.
    pub(crate) fn config_refused(&mut self, key: &Key) -> Vec<Step> {
        if let Some(config @ (Config::Asked | Config::Unclear)) = self.configs.get_mut(key) {
            *config = Config::Known(self.known.configs.get(key).cloned().map(Box::new));
        }
        self.steps()
    }

    fn config_gone(&mut self, key: &Key, now: Config) {
        match self.configs.insert(key.clone(), now) {
            Some(Config::Known(Some(version))) => {
                self.news.insert(key.clone(), Item::Gone(version.uid));
            }
            _ => drop(self.news.remove(key)),
        }
    }

    fn pod(&mut self, key: Key, version: Version, pod: &Value) {
        // What is over is not started, wherever it ran; what the gate knows of is its to judge.
        let is_over = matches!(pod["status"]["phase"].as_str(), Some("Succeeded" | "Failed"));
        if is_over && !self.known.pods.contains(&version.uid) {
            return;
        }
        self.known.pods.insert(version.uid.clone());
        self.pods.get_or_insert_default().insert(key.clone(), Arc::clone(&version.uses));
        let body = body(&key, &version, pod);
        self.news.insert(key, Item::Present(Box::new(version), body));
    }

    fn steps(&mut self) -> Vec<Step> {
        let mut steps = Vec::new();
        // Before the pods are listed nobody knows what is used.
        let Some(pods) = self.pods.take() else { return steps };
        self.follow(&pods, &mut steps);
        let asked = |key: &Key| matches!(self.configs.get(key), Some(Config::Asked));
        let all_clear = |kind: Kind| {
            let mut configs = self.configs.iter().filter(|(key, _)| key.kind == kind);
            configs.all(|(_, config)| matches!(config, Config::Known(_)))
        };
        // A list of pods is told as a whole or not at all; that of configuration when each of them is known.
        let listed = !self.configs.keys().any(asked);
        let complete: BTreeSet<Kind> = self
            .owed
            .iter()
            .copied()
            .filter(|kind| if kind.runs() { listed } else { listed && all_clear(*kind) })
            .collect();
        let may_tell = |key: &Key| match key.kind.runs() {
            true if complete.contains(&Kind::Pod) => true,
            true if self.owed.contains(&Kind::Pod) => false,
            true => !pods.get(key).is_some_and(|uses| uses.iter().any(asked)),
            // Before the pods that use it were told, nobody would know whose it is.
            false => !self.owed.contains(&Kind::Pod) || complete.contains(&Kind::Pod),
        };
        let (told, kept): (BTreeMap<_, _>, BTreeMap<_, _>) =
            std::mem::take(&mut self.news).into_iter().partition(|(key, _)| may_tell(key));
        let known =
            self.configs.iter().filter(|(key, _)| complete.contains(&key.kind) && !told.contains_key(key));
        let mut sightings: Vec<Sighting> = known
            .filter_map(|(key, config)| match config {
                // It was told before, with its body; the complete list has to name it all the same.
                Config::Known(Some(version)) => Some(Sighting::Present(key.clone(), (**version).clone())),
                Config::Known(None) | Config::Asked | Config::Unclear => None,
            })
            .collect();
        self.news = kept;
        self.owed.retain(|kind| !complete.contains(kind));
        self.pods = Some(pods);
        let mut bodies = Vec::new();
        sightings.extend(told.into_iter().map(|(key, item)| match item {
            Item::Gone(uid) => Sighting::Gone(key, uid),
            Item::Present(version, body) => {
                bodies.push(body);
                Sighting::Present(key, *version)
            }
        }));
        if !sightings.is_empty() || !complete.is_empty() {
            steps.push(Step::Observe(Event::Observed { sightings, complete }, bodies));
        }
        steps
    }

    fn follow(&mut self, pods: &BTreeMap<Key, Arc<[Key]>>, steps: &mut Vec<Step>) {
        let used: BTreeSet<&Key> = pods.values().flat_map(|uses| uses.iter()).collect();
        let unused: Vec<Key> = self.configs.keys().filter(|key| !used.contains(key)).cloned().collect();
        for key in unused {
            // To this node it is as good as gone: nobody tells it of changes any more.
            self.config_gone(&key, Config::Known(None));
            self.configs.remove(&key);
            steps.push(Step::Leave(key));
        }
        for key in used {
            if !self.configs.contains_key(key) {
                self.configs.insert(key.clone(), Config::Asked);
                steps.push(Step::Follow(key.clone()));
            }
        }
    }
}

fn body(key: &Key, version: &Version, object: &Value) -> Body {
    let json = serde_json::to_vec(object).expect("a Value always serialises into memory");
    Body::new(key, version, json)
}

#[cfg(test)]
mod tests;
