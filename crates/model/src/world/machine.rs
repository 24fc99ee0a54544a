//! The machine behind the doors: it does what it is shown, and nothing else.

use std::collections::BTreeMap;

use safepoint_core::{Change, ChangeKind, Digest, Gate, Key, Stage, Uid};

/// What the doors show, and how the machine is doing with it.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub struct Machine {
    /// What is shown.
    pub view: BTreeMap<Key, Shown>,
}

/// One object that is shown.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Shown {
    /// Which one.
    pub uid: Uid,
    /// Which version of it.
    pub digest: Digest,
    /// The version of it that was shown before, as long as the machine may still speak of that.
    pub before: Option<Digest>,
    /// Whether its end is shown.
    pub ending: bool,
    /// Whether it is ready.
    pub ready: bool,
    /// Whether it ever was.
    pub has_run: bool,
}

// === impl Machine ===

impl Machine {
    /// Carries out an admitted change.
    pub fn carry_out(&mut self, change: &Change) {
        match change.kind {
            ChangeKind::Start | ChangeKind::Update => {
                let same = self.view.get(&change.key).filter(|shown| shown.uid == change.uid);
                let before = same.map(|shown| shown.digest.clone());
                let has_run = same.is_some_and(|shown| shown.has_run);
                let (uid, digest) = (change.uid.clone(), change.digest.clone());
                let shown = Shown { uid, digest, before, ending: false, ready: false, has_run };
                self.view.insert(change.key.clone(), shown);
            }
            ChangeKind::Stop => {
                if let Some(shown) = self.view.get_mut(&change.key) {
                    shown.ending = true;
                }
            }
        }
    }

    /// What the machine would see change if the doors showed all that the gate has on record.
    #[must_use]
    pub fn difference(&self, gate: &Gate) -> Vec<Change> {
        let mut changes = Vec::new();
        let mut note = |kind, key: &Key, uid: &Uid, digest: &Digest| {
            changes.push(Change { kind, key: key.clone(), uid: uid.clone(), digest: digest.clone() });
        };
        for (key, shown) in &self.view {
            if gate.slots().get(key).is_none_or(|slot| slot.applied.is_none()) {
                note(ChangeKind::Stop, key, &shown.uid, &shown.digest);
            }
        }
        for (key, slot) in gate.slots() {
            let Some(applied) = &slot.applied else { continue };
            let version = &applied.version;
            let ending = applied.stage == Stage::Ending;
            match self.view.get(key) {
                None => note(ChangeKind::Start, key, &version.uid, &version.digest),
                Some(shown) if shown.uid != version.uid => {
                    note(ChangeKind::Stop, key, &shown.uid, &shown.digest);
                    note(ChangeKind::Start, key, &version.uid, &version.digest);
                }
                Some(shown) if ending && !shown.ending => {
                    note(ChangeKind::Stop, key, &version.uid, &shown.digest);
                }
                Some(shown) if shown.ending && !ending => {
                    note(ChangeKind::Start, key, &version.uid, &version.digest);
                }
                Some(shown) if shown.digest != version.digest => {
                    note(ChangeKind::Update, key, &version.uid, &version.digest);
                }
                Some(_) => {}
            }
        }
        changes.sort();
        changes
    }
}
