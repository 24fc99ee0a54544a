//! What is shown, and what has to be shown instead. It decides nothing: it compares what the gate has admitted and what is
//! known of the pods with what is shown, and says what has to be kept, then shown, then told to the gate.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use safepoint_core::{Digest, Event, Health, Key, Timestamp, Uid};
use serde_json::Value;

use super::condition::{self, Replaced, Traits};
use super::front::{Facts, Step};
use super::look::{self, Known, Look};
use super::mask::{self, End};
use super::mounted::Volumes;
use super::said::{Said, Word};
use crate::seen::SeenPod;
use crate::version::{self, Data};

/// What is shown.
#[derive(Default)]
pub(super) struct Shown {
    pods: BTreeMap<Key, Pod>,
    /// Pods in which the gate has no part, as the cluster shows them.
    mirrors: BTreeMap<Key, (Uid, Arc<str>)>,
    configs: BTreeMap<Key, Config>,
}

#[derive(Clone)]
struct Pod {
    uid: Uid,
    digest: Digest,
    body: Arc<[u8]>,
    traits: Traits,
    end: Option<End>,
    is_private: bool,
    uses: Arc<[Key]>,
    /// The status as it came, and whether it is believed to be over.
    source: Option<(Arc<str>, bool)>,
    /// The status as it is shown.
    status: Option<Arc<str>>,
    nudges: u64,
    /// How it does, by its status and by what was replaced in it.
    health: Option<Health>,
    replaced: Replaced,
}

#[derive(Clone)]
struct Config {
    uid: Uid,
    digest: Digest,
    data: Arc<Data>,
    is_immutable: bool,
    is_ending: bool,
    /// The gate knows that it has arrived.
    is_settled: bool,
}

/// What has to be done, in this order.
#[derive(Default)]
pub(super) struct Plan {
    /// What the door itself has to remember of pods; the rest of each word is the kubelet's.
    pub(super) words: Vec<(Uid, Word)>,
    pub(super) steps: Vec<Step>,
    pub(super) events: Vec<Event>,
    /// Something has no body and is not shown: it was taken for known when the gate was looked at, and was not any more. Another look
    /// has it.
    pub(super) is_incomplete: bool,
}

/// What is known beside the gate.
#[derive(Clone, Copy)]
pub(super) struct Facing<'a> {
    pub(super) seen: &'a BTreeMap<Uid, SeenPod>,
    pub(super) said: &'a Said,
    pub(super) is_connected: bool,
}

/// Configuration that has not arrived, and the pods in whose files it has to.
pub(super) struct Unsettled {
    key: Key,
    data: Arc<Data>,
    is_immutable: bool,
    is_ending: bool,
    users: Vec<(Uid, Arc<[u8]>, bool)>,
}

/// What a look at the files has shown.
pub(super) struct Checked {
    pub(super) key: Key,
    /// The pods that do not show it yet.
    pub(super) late: Vec<Uid>,
}

// === impl Facing ===

impl Facing<'_> {
    /// The newest status of a pod.
    fn newest(&self, uid: &Uid, is_private: bool, word: &Word) -> Option<Arc<str>> {
        let live = self.seen.get(uid).and_then(|seen| seen.status.clone());
        // While the cluster cannot be told, or has nothing to be told about, the kubelet's own word is the newest.
        let untold = self.said.untold(uid).filter(|_| !self.is_connected);
        let own = word.status.clone().filter(|_| is_private || live.is_none());
        untold.or(own).or(live)
    }
}

// === impl Shown ===

impl Shown {
    pub(super) fn known(&self) -> Known {
        let pods = self.pods.iter().map(|(key, pod)| (key, &pod.uid, &pod.digest, pod.end.is_some()));
        let configs = self.configs.iter().map(|(key, it)| (key, &it.uid, &it.digest, it.is_ending));
        let all = pods.chain(configs);
        let known =
            all.map(|(key, uid, digest, ending)| (key.clone(), (uid.clone(), digest.clone(), ending)));
        Known { objects: known.collect() }
    }

    pub(super) fn uids(&self) -> BTreeSet<Uid> {
        self.pods.values().map(|pod| pod.uid.clone()).collect()
    }

    /// Takes up a look at the gate.
    pub(super) fn take(&mut self, look: Look, facing: Facing<'_>) -> Plan {
        let mut plan = Plan::default();
        let unread = self.take_configs(look.configs, &mut plan);
        let admitted: BTreeSet<Key> = look.pods.iter().map(|pod| pod.key.clone()).collect();
        for key in self.pods.keys().filter(|key| !admitted.contains(*key)).cloned().collect::<Vec<_>>() {
            self.pods.remove(&key);
            plan.steps.push(Step::NoPod(key));
        }
        for pod in look.pods {
            let is_this = |shown: &Pod| (&shown.uid, &shown.digest) == (&pod.uid, &pod.digest);
            let is_shown = self.pods.get(&pod.key).is_some_and(|shown| shown.uid == pod.uid);
            // One that starts must not find less than was admitted with it.
            let lacks = !is_shown && pod.uses.iter().any(|used| unread.contains(used));
            if lacks || (pod.body.is_none() && !self.pods.get(&pod.key).is_some_and(is_this)) {
                plan.is_incomplete = true;
                continue;
            }
            self.take_pod(pod, facing, look.wall, &mut plan);
        }
        self.take_mirrors(facing.seen, &admitted, &mut plan);
        plan
    }

    fn take_pod(&mut self, pod: look::Pod, facing: Facing<'_>, now: Timestamp, plan: &mut Plan) {
        let (key, known) = (pod.key.clone(), pod.health);
        let mut word = facing.said.word(&pod.uid);
        let mut next = self.admitted(pod, &mut word, facing, now, plan);
        next.refresh(&word, facing);
        let old = self.pods.get(&key);
        let is_other = old.is_none_or(|old| old.looks_other(&next));
        // Of most pods nothing has changed, and to read a status takes longer than to compare it.
        if is_other || next.replaced != word.replaced {
            let status: Option<Value> =
                next.status.as_deref().and_then(|text| serde_json::from_str(text).ok());
            next.health =
                status.as_ref().and_then(|status| condition::health(&next.traits, &word.replaced, status));
            next.replaced = word.replaced;
            if is_other {
                plan.steps.push(next.step(&key, status.as_ref()));
            }
        }
        if let Some(health) = next.health.filter(|health| known.is_some_and(|known| known != *health)) {
            let (uid, digest) = (next.uid.clone(), next.digest.clone());
            plan.events.push(Event::Reported { key: key.clone(), uid, digest, health });
        }
        self.pods.insert(key, next);
    }

    /// Returns what is to be shown and has to be read first.
    fn take_configs(&mut self, configs: Vec<look::Config>, plan: &mut Plan) -> BTreeSet<Key> {
        let mut unread = BTreeSet::new();
        let admitted: BTreeSet<Key> = configs.iter().map(|config| config.key.clone()).collect();
        let gone: Vec<Key> = self.configs.keys().filter(|key| !admitted.contains(*key)).cloned().collect();
        for key in gone {
            self.configs.remove(&key);
            plan.steps.push(Step::NoConfig(key));
        }
        for config in configs {
            let look::Config { key, uid, digest, is_ending, is_settled, body } = config;
            let old = self.configs.get_mut(&key);
            if let Some(old) = old
                && (&old.uid, &old.digest, old.is_ending) == (&uid, &digest, is_ending)
            {
                old.is_settled = is_settled;
                continue;
            }
            let old = self.configs.get(&key);
            // It may have been shown when the gate was looked at, and be shown no longer.
            let is_this = |old: &Config| (&old.uid, &old.digest) == (&uid, &digest);
            if body.is_none() && !(is_ending && old.is_some_and(is_this)) {
                plan.is_incomplete = true;
                unread.insert(key);
                continue;
            }
            let object = body.and_then(|body| serde_json::from_slice::<Value>(&body).ok());
            let data = match (&object, old) {
                (Some(object), _) => Arc::new(version::data(key.kind, object)),
                (None, old) => old.map(|old| Arc::clone(&old.data)).unwrap_or_default(),
            };
            // Once it has seen one that never changes, a kubelet looks no more.
            let is_immutable = old.is_some_and(|old| old.is_immutable)
                || object.as_ref().is_some_and(|object| object["immutable"] == true);
            let next = Config { uid: uid.clone(), digest, data, is_immutable, is_ending, is_settled };
            self.configs.insert(key.clone(), next);
            match object {
                _ if is_ending => plan.steps.push(Step::NoConfig(key)),
                Some(object) => plan.steps.push(Step::Config(key, uid, object)),
                None => {}
            }
        }
        unread
    }

    /// A static pod may have the name of a pod that is kept; that one stays.
    fn take_mirrors(&mut self, seen: &BTreeMap<Uid, SeenPod>, admitted: &BTreeSet<Key>, plan: &mut Plan) {
        let mut mirrors: BTreeMap<Key, (Uid, Arc<str>)> = BTreeMap::new();
        for (uid, pod) in seen.iter().filter(|(_, pod)| !admitted.contains(&pod.key)) {
            if let Some(text) = &pod.mirror {
                mirrors.insert(pod.key.clone(), (uid.clone(), Arc::clone(text)));
            }
        }
        let gone = self.mirrors.keys().filter(|key| !mirrors.contains_key(*key) && !admitted.contains(*key));
        plan.steps.extend(gone.cloned().map(Step::NoPod));
        for (key, (uid, text)) in &mirrors {
            if self.mirrors.get(key) == Some(&(uid.clone(), Arc::clone(text))) {
                continue;
            }
            if let Ok(mut object) = serde_json::from_str::<Value>(text) {
                object["kind"] = "Pod".into();
                object["apiVersion"] = "v1".into();
                plan.steps.push(Step::Pod(key.clone(), uid.clone(), object, None));
            }
        }
        self.mirrors = mirrors;
    }

    /// A pod as it is admitted now, with what is remembered of it.
    fn admitted(
        &self,
        pod: look::Pod,
        word: &mut Word,
        facing: Facing<'_>,
        now: Timestamp,
        plan: &mut Plan,
    ) -> Pod {
        let look::Pod { key, uid, digest, is_ending, is_private, uses, body, asked, health: _ } = pod;
        let old = self.pods.get(&key).filter(|old| old.uid == uid);
        let body = body.or_else(|| old.map(|old| Arc::clone(&old.body)));
        let body = body.unwrap_or_else(|| Arc::from([]));
        if let Some(old) = old.filter(|old| old.digest == digest && old.end.is_some() == is_ending) {
            return Pod { body, is_private, uses, nudges: word.nudges, ..old.clone() };
        }
        let object = parse(&body);
        let end = match (is_ending, old.and_then(|old| old.end.clone())) {
            (false, _) => None,
            (true, Some(end)) => Some(end),
            (true, None) => Some(End::of(asked.map(|asked| parse(&asked)).as_ref(), &object, now)),
        };
        if let Some(old) = old.filter(|old| old.digest != digest) {
            let newest = facing.newest(&uid, is_private, word).or_else(|| old.status.clone());
            let status: Value = newest.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
            let replaced = condition::replaced(&parse(&old.body), &object, &status);
            if replaced != word.replaced {
                word.replaced = replaced;
                plan.words.push((uid.clone(), word.clone()));
            }
        }
        Pod {
            traits: Traits::of(&object),
            source: None,
            status: old.and_then(|old| old.status.clone()),
            nudges: word.nudges,
            health: None,
            replaced: Replaced::default(),
            uid,
            digest,
            body,
            end,
            is_private,
            uses,
        }
    }

    /// Configuration of which the gate does not know yet that it has arrived, or is gone.
    pub(super) fn unsettled(&self) -> Vec<Unsettled> {
        let open = self.configs.iter().filter(|(_, config)| !config.is_settled || config.is_ending);
        open.map(|(key, config)| {
            let users = self
                .pods
                .values()
                .filter(|pod| pod.uses.contains(key) && pod.health != Some(Health::Finished));
            Unsettled {
                key: key.clone(),
                data: Arc::clone(&config.data),
                is_immutable: config.is_immutable,
                is_ending: config.is_ending,
                users: users.map(|pod| (pod.uid.clone(), Arc::clone(&pod.body), pod.has_run())).collect(),
            }
        })
        .collect()
    }

    pub(super) fn is_unsettled(&self) -> bool {
        self.configs.values().any(|config| !config.is_settled || config.is_ending)
    }

    /// Takes up what the files have shown: what has arrived is told to the gate, and who is late to look, if it is time.
    pub(super) fn settle(&mut self, checked: Vec<Checked>, is_time_to_nudge: bool, said: &Said) -> Plan {
        let mut plan = Plan::default();
        let mut late = BTreeSet::new();
        for Checked { key, late: missing } in checked {
            let Some(config) = self.configs.get_mut(&key) else { continue };
            if !missing.is_empty() {
                late.extend(missing);
                continue;
            }
            let (uid, digest) = (config.uid.clone(), config.digest.clone());
            plan.events.push(match config.is_ending {
                true => Event::Ended { key, uid },
                false => Event::Reported { key, uid, digest, health: Health::Ready },
            });
        }
        for (key, pod) in self.pods.iter_mut().filter(|(_, pod)| is_time_to_nudge && late.contains(&pod.uid))
        {
            let mut word = said.word(&pod.uid);
            word.nudges += 1;
            pod.nudges = word.nudges;
            plan.words.push((pod.uid.clone(), word));
            let status: Option<Value> =
                pod.status.as_deref().and_then(|text| serde_json::from_str(text).ok());
            plan.steps.push(pod.step(key, status.as_ref()));
        }
        plan
    }
}

// === impl Pod ===

impl Pod {
    /// Brings the status up to date.
    fn refresh(&mut self, word: &Word, facing: Facing<'_>) {
        let Some(text) = facing.newest(&self.uid, self.is_private, word) else { return };
        let source = (text, word.is_over);
        if self.source.as_ref() == Some(&source) {
            return;
        }
        let status: Value = serde_json::from_str(&source.0).unwrap_or_default();
        self.status = Some(match mask::is_over(&status) && !word.is_over {
            true => {
                let last = self.status.as_deref().and_then(|text| serde_json::from_str(text).ok());
                mask::not_over(&status, last.as_ref()).to_string().into()
            }
            false => Arc::clone(&source.0),
        });
        self.source = Some(source);
    }

    /// Whether the kubelet has to be shown it anew.
    fn looks_other(&self, next: &Self) -> bool {
        self.uid != next.uid
            || self.digest != next.digest
            || self.end != next.end
            || self.is_private != next.is_private
            || self.status != next.status
            || self.nudges != next.nudges
    }

    fn has_run(&self) -> bool {
        matches!(self.health, Some(Health::Ready | Health::Unready))
    }

    fn step(&self, key: &Key, status: Option<&Value>) -> Step {
        let facts = Facts {
            uid: self.uid.clone(),
            body: Arc::clone(&self.body),
            end: self.end.clone(),
            is_private: self.is_private,
            configuration: (self.nudges > 0).then(|| self.nudges.to_string()),
        };
        Step::Pod(key.clone(), self.uid.clone(), facts.with_status(status), Some(facts))
    }
}

fn parse(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).unwrap_or_default()
}

// === impl Unsettled ===

impl Unsettled {
    /// Looks at the files. Blocking.
    pub(super) fn check(self, volumes: &Volumes) -> Checked {
        let users = self.users.into_iter().filter(|_| !self.is_immutable);
        let late = users.filter(|(uid, body, has_run)| {
            let pod = parse(body);
            !match self.is_ending {
                true => volumes.show_nothing(uid, &pod, &self.key, &self.data),
                false => volumes.show(uid, &pod, &self.key, &self.data, *has_run),
            }
        });
        Checked { late: late.map(|(uid, ..)| uid).collect(), key: self.key }
    }
}

#[cfg(test)]
mod tests;
