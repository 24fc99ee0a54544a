//! What one step collects: effects, the rows it changed, and the objects it has yet to decide.

use std::collections::{BTreeMap, BTreeSet};

use crate::event::Effect;
use crate::guard::Guard;
use crate::hold::{Hold, Holder};
use crate::object::{Key, Kind, Slot};
use crate::record::{AuditLine, Installed, NodeRow, Record};
use crate::text::{HoldId, Revision, Text, Uid};
use crate::time::Span;
use crate::workload::Workload;

use super::{Gate, Outcome};

/// How much the age on record may lag while something is counted down.
pub(super) const SAVE_AGE_EVERY: Span = Span::from_secs(10);

/// The scratch paper of one step.
#[derive(Default)]
pub(super) struct Turn {
    pub(super) effects: Vec<Effect>,
    pub(super) audit: Vec<AuditLine>,
    /// Objects whose pending change has to be decided (again).
    pub(super) todo: BTreeSet<Key>,
    /// Workloads whose grant may have run its course.
    pub(super) workloads: BTreeSet<Workload>,
    slots: BTreeSet<Key>,
    holds: BTreeSet<HoldId>,
    grants: BTreeSet<Workload>,
    replacements: BTreeSet<Workload>,
    /// Rows of the two rings.
    rings: Vec<Record>,
    pub(super) node: bool,
}

/// The newest of something that would otherwise grow for ever: by name, and by the number under which it came.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Ring<K, V> {
    items: BTreeMap<K, (u64, V)>,
    order: BTreeMap<u64, K>,
}

/// Enough for a day of a busy node. Uplinks list consistently, so what fell out cannot come back from a stale list;
/// the ring is the second lock on that door.
const RING_LENGTH: usize = 1024;

// === impl Turn ===

impl Turn {
    /// An empty sheet, with whether the node's row has to be written in any case.
    pub(super) fn begin(node: bool) -> Self {
        Self { node, ..Self::default() }
    }
}

// === impl Ring ===

impl<K, V> Default for Ring<K, V> {
    fn default() -> Self {
        Self { items: BTreeMap::new(), order: BTreeMap::new() }
    }
}

impl<K: Ord + Clone, V> Ring<K, V> {
    pub(super) fn get(&self, name: &K) -> Option<&V> {
        self.items.get(name).map(|(_, value)| value)
    }

    /// Adds an item, or changes one under the number that it has. Returns that number, and the number of the one that
    /// fell out for it.
    pub(super) fn put(&mut self, next: u64, name: K, value: V) -> (u64, Option<u64>) {
        let number = self.items.get(&name).map_or(next, |(number, _)| *number);
        self.order.insert(number, name.clone());
        self.items.insert(name, (number, value));
        let fallen = if self.order.len() > RING_LENGTH { self.order.pop_first() } else { None };
        if let Some((_, name)) = &fallen {
            self.items.remove(name);
        }
        (number, fallen.map(|(number, _)| number))
    }

    pub(super) fn restore(rows: impl IntoIterator<Item = (u64, K, V)>) -> Self {
        let mut ring = Self::default();
        for (number, name, value) in rows {
            ring.order.insert(number, name.clone());
            ring.items.insert(name, (number, value));
        }
        ring
    }
}

// === impl Gate: every change of durable state goes through here, so that no row is forgotten ===

impl Gate {
    /// Changes one slot, keeps the index true, and marks what has to be decided again because of it.
    pub(super) fn change_slot(&mut self, turn: &mut Turn, key: &Key, change: impl FnOnce(&mut Slot)) {
        let old = self.slots.get(key).cloned().unwrap_or_default();
        let mut new = old.clone();
        change(&mut new);
        if new == old {
            return;
        }
        turn.todo.insert(key.clone());
        for config in self.index.replace(key, &old, &new, turn) {
            if self.index.pending_configs.contains(&config) {
                turn.todo.insert(config);
            }
        }
        turn.workloads.extend(old.workload().into_iter().chain(new.workload()).cloned());
        if !key.kind.runs() {
            // Those that use it, and those that were released with it and may use it no more.
            let released = self.grants.iter().filter(|(_, grant)| grant.updates.contains_key(key));
            let users = self.users_of(key).map(|(_, workload)| workload);
            turn.workloads.extend(users.chain(released.map(|(workload, _)| workload)).cloned());
        }
        if old.durable() != new.durable() {
            turn.slots.insert(key.clone());
        }
        if new == Slot::default() {
            self.slots.remove(key);
        } else {
            self.slots.insert(key.clone(), new);
        }
    }

    pub(super) fn put_hold(&mut self, turn: &mut Turn, id: &HoldId, hold: Option<Hold>) {
        match hold {
            Some(hold) => drop(self.holds.insert(id.clone(), hold)),
            None => drop(self.holds.remove(id)),
        }
        turn.holds.insert(id.clone());
        turn.todo.extend(self.index.pending.iter().cloned());
    }

    /// Changes the grant of a workload and decides again what it may cover.
    pub(super) fn touch_grant(&mut self, turn: &mut Turn, workload: &Workload) {
        turn.grants.insert(workload.clone());
        turn.workloads.insert(workload.clone());
        turn.todo.extend(self.pending_of(workload));
    }

    /// Changes what is missing of a workload and decides again what may start in its place.
    pub(super) fn touch_replacement(&mut self, turn: &mut Turn, workload: &Workload) {
        turn.replacements.insert(workload.clone());
        turn.workloads.insert(workload.clone());
        let sums = self.index.workloads.get(workload);
        turn.todo.extend(sums.into_iter().flat_map(|sums| sums.pending.iter().cloned()));
    }

    pub(super) fn next_order(&mut self, turn: &mut Turn) -> u64 {
        self.order += 1;
        turn.node = true;
        self.order
    }

    /// Makes sure that a pod never starts. Not so a static pod: its uid is the hash of its manifest, and going back to
    /// an earlier manifest brings it back.
    pub(super) fn bury(&mut self, turn: &mut Turn, key: &Key, uid: &Uid) {
        let never = key.kind == Kind::Pod && !self.sealed && self.guards(Guard::BuryStaleUids);
        if !never || self.is_buried(uid) {
            return;
        }
        let next = self.next_order(turn);
        let (number, fallen) = self.buried.put(next, uid.clone(), ());
        turn.rings.push(Record::Buried(number, Some(uid.clone())));
        turn.rings.extend(fallen.map(|number| Record::Buried(number, None)));
    }

    /// Whether this uid was superseded, deleted or ended here: it never starts again.
    #[must_use]
    pub fn is_buried(&self, uid: &Uid) -> bool {
        self.buried.get(uid).is_some()
    }

    /// Remembers what was installed first of a workload, and that something else has followed.
    pub(super) fn remember_install(&mut self, turn: &mut Turn, workload: &Workload, revision: &Revision) {
        let first = match self.installed.get(workload) {
            None => Some(revision.clone()),
            Some(Some(first)) if first != revision => None,
            Some(_) => return,
        };
        let next = self.next_order(turn);
        let (number, fallen) = self.installed.put(next, workload.clone(), first.clone());
        turn.rings.push(Record::Installed(number, Some(Installed { workload: workload.clone(), first })));
        turn.rings.extend(fallen.map(|number| Record::Installed(number, None)));
    }

    /// Whether a start of this revision belongs to the first install of its workload here.
    pub(super) fn is_first_install(&self, workload: &Workload, revision: &Revision) -> bool {
        self.installed.get(workload).is_none_or(|first| first.as_ref() == Some(revision))
    }

    pub(super) fn audit(
        &self,
        turn: &mut Turn,
        by: Option<&Holder>,
        what: impl Into<Text>,
        why: Option<&Text>,
    ) {
        let at = self.clock.stamp();
        turn.audit.push(AuditLine { at, by: by.cloned(), what: what.into(), why: why.cloned() });
    }

    /// Ends the step: the rows that changed, then the effects.
    pub(super) fn write_out(&mut self, turn: Turn) -> Outcome {
        let mut records: Vec<Record> = turn.audit.into_iter().map(Record::Audit).collect();
        for key in turn.slots {
            let slot = self.slots.get(&key).map(Slot::durable);
            records.push(Record::Slot(key, slot));
        }
        for id in turn.holds.into_iter().filter(|_| self.guards(Guard::RecordHolds)) {
            let hold = self.holds.get(&id).cloned();
            records.push(Record::Hold(id, hold));
        }
        for workload in turn.grants.into_iter().filter(|_| self.guards(Guard::RecordReleases)) {
            let grant = self.grants.get(&workload).cloned();
            records.push(Record::Grant(workload, grant));
        }
        for workload in turn.replacements {
            let replacement = self.replacements.get(&workload).copied();
            records.push(Record::Replacement(workload, replacement));
        }
        records.extend(turn.rings);
        let lagging = self.counts_down() && self.clock.age().since(self.saved) >= SAVE_AGE_EVERY;
        if turn.node || lagging || !records.is_empty() {
            self.saved = self.clock.age();
            records.push(Record::Node(Box::new(self.node_row())));
        }
        Outcome { records, effects: turn.effects }
    }

    fn node_row(&self) -> NodeRow {
        NodeRow {
            clock: self.clock,
            phase: self.phase,
            thaw: self.thaw.clone(),
            order: self.order,
            decided: self.decided.clone(),
            sealed: self.sealed,
            room: self.room.clone(),
        }
    }
}
