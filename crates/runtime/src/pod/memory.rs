//! What a pod's status has to remember. All of it could be lost: it would be found out anew, with other dates.

use std::{collections::BTreeMap, path::Path};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use tracing::warn;

use crate::{ConfigKey, durable, process::boot_id};

const STATE: &str = "state.json";

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Memory {
    /// The boot in which the rest was true.
    boot: String,
    pub(crate) start: Option<Timestamp>,
    /// The pod was looked at and can be honoured; ports are not asked for again.
    pub(crate) admitted: bool,
    /// All init containers are through; they are not run again in this boot.
    pub(crate) initialized: bool,
    /// Nothing of it shall run any more: it has succeeded, or failed.
    pub(crate) finishing: bool,
    pub(crate) failure: Option<Failure>,
    /// When its end was first wanted; the grace counts from here.
    pub(crate) ending: Option<Timestamp>,
    /// Runs up to these numbers belong to an earlier boot and do not count as initialization.
    pub(crate) earlier: BTreeMap<String, u32>,
    pub(crate) conditions: BTreeMap<String, Condition>,
    pub(crate) checks: BTreeMap<String, Checks>,
    pub(crate) shown: Vec<(ConfigKey, String)>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Failure {
    pub(crate) reason: String,
    pub(crate) message: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Condition {
    pub(crate) status: String,
    pub(crate) since: Timestamp,
}

/// What the probes of a run have found so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Checks {
    pub(crate) attempt: u32,
    pub(crate) started: bool,
    pub(crate) ready: bool,
}

// === impl Memory ===

impl Memory {
    pub(crate) fn load(folder: &Path) -> Self {
        let mut memory: Self = match durable::read_json(&folder.join(STATE)) {
            Ok(memory) => memory.unwrap_or_default(),
            Err(error) => {
                warn!(folder = %folder.display(), %error, "cannot read what was known of a pod; finding out anew");
                Self::default()
            }
        };
        if memory.boot != boot_id() {
            memory.boot = boot_id().to_owned();
            memory.initialized = false;
        }
        memory
    }

    pub(crate) fn save(&self, folder: &Path) {
        let saved = serde_json::to_vec(self)
            .map_err(std::io::Error::other)
            .and_then(|bytes| durable::write_lightly(&folder.join(STATE), &bytes));
        if let Err(error) = saved
            && error.kind() != std::io::ErrorKind::NotFound
        {
            warn!(folder = %folder.display(), %error, "cannot write what is known of a pod");
        }
    }

    /// A new boot begins, before which the runs had these numbers.
    pub(crate) fn note_earlier(&mut self, attempts: impl Iterator<Item = (String, u32)>) {
        self.earlier = attempts.collect();
    }
}
