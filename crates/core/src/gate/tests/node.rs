//! A node to play a story on: a gate with its clock and its journal, and a check after every step.

use crate::event::{Ask, Event, Order, Override, Reading, Request, RequestId, Sighting};
use crate::explain::{Explanation, Why};
use crate::freeze::{Blocker, Mode};
use crate::gate::{Config, Gate, Outcome};
use crate::hold::{Hold, Holder};
use crate::object::{Health, HeldBy, Key, Kind, Slot, Version};
use crate::record::{AuditLine, Record, Records};
use crate::text::HoldId;
use crate::time::{Now, Span, Timestamp};

use super::told::Told;
use super::words::{Object, pod};

/// The morning on which every story begins: 2026-11-15T08:00:00Z.
pub(super) const MORNING: Timestamp = Timestamp(1_794_729_600_000);

/// The kinds that the cluster lists.
const LISTED: [Kind; 3] = [Kind::Pod, Kind::ConfigMap, Kind::Secret];

/// A gate, the clocks of its machine, and the rows that its journal has.
pub(super) struct Node {
    pub(super) gate: Gate,
    pub(super) records: Records,
    pub(super) audit: Vec<AuditLine>,
    /// The rows of the last step.
    pub(super) written: Vec<Record>,
    pub(super) now: Now,
    config: Config,
    /// The monotonic clock at the last event: the driver's sleep is counted from there.
    awake: Span,
    requests: u64,
}

// === impl Node: how a story begins ===

impl Node {
    /// A node on which nothing runs.
    pub(super) fn new() -> Self {
        Self::with(Config::default())
    }

    pub(super) fn with(config: Config) -> Self {
        let now = Now { monotonic: Span::from_secs(5), boot: 1, wall: MORNING, trusted: true };
        let gate = Gate::new(config.clone(), now);
        let (records, audit, written, awake) = (Records::default(), Vec::new(), Vec::new(), now.monotonic);
        Self { gate, records, audit, written, config, now, awake, requests: 0 }
    }

    /// A node on which these have been running since before the gate, and are ready.
    pub(super) fn running<const N: usize>(objects: [&Object; N]) -> Self {
        Self::new().also_running(objects)
    }

    pub(super) fn also_running<const N: usize>(mut self, objects: [&Object; N]) -> Self {
        self.step(Event::Adopted(objects.map(|object| (object.key.clone(), object.version.clone())).into()));
        for object in objects {
            self.ready(object);
        }
        self
    }

    /// A node whose record cannot be read.
    pub(super) fn sealed() -> Self {
        let mut node = Self::new();
        node.loses_its_record();
        node
    }
}

// === impl Node: what happens ===

impl Node {
    pub(super) fn step(&mut self, event: Event) -> Told {
        let outcome = self.gate.step(event, self.now);
        self.writes(outcome)
    }

    /// The agent starts again and finds that it cannot read its record.
    pub(super) fn loses_its_record(&mut self) -> Told {
        self.records = Records::default();
        let (gate, outcome) = Gate::sealed(self.config.clone(), "checksum mismatch", self.now);
        self.gate = gate;
        self.writes(outcome)
    }

    fn writes(&mut self, outcome: Outcome) -> Told {
        self.awake = self.now.monotonic;
        self.written = outcome.records;
        for record in self.written.iter().cloned() {
            if let Record::Audit(line) = &record {
                self.audit.push(line.clone());
            }
            self.records.put(record);
        }
        self.check();
        Told(outcome.effects)
    }

    /// The cluster shows one object, over the watch.
    pub(super) fn sees(&mut self, object: &Object) -> Told {
        self.sees_all([object])
    }

    /// The cluster shows several objects at once.
    pub(super) fn sees_all<const N: usize>(&mut self, objects: [&Object; N]) -> Told {
        self.observes(objects, &[])
    }

    /// The cluster lists everything that it wants here.
    pub(super) fn lists<const N: usize>(&mut self, objects: [&Object; N]) -> Told {
        self.observes(objects, &LISTED)
    }

    /// The cluster lists everything of one kind.
    pub(super) fn lists_all_of<const N: usize>(&mut self, kind: Kind, objects: [&Object; N]) -> Told {
        self.observes(objects, &[kind])
    }

    fn observes<const N: usize>(&mut self, objects: [&Object; N], complete: &[Kind]) -> Told {
        let sightings = objects.map(|object| Sighting::Present(object.key.clone(), object.version.clone()));
        let complete = complete.iter().copied().collect();
        self.step(Event::Observed { sightings: sightings.into(), complete })
    }

    /// The cluster says that an object is gone.
    pub(super) fn loses(&mut self, object: &Object) -> Told {
        let gone = Sighting::Gone(object.key.clone(), object.version.uid.clone());
        self.step(Event::Observed { sightings: vec![gone], complete: [].into() })
    }

    /// A door reports how exactly this version is doing.
    pub(super) fn reports(&mut self, object: &Object, health: Health) -> Told {
        let Version { uid, digest, .. } = object.version.clone();
        self.step(Event::Reported { key: object.key.clone(), uid, digest, health })
    }

    pub(super) fn ready(&mut self, object: &Object) -> Told {
        self.reports(object, Health::Ready)
    }

    pub(super) fn ended(&mut self, object: &Object) -> Told {
        self.step(Event::Ended { key: object.key.clone(), uid: object.version.uid.clone() })
    }

    pub(super) fn part_reports(&mut self, part: &str, blockers: &[Blocker]) -> Told {
        self.step(Event::PartReported { part: part.into(), blockers: blockers.to_vec() })
    }

    pub(super) fn reads(&mut self, signal: &str, reading: Reading) -> Told {
        self.step(Event::SignalRead { signal: signal.into(), reading })
    }

    pub(super) fn asks(&mut self, caller: &Holder, ask: Ask) -> Told {
        self.requests(caller, None, None, ask)
    }

    pub(super) fn asks_overriding(&mut self, caller: &Holder, over: Override, ask: Ask) -> Told {
        self.requests(caller, None, Some(over), ask)
    }

    /// An order from the cluster arrives.
    pub(super) fn is_ordered(&mut self, caller: &Holder, order: Order, ask: Ask) -> Told {
        self.requests(caller, Some(order), None, ask)
    }

    fn requests(
        &mut self,
        caller: &Holder,
        order: Option<Order>,
        overriding: Option<Override>,
        ask: Ask,
    ) -> Told {
        self.requests += 1;
        let id = RequestId(self.requests);
        self.step(Event::Asked(Request { id, caller: caller.clone(), order, overriding, ask }))
    }

    pub(super) fn ticks(&mut self) -> Told {
        self.step(Event::Ticked)
    }

    /// Time passes as it does for a driver: it sleeps for as long as the gate lets it, and ticks only then.
    pub(super) fn after(&mut self, span: Span) -> Told {
        let mut effects = Vec::new();
        let until = self.now.monotonic.0 + span.0;
        while let Some(wake) = self
            .gate
            .wake_after()
            .map(|wake| self.awake.0.saturating_add(wake.0))
            .filter(|wake| *wake <= until)
        {
            self.pass(Span(wake - self.now.monotonic.0));
            effects.extend(self.ticks().0);
        }
        self.pass(Span(until - self.now.monotonic.0));
        Told(effects)
    }

    fn pass(&mut self, span: Span) {
        self.now.monotonic = Span(self.now.monotonic.0 + span.0);
        self.jumps(i64::try_from(span.0).unwrap());
    }

    /// Somebody sets the wall clock, by so many milliseconds.
    pub(super) fn jumps(&mut self, millis: i64) {
        self.now.wall = Timestamp(self.now.wall.0 + millis);
    }

    pub(super) fn trusts_its_clock(&mut self, trusted: bool) {
        self.now.trusted = trusted;
    }

    /// The agent dies and starts again at once; the machine runs on.
    pub(super) fn crashes(&mut self) {
        self.recovers();
    }

    /// The agent is not there for a while; the machine runs on.
    pub(super) fn has_no_agent_for(&mut self, span: Span) {
        self.pass(span);
        self.recovers();
    }

    /// The machine loses its power for a while: another boot, and the monotonic clock begins anew.
    pub(super) fn is_off_for(&mut self, span: Span) {
        self.jumps(i64::try_from(span.0).unwrap());
        (self.now.boot, self.now.monotonic) = (self.now.boot + 1, Span::ZERO);
        self.recovers();
    }

    fn recovers(&mut self) {
        self.awake = self.now.monotonic;
        self.gate = self.recovered(self.now);
    }

    /// The gate that an agent which starts at this moment would have.
    pub(super) fn recovered(&self, now: Now) -> Gate {
        Gate::recover(self.config.clone(), self.records.clone(), now)
    }
}

// === impl Node: what is true ===

impl Node {
    /// The uids of the pods that the machine was told to run, and has not been told to end.
    pub(super) fn runs(&self) -> Vec<&str> {
        let pods = self.gate.slots().iter().filter(|(key, _)| key.kind.runs());
        let applied = pods.filter_map(|(_, slot)| slot.applied.as_ref());
        applied.map(|applied| applied.version.uid.as_str()).collect()
    }

    /// What is held, and by what kind of cause.
    pub(super) fn holds_back(&self) -> Vec<(Key, HeldBy)> {
        let held = |(key, slot): (&Key, &Slot)| slot.held.map(|held| (key.clone(), held.by));
        self.gate.slots().iter().filter_map(held).collect()
    }

    pub(super) fn hold(&self, id: &str) -> Option<&Hold> {
        self.gate.holds().get(&HoldId::from(id))
    }

    pub(super) fn mode(&self) -> Mode {
        self.gate.mode()
    }

    pub(super) fn why(&self, object: &Object) -> String {
        self.gate.explain(&object.key).to_string()
    }

    pub(super) fn explains(&self, object: &Object) -> Explanation {
        match self.gate.explain(&object.key) {
            Why::Held(explanation) => *explanation,
            other => panic!("{} is not held: {other}", object.key),
        }
    }

    /// What was decided so far, in words.
    pub(super) fn log(&self) -> Vec<&str> {
        self.audit.iter().map(|line| &*line.what).collect()
    }
}

pub(super) fn cam() -> Object {
    pod("robot", "cam").annotated()
}

/// A node with one update that the annotation keeps back and that a release would let through.
pub(super) fn node_with_an_update() -> Node {
    let mut node = Node::running([&cam()]);
    node.sees(&cam().revision("b"));
    node
}
