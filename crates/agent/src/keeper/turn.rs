//! One batch of the gate task: steps, one commit, then what may be seen.

use std::collections::HashMap;
use std::sync::Arc;

use safepoint_core::{Answer, AuditLine, Effect, Gate, Holder, Outcome, Record, Refusal, RequestId};
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::desk::{Input, Look};
use super::sight::Standing;
use crate::clock::Clock;
use crate::facts::Facts;
use crate::faults;
use crate::journal::{Commit, CommitError, Journal};
use crate::orders::kept_answer;

/// The gate, its journal, and who waits for what.
pub(crate) struct Keeper {
    gate: Gate,
    journal: Journal,
    clock: Arc<dyn Clock>,
    facts: Arc<Facts>,
    next: u64,
    /// Who waits for an answer, and under which name the answer is to be kept.
    waiting: HashMap<RequestId, Waiting>,
    commit: Commit,
    effects: Vec<Effect>,
    looks: Vec<Look>,
    standing: Vec<Standing>,
    /// Those who stand there are to look, whether or not anything becomes visible.
    look_again: bool,
    /// Who waits for something of theirs to be durable.
    kept: Vec<oneshot::Sender<()>>,
    /// Whether the record of an object has changed since somebody asked.
    changed: bool,
    /// The audit log has become longer.
    recorded: bool,
}

struct Waiting {
    reply: oneshot::Sender<Answer>,
    order: Option<String>,
    /// What the gate calls the caller, and what the audit log does.
    known_as: Option<(Holder, String)>,
}

// === impl Keeper ===

impl Keeper {
    pub(super) fn new(journal: Journal, gate: Gate, clock: Arc<dyn Clock>, facts: Arc<Facts>) -> Self {
        Self {
            gate,
            journal,
            clock,
            facts,
            next: 0,
            waiting: HashMap::new(),
            commit: Commit::default(),
            effects: Vec::new(),
            looks: Vec::new(),
            standing: Vec::new(),
            look_again: false,
            kept: Vec::new(),
            changed: false,
            recorded: false,
        }
    }

    /// Whether the record of an object has changed since this was asked last.
    pub(super) fn has_changed(&mut self) -> bool {
        std::mem::take(&mut self.changed)
    }

    /// Whether the audit log has become longer since this was asked last.
    pub(super) fn has_recorded(&mut self) -> bool {
        std::mem::take(&mut self.recorded)
    }

    /// Works through a batch. Returns what may now be seen; callers have had their answers.
    pub(super) fn work(&mut self, batch: Vec<Input>) -> Result<Vec<Effect>, CommitError> {
        for input in batch {
            match input {
                Input::Event { event, bodies } => {
                    self.commit.bodies.extend(bodies);
                    let outcome = self.gate.step(event, self.clock.now());
                    self.take(outcome);
                }
                Input::Ask { asking, reply } => {
                    self.next += 1;
                    let id = RequestId(self.next);
                    let order = asking.keep_answer.clone();
                    let known_as = asking.known_as.clone().map(|name| (asking.caller.clone(), name));
                    self.waiting.insert(id, Waiting { reply, order, known_as });
                    let mut outcome = self.gate.step(asking.into_event(id), self.clock.now());
                    self.name_caller(id, &mut outcome);
                    self.take(outcome);
                }
                Input::Keep { what, kept } => {
                    self.commit.answers.extend(what);
                    self.kept.push(kept);
                }
                Input::Look(look) => self.looks.push(look),
                Input::Stand(standing) => {
                    self.standing.push(standing);
                    self.look_again = true;
                }
                Input::LookAgain => self.look_again = true,
            }
        }
        self.finish()
    }

    /// A hold is known by its holder's name; the audit log also says which process spoke.
    fn name_caller(&self, id: RequestId, outcome: &mut Outcome) {
        let Some(Waiting { known_as: Some((caller, name)), .. }) = self.waiting.get(&id) else { return };
        for record in &mut outcome.records {
            if let Record::Audit(AuditLine { by: Some(by), .. }) = record
                && by == caller
            {
                by.name = name.as_str().into();
            }
        }
    }

    pub(super) fn take(&mut self, outcome: Outcome) {
        self.commit.records.extend(outcome.records);
        for effect in &outcome.effects {
            if let Effect::Answer(id, answer) = effect
                && let Some(Waiting { order: Some(order), .. }) = self.waiting.get(id)
                // Only a clock that can be trusted knows that an order has come too late; until then it is asked again.
                && (*answer != Answer::Refused(Refusal::OrderExpired) || self.clock.now().trusted)
            {
                let kept = kept_answer(answer, self.gate.wall());
                self.commit.answers.push((order.clone(), kept));
            }
        }
        self.effects.extend(outcome.effects);
    }

    /// Durable first, then visible.
    pub(super) fn finish(&mut self) -> Result<Vec<Effect>, CommitError> {
        let commit = std::mem::take(&mut self.commit);
        let is_changed = commit.records.iter().any(|record| matches!(record, Record::Slot(..)));
        self.changed |= is_changed;
        self.recorded |= commit.records.iter().any(|record| matches!(record, Record::Audit(_)));
        if !commit.records.is_empty() || !commit.answers.is_empty() {
            let begun = Instant::now();
            self.journal.commit(&commit)?;
            self.facts.committed(begun.elapsed());
        }
        self.facts.take(&self.gate, &self.effects);
        faults::point("keeper: before the answers");
        let is_news = self.effects.iter().any(|effect| !matches!(effect, Effect::Answer(..)));
        // That the cluster has no object any more for something that is held shows in its record alone.
        if std::mem::take(&mut self.look_again) || is_news || is_changed {
            let Self { standing, gate, journal, .. } = self;
            standing.retain_mut(|look| look(gate, journal));
        }
        let mut seen = Vec::new();
        for effect in std::mem::take(&mut self.effects) {
            match effect {
                Effect::Answer(id, answer) => {
                    if let Some(waiting) = self.waiting.remove(&id) {
                        // A caller that has gone away does not undo what it asked for.
                        let _ = waiting.reply.send(answer);
                    }
                }
                effect => seen.push(effect),
            }
        }
        for kept in self.kept.drain(..) {
            let _ = kept.send(());
        }
        for look in self.looks.drain(..) {
            look(&self.gate, &self.journal);
        }
        Ok(seen)
    }
}
