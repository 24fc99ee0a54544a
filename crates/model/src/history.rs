//! What really happened, kept apart from what the gate believes: the other side of every comparison.
//!
//! Promises count from the moment they were acknowledged; what may pass counts from the moment it was on record, because a
//! release whose answer was lost in a crash was given all the same. What is covered, annotated, superseded, bound or settled
//! is worked out here from what was asked, answered and shown. The gate is taken at its word for three things only: that a
//! barrier has fallen when a freeze was given up or its time is over, that a leased freeze has ended once its lease is up,
//! and that a release is over. None of them lets anything pass that would otherwise be held.

use std::collections::{BTreeMap, BTreeSet};

use safepoint_core::{ChangeKind, Digest, HoldId, Key, Uid, Version};

use crate::setting::Setting;
use crate::world::cluster::{config_key, number};
use crate::world::machine::Machine;

/// The history of a world.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub struct History {
    /// Plain holds that were acknowledged and not dropped: on one workload, or on the node.
    pub holds: BTreeMap<HoldId, Option<usize>>,
    /// Whether a freeze was acknowledged and has not been ended.
    pub frozen: bool,
    /// Whether enough time has passed since the last freeze that its lease is up.
    pub lease_up: bool,
    /// While a barrier is up: the workloads that were in flight when it went up.
    pub barrier: Option<BTreeSet<usize>>,
    /// Whether a thaw was accepted and no complete list has come since.
    pub resyncing: bool,
    /// Releases that are open.
    pub releases: BTreeMap<usize, Release>,
    /// What the gate was last shown.
    pub known: BTreeMap<Key, Known>,
    /// What runs with the hold annotation on.
    pub armed: BTreeSet<Uid>,
    /// Uids that were superseded or deleted before they started.
    pub dead: BTreeSet<Uid>,
    /// The last of these as it was shown, for a list that is late.
    pub stale: Option<(Key, Version)>,
    /// How many pods of each workload were stopped and have not come back.
    pub owed: BTreeMap<usize, i8>,
}

/// What the gate was last shown of an object.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Known {
    /// Which one.
    pub uid: Uid,
    /// Which version.
    pub digest: Digest,
    /// Whether its end was asked for.
    pub deleting: bool,
    /// Whether it carries the hold annotation.
    pub hold: bool,
    /// All of it.
    pub version: Version,
}

/// An open release, as the person who gave it understands it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Release {
    /// The revision that it is for; none until the first successor has been seen.
    pub bound: Option<u8>,
    /// Whether nothing was to be replaced: then no successor belongs to it.
    pub in_place: bool,
    /// What was to be stopped when it was given.
    pub stops: BTreeSet<Uid>,
    /// The configuration that it is for.
    pub config: Option<Digest>,
    /// The holds that it overrides.
    pub overridden: BTreeSet<HoldId>,
    /// Whether it was acknowledged.
    pub acknowledged: bool,
    /// Whether its time is over: it is for starts that are missing and nothing else.
    pub expired: bool,
}

/// The number of the workload that a pod's name belongs to.
#[must_use]
pub fn workload_of(key: &Key) -> Option<usize> {
    key.kind.runs().then(|| usize::from(number(&key.name)))
}

// === impl History ===

impl History {
    /// The gate was shown an object, and has that on record.
    pub fn saw(&mut self, machine: &Machine, key: &Key, version: Option<Version>) {
        let runs = |uid: &Uid| machine.view.get(key).is_some_and(|shown| shown.uid == *uid);
        let was = self.known.remove(key);
        // Taken off alone, the annotation disarms; taken off together with another change, it does not.
        let disarmed = was.as_ref().zip(version.as_ref()).is_some_and(|(was, now)| {
            was.hold
                && !now.hold
                && (&was.uid, &was.digest, was.deleting) == (&now.uid, &now.digest, now.deleting)
        });
        if let Some(was) = was.filter(|was| version.as_ref().is_none_or(|now| now.uid != was.uid))
            && key.kind.runs()
            && !runs(&was.uid)
        {
            self.dead.insert(was.uid.clone());
            self.stale = Some((key.clone(), was.version));
        }
        let Some(version) = version else { return };
        if key.kind.runs() && version.deleting && !runs(&version.uid) {
            self.dead.insert(version.uid.clone());
        }
        if runs(&version.uid) {
            if version.hold {
                self.armed.insert(version.uid.clone());
            } else if disarmed {
                self.armed.remove(&version.uid);
            }
        }
        let known = Known {
            uid: version.uid.clone(),
            digest: version.digest.clone(),
            deleting: version.deleting,
            hold: version.hold,
            version,
        };
        // The first successor binds a release that did not know its target yet.
        if let Some(release) = workload_of(key).and_then(|workload| self.releases.get_mut(&workload))
            && release.bound.is_none()
            && !release.in_place
            && !known.deleting
            && !runs(&known.uid)
        {
            release.bound = Some(number(known.digest.as_str()));
        }
        self.known.insert(key.clone(), known);
    }

    /// A release was given and is on record.
    pub fn released(&mut self, setting: &Setting, machine: &Machine, workload: usize, overriding: bool) {
        let mine = |key: &&Key| workload_of(key) == Some(workload);
        let runs = |uid: &Uid| machine.view.values().any(|shown| shown.uid == *uid);
        let pods = self.known.iter().filter(|(key, _)| mine(key));
        let successors = pods.filter(|(key, known)| {
            let patched = machine.view.get(*key).is_some_and(|shown| shown.digest != known.digest);
            !known.deleting && (!runs(&known.uid) || patched)
        });
        let bound = successors.map(|(_, known)| number(known.digest.as_str())).max();
        let stops =
            machine.view.iter().filter(|(key, shown)| mine(key) && !shown.ending).filter(|(key, shown)| {
                self.known.get(*key).is_none_or(|known| known.deleting || known.uid != shown.uid)
            });
        let stops: BTreeSet<Uid> = stops.map(|(_, shown)| shown.uid.clone()).collect();
        let uses = self.config_users(setting, machine).contains(&workload).then(config_key);
        let config = uses.as_ref().and_then(|key| self.known.get(key)).map(|known| known.digest.clone());
        let shown = uses.as_ref().and_then(|key| machine.view.get(key)).map(|shown| shown.digest.clone());
        // Released again with nothing new to release: what was released stays released, and no more.
        let nothing = bound.is_none() && stops.is_empty() && config == shown;
        let again = |known: &Release| {
            (bound.is_none() || bound == known.bound)
                && (bound.is_some() || stops.is_subset(&known.stops))
                && (config == shown || config == known.config)
                && ((!overriding && !known.expired) || nothing)
        };
        if self.releases.get(&workload).is_some_and(again) {
            return;
        }
        let in_place = bound.is_none() && stops.is_empty();
        let release = Release {
            bound,
            in_place,
            stops,
            config,
            overridden: if overriding { self.holds.keys().cloned().collect() } else { BTreeSet::new() },
            acknowledged: false,
            expired: false,
        };
        self.releases.insert(workload, release);
    }

    /// The workloads that a barrier finds in flight.
    #[must_use]
    pub fn in_flight(&self, machine: &Machine) -> BTreeSet<usize> {
        let released = self.releases.keys().copied();
        let owed = self.owed.iter().filter(|(_, owed)| **owed > 0).map(|(workload, _)| *workload);
        let ending = machine.view.iter().filter(|(_, shown)| shown.ending);
        released.chain(owed).chain(ending.filter_map(|(key, _)| workload_of(key))).collect()
    }

    /// Whether a workload is annotated to be held, going by what runs and by what is about to.
    #[must_use]
    pub fn is_armed(&self, machine: &Machine, workload: usize, key: &Key, uid: &Uid) -> bool {
        let pods = machine.view.iter().filter(|(key, _)| workload_of(key) == Some(workload));
        let running = pods.into_iter().any(|(_, shown)| self.armed.contains(&shown.uid));
        running || self.known.get(key).is_some_and(|known| known.uid == *uid && known.hold)
    }

    /// The workloads whose running pods use the ConfigMap.
    #[must_use]
    pub fn config_users(&self, setting: &Setting, machine: &Machine) -> BTreeSet<usize> {
        Self::users(setting, machine.view.keys())
    }

    /// Those of them that it would change. One that has never run waits for what it starts with.
    #[must_use]
    pub fn changed_users(&self, setting: &Setting, machine: &Machine, change: ChangeKind) -> BTreeSet<usize> {
        let view = machine.view.iter();
        let changed = view.filter(|(_, shown)| change != ChangeKind::Start || shown.has_run);
        Self::users(setting, changed.map(|(key, _)| key))
    }

    fn users<'a>(setting: &Setting, running: impl Iterator<Item = &'a Key>) -> BTreeSet<usize> {
        running.filter_map(workload_of).filter(|workload| setting.plans[*workload].configured).collect()
    }
}
