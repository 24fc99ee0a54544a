//! A run as a list of actions: written when a run fails, replayed to understand it.

use std::fmt::Write as _;

use safepoint_core::Guard;
use serde::{Deserialize, Serialize};

use crate::invariants::{Broken, invariant_applied_becomes_wanted};
use crate::setting::Setting;
use crate::world::{Action, World};

/// Everything that is needed to do it again.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Log {
    /// The world.
    pub setting: Setting,
    /// The guard that was switched off, if one was.
    pub off: Option<Guard>,
    /// What happened.
    pub actions: Vec<Action>,
}

/// A run that was done again.
#[derive(Debug)]
pub struct Replayed {
    /// The invariant that did not hold, if one did not.
    pub broken: Option<Broken>,
    /// Each step in words.
    pub story: String,
}

// === impl Log ===

impl Log {
    /// Does it again, up to the first invariant that does not hold.
    #[must_use]
    pub fn replay(&self) -> Replayed {
        let mut world = World::new(&self.setting, self.off);
        let mut story = format!("world: {}\n", self.setting.name);
        if let Some(guard) = self.off {
            let _ = writeln!(story, "guard switched off: {guard:?}");
        }
        for (number, action) in self.actions.iter().enumerate() {
            world = world.after(&self.setting, self.off, action);
            let _ = writeln!(story, "{:>3}. {action:?}", number + 1);
            let _ = writeln!(story, "     node {}, machine {}", world.gate.mode(), describe(&world));
            if world.broken.is_some() {
                break;
            }
        }
        let broken = world
            .broken
            .clone()
            .or_else(|| invariant_applied_becomes_wanted(&world, &self.setting, self.off).err());
        match &broken {
            Some(Broken { invariant, why }) => {
                let _ = writeln!(story, "broken: {}\n        {why}", invariant.name());
            }
            None => story.push_str("every invariant holds\n"),
        }
        Replayed { broken, story }
    }

    /// The log as text.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("a log is plain data")
    }

    /// A log out of its text.
    ///
    /// # Errors
    /// When the text is not a log of this version.
    pub fn from_json(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }
}

fn describe(world: &World) -> String {
    let view = world.machine.view.iter().map(|(key, shown)| {
        let state = match (shown.ending, shown.ready) {
            (true, _) => ", ending",
            (false, true) => "",
            (false, false) => ", not ready",
        };
        format!("{}={} {}{state}", key.name, shown.uid, shown.digest)
    });
    format!("[{}]", view.collect::<Vec<_>>().join("; "))
}
