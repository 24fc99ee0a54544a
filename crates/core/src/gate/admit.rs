//! The admission of a change: the only place that lets the machine see something.

use crate::event::{Change, Effect};
use crate::grant::Replacement;
use crate::object::{Applied, ChangeKind, Health, Key, Stage, Version};

use super::{Gate, Turn};

// === impl Gate ===

impl Gate {
    pub(super) fn admit(&mut self, turn: &mut Turn, key: &Key, change: ChangeKind) {
        let slot = self.slots.get(key).expect("a verdict is only given on a slot that is there");
        let running = slot.applied.as_ref().map(|applied| &applied.version);
        let told = match change {
            ChangeKind::Stop => running,
            ChangeKind::Update | ChangeKind::Start => slot.wanted.as_ref(),
        };
        let told = told.expect("a pending change has the side that it acts on").clone();
        let replaced = slot.wanted.as_ref().is_some_and(|wanted| wanted.uid != told.uid);
        turn.effects.push(Effect::Admit(Change {
            kind: change,
            key: key.clone(),
            uid: told.uid.clone(),
            digest: told.digest.clone(),
        }));
        if key.kind.runs() {
            self.count_replacement(turn, &told, change, replaced);
        }
        if let (ChangeKind::Start, Some(workload)) = (change, &told.workload) {
            self.remember_install(turn, workload, &told.revision);
        }
        self.change_slot(turn, key, |slot| {
            let stage = match change {
                ChangeKind::Start | ChangeKind::Update => Stage::Delivered(Health::Starting),
                ChangeKind::Stop => Stage::Ending,
            };
            let has_run =
                change != ChangeKind::Start && slot.applied.as_ref().is_some_and(|applied| applied.has_run);
            slot.applied = Some(Applied { version: told, stage, has_run });
        });
    }

    /// Keeps count of what was stopped and has to come back. A start that comes before the stop it is for (a surge)
    /// counts too, so the number may be below nothing for a while.
    fn count_replacement(&mut self, turn: &mut Turn, told: &Version, change: ChangeKind, replaced: bool) {
        let Some(workload) = &told.workload else { return };
        let known = self.replacements.get(workload).map_or(0, |replacement| replacement.missing);
        let surge = || {
            let sums = self.index.workloads.get(workload);
            sums.is_some_and(|sums| sums.revisions.keys().any(|running| *running != told.revision))
        };
        let missing = match change {
            ChangeKind::Stop if workload.is_replaced_when_stopped() || replaced => known + 1,
            ChangeKind::Start if known > 0 || surge() => known - 1,
            ChangeKind::Stop | ChangeKind::Start | ChangeKind::Update => known,
        };
        if missing != known {
            let until = self.clock.age().after(self.config.replacement_window);
            self.replacements.insert(workload.clone(), Replacement { missing, until });
            self.touch_replacement(turn, workload);
        }
    }
}
