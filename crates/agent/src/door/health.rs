//! How the pods do and whether configuration has reached them, in the gate's words.

use std::collections::{BTreeMap, BTreeSet};

use safepoint_core::{Digest, Event, Health, Key, Uid};
use safepoint_runtime::{ConfigKey, Report};

use super::show::{Told, config_key};

/// What was last reported.
#[derive(Default, Debug)]
pub(super) struct Healths {
    pods: BTreeMap<Uid, Pod>,
    /// The configuration of which the gate knows that it has arrived, by version.
    arrived: BTreeMap<Key, String>,
}

#[derive(Debug)]
struct Pod {
    key: Key,
    version: String,
    health: Health,
    configs: BTreeMap<ConfigKey, String>,
}

// === impl Healths ===

impl Healths {
    /// Takes a report, and says it to the gate.
    pub(super) fn take(&mut self, key: Key, report: &Report) -> Event {
        let health = match report.health {
            safepoint_runtime::Health::Starting => Health::Starting,
            safepoint_runtime::Health::Unready => Health::Unready,
            safepoint_runtime::Health::Ready => Health::Ready,
            safepoint_runtime::Health::Finished => Health::Finished,
        };
        let pod = Pod { key, version: report.version.clone(), health, configs: report.configs.clone() };
        let uid = Uid::from(report.uid.as_str());
        let event = reported(&uid, &pod);
        self.pods.insert(uid, pod);
        event
    }

    pub(super) fn remove(&mut self, uid: &Uid) {
        self.pods.remove(uid);
    }

    /// Everything once more, for a gate that has begun anew.
    pub(super) fn again(&mut self) -> Vec<Event> {
        self.arrived.clear();
        self.pods.iter().map(|(uid, pod)| reported(uid, pod)).collect()
    }

    /// What was reported and is not believed: it was given anew, in the version that it had, and nothing else would tell of it.
    pub(super) fn corrected(&mut self, believed: &BTreeMap<Key, Health>) -> Vec<Event> {
        self.arrived.retain(|key, _| believed.get(key) == Some(&Health::Ready));
        let doubted = |pod: &Pod| believed.get(&pod.key).is_some_and(|health| *health != pod.health);
        self.pods.iter().filter(|(_, pod)| doubted(pod)).map(|(uid, pod)| reported(uid, pod)).collect()
    }

    /// Which configuration has newly arrived: everybody who was given it shows it.
    pub(super) fn configs(&mut self, told: &Told) -> Vec<Event> {
        let mut events = Vec::new();
        self.arrived.retain(|key, _| told.configs.contains_key(key));
        let late: BTreeSet<&Key> = told
            .pods
            .iter()
            .flat_map(|(uid, pod)| pod.configs.iter().map(move |(key, version)| (uid, key, version)))
            .filter(|(uid, key, version)| !self.shows(uid, key, version))
            .map(|(_, key, _)| key)
            .collect();
        for (key, config) in &told.configs {
            if late.contains(key) || self.arrived.get(key) == Some(&config.version) {
                continue;
            }
            let Some((uid, digest)) = config.version.split_once('/') else { continue };
            let (uid, digest) = (Uid::from(uid), Digest::from(digest));
            events.push(Event::Reported { key: key.clone(), uid, digest, health: Health::Ready });
            self.arrived.insert(key.clone(), config.version.clone());
        }
        // Gone is what nobody shows any more, of those who might.
        let may_show = |uid: &Uid, key: &Key| {
            self.pods.get(uid).is_none_or(|pod| {
                pod.health != Health::Finished && pod.configs.contains_key(&config_key(key))
            })
        };
        let gone = told.ending.iter().filter(|(key, _)| {
            let mut pods = told.pods.iter().filter(|(_, pod)| pod.key.namespace == key.namespace);
            !pods.any(|(uid, _)| may_show(uid, key))
        });
        events.extend(gone.map(|(key, uid)| Event::Ended { key: key.clone(), uid: uid.clone() }));
        events
    }

    /// Whether a pod shows this version, or shows nothing of it: what is read as a variable is read at the next start.
    fn shows(&self, uid: &Uid, key: &Key, version: &str) -> bool {
        let Some(pod) = self.pods.get(uid) else { return false };
        pod.health == Health::Finished
            || pod.configs.get(&config_key(key)).is_none_or(|shown| shown == version)
    }
}

fn reported(uid: &Uid, pod: &Pod) -> Event {
    let digest = Digest::from(pod.version.as_str());
    Event::Reported { key: pod.key.clone(), uid: uid.clone(), digest, health: pod.health }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_given_anew_in_the_version_that_it_had_is_reported_again() {
        let (config, pod) = (Key::config_map("default", "maps"), Key::pod("default", "rover"));
        let rover =
            Pod { key: pod.clone(), version: "v1".into(), health: Health::Ready, configs: BTreeMap::new() };
        let mut healths = Healths {
            pods: BTreeMap::from([(Uid::from("u1"), rover)]),
            arrived: BTreeMap::from([(config.clone(), "u2/d".into())]),
        };
        let ready = BTreeMap::from([(config.clone(), Health::Ready), (pod.clone(), Health::Ready)]);
        assert_eq!(healths.corrected(&ready), []);
        assert_eq!(healths.arrived.len(), 1);

        let anew = BTreeMap::from([(config, Health::Starting), (pod.clone(), Health::Starting)]);
        let (uid, digest) = (Uid::from("u1"), Digest::from("v1"));
        assert_eq!(
            healths.corrected(&anew),
            [Event::Reported { key: pod, uid, digest, health: Health::Ready }]
        );
        assert!(healths.arrived.is_empty(), "so that its arrival is reported again");
    }
}
