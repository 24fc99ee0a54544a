//! A gate out of what the journal has on record.

use crate::freeze::Phase;
use crate::hold::{Hold, HoldKind, Holder, Origin, Scope};
use crate::record::Records;
use crate::text::{HoldId, Text};
use crate::time::{Clock, Now};

use super::turn::{Ring, Turn};
use super::{Config, Gate, Outcome};

/// The name of the freeze that a gate without a readable record is born with.
pub(super) const UNREADABLE: &str = "unreadable-record";

// === impl Gate ===

impl Gate {
    /// Goes on from the record. The doors are then shown [`slots`](Self::slots) as a whole and report health anew; until
    /// they have, nothing counts as settled. Whatever came due meanwhile is met with the first event: send
    /// [`Event::Ticked`](crate::event::Event::Ticked) at once.
    #[must_use]
    pub fn recover(config: Config, records: Records, now: Now) -> Self {
        let mut gate = Self::new(config, now);
        let mut counted = true;
        if let Some(node) = records.node {
            (gate.clock, counted) = Clock::resume(node.clock, now);
            gate.saved = node.clock.age();
            gate.phase = node.phase;
            gate.thaw = node.thaw;
            gate.order = node.order;
            gate.decided = node.decided;
            gate.sealed = node.sealed;
            gate.room = node.room;
        }
        for (key, slot) in &records.slots {
            gate.index.add(key, slot);
        }
        gate.slots = records.slots;
        gate.holds = records.holds;
        gate.grants = records.grants;
        gate.replacements = records.replacements;
        gate.buried = Ring::restore(records.buried.into_iter().map(|(number, uid)| (number, uid, ())));
        let installed = records.installed.into_iter();
        gate.installed = Ring::restore(installed.map(|(number, row)| (number, row.workload, row.first)));
        if !counted {
            gate.end_overrides();
        }
        gate
    }

    /// Nobody knows how long the machine was off: an override may be long over, so it is.
    fn end_overrides(&mut self) {
        let age = self.clock.age();
        for suspension in self.holds.values_mut().filter_map(|hold| hold.suspended.as_mut()) {
            suspension.until = age;
        }
    }

    /// The gate of a node whose record cannot be read: frozen, because it may have been, until an operator ends it.
    ///
    /// It does not know what runs, so until it has been told ([`Event::Adopted`](crate::event::Event::Adopted)) nobody may
    /// open it, and while it [`is_sealed`](Self::is_sealed) a door must answer nothing: an empty list would end every pod.
    pub fn sealed(config: Config, why: &str, now: Now) -> (Self, Outcome) {
        let mut gate = Self::new(config, now);
        let mut turn = Turn::begin(true);
        let since = gate.clock.stamp();
        gate.sealed = true;
        gate.phase = Some(Phase::Frozen { since });
        let hold = Hold {
            kind: HoldKind::Freeze,
            holder: Holder { name: "safepoint".into(), origin: Origin::Local },
            reason: Text::from(why),
            scope: Scope::Node,
            since,
            lease: None,
            orphaned: None,
            suspended: None,
            order: 0,
        };
        gate.audit(
            &mut turn,
            None,
            "the record could not be read: the node is frozen",
            Some(&Text::from(why)),
        );
        gate.put_hold(&mut turn, &HoldId::from(UNREADABLE), Some(hold));
        let outcome = gate.write_out(turn);
        (gate, outcome)
    }

    /// Whether the gate does not know what runs.
    #[must_use]
    pub const fn is_sealed(&self) -> bool {
        self.sealed
    }
}
