//! The gate: the one place where every change is decided.
//!
//! [`Gate::step`] is a function of the gate's state, one event and the time. It returns the rows that must be durable
//! and the effects that may then become visible, in this order; it waits for nothing and reads nothing. One task owns
//! the gate, so there are no locks, and a test or the model can play any interleaving event by event.
//!
//! ```text
//! event ─► observe / asks ─► deadlines ─► decide ─► settle ─► records, then effects
//! ```

mod admit;
mod asks;
mod deadlines;
mod decide;
mod index;
mod observe;
mod recover;
mod settle;
mod turn;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::event::{Effect, Event, Reading, RequestId};
use crate::freeze::{Blocker, Mode, Phase, Thaw};
use crate::grant::{Grant, Replacement};
use crate::guard::Guard;
use crate::hold::Hold;
use crate::object::{Key, Needs, Slot};
use crate::record::Record;
use crate::text::{HoldId, OrderId, PartName, Revision, SignalName, Uid};
use crate::time::{Age, Clock, Now, Span, Timestamp};
use crate::workload::Workload;
use index::Index;
use turn::{Ring, Turn};

pub use decide::{Cause, PORT, Verdict};

/// What an operator may set. The defaults suit a node of about a hundred pods.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Config {
    /// Safety signals that must all say safe before a lease with `ThawIfSafe` ends.
    pub signals: Vec<SignalName>,
    /// How old a reading may be before it counts as unknown.
    pub signal_ttl: Span,
    /// Parts that must have reported themselves ready before a freeze can be promised.
    pub parts: Vec<PartName>,
    /// How long a release stays open for a workload that does not settle.
    pub grant_length: Span,
    /// How long after an end the gate waits for a successor: controllers make one within seconds, and one that is
    /// scheduled to another machine never comes.
    pub replacement_window: Span,
}

/// The gate of one node.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Gate {
    config: Config,
    clock: Clock,
    /// The age that is on record: while a lease runs it is written from time to time, so that a crash costs little.
    saved: Age,
    phase: Option<Phase>,
    thaw: Option<Thaw>,
    /// Numbers holds, releases and burials in the order in which they came.
    order: u64,
    decided: Vec<OrderId>,
    /// Whether the gate does not know what runs. See [`Gate::sealed`].
    sealed: bool,
    /// What the machine has for pods, where a door says so.
    room: Needs,
    slots: BTreeMap<Key, Slot>,
    holds: BTreeMap<HoldId, Hold>,
    grants: BTreeMap<Workload, Grant>,
    replacements: BTreeMap<Workload, Replacement>,
    buried: Ring<Uid, ()>,
    installed: Ring<Workload, Option<Revision>>,
    // From here on nothing is durable: after a restart it is reported anew, and unknown means hold.
    signals: BTreeMap<SignalName, (Reading, Age)>,
    parts: BTreeMap<PartName, Vec<Blocker>>,
    waiting: BTreeMap<HoldId, Vec<RequestId>>,
    index: Index,
    #[cfg(feature = "mutants")]
    off: Option<Guard>,
}

/// What a step asks for: first make the records durable, all or none, then carry out the effects in their order.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
#[must_use = "records must be made durable and effects carried out"]
pub struct Outcome {
    /// Rows to write in one transaction. Empty: nothing to write.
    pub records: Vec<Record>,
    /// What to do afterwards.
    pub effects: Vec<Effect>,
}

// === impl Config ===

impl Default for Config {
    fn default() -> Self {
        Self {
            signals: Vec::new(),
            signal_ttl: Span::from_secs(10),
            parts: Vec::new(),
            grant_length: Span::from_mins(10),
            replacement_window: Span::from_mins(1),
        }
    }
}

// === impl Gate ===

impl Gate {
    /// A gate for a node that has no record yet.
    #[must_use]
    pub fn new(config: Config, now: Now) -> Self {
        Self {
            config,
            clock: Clock::start(now),
            saved: Age(0),
            phase: None,
            thaw: None,
            order: 0,
            decided: Vec::new(),
            sealed: false,
            slots: BTreeMap::new(),
            holds: BTreeMap::new(),
            grants: BTreeMap::new(),
            replacements: BTreeMap::new(),
            buried: Ring::default(),
            installed: Ring::default(),
            signals: BTreeMap::new(),
            parts: BTreeMap::new(),
            room: Needs::new(),
            waiting: BTreeMap::new(),
            index: Index::default(),
            #[cfg(feature = "mutants")]
            off: None,
        }
    }

    /// Decides what follows from one event.
    ///
    /// Pure: the same gate, event and `now` always give the same outcome.
    pub fn step(&mut self, event: Event, now: Now) -> Outcome {
        let mode = self.mode();
        let mut turn = Turn::begin(self.read_clock(now));
        // What is due counts before what happens now: nobody slips through a hold that should be back in force.
        self.meet_deadlines(&mut turn);
        match event {
            Event::Adopted(running) => self.adopt(&mut turn, running),
            Event::Found { key, instead_of, version, why } => {
                self.find(&mut turn, &key, instead_of.as_ref(), *version, &why);
            }
            Event::Observed { sightings, complete } => self.observe(&mut turn, sightings, &complete),
            Event::Reported { key, uid, digest, health } => {
                self.report(&mut turn, &key, &uid, &digest, health);
            }
            Event::Ended { key, uid } => self.end(&mut turn, &key, &uid),
            Event::PartReported { part, blockers } => drop(self.parts.insert(part, blockers)),
            Event::RoomReported(room) => self.measure(&mut turn, room),
            Event::SignalRead { signal, reading } => {
                self.signals.insert(signal, (reading, self.clock.age()));
            }
            Event::Asked(request) => self.answer(&mut turn, request),
            Event::Ticked => {}
        }
        self.meet_deadlines(&mut turn);
        self.run_to_rest(&mut turn);
        if self.mode() != mode {
            turn.effects.push(Effect::ModeIs(self.mode()));
        }
        self.write_out(turn)
    }

    /// What the node is doing.
    #[must_use]
    pub const fn mode(&self) -> Mode {
        match (self.phase, &self.thaw) {
            (Some(Phase::Freezing { .. }), _) => Mode::Freezing,
            (Some(Phase::Frozen { .. }), _) => Mode::Frozen,
            (None, Some(_)) => Mode::Thawing,
            (None, None) => Mode::Open,
        }
    }

    /// The freeze on record, if there is one.
    #[must_use]
    pub const fn phase(&self) -> Option<Phase> {
        self.phase
    }

    /// The objects that the gate knows.
    #[must_use]
    pub const fn slots(&self) -> &BTreeMap<Key, Slot> {
        &self.slots
    }

    /// The holds on record.
    #[must_use]
    pub const fn holds(&self) -> &BTreeMap<HoldId, Hold> {
        &self.holds
    }

    /// The releases that are open.
    #[must_use]
    pub const fn grants(&self) -> &BTreeMap<Workload, Grant> {
        &self.grants
    }

    /// The gate's age at the last event.
    #[must_use]
    pub const fn age(&self) -> Age {
        self.clock.age()
    }

    /// The wall clock at the last event, right or wrong.
    #[must_use]
    pub const fn wall(&self) -> Timestamp {
        self.clock.last().wall
    }

    /// Objects with a change that has not been admitted, in order.
    pub fn pending(&self) -> impl Iterator<Item = &Key> {
        self.index.pending.iter()
    }

    /// Whether this guard stands. See [`Guard`].
    #[cfg(feature = "mutants")]
    pub(crate) fn guards(&self, guard: Guard) -> bool {
        self.off != Some(guard)
    }

    #[cfg(not(feature = "mutants"))]
    #[expect(
        clippy::unused_self,
        reason = "the same call as with the feature, where the gate knows its mutant"
    )]
    pub(crate) const fn guards(&self, _guard: Guard) -> bool {
        true
    }

    /// The same gate with one guard switched off.
    #[cfg(feature = "mutants")]
    #[must_use]
    pub fn without(mut self, guard: Option<Guard>) -> Self {
        self.off = guard;
        self
    }

    /// Takes the time. A jump of the wall clock is put on record at once.
    fn read_clock(&mut self, now: Now) -> bool {
        #[cfg(feature = "mutants")]
        if !self.guards(Guard::CountOnTheMonotonicClock) {
            self.clock.advance_by_wall(now);
            return true;
        }
        self.clock.advance(now)
    }
}
