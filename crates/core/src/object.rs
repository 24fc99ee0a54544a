//! What the gate knows of an object: the version the machine was told, and the version the cluster wants.
//!
//! A version is small on purpose. Bodies live in the journal; the gate compares digests.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::text::{Digest, Revision, Text, Uid};
use crate::time::{Stamp, Timestamp};
use crate::workload::{Labels, Workload};

/// The kinds of object that the gate decides about.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Kind {
    /// A pod from the API server.
    Pod,
    /// A manifest in the kubelet's folder.
    StaticPod,
    /// A ConfigMap that a pod on this node uses.
    ConfigMap,
    /// A Secret that a pod on this node uses.
    Secret,
}

/// Where an object is found. Names are reused: only together with a [`Uid`] is it one object.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Key {
    /// The kind of the object.
    pub kind: Kind,
    /// Its namespace.
    pub namespace: Text,
    /// Its name.
    pub name: Text,
}

/// What something takes of a machine, by name: resources in thousandths of their unit, and ports of the host, of each of
/// which there is one.
pub type Needs = BTreeMap<Text, u64>;

/// One version of an object, as small as a decision needs it.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Version {
    /// Which object this is a version of.
    pub uid: Uid,
    /// What it belongs to; none for ConfigMaps and Secrets, which belong to the pods that use them.
    pub workload: Option<Workload>,
    /// Which revision of its workload it is.
    pub revision: Revision,
    /// What of it matters to the machine.
    pub digest: Digest,
    /// Labels, for holds by selector.
    pub labels: Arc<Labels>,
    /// Whether it carries the hold annotation.
    pub hold: bool,
    /// Whether its owner opted out of holding the very first install.
    pub first_install_allowed: bool,
    /// Whether the cluster has asked for its end (a deletion timestamp is set).
    pub deleting: bool,
    /// The ConfigMaps and Secrets that it uses.
    pub uses: Arc<[Key]>,
    /// What it takes of the machine while it runs.
    #[serde(default)]
    pub needs: Arc<Needs>,
    /// When the cluster created it: of two pending revisions the younger is the newest.
    pub born: Timestamp,
}

/// Both sides of an object. There is at most one wanted version, the newest: never a queue to replay.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug, Serialize, Deserialize)]
pub struct Slot {
    /// What the machine was told.
    pub applied: Option<Applied>,
    /// What the cluster wants; none when it wants nothing here.
    pub wanted: Option<Version>,
    /// Since when the pending change is held, if it is.
    pub held: Option<Held>,
}

/// A version that was admitted.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Applied {
    /// The version.
    pub version: Version,
    /// How far the machine is with it.
    pub stage: Stage,
    /// A pod that was seen to run, at this version or at one before it: nothing that comes for it now is what it waits for to
    /// start.
    #[serde(default, skip_serializing_if = "is_not")]
    pub has_run: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
const fn is_not(it: &bool) -> bool {
    !*it
}

/// How far the machine is with an admitted version.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Stage {
    /// It was delivered. Its health is not durable: after a restart the doors report it again.
    Delivered(#[serde(skip)] Health),
    /// Its end was delivered and has not been reported yet.
    Ending,
}

/// What the doors last reported of a delivered version.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug, Serialize, Deserialize)]
pub enum Health {
    /// Nothing has been reported since the agent started.
    #[default]
    Unknown,
    /// Delivered, not yet taking effect: containers being made, files being written.
    Starting,
    /// An image is being pulled.
    Pulling,
    /// Running, not ready.
    Unready,
    /// Ready; of a ConfigMap or Secret: what the pods see is this version.
    Ready,
    /// Ended by itself and staying that way.
    Finished,
}

/// A pending change that is held.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Held {
    /// Since when.
    pub since: Stamp,
    /// By what kind of cause. It is kept so that conditions and Events are written on transitions only.
    pub by: HeldBy,
}

/// The first cause of a held change, in the order in which the gate looks.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum HeldBy {
    /// The node is freezing, frozen, or not yet resynced after a thaw.
    Node,
    /// A program or a person holds it.
    Holder,
    /// The hold annotation stands on the running or the wanted pod.
    Annotation,
    /// What it replaces has not ended yet.
    Predecessor,
}

/// What a pending change would do.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum ChangeKind {
    /// End a pod, or take a ConfigMap or Secret away. First in order: ends come before starts.
    Stop,
    /// Change an object in place.
    Update,
    /// Start a pod, or show a ConfigMap or Secret for the first time.
    Start,
}

// === impl Kind ===

impl Kind {
    /// Whether the object runs, rather than being read by something that runs.
    #[must_use]
    pub const fn runs(self) -> bool {
        matches!(self, Self::Pod | Self::StaticPod)
    }
}

// === impl Key ===

impl Key {
    /// The key of a pod.
    #[must_use]
    pub fn pod(namespace: &str, name: &str) -> Self {
        Self { kind: Kind::Pod, namespace: namespace.into(), name: name.into() }
    }

    /// The key of a ConfigMap.
    #[must_use]
    pub fn config_map(namespace: &str, name: &str) -> Self {
        Self { kind: Kind::ConfigMap, namespace: namespace.into(), name: name.into() }
    }

    /// The key of a Secret.
    #[must_use]
    pub fn secret(namespace: &str, name: &str) -> Self {
        Self { kind: Kind::Secret, namespace: namespace.into(), name: name.into() }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            Kind::Pod => "pod",
            Kind::StaticPod => "static pod",
            Kind::ConfigMap => "configmap",
            Kind::Secret => "secret",
        };
        write!(f, "{kind} {}/{}", self.namespace, self.name)
    }
}

// === impl Applied ===

impl Applied {
    /// Whether it has ended by itself and stays that way.
    #[must_use]
    pub const fn is_finished(&self) -> bool {
        matches!(self.stage, Stage::Delivered(Health::Finished))
    }
}

// === impl Slot ===

impl Slot {
    /// The change that is pending, if any: the difference between what is wanted and what was applied.
    #[must_use]
    pub fn pending(&self, kind: Kind) -> Option<ChangeKind> {
        match (&self.applied, &self.wanted) {
            (None, None) => None,
            // It was deleted before it ever started: there is nothing to start and nothing to stop.
            (None, Some(wanted)) => (!wanted.deleting).then_some(ChangeKind::Start),
            // Configuration may be given again while it goes. A pod that is let through now must not start without it.
            (Some(Applied { stage: Stage::Ending, .. }), Some(_)) if !kind.runs() => Some(ChangeKind::Start),
            // One thing at a time: what comes after is decided when the end has been reported.
            (Some(Applied { stage: Stage::Ending, .. }), _) => None,
            (Some(_), None) => Some(ChangeKind::Stop),
            (Some(applied), Some(wanted)) => {
                let another = wanted.uid != applied.version.uid;
                if kind.runs() && (another || wanted.deleting) {
                    Some(ChangeKind::Stop)
                } else if another || wanted.digest != applied.version.digest {
                    Some(ChangeKind::Update)
                } else {
                    None
                }
            }
        }
    }

    /// The versions on either side: a hold covers a change when it covers one of them.
    pub fn versions(&self) -> impl Iterator<Item = &Version> {
        self.applied.as_ref().map(|applied| &applied.version).into_iter().chain(&self.wanted)
    }

    /// The workload of the slot; the running pod's counts, because that is what a change would touch.
    #[must_use]
    pub fn workload(&self) -> Option<&Workload> {
        self.versions().find_map(|version| version.workload.as_ref())
    }

    /// Whether the machine is in the middle of something here.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        match self.applied.as_ref().map(|applied| applied.stage) {
            None | Some(Stage::Delivered(Health::Ready | Health::Finished)) => true,
            Some(Stage::Ending | Stage::Delivered(_)) => false,
        }
    }

    /// Whether its end was delivered and has not been reported yet.
    #[must_use]
    pub fn is_ending(&self) -> bool {
        self.applied.as_ref().is_some_and(|applied| applied.stage == Stage::Ending)
    }

    /// Whether a pod that the API has no object for any more is ending.
    #[must_use]
    pub fn is_private_end(&self, kind: Kind) -> bool {
        let same =
            |applied: &Applied| self.wanted.as_ref().is_some_and(|wanted| wanted.uid == applied.version.uid);
        kind.runs() && self.is_ending() && !self.applied.as_ref().is_some_and(same)
    }

    /// Whether a pod that the API has no object for any more is kept running: nobody but this machine counts what it takes.
    #[must_use]
    pub fn is_private(&self, kind: Kind) -> bool {
        let kept = |applied: &Applied| {
            !applied.is_finished()
                && applied.stage != Stage::Ending
                && self.wanted.as_ref().is_none_or(|wanted| wanted.uid != applied.version.uid)
        };
        kind == Kind::Pod && self.applied.as_ref().is_some_and(kept)
    }

    /// Whether something that still runs here is on its way out, whether that has been delivered yet or not.
    #[must_use]
    pub fn is_leaving(&self, kind: Kind) -> bool {
        kind.runs()
            && self.applied.is_some()
            && (self.is_ending() || self.pending(kind) == Some(ChangeKind::Stop))
    }

    /// The part of the slot that must survive a crash. Health is reported anew after a restart.
    #[must_use]
    pub fn durable(&self) -> Self {
        let mut slot = self.clone();
        if let Some(Applied { stage: Stage::Delivered(health), .. }) = &mut slot.applied {
            *health = Health::Unknown;
        }
        slot
    }
}
