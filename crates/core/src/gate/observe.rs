//! What the cluster wants and what the machine reports. Every way in ends here: there is no second door.

use std::collections::BTreeSet;

use crate::event::{Effect, Sighting};
use crate::freeze::Thaw;
use crate::guard::Guard;
use crate::object::{Applied, Health, Key, Kind, Slot, Stage, Version};
use crate::text::{Digest, Text, Uid};

use super::{Gate, Turn};

// === impl Gate ===

impl Gate {
    /// Takes what was found running as applied. Only a gate that has admitted nothing yet, or lost its record, may do so:
    /// otherwise its own record is the truth.
    pub(super) fn adopt(&mut self, turn: &mut Turn, running: Vec<(Key, Version)>) {
        // Manifests are found one by one, by a door of their own: they say nothing of what else runs.
        let mut others = self.slots.iter().filter(|(key, _)| key.kind != Kind::StaticPod);
        if !self.sealed && others.any(|(_, slot)| slot.applied.is_some()) {
            return;
        }
        if std::mem::take(&mut self.sealed) {
            turn.node = true;
            self.audit(turn, None, format!("adopted what was found running: {}", running.len()), None);
            // What was seen while nobody knew what runs was not judged.
            turn.effects.push(Effect::Relist);
        }
        for (key, version) in running {
            if let Some(workload) = &version.workload {
                self.remember_install(turn, workload, &version.revision);
            }
            self.change_slot(turn, &key, |slot| {
                slot.wanted.get_or_insert_with(|| version.clone());
                let stage = Stage::Delivered(Health::Unknown);
                slot.applied = Some(Applied { version, stage, has_run: key.kind == Kind::Pod });
            });
        }
    }

    /// Takes what is in place as applied, whoever put it there.
    pub(super) fn find(
        &mut self,
        turn: &mut Turn,
        key: &Key,
        instead_of: Option<&Digest>,
        version: Version,
        why: &Text,
    ) {
        let known = self.slots.get(key).and_then(|slot| slot.applied.as_ref());
        if known.map(|known| &known.version.digest) != instead_of {
            return;
        }
        if known.is_some_and(|known| known.version == version && known.stage != Stage::Ending) {
            return;
        }
        self.audit(turn, None, format!("{key} is found at revision {}", version.revision), Some(why));
        if let Some(workload) = &version.workload {
            self.remember_install(turn, workload, &version.revision);
        }
        self.change_slot(turn, key, |slot| {
            // What was admitted and is not in place has failed. What came after it has not been tried.
            let told = slot.applied.as_ref().map(|applied| &applied.version.digest);
            let is_newer = slot.wanted.as_ref().is_some_and(|wanted| Some(&wanted.digest) != told);
            if !is_newer {
                slot.wanted = Some(version.clone());
            }
            let stage = Stage::Delivered(Health::Unknown);
            slot.applied = Some(Applied { version, stage, has_run: false });
        });
    }

    pub(super) fn observe(&mut self, turn: &mut Turn, sightings: Vec<Sighting>, complete: &BTreeSet<Kind>) {
        let mut seen = BTreeSet::new();
        for sighting in sightings {
            match sighting {
                Sighting::Present(key, version) => {
                    seen.insert(key.clone());
                    self.observe_present(turn, &key, version);
                }
                Sighting::Gone(key, uid) => self.observe_gone(turn, &key, &uid),
            }
        }
        if complete.is_empty() {
            return;
        }
        let missing: Vec<(Key, Uid)> = self
            .slots
            .iter()
            .filter(|(key, _)| complete.contains(&key.kind) && !seen.contains(key))
            .filter_map(|(key, slot)| Some((key.clone(), slot.wanted.as_ref()?.uid.clone())))
            .collect();
        for (key, uid) in missing {
            self.observe_gone(turn, &key, &uid);
        }
        if let Some(Thaw::Resyncing(kinds)) = &mut self.thaw {
            kinds.retain(|kind| !complete.contains(kind));
            let listed = kinds.is_empty();
            turn.node = true;
            if listed {
                self.resynced(turn);
            }
        }
    }

    fn observe_present(&mut self, turn: &mut Turn, key: &Key, version: Version) {
        let slot = self.slots.get(key).cloned().unwrap_or_default();
        let running = slot.applied.as_ref().is_some_and(|applied| applied.version.uid == version.uid);
        if key.kind == Kind::Pod && !running && (version.deleting || self.is_buried(&version.uid)) {
            self.observe_dead(turn, key, &slot, &version);
            return;
        }
        // A list that shows what runs again, after something else had its name, is a late one or the other was: neither
        // is a reason to bury anybody.
        if !running {
            self.bury_superseded(turn, key, &slot, Some(&version.uid));
        }
        self.change_slot(turn, key, |slot| {
            // The annotation put on arms the running pod at once, whatever else changes with it: the object may be gone
            // from the API before the change is decided again. Taken off it disarms only when nothing else changes with
            // it: when in doubt, hold.
            let disarmed = slot.wanted.as_ref().is_some_and(|wanted| is_disarmed(wanted, &version));
            if let Some(applied) = slot.applied.as_mut().filter(|_| running)
                && match key.kind {
                    // All versions of a manifest share an identity, and each says for itself whether it is held.
                    Kind::StaticPod => applied.version.digest == version.digest,
                    Kind::Pod | Kind::ConfigMap | Kind::Secret => version.hold || disarmed,
                }
            {
                applied.version.hold = version.hold;
            }
            slot.wanted = Some(version);
        });
    }

    /// Deleted before it ever started, or long superseded and shown by a stale list: either way it must not start. The
    /// cluster waits for this node to confirm the end, and asks again after a crash.
    fn observe_dead(&mut self, turn: &mut Turn, key: &Key, slot: &Slot, version: &Version) {
        if self.sealed || !version.deleting {
            return;
        }
        turn.effects.push(Effect::Discard { key: key.clone(), uid: version.uid.clone() });
        if self.is_buried(&version.uid) {
            return;
        }
        self.bury(turn, key, &version.uid);
        // What had this name before is gone as well, unless it is the younger one and this list is the late one.
        if slot.wanted.as_ref().is_some_and(|wanted| wanted.uid == version.uid || wanted.born <= version.born)
        {
            self.bury_superseded(turn, key, slot, Some(&version.uid));
            self.change_slot(turn, key, |slot| slot.wanted = None);
        }
    }

    /// The thaw knows the newest state of everything: changes flow again. Releases that were given meanwhile could not
    /// be used and begin to count now.
    fn resynced(&mut self, turn: &mut Turn) {
        self.thaw = Some(Thaw::Verifying(self.index.pending.clone()));
        turn.todo.extend(self.index.pending.iter().cloned());
        let age = self.clock.age();
        let workloads: Vec<_> = self.grants.keys().cloned().collect();
        for workload in workloads {
            if let Some(grant) = self.grants.get_mut(&workload) {
                grant.closes = age.after(grant.length);
            }
            self.touch_grant(turn, &workload);
        }
    }

    fn observe_gone(&mut self, turn: &mut Turn, key: &Key, uid: &Uid) {
        let slot = self.slots.get(key).cloned().unwrap_or_default();
        if slot.wanted.as_ref().is_some_and(|wanted| wanted.uid == *uid) {
            self.bury_superseded(turn, key, &slot, None);
            self.change_slot(turn, key, |slot| slot.wanted = None);
        }
    }

    /// What was wanted, is no longer, and never started, never will.
    fn bury_superseded(&mut self, turn: &mut Turn, key: &Key, slot: &Slot, successor: Option<&Uid>) {
        let running = slot.applied.as_ref().map(|applied| &applied.version.uid);
        if let Some(wanted) = &slot.wanted
            && key.kind.runs()
            && Some(&wanted.uid) != running
            && Some(&wanted.uid) != successor
        {
            self.bury(turn, key, &wanted.uid);
        }
    }

    pub(super) fn report(&mut self, turn: &mut Turn, key: &Key, uid: &Uid, digest: &Digest, health: Health) {
        if !self.runs(key, uid) {
            return;
        }
        let late = self.guards(Guard::DropLateReports);
        let runs = matches!(health, Health::Ready | Health::Unready | Health::Finished);
        self.change_slot(turn, key, |slot| {
            let Some(applied) = &mut slot.applied else { return };
            applied.has_run |= runs && key.kind == Kind::Pod;
            if let Stage::Delivered(known) = &mut applied.stage
                && (applied.version.digest == *digest || !late)
            {
                *known = health;
            }
        });
    }

    pub(super) fn end(&mut self, turn: &mut Turn, key: &Key, uid: &Uid) {
        let is_ending = self.slots.get(key).is_some_and(Slot::is_ending);
        // Pods may end by themselves. Configuration that was given again meanwhile is there.
        if !self.runs(key, uid) || !(key.kind.runs() || is_ending) {
            return;
        }
        self.bury(turn, key, uid);
        let workload = self.slots.get(key).and_then(Slot::workload).cloned();
        self.change_slot(turn, key, |slot| {
            slot.applied = None;
            // A pod that has ended does not come back; configuration may be given again.
            slot.wanted.take_if(|wanted| key.kind.runs() && wanted.uid == *uid);
        });
        // The controller makes the successor only now: the time it has for that starts here.
        if let Some(workload) = workload
            && let Some(replacement) = self.replacements.get_mut(&workload)
        {
            replacement.until = self.clock.age().after(self.config.replacement_window);
            self.touch_replacement(turn, &workload);
        }
    }

    fn runs(&self, key: &Key, uid: &Uid) -> bool {
        let applied = self.slots.get(key).and_then(|slot| slot.applied.as_ref());
        applied.is_some_and(|applied| applied.version.uid == *uid)
    }
}

/// Whether the hold annotation was taken off an object and nothing else was changed.
fn is_disarmed(old: &Version, new: &Version) -> bool {
    old.hold && !new.hold && old.uid == new.uid && old.digest == new.digest && old.deleting == new.deleting
}
