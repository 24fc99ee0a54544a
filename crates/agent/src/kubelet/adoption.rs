//! Taking over from a kubelet that was there before: what it runs is taken as it is, once.
//!
//! Until then nothing is shown. A list without a pod that runs would end it, and a pod that runs must not wait for a release
//! as if it were new.

use std::collections::BTreeSet;

use safepoint_core::{Event, Key, Sighting, Uid, Version};
use serde_json::Value;
use tokio::sync::watch;

use super::said::Word;

/// How far the takeover is.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) enum Takeover {
    /// Nobody has looked whether there has been one.
    #[default]
    Unknown,
    /// The first complete list of the cluster will say what runs.
    Wanted,
    /// The gate knows what runs.
    Done,
}

/// The takeover, as the door and the uplink share it.
#[derive(Debug, Default)]
pub(crate) struct Adoption {
    stage: watch::Sender<Takeover>,
}

// === impl Adoption ===

impl Adoption {
    pub(crate) fn is_wanted(&self) -> bool {
        *self.stage.borrow() == Takeover::Wanted
    }

    pub(crate) fn set(&self, stage: Takeover) {
        self.stage.send_replace(stage);
    }

    pub(super) fn watch(&self) -> watch::Receiver<Takeover> {
        self.stage.subscribe()
    }
}

/// What is remembered of a pod that had come to its end before the takeover: that it is over, by its kubelet's word, as far as
/// anybody can tell.
pub(crate) fn over(uid: &Uid, status: &Value) -> (String, Option<Vec<u8>>) {
    Word { is_over: true, status: Some(status.to_string().into()), ..Word::default() }.row(uid)
}

/// Of the first complete list, what runs already: the pods that the kubelet has taken up, and what they read.
pub(crate) fn adopted(event: &Event, taken: &BTreeSet<Uid>) -> Vec<(Key, Version)> {
    let Event::Observed { sightings, .. } = event else { return Vec::new() };
    let present = || {
        sightings.iter().filter_map(|sighting| match sighting {
            Sighting::Present(key, version) => Some((key, version)),
            Sighting::Gone(..) => None,
        })
    };
    let pods: Vec<_> =
        present().filter(|(key, version)| key.kind.runs() && taken.contains(&version.uid)).collect();
    let used: BTreeSet<&Key> = pods.iter().flat_map(|(_, version)| version.uses.iter()).collect();
    let configs = present().filter(|(key, _)| used.contains(key));
    pods.iter().copied().chain(configs).map(|(key, version)| (key.clone(), version.clone())).collect()
}
